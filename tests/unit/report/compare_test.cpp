// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/compare.h"

#include "analyzer/report/compare/figures.h"
#include "analyzer/report/compare/match.h"
#include "analyzer/report/compare/words.h"
#include "tests/unit/report/made_trace.h"
#include "tests/unit/report/schema_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

using namespace gd;
using namespace gd::report;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

using Made = gd::test::MadeTrace;

Comparison comparisonOf(Made& base, Made& fresh, const CompareOptions& options = {}) {
    return compare({base.db, base.report()}, {fresh.db, fresh.report()}, options).value();
}

class Compare : public testing::Test {
protected:
    Compare() {
        base.process(1, std::nullopt);
        fresh.process(1, std::nullopt);
    }
    Made base, fresh;
};

TEST(Spread, IsTheMedianAndTheQuartersBetweenTheClosestValues) {
    std::vector<double> values{50, 10, 40, 20, 30, 60};
    const Spread spread = spreadOf(values);
    EXPECT_EQ(spread.count, 6);
    EXPECT_DOUBLE_EQ(spread.median, 35);
    EXPECT_DOUBLE_EQ(spread.low, 22.5);
    EXPECT_DOUBLE_EQ(spread.high, 47.5);
    EXPECT_DOUBLE_EQ(spread.uncertainty(), 1.57 * 25 / std::sqrt(6.0));
    EXPECT_EQ(Spread::exactly(7).uncertainty(), 0);
}

TEST_F(Compare, StepsThatTakeATenthLongerAreWorse) {
    base.steps(1, {100, 100, 100, 102, 98, 100});
    fresh.steps(1, {110, 110, 112, 108, 110, 900}); // an outlier moves nothing
    const Comparison found = comparisonOf(base, fresh);
    const Difference* steps = found.find("steps", "", "duration");
    ASSERT_NE(steps, nullptr);
    EXPECT_EQ(steps->change, Change::worse);
    EXPECT_DOUBLE_EQ(*steps->absolute(), 10);
    EXPECT_DOUBLE_EQ(*steps->relative(), 0.1);
    EXPECT_EQ(judgeRegression(found, 9).what, Verdict::What::regression);
    EXPECT_THAT(judgeRegression(found, 9).why,
        Contains("a step takes 10.0 % longer on the host; up to 2.0 % would be noise"));
    EXPECT_EQ(judgeRegression(found, 11).what, Verdict::What::fine);
    const Comparison back = comparisonOf(fresh, base);
    EXPECT_EQ(back.find("steps", "", "duration")->change, Change::better);
    EXPECT_EQ(judgeRegression(back, 1).what, Verdict::What::fine);
}

TEST_F(Compare, WhatTheThresholdOrTheSpreadHidesIsTheSame) {
    base.steps(1, {1000, 1000, 1000, 1000, 1000});
    fresh.steps(1, {1019, 1019, 1019, 1019, 1019});
    EXPECT_EQ(comparisonOf(base, fresh).find("steps", "", "duration")->change, Change::same);
    CompareOptions sharp;
    sharp.thresholdPercent = 1;
    EXPECT_EQ(comparisonOf(base, fresh, sharp).find("steps", "", "duration")->change, Change::worse);
    Made noisy;
    noisy.process(1, std::nullopt);
    noisy.steps(1, {500, 800, 1100, 1400, 1700}); // median 1100, quarters 800 and 1400
    EXPECT_EQ(comparisonOf(base, noisy).find("steps", "", "duration")->change, Change::same);
}

TEST_F(Compare, FewStepsAreNotCompared) {
    base.steps(1, {100, 100, 100, 100, 100});
    fresh.steps(1, {200, 200, 200, 200});
    const Comparison found = comparisonOf(base, fresh);
    const Difference* steps = found.find("steps", "", "duration");
    EXPECT_EQ(steps->change, Change::unknown);
    EXPECT_EQ(steps->reason, "only 4 values in the new trace, 5 are needed");
    EXPECT_EQ(judgeRegression(found, 5).what, Verdict::What::inconclusive);
}

TEST_F(Compare, ATraceWithoutStepsIsANoteAndInconclusive) {
    base.steps(1, {100, 100, 100, 100, 100});
    const Comparison found = comparisonOf(base, fresh);
    EXPECT_THAT(
        found.notes, Contains(HasSubstr("nothing per step can be compared: the new trace has no steps")));
    EXPECT_EQ(found.alignment.method, "none");
    EXPECT_EQ(found.alignment.reason, "no steps were found in the new trace");
    EXPECT_EQ(judgeRegression(found, 5).what, Verdict::What::inconclusive);
    EXPECT_THAT(
        writeCompareText(found, false), HasSubstr("not aligned: no steps were found in the new trace"));
}

