// SPDX-License-Identifier: Apache-2.0
// "Clean" is what a rule says that looked: where its facts could not be made it is not evaluated.
#include "analyzer/rules/rule_runner.h"
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

class RuleOutcomeTest : public testing::Test {
protected:
    // "clean", or "not evaluated: why".
    std::string outcome(const std::string& file) {
        build(trace);
        auto rule = rules::loadRuleFile(GD_SOURCE_DIR "/rules/" + file);
        EXPECT_TRUE(rule) << (rule ? "" : rule.error().message);
        if (!rule)
            return {};
        const std::vector<rules::RuleFile> one{std::move(*rule)};
        const auto run = rules::runRules(trace.db(), one, {});
        EXPECT_TRUE(run) << (run ? "" : run.error().message);
        if (!run)
            return {};
        const rules::RuleOutcome& found = run->outcomes.front();
        return found.outcome == rules::Outcome::clean ? "clean"
            : found.outcome == rules::Outcome::fired  ? "fired"
                                                      : "not evaluated: " + found.reason;
    }
    void replays(std::int64_t exec, int count) {
        for (int i = 0; i < count; ++i)
            trace.replay(exec, (i + 1) * kMs, (i + 1) * kMs + 10, (i + 1) * kMs + 20, (i + 1) * kMs + 900);
    }

    TraceBuilder trace;
};

TEST_F(RuleOutcomeTest, FrozenShapesNeedEagerRuns) {
    trace.capturedGraph(1, 100, 200, std::vector<std::string>(40, "gemm"));
    replays(1, 4);
    const std::string why
        = "not evaluated: nothing could be judged: no eager run of a graph's kernels was recorded to compare "
          "it with (table frozen_shape)";
    EXPECT_EQ(outcome("replay/GD206-frozen-shape.sql"), why);
    EXPECT_EQ(outcome("communication/GD508-frozen-count.sql"), why);
}

TEST_F(RuleOutcomeTest, RanksAreComparedWithOthers) {
    trace.comm(171, 2, 100);
    trace.commOp(171, "all_reduce", 64, 1000);
    EXPECT_EQ(outcome("communication/GD502-ranks-disagree.sql"),
        "not evaluated: nothing could be judged: 1 of 2 ranks of a communicator is in this trace (table "
        "rank_divergence)");
    // For GD513 a difference is only another cause of a stall.
    EXPECT_EQ(outcome("communication/GD513-stalled.sql"), "clean");
    trace.process(2);
    trace.comm(171, 2, 100);
    trace.commOp(171, "all_reduce", 64, 1000);
    EXPECT_EQ(outcome("communication/GD502-ranks-disagree.sql"), "clean");
}

TEST_F(RuleOutcomeTest, LaunchesThatFollowOnEachOtherNeedDeviceTimes) {
    trace.capturedGraph(1, 100, 200, {"adamw"});
    replays(1, 4);
    EXPECT_EQ(outcome("framework/GD705-optimizer-twice.sql"), "clean");
    trace.coverage("eager_kernel_activity", "partial");
    EXPECT_EQ(outcome("framework/GD705-optimizer-twice.sql").substr(0, 14), "not evaluated:");
}

TEST_F(RuleOutcomeTest, AndReplaysWithTimes) {
    trace.capturedGraph(1, 100, 200, {"adamw"});
    replays(1, 4);
    for (const char* source : {"graph_trace", "node_activity"})
        trace.coverage(source, "absent");
    EXPECT_EQ(outcome("framework/GD705-optimizer-twice.sql").substr(0, 14), "not evaluated:");
    EXPECT_EQ(outcome("replay/GD211-overwritten-while-running.sql").substr(0, 14), "not evaluated:");
}

} // namespace
} // namespace gd::facts
