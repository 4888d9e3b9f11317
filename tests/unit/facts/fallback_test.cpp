// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/eager_work.h"
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

const std::vector<std::string> kKernels{"fetch", "gemm", "gelu", "gemm", "loss", "gemm_backward"};

// 20 steps of 10 ms. Step i replays exec 1, or where `eager(i)` is not 0 launches the kernels one by one with
// that grid; graph 1 has grid 1. Without ranges in the trace (`marks` false) an optimizer's graph closes each
// step.
class FallbackTest : public testing::Test {
protected:
    void addGraphs() {
        trace.capturedGraph(1, 10, 20, kKernels, "cycle");
        trace.capturedGraph(2, 30, 40, {"norm", "adamw", "adamw"}, "optimizer");
    }
    template <class Eager> void addRuns(Eager&& eager, bool marks = true) {
        for (int i = 0; i < 20; ++i) {
            const std::int64_t t = (i + 1) * 10 * kMs;
            if (marks)
                trace.range(1, "step", t, t + 10 * kMs);
            if (const std::int64_t grid = eager(i); grid != 0)
                runEagerly(t, grid);
            else
                trace.replay(1, t, t + 1000, t + 2000, t + 2 * kMs);
            trace.replay(2, t + 5 * kMs, t + 5 * kMs + 1000, t + 6 * kMs, t + 7 * kMs);
        }
    }
    void runEagerly(std::int64_t t, std::int64_t grid) {
        for (std::size_t k = 0; k < kKernels.size(); ++k) {
            const std::int64_t at = t + static_cast<std::int64_t>(k) * 500 * kUs;
            trace.launch(1, kKernels[k], at, at + 10 * kUs, at + 500 * kUs, {.grid = grid});
        }
    }
    std::int64_t number(const char* column) {
        return trace.number("SELECT " + std::string(column) + " FROM fallback");
    }

    TraceBuilder trace;
};

TEST_F(FallbackTest, ShapesThatNeverGetAGraphHitALimit) {
    addGraphs();
    addRuns([](int i) { return i % 4 == 3 ? 5 : 0; });
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM fallback"), 1);
    EXPECT_EQ(trace.text("SELECT region FROM fallback"), "cycle");
    EXPECT_EQ(number("eager_runs"), 5);
    EXPECT_EQ(number("graph_runs"), 15);
    EXPECT_EQ(trace.real("SELECT rate FROM fallback"), 0.25);
    EXPECT_EQ(trace.text("SELECT reason FROM fallback"), "limit");
    EXPECT_EQ(number("first_step"), 3);
    EXPECT_EQ(number("last_step"), 19);
    EXPECT_EQ(number("known"), 1);
    // 3 ms less 10 us against a replay of 2 ms less 2 us, five times.
    EXPECT_EQ(number("cost_ns"), 5 * (2'990 * kUs - 1'998 * kUs));
}

// Outside a window launches of graphs are recorded, kernels are not: such steps count on neither side.
TEST_F(FallbackTest, StepsOutsideTheRecordingDoNotDilute) {
    addGraphs();
    addRuns([](int i) { return i >= 10 && i % 4 == 3 ? 5 : 0; });
    trace.sql("INSERT INTO recording_state VALUES (1, 0, 'history', 0), (1, 105000000, 'standard', 1)");
    build(trace);
    EXPECT_EQ(number("eager_runs"), 3);
    EXPECT_EQ(number("graph_runs"), 7 + 3) << "and those of the warm-up";
}

TEST_F(FallbackTest, AlsoWithoutAnyRanges) {
    addGraphs();
    addRuns([](int i) { return i % 4 == 3 ? 5 : 0; }, false);
    build(trace);
    EXPECT_EQ(trace.text("SELECT method FROM step LIMIT 1"), "launch_period");
    EXPECT_EQ(number("eager_runs"), 5);
    EXPECT_EQ(number("graph_runs"), 15);
}

TEST_F(FallbackTest, AShapeThatComesOnceIsNew) {
    addGraphs();
    addRuns([](int i) { return i == 12 ? 5 : 0; });
    build(trace);
    EXPECT_EQ(trace.text("SELECT reason FROM fallback"), "new_shape");
}