TEST_F(Compare, AnEmptyTraceIsANote) {
    base.steps(1, {100, 100, 100, 100, 100});
    Made empty;
    empty.sql("UPDATE meta SET value = '0' WHERE key = 'runtime_seen'");
    EXPECT_THAT(comparisonOf(base, empty).notes,
        Contains("the new trace is empty: its job never used a runtime that is followed"));
    EXPECT_THAT(comparisonOf(empty, empty).notes, Contains(HasSubstr("the base is empty")));
}

TEST_F(Compare, RanksAreComparedOneByOneAndMissingOnesNamed) {
    Made four, three;
    for (int rank = 0; rank < 4; ++rank) {
        four.process(rank + 1, rank);
        four.steps(rank + 1, {100, 100, 100, 100, 100});
    }
    for (int rank : {0, 1, 3}) {
        three.process(10 - rank, rank);
        three.steps(10 - rank,
            rank == 3 ? std::vector<std::int64_t>{150, 150, 150, 150, 150}
                      : std::vector<std::int64_t>{100, 100, 100, 100, 100});
    }
    const Comparison found = comparisonOf(four, three);
    EXPECT_THAT(found.notes, Contains("the new trace lacks rank 2"));
    EXPECT_THAT(found.notes, Contains(HasSubstr("the base has 4 ranks, the new trace 3 ranks")));
    EXPECT_EQ(found.find("steps", "", "duration", 3)->change, Change::worse);
    EXPECT_EQ(found.find("steps", "", "duration", 0)->change, Change::same);
    EXPECT_EQ(found.find("steps", "", "duration", 2), nullptr);
    EXPECT_EQ(found.find("steps", "", "duration")->change, Change::same); // median of all ranks
    EXPECT_EQ(found.alignment.rank, 0);
    EXPECT_EQ(found.alignment.newProcess, 10);
}

TEST_F(Compare, GraphsMeetBySignatureWhenTheirNamesDiffer) {
    const auto graph = [](Made& trace, int exec, const char* name, std::int64_t signature, std::int64_t ns) {
        trace.sql(fmt::format("INSERT INTO exec_reuse (process_id, exec_id, graph_name, signature, start_ns, "
                              "end_ns, node_count, replays, steady_replays, updates, failed_updates, "
                              "instantiate_ns, repeats, is_optimizer, intervals, noise_ns) "
                              "VALUES (1, {}, '{}', {}, 0, 0, 7, 5, 5, 0, 0, 0, 0, 0, 0, 0)",
            exec, name, signature));
        for (int i = 0; i < 5; ++i)
            trace.sql(
                fmt::format("INSERT INTO replay (track_id, process_id, exec_id, launch_start_ns, "
                            "launch_end_ns, result, start_ns, end_ns, detail) VALUES (1, 1, {}, {}, {}, 0, "
                            "2000, {}, 'graph')",
                    exec, 1000 + i, 1010 + i, 2000 + ns));
    };
    base.steps(1, {100, 100, 100, 100, 100});
    fresh.steps(1, {100, 100, 100, 100, 100});
    graph(base, 1, "forward", 11, 300);
    graph(fresh, 8, "graph 8", 11, 330); // the same nodes under another name
    graph(base, 2, "optimizer", 22, 50);
    graph(fresh, 9, "optimizer", 99, 40); // the same region with other nodes
    graph(base, 3, "gone", 33, 10);
    const Comparison found = comparisonOf(base, fresh);
    EXPECT_DOUBLE_EQ(*found.find("graphs", "forward", "replay on the device")->absolute(), 30);
    EXPECT_EQ(found.find("graphs", "forward", "replay on the device")->change, Change::worse);
    EXPECT_EQ(found.find("graphs", "optimizer", "replay on the device")->change, Change::better);
    EXPECT_EQ(found.find("graphs", "gone", "replay on the device")->change, Change::onlyBase);
    EXPECT_EQ(found.find("graphs", "graph 8", "replay on the device"), nullptr);
    EXPECT_DOUBLE_EQ(found.find("graphs", "forward", "replays a step")->base->median, 1);
}

