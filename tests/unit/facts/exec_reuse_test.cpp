// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/stats.h"
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

TEST(ExecReuse, CountsAndMedians) {
    TraceBuilder trace;
    addSteps(trace, 8, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm", "gelu"}, "step/cycle");
    for (int i = 0; i < 8; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        trace.replay(1, t, t + (i + 1) * kUs, t + 50 * kUs, t + 50 * kUs + kMs);
    }
    trace.replay(1, 90 * kMs, 90 * kMs + 1, -1, -1, {.result = 1});
    trace.sql("INSERT INTO exec_update VALUES (1, 1, 1, 500, 600, 1, 0, 0, NULL), (1, 1, 1, 700, 800, 1, "
              "910, 2, NULL)");
    build(trace);
    EXPECT_EQ(trace.number("SELECT replays FROM exec_reuse"), 8);
    EXPECT_EQ(trace.number("SELECT steady_replays FROM exec_reuse"), 5);
    EXPECT_EQ(trace.number("SELECT updates FROM exec_reuse"), 1);
    EXPECT_EQ(trace.number("SELECT failed_updates FROM exec_reuse"), 1);
    EXPECT_EQ(trace.number("SELECT median_replay_ns FROM exec_reuse"), kMs);
    EXPECT_EQ(trace.number("SELECT median_launch_ns FROM exec_reuse"), 4'500);
    EXPECT_EQ(trace.number("SELECT node_count FROM exec_reuse"), 2);
    EXPECT_EQ(trace.number("SELECT instantiate_ns FROM exec_reuse"), 10);
    EXPECT_TRUE(trace.isNull("SELECT interval_cv FROM exec_reuse"));
}

// 40 steps of 10 ms with one replay each, launched `delayNs(i)` after the start of the step.
template <class Delay> void addLaunches(TraceBuilder& trace, Delay&& delayNs) {
    addSteps(trace, 40, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    for (int i = 0; i < 40; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs + delayNs(i);
        trace.replay(1, t, t + 10 * kUs, t + 20 * kUs, t + 3 * kMs);
    }
}

TEST(ExecReuse, RegularLaunchesDoNotVary) {
    TraceBuilder trace;
    addLaunches(trace, [](int) { return 0; });
    build(trace);
    EXPECT_EQ(trace.number("SELECT intervals FROM exec_reuse"), 36);
    EXPECT_EQ(trace.number("SELECT interval_median_ns FROM exec_reuse"), 10 * kMs);
    EXPECT_NEAR(trace.real("SELECT interval_cv FROM exec_reuse"), 0, 1e-9);
    EXPECT_EQ(trace.number("SELECT idle_spread_ns FROM exec_reuse"), 0);
}

TEST(ExecReuse, LateLaunchesShowInIntervalsAndIdleTime) {
    TraceBuilder trace;
    addLaunches(trace, [](int i) { return i % 3 == 0 ? 6 * kMs : 0; });
    build(trace);
    EXPECT_GT(trace.real("SELECT interval_cv FROM exec_reuse"), 0.3);
    EXPECT_GT(trace.real("SELECT interval_spread FROM exec_reuse"), 0.3);
    EXPECT_GT(trace.number("SELECT idle_spread_ns FROM exec_reuse"), 3 * kMs);
}

TEST(ExecReuse, TheGraphThatIsLateIsTheOneToBlame) {
    TraceBuilder trace;
    addSteps(trace, 40, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.capturedGraph(2, 30, 40, {"adamw"});
    for (int i = 0; i < 40; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs + (i % 3 == 0 ? 5 * kMs : 0);
        trace.replay(1, t, t + 10 * kUs, t + 20 * kUs, t + kMs);
        trace.replay(2, t + 20 * kUs, t + 30 * kUs, t + kMs, t + 2 * kMs);
    }
    build(trace);
    EXPECT_EQ(trace.number("SELECT idle_spread_ns FROM exec_reuse WHERE exec_id = 2"), 0);
    EXPECT_GT(trace.number("SELECT idle_spread_ns FROM exec_reuse WHERE exec_id = 1"), 4 * kMs);
    EXPECT_EQ(trace.number("SELECT late_ns FROM exec_reuse WHERE exec_id = 2"), 0);
    EXPECT_GT(trace.number("SELECT late_ns FROM exec_reuse WHERE exec_id = 1"), 50 * kMs);
}

TEST(ExecReuse, OnAHostDeviceSlowWorkIsNoise) {
    TraceBuilder trace;
    trace.hostDevice(100 * kUs);
    addSteps(trace, 40, 100 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    for (int i = 0; i < 40; ++i) {
        const std::int64_t t = (i + 1) * 100 * kMs;
        trace.replay(1, t, t + 10 * kUs, t + 20 * kUs, t + (i % 2 == 0 ? 30 : 60) * kMs);
    }
    build(trace);
    EXPECT_NEAR(static_cast<double>(trace.number("SELECT noise_ns FROM exec_reuse")), 30e6, 1e5);
}

TEST(ExecReuse, SingleOutliersMoveOnlyTheCoefficient) {
    TraceBuilder trace;
    addSteps(trace, 40, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    for (int i = 0; i < 40; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs + (i == 20 ? 9 * kMs : 0);
        trace.replay(1, t, t + 10 * kUs, t + 20 * kUs, t + kMs);
    }
    build(trace);
    EXPECT_GT(trace.real("SELECT interval_cv FROM exec_reuse"), 0.15);
    EXPECT_EQ(trace.real("SELECT interval_spread FROM exec_reuse"), 0);
}

TEST(ExecReuse, OtherGraphsInBetweenAreAnotherPopulation) {
    TraceBuilder trace;
    addSteps(trace, 43, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.capturedGraph(2, 30, 40, {"eval", "eval"});
    std::int64_t t = 10 * kMs;
    std::vector<std::int64_t> starts;
    // Every second step holds another graph and takes twice as long: not irregular, two kinds of steps.
    trace.sql("DELETE FROM nvtx_range");
    for (int i = 0; i < 40; ++i) {
        const std::int64_t length = i % 2 == 0 ? 10 * kMs : 20 * kMs;
        trace.range(1, "step", t, t + length);
        trace.replay(1, t, t + 10 * kUs, t + 20 * kUs, t + 3 * kMs);
        if (i % 2 != 0)
            trace.replay(2, t + 5 * kMs, t + 5 * kMs + 10, t + 6 * kMs, t + 9 * kMs);
        t += length;
    }
    build(trace);
    EXPECT_NEAR(trace.real("SELECT interval_cv FROM exec_reuse WHERE exec_id = 1"), 0, 1e-9);
    EXPECT_EQ(trace.real("SELECT interval_spread FROM exec_reuse WHERE exec_id = 1"), 0);
}

TEST(Percentile, InterpolatesBetweenRanks) {
    EXPECT_EQ(percentile(std::vector<int>{4, 1, 3, 2}, 50.0), 2.5);
    EXPECT_EQ(percentile(std::vector<int>{10, 20, 30, 40, 50}, 90.0), 46.0);
    EXPECT_EQ(percentile(std::vector<int>{}, 50.0), std::nullopt);
    EXPECT_DOUBLE_EQ(coefficientOfVariation(std::vector<int>{2, 4}), std::sqrt(2.0) / 3);
}

} // namespace
} // namespace gd::facts