TEST_F(FallbackTest, AShortGapInTheCoverageHidesNothingThatWasSeen) {
    addGraphs();
    addRuns([](int i) { return i % 4 == 3 ? 5 : 0; });
    const auto split = [&](std::int64_t toNs) {
        trace.sql("DELETE FROM coverage WHERE source = 'eager_kernel_activity'");
        const std::string values = "INSERT INTO coverage VALUES (1, 'eager_kernel_activity', ";
        trace.sql(values + "0, " + std::to_string(30 * kMs) + ", 'complete', NULL)");
        trace.sql(values + std::to_string(30 * kMs) + ", " + std::to_string(toNs) + ", 'partial', 'quiet')");
        trace.sql(values + std::to_string(toNs) + ", 1000000000000, 'complete', NULL)");
        build(trace);
    };
    split(45 * kMs);
    EXPECT_EQ(number("known"), 1);
    split(10'000 * kMs);
    EXPECT_EQ(number("known"), 0);
}

TEST_F(FallbackTest, TheGraphWouldHaveFitted) {
    addGraphs();
    addRuns([](int i) { return i >= 10 ? 1 : 0; });
    build(trace);
    EXPECT_EQ(trace.text("SELECT reason FROM fallback"), "unknown");
    EXPECT_EQ(number("eager_runs"), 10);
}

TEST_F(FallbackTest, AnEvictedGraphIsALimit) {
    addGraphs();
    trace.sql("UPDATE graph_exec SET destroyed_ns = 105000000 WHERE exec_id = 1");
    addRuns([](int i) { return i >= 10 ? 1 : 0; });
    build(trace);
    EXPECT_EQ(trace.text("SELECT reason FROM fallback"), "limit");
}

TEST_F(FallbackTest, AFailedCaptureIsNamed) {
    trace.capture(15 * kMs, {.id = 3, .endNs = 16 * kMs, .endResult = 901});
    for (int k = 0; k < 4; ++k)
        trace.node({.capture = 3, .name = kKernels[static_cast<std::size_t>(k)]});
    trace.capturedGraph(2, 30, 40, {"norm", "adamw", "adamw"}, "optimizer");
    addRuns([](int) { return 1; });
    build(trace);
    EXPECT_EQ(trace.text("SELECT reason FROM fallback"), "capture_failed");
    EXPECT_EQ(number("capture_id"), 3);
    EXPECT_EQ(number("execs"), 0);
    EXPECT_EQ(number("eager_runs"), 19);
}

TEST_F(FallbackTest, WarmUpRunsOfALadderAreNone) {
    addGraphs();
    trace.capture(79 * kMs, {.id = 4, .graph = 4, .endNs = 79 * kMs + 10});
    trace.graph(4, 79 * kMs + 10, 4);
    for (const std::string& kernel : kKernels)
        trace.node({.graph = 4, .capture = 4, .grid = 5, .name = kernel});
    trace.exec(4, 4, 79 * kMs + 100);
    addRuns([](int i) { return i == 4 || i == 6 ? 5 : 0; });
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM fallback"), 0);
}

TEST_F(FallbackTest, EagerRunsOfEveryStepAreMeant) {
    addGraphs();
    addRuns([](int) { return 0; });
    for (int i = 0; i < 20; ++i)
        runEagerly((i + 1) * 10 * kMs + 7 * kMs, 1);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM fallback"), 0);
}

// A layer is captured, its twin is not, and the last step ends before the twin's turn: as in a sharded model
// with one block of its own in a graph.
TEST_F(FallbackTest, EagerRunsOfEveryStepAreMeantAlsoWhenTheLastStepIsCut) {
    addGraphs();
    addRuns([](int) { return 0; }, false);
    for (int i = 0; i < 19; ++i)
        runEagerly((i + 1) * 10 * kMs + 7 * kMs, 1);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM fallback"), 0);
}

TEST_F(FallbackTest, FallbacksBesideEagerRunsThatAreMeant) {
    addGraphs();
    addRuns([](int i) { return i % 4 == 3 ? 5 : 0; });
    for (int i = 0; i < 19; ++i)
        runEagerly((i + 1) * 10 * kMs + 7 * kMs, 1);
    build(trace);
    EXPECT_EQ(number("eager_runs"), 4) << "the last of five has no twin beside it";
    EXPECT_EQ(number("graph_runs"), 15);
}

// Steps that replay the graph of a forward pass and that of a backward pass; some evaluate in between,
// without graphs, or run a pass of another batch size.
class EvaluationTest : public testing::Test {
protected:
    static constexpr std::int64_t kLayers = 4;

    void train() {
        trace.capturedGraph(1, 10, 20, kForward, "layer");
        trace.capturedGraph(2, 30, 40, kBackward, "backward");
        for (int i = 0; i < 20; ++i) {
            const std::int64_t t = (i + 1) * 100 * kMs;
            trace.range(1, "step", t, t + 100 * kMs);
            for (int layer = 0; layer < kLayers; ++layer)
                trace.replay(1, t + layer * kMs, t + layer * kMs + 10, t + layer * kMs + 20,
                    t + layer * kMs + 900 * kUs);
            for (int layer = kLayers; layer < 2 * kLayers; ++layer)
                trace.replay(2, t + layer * kMs, t + layer * kMs + 10, t + layer * kMs + 20,
                    t + layer * kMs + 900 * kUs);
        }
    }
    // `runs` times these kernels, 10 us each with 2 us between them, in the last but one step of each four.
    void eagerly(const std::vector<std::string>& kernels, int runs, std::int64_t offsetNs) {
        for (int i = 6; i < 20; i += 4) {
            std::int64_t at = (i + 1) * 100 * kMs + offsetNs;
            for (int run = 0; run < runs; ++run) {
                for (const std::string& kernel : kernels) {
                    trace.launch(1, kernel, at - kUs, at, at + 10 * kUs, {});
                    at += 12 * kUs;
                }
            }
        }
    }
    std::string found() {
        build(trace);
        return trace.text(
            "SELECT COALESCE((SELECT group_concat(region || ' ' || eager_runs || ' ' || graph_runs || "
            "' ' || (reason = 'beside'), ', ') FROM fallback), 'none')");
    }

    const std::vector<std::string> kForward{"norm", "gemm", "gelu", "gemm", "add"};
    const std::vector<std::string> kBackward{"dnorm", "dgemm", "dgelu", "dgemm"};
    TraceBuilder trace;
};

TEST_F(EvaluationTest, IsNoFallback) {
    train();
    eagerly(kForward, 60, 20 * kMs);
    EXPECT_EQ(found(), "layer 240 80 1");
    EXPECT_EQ(trace.number("SELECT SUM(value) FROM vital_sign "
                           "WHERE name = 'capture.eager_fallback_count'"),
        0);
}

TEST_F(EvaluationTest, ABatchThatAlsoRunsItsBackwardPassIsAFallback) {
    train();
    eagerly(kForward, 4, 20 * kMs);
    eagerly(kBackward, 4, 40 * kMs);
    EXPECT_EQ(found(), "layer 16 80 0, backward 16 80 0");
}

TEST_F(EvaluationTest, FewerReplaysThanUsualAreAFallback) {
    train();
    trace.sql("DELETE FROM replay WHERE exec_id = 1 AND launch_start_ns % 100000000 < 1000 "
              "AND launch_start_ns / 100000000 IN (7, 11, 15, 19)");
    eagerly(kForward, 1, 20 * kMs);
    EXPECT_EQ(found(), "layer 4 76 0");
}

TEST_F(EvaluationTest, TheRegionsOwnKernelsAreItsCost) {
    train();
    eagerly(kForward, 60, 20 * kMs);
    eagerly({"metric"}, 20, 80 * kMs); // 20 ms after the evaluation
    found();
    // Five kernels of 10 us, and 2 us before each but the first of all.
    EXPECT_NEAR(static_cast<double>(trace.number("SELECT eager_median_ns FROM fallback")), 60'000, 100);
}

TEST_F(FallbackTest, OtherKernelsAreNoFallback) {
    addGraphs();
    addRuns([](int) { return 0; });
    for (int i = 0; i < 10; ++i) {
        for (int k = 0; k < 8; ++k)
            trace.launch(
                1, "gemm", 100 * kMs + i * 1000, 100 * kMs + i * 1000 + 10, 100 * kMs + i * 1000 + 20, {});
    }
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM fallback"), 0);
}

TEST(CopiesIn, AllowsFivePercent) {
    const Histogram pattern{{1, 50}, {2, 50}};
    EXPECT_EQ(copiesIn({{1, 50}, {2, 45}}, pattern), 1);
    EXPECT_EQ(copiesIn({{1, 50}, {2, 44}}, pattern), 0);
    EXPECT_EQ(copiesIn({{1, 500}, {2, 101}}, pattern), 2);
    EXPECT_EQ(copiesIn({{1, 12000}, {2, 12000}}, pattern), 240) << "not 252, of which 95 % are there";
    EXPECT_EQ(copiesIn({{1, 98}, {2, 96}}, pattern), 2);
    EXPECT_EQ(copiesIn({}, pattern), 0);
    EXPECT_EQ(copiesIn({{1, 5}}, {}), 0);
}

} // namespace
} // namespace gd::facts
