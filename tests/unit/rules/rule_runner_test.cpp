// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runner.h"

#include "analyzer/schema/schema_sql.h"
#include "sample_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gd::rules {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class RuleRunnerTest : public testing::Test {
protected:
    RuleRunnerTest() {
        for (const schema::RawSchema& part : schema::rawSchemas())
            EXPECT_TRUE(db.exec(part.sql));
        EXPECT_TRUE(db.exec(schema::factsSchema()));
        process(1);
    }

    void exec(const std::string& sql) {
        const Result<void> done = db.exec(sql);
        ASSERT_TRUE(done) << done.error().message;
    }
    void process(int id, const std::string& rank = "NULL") {
        exec(fmt::format("INSERT INTO process (process_id, pid, role, rank, start_ns, end_ns, ended) "
                         "VALUES ({}, {}, 'primary', {}, 0, 9, 'closed')",
            id, id, rank));
        exec(fmt::format("INSERT INTO steady_state VALUES ({}, 0, 9, 5, 0, 1)", id));
    }
    void cover(int id, const std::string& source, const std::string& state, const std::string& reason = "") {
        auto insert
            = std::move(db.prepare("INSERT INTO coverage VALUES (?, ?, 0, 9, ?, nullif(?, ''))")).value();
        ASSERT_TRUE(insert.runWith(id, source, state, reason));
    }
    void coverAll(int id = 1) {
        cover(id, "callbacks", "complete");
        cover(id, "graph_trace", "partial", "windows");
    }
    void gap(int id, int startNs, int endNs, int known = 1, const std::string& cause = "host_other") {
        exec(fmt::format(
            "INSERT INTO replay_gap (process_id, device_id, exec_id, replay_id, graph_name, same_step, "
            "steady, "
            "start_ns, end_ns, cause, host_sync_ns, exec_update_ns, data_ns, host_other_ns, "
            "launch_call_ns, event_ns, peer_ns, nccl_ns, unknown_ns, known, noise_ns, eager_recorded, "
            "input_ns, copy_ns) "
            "VALUES ({}, 0, 1, 2, 'g', 1, 1, {}, {}, '{}', 0,0,0,0,0,0,0,0,0, {}, 0, 1, 0, 0)",
            id, startNs, endNs, cause, known));
    }
    RuleRun run(const std::vector<RuleFile>& rules, RunOptions options = {}) {
        Result<RuleRun> result = runRules(db, rules, options);
        EXPECT_TRUE(result) << (result ? "" : result.error().message);
        return result ? std::move(*result) : RuleRun();
    }
    RuleRun runSample(RunOptions options = {}) { return run({sampleRule()}, std::move(options)); }

    Db db = std::move(Db::openInMemory()).value();
};

TEST_F(RuleRunnerTest, FiresWithEverythingTheRowSays) {
    coverAll();
    gap(1, 1000, 501000);
    exec("UPDATE replay_gap SET step = 7, thread_id = 3, stack_id = 5, cause_detail = 'memcpy'");
    exec("INSERT INTO stack_frame VALUES (5, 'python', 0, 'train', 'train.py', 133, NULL, NULL, NULL, 0)");
    const RuleRun result = runSample();
    ASSERT_EQ(result.findings.size(), 1U);
    const Finding& finding = result.findings[0];
    EXPECT_EQ(finding.message, "g: idle 500.0 us before replay 2, mostly host_other");
    EXPECT_EQ(finding.costNs, 500000);
    EXPECT_EQ(finding.step, 7);
    EXPECT_EQ(finding.threadId, base::ThreadId(3));
    EXPECT_EQ(finding.rootKind, RootKind::step);
    EXPECT_EQ(finding.rootId, 0);
    ASSERT_EQ(finding.locations.size(), 1U);
    EXPECT_EQ(finding.locations[0].line, 133);
    ASSERT_EQ(finding.evidence.size(), 2U);
    EXPECT_EQ(finding.evidence[0].table, "replay_gap");
    EXPECT_EQ(finding.evidence[0].id, 1);
    EXPECT_EQ(finding.evidence[0].value, Value(std::int64_t{500000}));
    EXPECT_EQ(finding.evidence[0].unit, "ns");
    EXPECT_EQ(finding.evidence[1].value, Value(std::string("memcpy")));
    EXPECT_EQ(result.outcomes[0].outcome, Outcome::fired);
    EXPECT_EQ(result.outcomes[0].count, 1);
    EXPECT_EQ(result.outcomes[0].knownShare, 1.0);
    EXPECT_EQ(result.outcomes[0].params[0].value, "500");
}