TEST_F(Compare, KernelsBySumAStepAndByDuration) {
    const auto kernels = [](Made& trace, int gemms, std::int64_t ns) {
        trace.steps(1, {1000, 1000, 1000, 1000, 1000}); // from 1000 to 6000
        trace.sql(
            "INSERT INTO track (track_id, process_id, table_name, name, row_count) "
            "VALUES (1, 1, 'kernel', 's', 0);"
            "INSERT INTO string VALUES (1, 'gemm'), (2, 'norm');"
            "INSERT INTO kernel_shape VALUES (1, 1, 1,1,1,1,1,1,0,0,0), (2, 2, 1,1,1,1,1,1,0,0,0),"
            " (3, 1, 2,1,1,1,1,1,0,0,0);" // a second shape of the same name
            "INSERT INTO kernel (track_id, start_ns, dur_ns, shape_id) VALUES (1, 10, 5000, 1)"); // warm-up
        for (int i = 0; i < gemms; ++i)
            trace.sql(fmt::format("INSERT INTO kernel (track_id, start_ns, dur_ns, shape_id) "
                                  "VALUES (1, {}, {}, {})",
                1000 + i, ns, i % 2 == 0 ? 1 : 3));
    };
    kernels(base, 10, 200);
    kernels(fresh, 20, 200);
    fresh.sql("INSERT INTO kernel (track_id, start_ns, dur_ns, shape_id) VALUES (1, 2000, 50, 2)");
    Comparison found = comparisonOf(base, fresh);
    EXPECT_EQ(found.find("kernels", "gemm", "duration")->change, Change::same);
    EXPECT_EQ(found.find("kernels", "gemm", "time a step")->change, Change::unknown); // no coverage
    EXPECT_EQ(found.find("kernels", "norm", "duration")->change, Change::onlyNew);
    for (Made* trace : {&base, &fresh})
        trace->sql("INSERT INTO coverage VALUES (1, 'eager_kernel_activity', 0, 9000, 'complete', NULL), "
                   "(1, 'node_activity', 0, 9000, 'complete', NULL)");
    found = comparisonOf(base, fresh);
    const Difference* sum = found.find("kernels", "gemm", "time a step");
    EXPECT_DOUBLE_EQ(sum->base->median, 400); // 10 of 200 ns over 5 steps
    EXPECT_DOUBLE_EQ(sum->fresh->median, 800);
    EXPECT_EQ(sum->change, Change::worse);
    EXPECT_DOUBLE_EQ(found.find("kernels", "gemm", "launches a step")->fresh->median, 4);
    // A host that runs ahead: on the device the same kernels are those of two steps.
    fresh.sql(
        "INSERT INTO device_busy VALUES (1, 0, 3, 1, 1000, 3000, 0, 0, 0, 0, 0, 0, 0, 'node', 0, 1, NULL), "
        "(1, 0, 4, 1, 3000, 6000, 0, 0, 0, 0, 0, 0, 0, 'node', 0, 1, NULL)");
    EXPECT_DOUBLE_EQ(comparisonOf(base, fresh).find("kernels", "gemm", "launches a step")->fresh->median, 10);
}

TEST_F(Compare, MemoryAndBytes) {
    for (Made* trace : {&base, &fresh}) {
        const int more = trace == &fresh ? 2 : 1;
        trace->steps(1, {100, 100, 100, 100, 100});
        trace->sql("INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) "
                   "VALUES (1, "
            + std::to_string(more * 77) + ", 8, 0, 1), (1, " + std::to_string(more * 78) + ", 2, 0, 2)");
        for (int step = 0; step < 5; ++step) {
            trace->sql(fmt::format(
                "INSERT INTO memory_step (process_id, device_id, step, steady, start_ns, end_ns, "
                "peak_bytes, end_bytes, alloc_bytes, free_bytes, alloc_count, replay_only, known) "
                "VALUES (1, 0, {}, 1, 0, 1, {}, 0, 0, 0, 0, 1, 1)",
                step, 1000 * more));
            for (int comm : {77, 78})
                trace->sql(
                    fmt::format("INSERT INTO nccl_step VALUES (1, {}, 8, {}, 1, 0, 1, {}, {}, 3, 1, 'none', "
                                "NULL, NULL, NULL, 1)",
                        comm * more, step, comm == 77 ? 4096 : 512, 64 * more));
        }
    }
    const Comparison found = comparisonOf(base, fresh);
    EXPECT_EQ(found.find("memory", "", "peak of a step")->change, Change::worse);
    EXPECT_DOUBLE_EQ(*found.find("memory", "", "peak of a step")->relative(), 1);
    EXPECT_EQ(judgeRegression(found, 50).what, Verdict::What::regression);
    EXPECT_EQ(found.find("communication", "8 ranks, no. 1", "in graphs, a step")->change, Change::same);
    EXPECT_DOUBLE_EQ(found.find("communication", "", "in graphs, a step")->base->median, 4608);
    EXPECT_DOUBLE_EQ(*found.find("communication", "", "outside graphs, a step")->absolute(), 128);
    EXPECT_EQ(found.find("communication", "2 ranks, no. 1", "outside graphs, a step")->change, Change::worse);
}

