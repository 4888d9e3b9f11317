// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace gd;
using report::Filter;
using report::Report;

namespace {

std::string fileText(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

Db trace(const std::string& rows) {
    Db db = Db::openInMemory().value();
    const std::string folder = GD_SCHEMA_DIR;
    db.exec(fileText(folder + "/001_raw.sql")).value();
    db.exec(fileText(folder + "/facts.sql")).value();
    db.exec(rows).value();
    return db;
}

constexpr char kTwoRanks[] = R"(
INSERT INTO meta VALUES ('start_unix_ns', '1700000000000000000'), ('duration_ns', '5000'),
  ('exit_status', '3'), ('level', 'full'), ('runtime_seen', '1');
INSERT INTO process(process_id, pid, rank, role, start_ns, end_ns, ended)
VALUES (1, 10, 1, 'primary', 0, 5000, 'closed'), (2, 11, 0, 'primary', 0, 5000, 'unknown');
INSERT INTO trace_issue(severity, code, count, detail)
VALUES ('info', 'note', 1, 'a note'), ('error', 'bad', 1, 'an error'), ('data_loss', 'lost', 2, 'lost');
INSERT INTO vital_sign(process_id, name, value, unit, state, verdict)
VALUES (1, 'replay_gap.p99_ns', 10, 'ns', 'complete', 'ok'),
  (2, 'replay_gap.p99_ns', 20, 'ns', 'complete', 'look'),
  (0, 'replay_gap.p99_ns', 20, 'ns', 'complete', 'look');
INSERT INTO step(process_id, step, start_ns, end_ns, method, kind, replays, captures)
VALUES (1, 0, 0, 1000, 'known_range', 'warmup', 0, 0), (1, 1, 1000, 2000, 'known_range', 'steady', 1, 0),
  (2, 0, 0, 1000, 'known_range', 'warmup', 0, 0);
)";

rules::Finding finding(const char* rule, std::int64_t process, std::optional<std::int64_t> rank,
    std::optional<std::int64_t> step) {
    rules::Finding f;
    f.rule = rule;
    f.severity = rules::Severity::warning;
    f.processId = base::ProcessId(process);
    if (rank)
        f.rank = base::RankId(*rank);
    f.step = step;
    return f;
}

TEST(ReportModel, ReadsTheTrace) {
    Db db = trace(kTwoRanks);
    const Report report = report::readTrace(db, "x.gdt").value();
    EXPECT_EQ(report.durationNs, 5000);
    EXPECT_EQ(report.exitStatus, 3);
    EXPECT_EQ(report.level, "full");
    ASSERT_EQ(report.processes.size(), 2u);
    EXPECT_EQ(report.processes[0].rank, 0);
    ASSERT_EQ(report.issues.size(), 3u);
    EXPECT_EQ(report.issues[0].code, "bad");
    EXPECT_EQ(report.issues[1].code, "lost");
    ASSERT_EQ(report.vitals.size(), 1u);
    ASSERT_EQ(report.vitals[0].values.size(), 3u);
    EXPECT_EQ(report.vitals[0].values[0].processId, 0);
    EXPECT_EQ(report.vitals[0].values[1].rank, 0);
    EXPECT_EQ(report.steps.method, "known_range");
    EXPECT_EQ(report.steps.count, 2);
}

TEST(ReportModel, SaysWhyThereAreNoSteps) {
    Db db = trace("");
    const Report report = report::readTrace(db, "x.gdt").value();
    EXPECT_EQ(report.steps.count, 0);
    EXPECT_THAT(report.steps.reason, testing::HasSubstr("no period of graph launches"));
    EXPECT_FALSE(report.durationNs);
}

TEST(ReportModel, ARankFilterKeepsWhatConcernsThatRank) {
    Db db = trace(kTwoRanks);
    Report report = report::readTrace(db, "x.gdt").value();
    report::addFindings(
        report, {finding("GD1", 1, 1, {}), finding("GD2", 2, 0, {}), finding("GD3", 1, {}, {})}, {}, {});
    report::applyFilter(report, db, Filter{.rank = 1, .steps = {}}).value();
    ASSERT_EQ(report.findings.size(), 2u);
    EXPECT_EQ(report.findings[0].rule, "GD1");
    EXPECT_EQ(report.findings[1].rule, "GD3");
    EXPECT_EQ(report.hiddenFindings, 1);
    EXPECT_EQ(report.processes.size(), 1u);
    EXPECT_EQ(report.vitals[0].values.size(), 2u); // the job's and rank 1's
}

TEST(ReportModel, AStepFilterUsesStepsAndElseTimes) {
    Db db = trace(kTwoRanks);
    Report report = report::readTrace(db, "x.gdt").value();
    rules::Finding timed = finding("GD3", 1, {}, {});
    timed.startNs = 500;
    timed.endNs = 999;
    rules::Finding later = timed;
    later.rule = "GD4";
    later.endNs = 1500;
    report::addFindings(report,
        {finding("GD1", 1, {}, 0), finding("GD2", 1, {}, 1), timed, later, finding("GD5", 1, {}, {})}, {},
        {});
    report::applyFilter(report, db, Filter{.rank = {}, .steps = std::pair<std::int64_t, std::int64_t>(1, 9)})
        .value();
    std::vector<std::string> left;
    for (const auto& f : report.findings)
        left.push_back(f.rule);
    EXPECT_THAT(left, testing::UnorderedElementsAre("GD2", "GD4", "GD5"));
}

TEST(ReportModel, AFilterOutsideTheTraceIsAUsageError) {
    Db db = trace(kTwoRanks);
    Report report = report::readTrace(db, "x.gdt").value();
    const auto rank = report::applyFilter(report, db, Filter{.rank = 7, .steps = {}});
    ASSERT_FALSE(rank);
    EXPECT_EQ(rank.error().code, ErrorCode::usage);
    const auto steps = report::applyFilter(
        report, db, Filter{.rank = {}, .steps = std::pair<std::int64_t, std::int64_t>(50, 60)});
    ASSERT_FALSE(steps);
    EXPECT_EQ(steps.error().code, ErrorCode::usage);
}

TEST(ReportModel, IssuesOfRulesStandWithThoseOfTheTrace) {
    Db db = trace(kTwoRanks);
    Report report = report::readTrace(db, "x.gdt").value();
    report::addFindings(report, {}, {}, {{std::nullopt, "error", "aaa", 1, "x.sql:3: expected a query"}});
    ASSERT_EQ(report.issues.size(), 4u);
    EXPECT_EQ(report.issues[0].detail, "x.sql:3: expected a query");
}

TEST(ReportModel, CountsHeadsOnly) {
    Report report;
    rules::Finding head = finding("GD1", 1, {}, {});
    head.folded = {finding("GD2", 1, {}, {}), finding("GD3", 1, {}, {})};
    report.findings = {head};
    EXPECT_EQ(report::countAtLeast(report, rules::Severity::warning), 1);
    EXPECT_EQ(report::countAtLeast(report, rules::Severity::error), 0);
}

// Ten steps of 100 ns with recording at `first`, then ten of `laterNs` at `later`, after three of warm-up.
std::string switched(const char* first, const char* later, int laterNs) {
    std::string rows = "INSERT INTO process(process_id, pid, role, start_ns, end_ns, ended) "
                       "VALUES (1, 10, 'primary', 0, 90000, 'closed');";
    rows += fmt::format(
        "INSERT INTO recording_state VALUES (1, 0, '{}', 0), (1, 2500, '{}', 1);", first, later);
    for (int i = 0; i < 23; ++i) {
        const int start = i < 13 ? 200 * i : 3000 + 1000 * (i - 13);
        rows += fmt::format("INSERT INTO step(process_id, step, start_ns, end_ns, method, kind, replays, "
                            "captures) VALUES (1, {}, {}, {}, 'step_range', '{}', 0, 0);",
            i, start, start + (i < 13 ? 100 + i : laterNs + i),
            i < 3        ? "warmup"
                : i < 13 ? "outside"
                         : "steady");
    }
    return rows;
}

TEST(Overhead, IsTheRatioOfMediansInsideOneProcess) {
    Db db = trace(switched("off", "standard", 120));
    const auto overhead = report::measureOverhead(db);
    ASSERT_TRUE(overhead) << overhead.error().message;
    // Steps 3 to 11 lie before the switch (the 13th holds it), of 103 to 111 ns; steps 13 to 22 after it.
    ASSERT_TRUE(overhead->ratio) << overhead->reason;
    EXPECT_EQ(overhead->bare.steps, 9);
    EXPECT_EQ(overhead->bare.medianNs, 107);
    EXPECT_EQ(overhead->bare.lowNs, 105);
    EXPECT_EQ(overhead->bare.highNs, 109);
    EXPECT_EQ(overhead->recorded.steps, 10);
    EXPECT_EQ(overhead->recorded.medianNs, 137);
    EXPECT_DOUBLE_EQ(*overhead->ratio, 137.0 / 107.0);
    EXPECT_FALSE(overhead->historyOnly);
}

TEST(Overhead, SaysThatHistoryIsNotBare) {
    Db db = trace(switched("history", "light", 120));
    EXPECT_TRUE(report::measureOverhead(db)->historyOnly);
}

TEST(Overhead, SaysNothingOfAProcessInWhichTheLevelSwitchedNothing) {
    const std::string sql = switched("history", "standard", 120);
    Db db = trace(
        sql + "INSERT INTO process_fact VALUES (1, 'activity_not_switched', 'beside communicators');");
    EXPECT_FALSE(report::measureOverhead(db)->ratio);
    Db given
        = trace("INSERT INTO process_fact VALUES (1, 'overhead_not_measured', 'nothing is switched here');");
    EXPECT_EQ(report::measureOverhead(given)->reason, "nothing is switched here");
}

TEST(Overhead, ComparesWithStepsNearby) {
    // Much later the job has another pace.
    Db db = trace(switched("off", "standard", 120)
        + "INSERT INTO step(process_id, step, start_ns, end_ns, method, kind, replays, captures) SELECT "
          "process_id, step + 100, start_ns + 60000000000, end_ns + 60000000500, method, kind, 0, 0 FROM "
          "step "
          "WHERE step >= 13;");
    const auto overhead = report::measureOverhead(db);
    ASSERT_TRUE(overhead->ratio) << overhead->reason;
    EXPECT_EQ(overhead->recorded.steps, 10);
    EXPECT_EQ(overhead->recorded.medianNs, 137);
}

TEST(Overhead, IsNotMeasuredWithoutBothSides) {
    Db never = trace(switched("standard", "full", 120));
    EXPECT_THAT(report::measureOverhead(never)->reason, testing::HasSubstr("not switched off and on"));
    Db few = trace(switched("off", "standard", 120) + "DELETE FROM step WHERE step > 16;");
    const auto overhead = report::measureOverhead(few);
    EXPECT_FALSE(overhead->ratio);
    EXPECT_THAT(overhead->reason, testing::HasSubstr("4 steps with it and 9 without are too few"));
}

} // namespace