TEST_F(RuleRunnerTest, CleanOnlyWhereItLooked) {
    coverAll();
    gap(1, 1000, 1001);
    gap(1, 1000, 9'000'000, 0);
    const RuleRun result = runSample();
    EXPECT_EQ(result.outcomes[0].outcome, Outcome::clean);
    EXPECT_EQ(result.outcomes[0].knownShare, 0.5);
    EXPECT_EQ(result.outcomes[0].reason, "only 50 % could be judged (table replay_gap)");
    exec("UPDATE replay_gap SET known = 0");
    const RuleRun blind = runSample();
    EXPECT_EQ(blind.outcomes[0].outcome, Outcome::notEvaluated);
    EXPECT_EQ(blind.outcomes[0].reason, "nothing could be judged (table replay_gap)");
}

TEST_F(RuleRunnerTest, WhatOnlyTakesFindingsAwayMakesNoRuleBlind) {
    coverAll();
    gap(1, 1000, 9'000'000);
    exec("INSERT INTO fallback (process_id, region, start_ns, end_ns, eager_runs, graph_runs, rate, execs, "
         "reason, known) VALUES (1, 'r', 0, 1, 0, 0, 0, 0, 'unknown', 0)");
    const auto share = [&](const std::string& condition) {
        const std::string text
            = replaced(sampleText(), "WHERE known = 1", "WHERE known = 1 AND " + condition);
        const RuleRun result = run({std::move(parseRuleFile(text, kSamplePath)).value()});
        return result.outcomes[0].knownShare;
    };
    const std::string inner = "EXISTS (SELECT 1 FROM fallback AS f WHERE f.known AND (f.rate > 0))";
    EXPECT_EQ(share("NOT " + inner + " AND start_ns"), 1.0);
    EXPECT_EQ(share("(start_ns OR " + inner + ")"), 0.0);
    EXPECT_EQ(share("NOT " + inner + " AND (start_ns OR " + inner + ")"), 0.0);
}

TEST_F(RuleRunnerTest, NotEvaluatedWithoutCoverage) {
    gap(1, 1000, 9'000'000);
    EXPECT_EQ(runSample().outcomes[0].reason, "no process recorded anything");
    cover(1, "callbacks", "complete");
    cover(1, "graph_trace", "absent", "level history");
    const RuleOutcome outcome = runSample().outcomes[0];
    EXPECT_EQ(outcome.outcome, Outcome::notEvaluated);
    EXPECT_EQ(outcome.reason,
        "needs graph_trace partial, which is absent (level history), and needs node_activity partial, which "
        "is absent "
        "(it was not recorded)");
    cover(1, "node_activity", "partial", "first replays");
    EXPECT_EQ(runSample().outcomes[0].outcome, Outcome::fired);
}

TEST_F(RuleRunnerTest, SaysWhenItHardlyLooked) {
    cover(1, "callbacks", "complete");
    cover(1, "graph_trace", "complete");
    exec("INSERT INTO coverage VALUES (1, 'graph_trace', 9, 100, 'absent', 'another profiler')");
    const RuleOutcome outcome = runSample().outcomes[0];
    EXPECT_EQ(outcome.outcome, Outcome::clean);
    EXPECT_EQ(outcome.reason, "looked at 9 % of the time: another profiler");
}

