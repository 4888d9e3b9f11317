// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

#include <string>
#include <vector>

namespace gd::facts {
namespace {

// Eight steps of 1 ms, one after another from 1 ms on, of which the first three are warm-up. Work of a step
// ends with the step, so that the device's steps are those of the host.
class GraphPayoffTest : public testing::Test {
protected:
    static constexpr int kSteps = 8;
    static constexpr int kWarmup = 3;

    void SetUp() override {
        addSteps(trace, kSteps, kMs);
        trace.capturedGraph(1, 10, 20, {"gemm"});
    }
    // Work of every step: fn(start of the step).
    template <class Fn> void eachStep(Fn&& fn) {
        for (int i = 0; i < kSteps; ++i)
            fn((i + 1) * kMs);
    }
    std::int64_t payoff(const std::string& column) {
        return trace.number("SELECT " + column + " FROM graph_payoff");
    }
    std::int64_t idleSum() {
        return payoff("single_idle_ns + replay_host_idle_ns + replay_call_idle_ns + replay_start_idle_ns "
                      "+ sync_idle_ns + data_idle_ns + call_idle_ns + other_idle_ns");
    }

    TraceBuilder trace;
};

TEST_F(GraphPayoffTest, IdleTimesSayWhatTheDeviceWaitedForAndAddUp) {
    eachStep([&](std::int64_t t) {
        trace.launch(1, "tanh", t + 15 * kUs, t + 20 * kUs, t + 30 * kUs, {});
        trace.launch(1, "add", t + 95 * kUs, t + 100 * kUs, t + 130 * kUs, {}); // 70 us late
        trace.replay(1, t + 150 * kUs, t + 170 * kUs, t + 175 * kUs, t + 275 * kUs); // 20 + 20 + 5
        trace.call(1, GD_API_STREAM_SYNCHRONIZE, t + 200 * kUs, t + 276 * kUs);
        trace.launch(1, "mul", t + 300 * kUs, t + 305 * kUs, t + 325 * kUs, {}); // 30 us after a wait
        trace.call(1, GD_API_GRAPH_INSTANTIATE, t + 330 * kUs, t + 370 * kUs);
        trace.launch(1, "mul", t + 375 * kUs, t + 380 * kUs, t + 400 * kUs, {}); // 40 of 55 us
        trace.launch(1, "mul", t + 990 * kUs, t + 995 * kUs, t + 1000 * kUs, {}); // 595 us: no launch
    });
    build(trace);
    const std::int64_t n = kSteps - kWarmup;
    EXPECT_EQ(payoff("steps"), n);
    EXPECT_EQ(payoff("wall_ns"), n * kMs);
    EXPECT_EQ(payoff("busy_ns"), n * (10 + 30 + 100 + 20 + 20 + 5) * kUs);
    EXPECT_EQ(payoff("graph_ns"), n * 100 * kUs);
    EXPECT_EQ(payoff("single_idle_ns"), n * (20 + 70 + 15) * kUs);
    EXPECT_EQ(payoff("replay_host_idle_ns"), n * 20 * kUs);
    EXPECT_EQ(payoff("replay_call_idle_ns"), n * 20 * kUs);
    EXPECT_EQ(payoff("replay_start_idle_ns"), n * 5 * kUs);
    EXPECT_EQ(payoff("sync_idle_ns"), n * 30 * kUs);
    EXPECT_EQ(payoff("call_idle_ns"), n * 40 * kUs);
    EXPECT_EQ(payoff("other_idle_ns"), n * 595 * kUs);
    EXPECT_EQ(idleSum(), payoff("wall_ns - busy_ns"));
    EXPECT_EQ(payoff("replays"), n);
    EXPECT_EQ(payoff("single_kernels"), n * 5);
    EXPECT_EQ(payoff("graph_launch_ns"), n * 20 * kUs);
    EXPECT_EQ(payoff("known"), 1);
    EXPECT_EQ(payoff("devices"), 1);
}

TEST_F(GraphPayoffTest, InputCommunicationAndWorkLaunchedInTimeAreNoLateLaunches) {
    trace.range(1, "next_batch", 5 * kMs + 140 * kUs, 5 * kMs + 160 * kUs, 1);
    eachStep([&](std::int64_t t) {
        trace.replay(1, t - 50 * kUs, t - 40 * kUs, t, t + 100 * kUs);
        trace.launch(1, "mul", t + 165 * kUs, t + 170 * kUs, t + 200 * kUs, {});
        trace.launch(1, "ncclDevKernel_AllReduce", t + 220 * kUs, t + 230 * kUs, t + 300 * kUs, {});
        trace.launch(1, "add", t + 210 * kUs, t + 340 * kUs, t + 1000 * kUs, {}); // waits for something else
    });
    build(trace);
    const std::int64_t n = kSteps - kWarmup;
    EXPECT_EQ(payoff("data_idle_ns"), 20 * kUs);
    EXPECT_EQ(payoff("single_idle_ns"), (n * 70 - 20) * kUs);
    EXPECT_EQ(payoff("other_idle_ns"), n * (30 + 40) * kUs);
    EXPECT_EQ(idleSum(), payoff("wall_ns - busy_ns"));
}

TEST_F(GraphPayoffTest, WithoutALaunchCallTheNextCallTellsWhenItWas) {
    eachStep([&](std::int64_t t) {
        trace.replay(1, t - 50 * kUs, t - 40 * kUs, t, t + 100 * kUs);
        // Correlations between those of recorded calls: the call behind the first lies before the idle time.
        trace.kernel("early", t + 150 * kUs, t + 200 * kUs, {.correlation = 1'000'000 + t});
        trace.call(1, GD_API_EVENT_RECORD, t + 20 * kUs, t + 21 * kUs, {.correlation = 1'000'001 + t});
        trace.kernel("late", t + 280 * kUs, t + 1000 * kUs, {.correlation = 1'000'002 + t});
        trace.call(1, GD_API_EVENT_RECORD, t + 279 * kUs, t + 280 * kUs, {.correlation = 1'000'003 + t});
    });
    build(trace);
    const std::int64_t n = kSteps - kWarmup;
    EXPECT_EQ(payoff("other_idle_ns"), n * 50 * kUs);
    EXPECT_EQ(payoff("single_idle_ns"), n * 80 * kUs);
}

TEST_F(GraphPayoffTest, RegionsAreTheOutermostRangesBelowTheStepElseTheReplayBefore) {
    eachStep([&](std::int64_t t) {
        trace.range(1, "encoder", t + 10 * kUs, t + 400 * kUs, 1);
        trace.range(1, "layer", t + 10 * kUs, t + 200 * kUs, 2);
        trace.range(1, "linear", t + 10 * kUs, t + 190 * kUs, 3);
        trace.launch(1, "void at::native::(anonymous namespace)::cat_kernel<float, 4>(float*)", t + 15 * kUs,
            t + 20 * kUs, t + 30 * kUs, {});
        trace.launch(1, "gemm", t + 95 * kUs, t + 100 * kUs, t + 130 * kUs, {});
        trace.replay(1, t + 140 * kUs, t + 150 * kUs, t + 155 * kUs, t + 500 * kUs);
        trace.launch(1, "tanh", t + 515 * kUs, t + 520 * kUs, t + 1000 * kUs, {});
    });
    build(trace);
    const std::int64_t n = kSteps - kWarmup;
    const auto region = [&](const char* column, int place) {
        return trace.text("SELECT " + std::string(column)
            + " FROM uncaptured_region WHERE place = " + std::to_string(place));
    };
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM uncaptured_region"), 2);
    EXPECT_EQ(region("name", 1), "encoder/layer");
    EXPECT_EQ(region("is_range", 1), "1");
    EXPECT_EQ(region("kernels", 1), "gemm, cat_kernel");
    EXPECT_EQ(region("launches", 1), std::to_string(2 * n));
    EXPECT_EQ(region("busy_ns", 1), std::to_string(n * 40 * kUs));
    EXPECT_EQ(region("single_idle_ns", 1), std::to_string(n * 90 * kUs));
    EXPECT_EQ(region("name", 2), "after graph 1");
    EXPECT_EQ(region("is_range", 2), "0");
    EXPECT_EQ(region("single_idle_ns", 2), std::to_string(n * 20 * kUs));
}

TEST_F(GraphPayoffTest, UnknownWhereEagerWorkWasNotRecordedAndNoneForHostDevices) {
    eachStep([&](std::int64_t t) { trace.replay(1, t, t + 10 * kUs, t + 20 * kUs, t + 900 * kUs); });
    trace.coverage("eager_kernel_activity", "absent");
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM graph_payoff"), 1);
    EXPECT_EQ(payoff("known"), 0);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM launch_cost"), 0);
    trace.hostDevice(100);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM graph_payoff"), 0);
}

TEST_F(GraphPayoffTest, LaunchCostsLeaveOutWaitsOfTheHostAndFirstLaunches) {
    trace.capturedGraph(2, 100, 110, {"gemm", "tanh"});
    eachStep([&](std::int64_t t) {
        const bool isLast = t == kSteps * kMs;
        trace.replay(1, t + 10 * kUs, t + 30 * kUs, t + 35 * kUs, t + 100 * kUs);
        if (isLast)
            trace.replay(2, t + 120 * kUs, t + 300 * kUs, t + 310 * kUs, t + 320 * kUs); // the very first
        trace.call(1, GD_API_STREAM_SYNCHRONIZE, t + 330 * kUs, t + 340 * kUs);
        trace.launch(1, "mul", t + 345 * kUs, t + 350 * kUs, t + 800 * kUs, {});
        trace.call(1, GD_API_STREAM_SYNCHRONIZE, t + 700 * kUs, t + 800 * kUs);
        trace.replay(1, t + 810 * kUs, t + 820 * kUs, t + 825 * kUs, t + 1000 * kUs); // after a wait
    });
    build(trace);
    const std::int64_t n = kSteps - kWarmup;
    const auto cost = [&](const char* column, int exec) {
        return trace.number(
            "SELECT " + std::string(column) + " FROM launch_cost WHERE exec_id = " + std::to_string(exec));
    };
    EXPECT_EQ(cost("launches", 1), 2 * n);
    EXPECT_EQ(cost("waits", 1), n);
    EXPECT_EQ(cost("host_idle_ns", 1), n * 10 * kUs);
    EXPECT_EQ(cost("call_idle_ns", 1), n * 20 * kUs);
    EXPECT_EQ(cost("start_idle_ns", 1), n * 5 * kUs);
    EXPECT_EQ(cost("node_count", 1), 1);
    EXPECT_TRUE(trace.isNull("SELECT first_launch_ns FROM launch_cost WHERE exec_id = 1"));
    EXPECT_EQ(cost("launches", 2), 1);
    EXPECT_EQ(cost("first_launch_ns", 2), 180 * kUs);
    EXPECT_EQ(cost("first_idle_ns", 2), 180 * kUs);
    EXPECT_EQ(cost("call_idle_ns", 2), 0);
    EXPECT_EQ(cost("host_idle_ns", 2), 20 * kUs);
    EXPECT_EQ(cost("median_replay_ns", 2), 10 * kUs);
}

// A graph of five kernels that ran singly, `runs` times, before it was captured.
class EagerBaselineTest : public testing::Test {
protected:
    static constexpr std::int64_t kCaptureNs = 9 * kMs;

