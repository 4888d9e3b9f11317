// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/step_period.h"
#include "tests/unit/facts/facts_test_support.h"

#include <limits>
#include <random>

namespace gd::facts {
namespace {

// `steps` steps of 10 ms: one replay of graph 1 and one of graph 2, whose kernels are an optimizer's.
void addTraining(TraceBuilder& trace, int steps, std::string_view last = "adamw") {
    trace.capturedGraph(1, 10, 20, {"gemm", "gelu", "gemm"});
    trace.capturedGraph(2, 30, 40, {"norm", std::string(last), std::string(last)});
    for (int i = 0; i < steps; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        trace.replay(1, t, t + 1000, t + 2000, t + 5 * kMs);
        trace.replay(2, t + 3 * kMs, t + 3 * kMs + 1000, t + 5 * kMs, t + 6 * kMs);
    }
}

TEST(StepFact, RangesOfAKnownNameOnTheThreadThatLaunches) {
    TraceBuilder trace;
    for (int i = 0; i < 6; ++i) {
        trace.range(1, "step " + std::to_string(i), i * 100, i * 100 + 90);
        trace.range(1, "step_inner", i * 100 + 10, i * 100 + 20, 1);
        trace.range(2, "iteration", i * 100, i * 100 + 99);
        trace.launch(1, "gemm", i * 100 + 5, i * 100 + 10, i * 100 + 20, {});
    }
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM step"), 6);
    EXPECT_EQ(trace.text("SELECT method FROM step WHERE step = 0"), "known_range");
    EXPECT_EQ(trace.number("SELECT thread_id FROM step WHERE step = 3"), 1);
    EXPECT_EQ(trace.number("SELECT start_ns FROM step WHERE step = 3"), 300);
    EXPECT_EQ(trace.number("SELECT end_ns FROM step WHERE step = 3"), 390);
    EXPECT_EQ(trace.text("SELECT group_concat(kind) FROM step"), "warmup,warmup,warmup,steady,steady,steady");
}

TEST(StepFact, FourKnownRangesAreTooFew) {
    TraceBuilder trace;
    for (int i = 0; i < 4; ++i)
        trace.range(1, "step", i * 100, i * 100 + 90);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM step"), 0);
}

TEST(StepFact, AskedForRangesWin) {
    TraceBuilder trace;
    for (int i = 0; i < 6; ++i) {
        trace.range(1, "step", i * 100, i * 100 + 90);
        trace.range(1, "micro batch 0", i * 100, i * 100 + 40, 1);
    }
    build(trace, {.stepRange = "^micro"});
    EXPECT_EQ(trace.text("SELECT method FROM step WHERE step = 0"), "step_range");
    EXPECT_EQ(trace.number("SELECT end_ns FROM step WHERE step = 5"), 540);
    EXPECT_EQ(trace.text("SELECT value FROM meta WHERE key = 'step_range'"), "^micro");
}

TEST(StepFact, AStepRangeThatIsNoExpressionIsRefused) {
    TraceBuilder trace;
    const Result<void> result = buildFacts(trace.db(), {.stepRange = "step["});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::usage);
}

TEST(StepFact, LaunchPeriodEndsWithTheOptimizer) {
    TraceBuilder trace;
    addTraining(trace, 20);
    build(trace);
    EXPECT_EQ(trace.text("SELECT method FROM step WHERE step = 0"), "launch_period");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM step"), 20);
    // The launch call of the optimizer's graph returned: the step is over.
    EXPECT_EQ(trace.number("SELECT end_ns FROM step WHERE step = 4"), 50 * kMs + 3 * kMs + 1000);
    EXPECT_EQ(trace.number("SELECT MIN(replays) FROM step"), 2);
    EXPECT_EQ(trace.number("SELECT MAX(replays) FROM step"), 2);
}

TEST(StepFact, LaunchPeriodWithoutAnOptimizerStartsWithTheFirstGraph) {
    TraceBuilder trace;
    addTraining(trace, 20, "scale");
    build(trace);
    EXPECT_EQ(trace.text("SELECT method FROM step WHERE step = 0"), "launch_period");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM step"), 20);
    EXPECT_EQ(trace.number("SELECT start_ns FROM step WHERE step = 4"), 50 * kMs);
    EXPECT_EQ(trace.number("SELECT end_ns FROM step WHERE step = 4"), 60 * kMs);
}

TEST(StepFact, StepsWithoutAReplayAreStillSteps) {
    TraceBuilder trace;
    trace.capturedGraph(1, 10, 20, {"gemm", "gelu", "gemm"});
    trace.capturedGraph(2, 30, 40, {"norm", "adamw", "adamw"});
    for (int i = 0; i < 20; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        if (i % 3 != 0)
            trace.replay(1, t, t + 1000, t + 2000, t + 5 * kMs);
        else
            trace.launch(1, "gemm", t, t + 2000, t + 5 * kMs, {});
        trace.replay(2, t + 3 * kMs, t + 3 * kMs + 1000, t + 5 * kMs, t + 6 * kMs);
    }
    build(trace);
    EXPECT_GE(trace.number("SELECT COUNT(*) FROM step"), 19);
    EXPECT_EQ(trace.number("SELECT MAX(replays) FROM step"), 2);
    EXPECT_EQ(trace.number("SELECT MAX(end_ns - start_ns) FROM step"), 10 * kMs);
}

TEST(StepFact, EagerJobsAreCutAfterTheOptimizersKernels) {
    TraceBuilder trace;
    for (int i = 0; i < 12; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        for (int k = 0; k < 6; ++k)
            trace.launch(1, "gemm", t + k * 1000, t + k * 1000 + 500, t + k * 1000 + 900, {});
        // One kernel between two parameters does not end the step.
        trace.launch(1, "FusedAdam", t + 7000, t + 7500, t + 7900, {});
        trace.launch(1, "copy", t + 8000, t + 8500, t + 8900, {});
        trace.launch(1, "FusedAdam", t + 9000, t + 9500, t + 9900, {});
    }
    build(trace);
    EXPECT_EQ(trace.text("SELECT method FROM step WHERE step = 0"), "optimizer_period");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM step"), 11);
    EXPECT_EQ(trace.number("SELECT MAX(end_ns - start_ns) FROM step"), 10 * kMs);
    EXPECT_EQ(trace.number("SELECT MIN(end_ns - start_ns) FROM step"), 10 * kMs);
}

TEST(StepFact, WarmupLastsUntilAStepPreparesNothing) {
    TraceBuilder trace;
    for (int i = 0; i < 10; ++i)
        trace.range(1, "step", i * 100, i * 100 + 90);
    trace.capture(310, {.id = 1, .endNs = 320});
    trace.allocation(4096, 64, 420, {});
    trace.allocation(8192, 64, 520, {.kind = "framework"});
    build(trace);
    EXPECT_EQ(trace.number("SELECT MIN(step) FROM step WHERE kind = 'steady'"), 5);
    EXPECT_EQ(trace.number("SELECT steps FROM steady_state"), 5);
    EXPECT_EQ(trace.number("SELECT start_ns FROM steady_state"), 500);
    EXPECT_EQ(trace.number("SELECT median_step_ns FROM steady_state"), 90);
}

// Step ranges; the graphs of 20 layers are captured in step `capturing`, in which the replays begin.
void addLateGraphs(TraceBuilder& trace, int steps, int capturing) {
    for (int i = 0; i < steps; ++i)
        trace.range(1, "step", i * 100 * kUs, i * 100 * kUs + 90 * kUs);
    const std::int64_t captured = capturing * 100 * kUs;
    for (int layer = 0; layer < 20; ++layer) {
        const std::int64_t t = captured + layer * kUs;
        trace.capturedGraph(layer + 1, t, t + 500, {"gemm", "gelu", "gemm"});
        for (int i = capturing; i < steps; ++i) {
            const std::int64_t launch = i * 100 * kUs + 30 * kUs + layer * kUs;
            trace.replay(layer + 1, launch, launch + 500, launch + 600, launch + 900);
        }
    }
}

TEST(StepFact, WarmupLastsUntilGraphsAreReplayed) {
    TraceBuilder trace;
    addLateGraphs(trace, 20, 5);
    build(trace);
    EXPECT_EQ(trace.number("SELECT MIN(step) FROM step WHERE kind = 'steady'"), 6);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM recapture WHERE steady"), 0);
}

TEST(StepFact, AFailedLaunchDoesNotEndTheWarmup) {
    TraceBuilder trace;
    addLateGraphs(trace, 20, 5);
    trace.sql("UPDATE replay SET result = 1 WHERE launch_start_ns < 900000");
    build(trace);
    EXPECT_EQ(trace.number("SELECT MIN(step) FROM step WHERE kind = 'steady'"), 9);
}

TEST(StepFact, ReplaysOfTheLastStepsDoNotMakeTheOthersWarmup) {
    TraceBuilder trace;
    addLateGraphs(trace, 20, 16);
    build(trace);
    EXPECT_EQ(trace.number("SELECT MIN(step) FROM step WHERE kind = 'steady'"), 3);
}

// Step ranges, of which those where `captures` says so hold a capture.
template <class Captures> void addCapturingSteps(TraceBuilder& trace, int count, Captures&& captures) {
    for (int i = 0; i < count; ++i) {
        trace.range(1, "step", i * 100, i * 100 + 90);
        if (captures(i))
            trace.capture(i * 100 + 10, {.id = i + 1, .endNs = i * 100 + 20});
    }
}

TEST(StepFact, CapturesWithoutEndAreNoWarmup) {
    TraceBuilder trace;
    addCapturingSteps(trace, 40, [](int i) { return i < 39; });
    build(trace);
    EXPECT_EQ(trace.number("SELECT steps FROM steady_state"), 37);
}

TEST(StepFact, CapturesWithoutEndAreAFourthAtLeastWithout) {
    TraceBuilder few;
    addCapturingSteps(few, 43, [](int i) { return i < 34; });
    build(few);
    EXPECT_EQ(few.number("SELECT steps FROM steady_state"), 40);
    TraceBuilder enough;
    addCapturingSteps(enough, 43, [](int i) { return i < 33; });
    build(enough);
    EXPECT_EQ(enough.number("SELECT steps FROM steady_state"), 10);
}

TEST(StepFact, FourCapturesAreAWarmup) {
    TraceBuilder trace;
    addCapturingSteps(trace, 8, [](int i) { return i < 7; });
    build(trace);
    EXPECT_EQ(trace.number("SELECT steps FROM steady_state"), 1);
}

TEST(StepFact, AllocationsAloneAreAWarmup) {
    TraceBuilder trace;
    addCapturingSteps(trace, 40, [](int) { return false; });
    for (int i = 0; i < 38; ++i)
        trace.allocation(4096 * (i + 1), 64, i * 100 + 10, {});
    build(trace);
    EXPECT_EQ(trace.number("SELECT steps FROM steady_state"), 2);
}

// Twenty requests, each with a graph that no other request has: other lengths, other kernels.
void addRequests(TraceBuilder& trace, bool onePlace) {
    const std::int64_t places[] = {trace.stack({"first"}), trace.stack({"second"}), trace.stack({"third"})};
    for (int i = 0; i < 20; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        const std::int64_t place = places[onePlace ? 0 : i * i % 7 % 3];
        trace.capture(t, {.id = i + 1, .graph = i + 1, .beginStack = place, .endNs = t + 10});
        trace.graph(i + 1, t + 10, i + 1);
        trace.node({.graph = i + 1, .capture = i + 1, .name = "gemm" + std::to_string(i)});
        trace.exec(i + 1, i + 1, t + 20);
        trace.replay(i + 1, t + 30, t + 1000, t + 2000, t + 5 * kMs);
    }
}

TEST(StepFact, GraphsOfOnePlaceAreOneStepThoughAllDiffer) {
    TraceBuilder trace;
    addRequests(trace, true);
    build(trace);
    EXPECT_EQ(trace.text("SELECT method FROM step WHERE step = 0"), "launch_period");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM step"), 20);
    EXPECT_EQ(trace.number("SELECT steps FROM steady_state"), 17);
}

TEST(StepFact, GraphsOfManyPlacesInNoOrderAreNoSteps) {
    TraceBuilder trace;
    addRequests(trace, false);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM step"), 0);
}

TEST(StepFact, SlowStepsCountUnlessTheySaveOrEvaluate) {
    TraceBuilder trace;
    for (int i = 0; i < 10; ++i) {
        const std::int64_t length = i == 5 || i == 7 ? 900 : 90;
        trace.range(1, "step", i * 1000, i * 1000 + length);
    }
    trace.range(1, "save checkpoint", 5100, 5800, 1);
    trace.range(1, "aten::log", 7100, 7110, 1);
    build(trace);
    EXPECT_EQ(trace.text("SELECT kind FROM step WHERE step = 5"), "excluded");
    EXPECT_EQ(trace.text("SELECT kind FROM step WHERE step = 7"), "steady");
    EXPECT_EQ(trace.number("SELECT excluded FROM steady_state"), 1);
}

TEST(SmallestPeriod, ToleratesNoiseButNotDisorder) {
    std::mt19937 random(3);
    std::vector<std::int64_t> symbols;
    for (int i = 0; i < 300; ++i)
        symbols.insert(symbols.end(), {1, 2, 2, 3});
    EXPECT_EQ(smallestPeriod(symbols), 4U);
    for (int i = 0; i < 30; ++i)
        symbols[random() % symbols.size()] = 9;
    EXPECT_EQ(smallestPeriod(symbols), 4U);
    for (std::int64_t& symbol : symbols)
        symbol = static_cast<std::int64_t>(random() % 5);
    EXPECT_EQ(smallestPeriod(symbols), std::nullopt);
}

TEST(SmallestPeriod, NeedsFiveRepeats) {
    EXPECT_EQ(smallestPeriod({1, 2, 1, 2, 1, 2, 1, 2}), std::nullopt);
    EXPECT_EQ(smallestPeriod({1, 2, 1, 2, 1, 2, 1, 2, 1, 2}), 2U);
    EXPECT_EQ(smallestPeriod({}), std::nullopt);
}

// What a damaged or hostile trace may hold: nothing of it may crash, hang or fail the build.
TEST(BuildFacts, AbsurdValuesAreSurvived) {
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
    TraceBuilder trace(kFar);
    addTraining(trace, 20);
    std::int64_t next = 1000;
    for (const std::int64_t t : {-kFar, std::int64_t{-1}, std::int64_t{0}, kFar - 1, kFar}) {
        trace.kernel("gemm", t, t / 2);
        trace.copy(kFar, t, t, {.stream = -5, .device = -3});
        trace.call(1, GD_API_LAUNCH_KERNEL, t, -t, {.stream = -1, .correlation = kFar});
        trace.call(-7, GD_API_MEM_ALLOC, t, t, {.correlation = -kFar, .result = -1});
        trace.replay(t, t, -t, t, -t, {.thread = -1, .device = 9});
        trace.replay(1, t, t, 5, -kFar);
        trace.allocation(t, kFar, t, {.freeNs = -t});
        trace.allocation(-1, -kFar, t, {.kind = "", .freeNs = t});
        trace.range(1, "step", t, -t, -3);
        trace.commOp(t, "all_reduce", kFar, t, 1);
        trace.comm(t, -1, t, -t, t);
        trace.exec(++next, t, t, -t);
    }
    trace.capture(kFar, {.id = 9, .graph = -1, .endNs = -kFar, .endResult = -1});
    trace.node({.graph = 1, .capture = 9, .createdNs = -kFar, .type = "", .name = ""});
    trace.sql(
        "UPDATE graph SET origin_graph_id = 1 WHERE graph_id = 2; UPDATE graph SET origin_graph_id = 2, "
        "capture_id = NULL WHERE graph_id = 1; UPDATE coverage SET to_ns = -5 WHERE source = 'memory'; "
        "UPDATE kernel SET dur_ns = 9223372036854775807");
    for (const FactsOptions& options : {FactsOptions{}, FactsOptions{.stepRange = "^(s|t)+e*p"}}) {
        build(trace, options);
        EXPECT_EQ(trace.number("SELECT COUNT(DISTINCT process_id) FROM vital_sign"), 2);
    }
}

TEST(BuildFacts, TempTablesHideThoseOfTheTrace) {
    TraceBuilder trace;
    for (int i = 0; i < 6; ++i)
        trace.range(1, "step", i * 100, i * 100 + 90);
    trace.sql("INSERT INTO steady_state VALUES (1, 0, 1, 99, 0, 1)");
    build(trace, {.inTempSchema = true});
    EXPECT_EQ(trace.number("SELECT steps FROM steady_state"), 3);
    EXPECT_EQ(trace.number("SELECT steps FROM main.steady_state"), 99);
    build(trace);
    EXPECT_EQ(trace.number("SELECT steps FROM main.steady_state"), 3);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM sqlite_temp_schema"), 0);
    EXPECT_EQ(
        trace.text("SELECT value FROM meta WHERE key = 'facts_version'"), std::to_string(kFactsVersion));
}

TEST(StepFact, StepsOutsideTheRecordingWindowsAreNotSteady) {
    TraceBuilder trace;
    for (int i = 0; i < 12; ++i)
        trace.range(1, "step", i * 100, i * 100 + 90);
    // Step 5 holds the beginning of the window, step 9 its end; from step 11 on nothing is recorded.
    trace.sql("INSERT INTO recording_state VALUES (1, 0, 'history', 0), (1, 550, 'light', 1), "
              "(1, 950, 'history', 1), (1, 1095, 'off', 1)");
    build(trace);
    EXPECT_EQ(trace.text("SELECT group_concat(kind) FROM step WHERE step < 6"),
        "warmup,warmup,warmup,outside,outside,outside");
    EXPECT_EQ(trace.text("SELECT group_concat(kind) FROM step WHERE step > 5"),
        "steady,steady,steady,outside,outside,outside");
    EXPECT_EQ(trace.number("SELECT steps FROM steady_state"), 3);
}

TEST(StepFact, StepsWhoseEventsWereDroppedAreNotSteady) {
    TraceBuilder trace;
    for (int i = 0; i < 12; ++i)
        trace.range(1, "step", i * 100, i * 100 + 90);
    trace.sql("INSERT INTO process_fact VALUES (1, 'events_from_ns', '750')");
    build(trace);
    EXPECT_EQ(trace.text("SELECT group_concat(kind) FROM step"),
        "warmup,warmup,warmup,outside,outside,outside,outside,outside,steady,steady,steady,steady");
    EXPECT_EQ(trace.number("SELECT start_ns FROM steady_state"), 800);
}

TEST(StepFact, WithoutAnyWindowTheHistoryIsEnough) {
    TraceBuilder trace;
    for (int i = 0; i < 6; ++i)
        trace.range(1, "step", i * 100, i * 100 + 90);
    trace.sql("INSERT INTO recording_state VALUES (1, 0, 'history', 0)");
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM step WHERE kind = 'steady'"), 3);
}

} // namespace
} // namespace gd::facts