TEST_F(Compare, WholeReplaysHideTheirCommunication) {
    for (Made* trace : {&base, &fresh}) {
        trace->steps(1, {100, 100, 100, 100, 100});
        for (int step = 0; step < 5; ++step)
            trace->sql(
                fmt::format("INSERT INTO device_busy VALUES (1, 0, {}, 1, 0, 100, {}, 70, 20, 10, 60, 0, 1, "
                            "'graph', 0, 1, NULL)",
                    step, trace == &base ? 90 : 80));
    }
    const Comparison found = comparisonOf(base, fresh);
    EXPECT_DOUBLE_EQ(*found.find("device", "", "idle a step")->absolute(), 10);
    EXPECT_EQ(found.find("device", "", "idle a step")->change, Change::worse);
    EXPECT_EQ(found.find("device", "", "exposed communication")->change, Change::unknown);
    EXPECT_THAT(
        found.find("device", "", "exposed communication")->reason, HasSubstr("replays count as a whole"));
}

TEST_F(Compare, FindingsMeetByRuleAndFunction) {
    const auto finding = [](const char* rule, const char* function, std::int64_t line, std::int64_t cost) {
        rules::Finding f;
        f.rule = rule;
        f.title = "title";
        f.severity = rules::Severity::error;
        f.costNs = cost;
        f.locations.push_back({"train.py", line, function, "", "python"});
        return f;
    };
    Report before, after;
    before.findings = {finding("GD301", "step", 10, 100), finding("GD101", "load", 5, 1)};
    after.findings = {finding("GD301", "step", 12, 250), finding("GD202", "step", 7, 3)};
    const auto found = matchFindings(before, after, {});
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].item, "GD202 title");
    EXPECT_EQ(found[0].change, Change::onlyNew);
    EXPECT_EQ(found[1].change, Change::different); // what it costs depends on the length of the run
    EXPECT_DOUBLE_EQ(*found[1].absolute(), 150);
    EXPECT_EQ(found[2].item, "GD101 title");
    EXPECT_EQ(found[2].change, Change::onlyBase);
    Comparison comparison;
    comparison.differences = found;
    EXPECT_THAT(judgeRegression(comparison, 5).why, Contains("new error: GD202 title"));
}

TEST_F(Compare, MoreOfAnErrorThatTheBaseHasIsNoRegression) {
    rules::Finding error;
    error.rule = "GD301";
    error.title = "title";
    error.severity = rules::Severity::error;
    error.costNs = 100;
    error.locations.push_back({"train.py", 10, "step", "", "python"});
    base.steps(1, {100, 100, 100, 100, 100});
    fresh.steps(1, {100, 100, 100, 100, 100, 100, 100, 100});
    const auto with = [&](std::vector<rules::Finding> before, std::vector<rules::Finding> after) {
        Report left = base.report(), right = fresh.report();
        left.findings = std::move(before);
        right.findings = std::move(after);
        return compare({base.db, left}, {fresh.db, right}, {}).value();
    };
    const Comparison more = with({error}, {error, error, error});
    const Difference* line = more.find("findings", "GD301 title", "cost");
    ASSERT_NE(line, nullptr);
    EXPECT_EQ(line->change, Change::different);
    EXPECT_EQ(line->baseCount, 1);
    EXPECT_EQ(line->newCount, 3);
    EXPECT_DOUBLE_EQ(line->fresh->median, 300);
    EXPECT_EQ(judgeRegression(more, 5).what, Verdict::What::fine);
    EXPECT_THAT(writeCompareText(more, false), HasSubstr("1 / 3      100 ns      300 ns  +200 ns"));
    const auto json = nlohmann::json::parse(writeCompareJson(more));
    EXPECT_EQ(json["differences"].back()["new_count"], 3);
    const auto schema = nlohmann::json::parse(std::ifstream(GD_COMPARE_SCHEMA));
    EXPECT_THAT(gd::test::schemaViolations(schema, json), IsEmpty());
    // In another function it is another one, and new; told once however often it is there.
    rules::Finding other = error;
    other.locations[0].function = "load";
    const Verdict verdict = judgeRegression(with({error}, {error, other, other}), 5);
    EXPECT_EQ(verdict.what, Verdict::What::regression);
    EXPECT_EQ(verdict.why, std::vector<std::string>{"new error: GD301 title"});
}