TEST_F(RuleRunnerTest, WithoutStepsARuleAboutThemIsNotEvaluated) {
    coverAll();
    exec("DELETE FROM steady_state");
    RuleRun none = runSample();
    EXPECT_EQ(none.outcomes[0].outcome, Outcome::notEvaluated);
    EXPECT_THAT(none.outcomes[0].reason, HasSubstr("it judges steps in steady state, and none were found"));

    process(2);
    coverAll(2);
    RuleRun one = runSample();
    EXPECT_EQ(one.outcomes[0].outcome, Outcome::clean);
    EXPECT_THAT(one.outcomes[0].reason, HasSubstr("judged in 1 of 2 processes"));
}

TEST_F(RuleRunnerTest, JudgesEachProcessAlone) {
    process(2);
    process(3);
    coverAll(1);
    cover(2, "callbacks", "partial", "the ring was full");
    cover(2, "graph_trace", "complete");
    cover(3, "callbacks", "absent", "never used a runtime");
    gap(1, 1000, 9'000'000);
    gap(2, 1000, 9'000'000);
    const RuleRun result = runSample();
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].processId, base::ProcessId(1));
    EXPECT_EQ(result.outcomes[0].count, 1);
    EXPECT_EQ(result.outcomes[0].reason,
        "judged in 1 of 2 processes: needs callbacks complete, which is partial (the ring was full)");
}

TEST_F(RuleRunnerTest, CommOpsIsTheBestOfItsSources) {
    RuleFile rule = ruleWith("GD902", "SELECT process_id, start_ns, end_ns FROM replay_gap");
    rule.needs = {{{"comm_ops"}, CoverageState::complete}};
    cover(1, "nccl_nvtx", "partial", "no payload");
    EXPECT_THAT(
        run({rule}).outcomes[0].reason, HasSubstr("comm_ops complete, which is partial (no payload)"));
    cover(1, "nccl_plugin", "complete");
    EXPECT_EQ(run({rule}).outcomes[0].outcome, Outcome::clean);
}