    void eager(int runs, std::int64_t gapNs, std::int64_t kernelNs = 10 * kUs) {
        for (int run = 0; run < runs; ++run) {
            std::int64_t t = kMs + run * kMs;
            for (const std::string& kernel : m_kernels) {
                trace.launch(1, kernel, t - 2 * kUs, t, t + kernelNs, {});
                t += kernelNs + gapNs;
            }
        }
    }
    void replays() {
        for (int i = 0; i < 8; ++i)
            trace.range(1, "step", (i + 10) * kMs, (i + 11) * kMs);
        trace.capturedGraph(1, kCaptureNs, kCaptureNs + 10, m_kernels);
        for (int i = 0; i < 8; ++i) {
            const std::int64_t t = (i + 10) * kMs;
            trace.replay(1, t - 50 * kUs, t - 40 * kUs, t, t + 60 * kUs);
        }
        build(trace);
    }

    const std::vector<std::string> m_kernels{"gemm", "tanh", "gemm", "add", "mul"};
    TraceBuilder trace;
};

TEST_F(EagerBaselineTest, ShowsHowBusySingleLaunchesKeptTheDevice) {
    eager(4, kUs);
    replays();
    EXPECT_EQ(trace.number("SELECT baseline_runs FROM graph_payoff"), 3);
    // 50 us busy, four gaps of 1 us: five where a sixth kernel follows.
    EXPECT_NEAR(trace.real("SELECT baseline_busy FROM graph_payoff"), 50.0 / 55.0, 1e-9);
    EXPECT_NEAR(trace.real("SELECT baseline_launch_share FROM graph_payoff"), 0.1 / 10, 1e-9);
    // Each replay is launched at the end of the step before: the last step has none.
    EXPECT_EQ(trace.number("SELECT baseline_ns FROM graph_payoff"), 4 * 60 * kUs);
    EXPECT_EQ(trace.number("SELECT baseline_replay_ns FROM graph_payoff"), 4 * 60 * kUs);
}

TEST_F(EagerBaselineTest, ThreeRunsAreTheLeast) {
    eager(2, kUs);
    replays();
    EXPECT_EQ(trace.number("SELECT baseline_runs FROM graph_payoff"), 0);
    EXPECT_TRUE(trace.isNull("SELECT baseline_busy FROM graph_payoff"));
}

TEST_F(EagerBaselineTest, RunsThatTakeMuchLongerThanAReplayAreOtherWork) {
    eager(4, kUs, 20 * kUs);
    replays();
    EXPECT_EQ(trace.number("SELECT baseline_runs FROM graph_payoff"), 0);
}

TEST_F(EagerBaselineTest, OtherKernelsInBetweenAreNoRun) {
    for (int run = 0; run < 4; ++run) {
        std::int64_t t = kMs + run * kMs;
        for (const char* kernel : {"gemm", "cat", "tanh", "cat", "gemm", "add", "mul"}) {
            trace.kernel(kernel, t, t + 10 * kUs);
            t += 11 * kUs;
        }
    }
    replays();
    EXPECT_EQ(trace.number("SELECT baseline_runs FROM graph_payoff"), 0);
}

} // namespace
} // namespace gd::facts