TEST_F(Compare, StepsAlignByTheNumbersInTheirNames) {
    base.steps(1, {10, 10, 10, 10}, 100, "ProfilerStep#"); // 100 … 103
    fresh.steps(1, {20, 20, 20, 20}, 102, "ProfilerStep#"); // 102 … 105
    const Alignment found = alignSteps(base.db, fresh.db).value();
    EXPECT_EQ(found.method, "name");
    ASSERT_EQ(found.pairs.size(), 2u);
    EXPECT_EQ(found.pairs[0].baseStep, 2);
    EXPECT_EQ(found.pairs[0].newStep, 0);
    EXPECT_EQ(found.pairs[0].baseStartNs, 1020);
    EXPECT_EQ(found.pairs[0].newStartNs, 1000);
    Made far;
    far.process(1, std::nullopt);
    far.steps(1, {10, 10}, 900, "ProfilerStep#");
    EXPECT_EQ(alignSteps(base.db, far.db).value().method, "none");
}

TEST_F(Compare, StepsAlignByNumberFromTheFirst) {
    base.steps(1, {10, 10, 10, 10});
    fresh.steps(1, {20, 20, 20}, 1);
    const Alignment found = alignSteps(base.db, fresh.db).value();
    EXPECT_EQ(found.method, "number");
    ASSERT_EQ(found.pairs.size(), 3u);
    EXPECT_EQ(found.pairs[0].baseStep, 1);
    EXPECT_EQ(found.pairs[0].baseEndNs, 1020);
    EXPECT_EQ(found.pairs[0].newEndNs, 1020);
    Made late;
    late.process(1, std::nullopt);
    late.steps(1, {10, 10}, 900);
    EXPECT_EQ(alignSteps(base.db, late.db).value().reason, "no number of a step is in both traces");
}

TEST_F(Compare, RanksInCommonAreNeededToAlign) {
    Made left, right;
    for (int rank : {0, 1}) {
        left.process(rank + 1, rank);
        left.steps(rank + 1, {10, 10});
        right.process(rank + 1, rank + 4);
        right.steps(rank + 1, {10, 10});
    }
    const Alignment found = alignSteps(left.db, right.db).value();
    EXPECT_EQ(found.method, "none");
    EXPECT_EQ(found.reason, "the traces have no rank with steps in common");
}

TEST(CompareWords, SayDifferences) {
    Difference d;
    d.unit = "ns";
    d.base = Spread::exactly(1000);
    d.fresh = Spread::exactly(1100);
    EXPECT_EQ(deltaText(d), "+100 ns (+10.0 %)");
    d.fresh = Spread::exactly(900);
    EXPECT_EQ(deltaText(d), "-100 ns (-10.0 %)");
    d.fresh = Spread::exactly(50'000);
    EXPECT_EQ(deltaText(d), "+49.0 us (50 times)");
    d.fresh = Spread::exactly(1'253'400);
    EXPECT_EQ(deltaText(d), "+1.25 ms (1253 times)");
    d.fresh = d.base;
    EXPECT_EQ(deltaText(d), "0");
    d.base.reset();
    EXPECT_EQ(deltaText(d), "");
}

TEST_F(Compare, JsonFollowsItsSchema) {
    base.steps(1, {100, 100, 100, 100, 100});
    fresh.steps(1, {110, 110, 110, 110, 110});
    fresh.sql("UPDATE meta SET value = 'train \x1b[31m --lr' WHERE key = 'command_line'");
    const Comparison found = comparisonOf(base, fresh);
    const auto schema = nlohmann::json::parse(std::ifstream(GD_COMPARE_SCHEMA));
    const auto json = nlohmann::json::parse(writeCompareJson(found));
    EXPECT_THAT(gd::test::schemaViolations(schema, json), IsEmpty());
    EXPECT_EQ(json["differences"][0]["change"], "worse");
    EXPECT_EQ(json["alignment"]["pairs"].size(), 5u);
    const std::string text = writeCompareText(found, false);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_THAT(text, HasSubstr("+10 ns (+10.0 %)  worse\n"));
    EXPECT_THAT(text, HasSubstr("commands differ"));
}

} // namespace