TEST_F(RuleRunnerTest, ParametersAreReplaced) {
    coverAll();
    gap(1, 0, 300'000);
    EXPECT_EQ(runSample().outcomes[0].outcome, Outcome::clean);
    RunOptions options;
    options.params = {"gap_us=200"};
    EXPECT_EQ(runSample(options).outcomes[0].outcome, Outcome::fired);
    EXPECT_EQ(runSample(options).outcomes[0].params[0].value, "200");
    EXPECT_EQ(runSample(options).outcomes[0].params[0].defaultValue, "500");
    options.params = {"gap_us=200", "GD901.gap_us=0.4e3"};
    EXPECT_EQ(runSample(options).outcomes[0].outcome, Outcome::clean);
}

TEST_F(RuleRunnerTest, WrongParametersAreUsageErrors) {
    const auto error = [&](const std::string& text) {
        RunOptions options;
        options.params = {text};
        const std::vector<RuleFile> rules{sampleRule()};
        const Result<RuleRun> result = runRules(db, rules, options);
        EXPECT_EQ(result.error().code, ErrorCode::usage);
        return result.error().message;
    };
    EXPECT_EQ(error("gap_us"), "--param gap_us: expected NAME=VALUE or GD301.NAME=VALUE");
    EXPECT_EQ(error("gap_us="), "--param gap_us=: the value is empty");
    EXPECT_EQ(error("gap_us=much"), "--param gap_us=much: expected a number such as 500");
    EXPECT_EQ(
        error("gap=1"), "--param gap=1: no rule has a parameter gap; known are gap_us, and frames.skip");
    EXPECT_EQ(error("GD999.gap_us=1"), "--param GD999.gap_us=1: there is no rule GD999");
    EXPECT_EQ(error("GD901.gap=1"),
        "--param GD901.gap=1: GD901 has not a parameter gap; known are gap_us, and frames.skip");
}

TEST_F(RuleRunnerTest, FramesSkipMovesTheLocation) {
    coverAll();
    gap(1, 0, 9'000'000);
    exec("UPDATE replay_gap SET stack_id = 5");
    exec("INSERT INTO stack_frame VALUES (5, 'python', 0, 'wrap', '/w/util.py', 1, NULL, NULL, NULL, 0),"
         "(5, 'python', 1, 'train', '/w/train.py', 2, NULL, NULL, NULL, 0)");
    RunOptions options;
    options.params = {"frames.skip=*/util.py"};
    EXPECT_EQ(runSample().findings[0].locations[0].function, "wrap");
    EXPECT_EQ(runSample(options).findings[0].locations[0].function, "train");
}

TEST_F(RuleRunnerTest, BrokenRulesDoNotStopTheOthers) {
    coverAll();
    gap(1, 0, 9'000'000);
    const std::string columns = "SELECT process_id, start_ns, end_ns";
    const std::vector<RuleFile> rules{ruleWith("GD902", columns + " FROM no_such_table"),
        ruleWith("GD903", "DELETE FROM replay_gap"), ruleWith("GD904", "ATTACH 'x.db' AS x"),
        ruleWith("GD905", columns + " FROM replay_gap; DELETE FROM replay_gap"),
        ruleWith("GD906", "PRAGMA query_only = OFF"), ruleWith("GD907", "SELECT load_extension('x')"),
        ruleWith("GD908", "SELECT 1 AS process_id, 0 AS start_ns"),
        ruleWith("GD909", columns + ", step AS start_ns FROM replay_gap"),
        ruleWith("GD910", "SELECT NULL AS process_id, 0 AS start_ns, 0 AS end_ns"),
        ruleWith("GD911", columns + ", 'x' AS cost_ns FROM replay_gap"),
        ruleWith("GD912", columns + ", 'fatal' AS severity FROM replay_gap"),
        ruleWith("GD913", columns + ", 'sure' AS confidence FROM replay_gap"),
        ruleWith("GD914", columns + ", 'graph' AS root_kind FROM replay_gap"), sampleRule()};
    const RuleRun result = run(rules);
    ASSERT_EQ(result.outcomes.size(), rules.size());
    for (std::size_t i = 0; i + 1 < rules.size(); ++i) {
        EXPECT_EQ(result.outcomes[i].outcome, Outcome::notEvaluated) << rules[i].id;
        EXPECT_TRUE(result.outcomes[i].failed) << rules[i].id;
        EXPECT_THAT(result.outcomes[i].reason, HasSubstr("GD901-sample-gap.sql:15")) << rules[i].id;
    }
    EXPECT_EQ(result.outcomes.back().outcome, Outcome::fired);
    EXPECT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.issues.size(), rules.size() - 1);
    EXPECT_EQ(result.issues[0].code, "rule_failed");
    EXPECT_EQ(*db.queryInt64("SELECT count(*) FROM replay_gap"), 1);
}

TEST_F(RuleRunnerTest, PlaceOfAQueryErrorIsItsLine) {
    const RuleRun result
        = run({ruleWith("GD902", "SELECT process_id,\n  start_ns,\n  nonsense\nFROM replay_gap")});
    EXPECT_THAT(result.outcomes[0].reason, HasSubstr("GD901-sample-gap.sql:17: no such column: nonsense"));
}

TEST_F(RuleRunnerTest, EndlessRuleIsStoppedAndOthersRun) {
    coverAll();
    gap(1, 0, 9'000'000);
    RunOptions options;
    options.timeLimit = 50ms;
    const char* endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                          "SELECT 1 AS process_id, max(i) AS start_ns, 0 AS end_ns FROM n";
    const char* flood = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                        "SELECT 1 AS process_id, i AS start_ns, 0 AS end_ns FROM n";
    const RuleRun result = run({ruleWith("GD902", endless), ruleWith("GD903", flood), sampleRule()}, options);
    EXPECT_EQ(result.outcomes[0].reason, "the rule took longer than 0.05 s");
    EXPECT_EQ(result.outcomes[1].reason, "the rule took longer than 0.05 s");
    EXPECT_EQ(result.outcomes[2].outcome, Outcome::fired);
    EXPECT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.issues[0].code, "rule_timeout");
}

TEST_F(RuleRunnerTest, RunsOnAHardenedConnection) {
    coverAll();
    gap(1, 0, 9'000'000);
    ASSERT_TRUE(db.harden());
    EXPECT_EQ(runSample().outcomes[0].outcome, Outcome::fired);
}

TEST_F(RuleRunnerTest, ColumnsMayLowerConfidenceAndReplaceSeverity) {
    gap(1, 0, 9'000'000);
    RuleFile rule = ruleWith("GD902",
        "SELECT process_id, start_ns, end_ns, 'error' AS severity, 'high' AS confidence, NULL AS root_id "
        "FROM replay_gap");
    rule.confidence = Confidence::medium;
    rule.root = RootKind::capture;
    const Finding finding = run({rule}).findings[0];
    EXPECT_EQ(finding.severity, Severity::error);
    EXPECT_EQ(finding.confidence, Confidence::medium);
    EXPECT_EQ(finding.rootId, std::nullopt);
    EXPECT_EQ(finding.locationReason, "the finding is about the run as a whole, not about one call");
}

TEST_F(RuleRunnerTest, WithoutAStackItSaysThatNoneWasRecorded) {
    gap(1, 0, 9'000'000);
    const RuleFile rule
        = ruleWith("GD902", "SELECT process_id, start_ns, end_ns, NULL AS stack_id FROM replay_gap");
    EXPECT_EQ(run({rule}).findings[0].locationReason, "no call stack was recorded");
}

TEST_F(RuleRunnerTest, ManyFindingsAreCountedNotKept) {
    const char* many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50) "
                       "SELECT 1 AS process_id, i AS start_ns, i AS end_ns FROM n";
    RunOptions options;
    options.maxFindings = 20;
    const RuleRun result = run({ruleWith("GD902", many)}, options);
    EXPECT_EQ(result.findings.size(), 20U);
    EXPECT_EQ(result.outcomes[0].count, 50);
    EXPECT_EQ(result.issues[0].code, "rule_truncated");
    EXPECT_EQ(result.issues[0].count, 30);
}

TEST_F(RuleRunnerTest, MergesRanks) {
    exec("UPDATE process SET rank = 0");
    process(2, "1");
    coverAll(1);
    coverAll(2);
    gap(1, 0, 9'000'000);
    gap(2, 0, 9'000'000);
    const RuleRun result = runSample();
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].ranks, (std::vector<base::RankId>{base::RankId(0), base::RankId(1)}));
    EXPECT_EQ(result.outcomes[0].count, 2);
}

TEST_F(RuleRunnerTest, EndlessViewInATraceIsStopped) {
    exec("DROP TABLE coverage; CREATE VIEW coverage AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + "
         "1 FROM n) "
         "SELECT i AS process_id, 'callbacks' AS source, 0 AS from_ns, 9 AS to_ns, 'complete' AS state, NULL "
         "AS "
         "reason FROM n WHERE i < 0");
    RunOptions options;
    options.timeLimit = 50ms;
    const std::vector<RuleFile> rules{sampleRule()};
    EXPECT_EQ(runRules(db, rules, options).error().code, ErrorCode::timeLimit);
}

TEST_F(RuleRunnerTest, RefusesADatabaseThatIsNoTrace) {
    Db other = std::move(Db::openInMemory()).value();
    const std::vector<RuleFile> rules{sampleRule()};
    EXPECT_EQ(runRules(other, rules, {}).error().message,
        ":memory: is not a GraphDoctor trace: it has no table coverage");
}

} // namespace
} // namespace gd::rules
