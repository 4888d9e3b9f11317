// SPDX-License-Identifier: Apache-2.0
// The graph pool's limit as a user sets it: what fits is captured, what does not runs eagerly.
#include "trainer_program.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace gdt::test;

const std::string kRun = kSmall + "--steps 8 --dropout 0.1 ";

TEST(GraphPoolProgram, APoolThatIsTooSmallSaysNeedAndLimitAndTrainsOnEagerly) {
    const Outcome small = run(kRun + "--graph-cache-size 0.05");
    const Outcome enough = run(kRun + "--graph-cache-size 8");
    ASSERT_EQ(small.status, 0) << small.output;
    ASSERT_EQ(enough.status, 0) << enough.output;
    EXPECT_NE(small.output.find("the graph pool is exhausted: it needs"), std::string::npos) << small.output;
    EXPECT_NE(small.output.find("--graph-cache-size allows 0.05 MiB"), std::string::npos) << small.output;
    ASSERT_EQ(small.graphFailures.size(), 1U) << "the optimizer needs nothing of the pool";
    EXPECT_EQ(small.graphFailures[0]["reason"], "the graph pool is exhausted");
    EXPECT_EQ(small.runs.back(), "fallback");
    EXPECT_EQ(enough.runs.back(), "replay");
    EXPECT_EQ(small.parameterHash, enough.parameterHash) << "the same numbers wherever the buffers lie";
}

TEST(GraphPoolProgram, ARankWithoutAPoolSendsTheOthersToEagerToo) {
    const Outcome outcome = run(kRun + "--pp 2 --graph-cache-size 0.15 --layers 3");
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_EQ(outcome.runs.back(), "fallback");
    const auto stage0 = outcome.graphPool["needed_bytes"].get<double>();
    EXPECT_GT(stage0, 0);
}

TEST(GraphPoolProgram, SlotsThatFitAreCapturedThoughOthersAreNot) {
    const std::string gpipe = kRun + "--schedule gpipe --pp 2 --micro-batches 4 --graph-key slot --layers 2 ";
    const Outcome whole = run(gpipe);
    ASSERT_EQ(whole.status, 0) << whole.output;
    const double needed = whole.graphPool["needed_bytes"];
    const Outcome half = run(gpipe + "--graph-cache-size " + std::to_string(needed * 0.6 / (1 << 20)));
    ASSERT_EQ(half.status, 0) << half.output;
    EXPECT_FALSE(half.graphFailures.empty());
    EXPECT_GT(half.graphMemory.size(), 1U) << "graphs of the first slots, and the optimizer's";
    EXPECT_LT(half.graphMemory.size(), whole.graphMemory.size());
    EXPECT_EQ(half.parameterHash, whole.parameterHash);
}

TEST(GraphPoolProgram, TellsThePlanAndWhatEachGraphHolds) {
    const Outcome outcome = run(kRun + "--graph-report");
    ASSERT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_NE(
        outcome.output.find("rank 0: graph cycle seq=16 mb=2x2 f32 holds workspaces"), std::string::npos)
        << outcome.output;
    const auto& pool = outcome.graphPool;
    EXPECT_EQ(pool["needed_bytes"].get<std::size_t>(),
        pool["activation_bytes"].get<std::size_t>() + pool["workspace_bytes"].get<std::size_t>()
            + pool["static_input_bytes"].get<std::size_t>());
    EXPECT_TRUE(pool["limit_bytes"].is_null());
    std::size_t held = 0;
    for (const auto& buffers : outcome.graphMemory.at(0)["buffers"]) {
        held += buffers["bytes"].get<std::size_t>();
    }
    EXPECT_EQ(held, pool["needed_bytes"].get<std::size_t>()) << "a cycle holds everything";
}

TEST(GraphPoolProgram, KeysAndScopesThatContradictEachOtherAreRefused) {
    for (const char* arguments :
        {"--graph-key slot --graph-scope cycle", "--graph-key cycle --graph-scope layer",
            "--graph-key microbatch --graph-scope full", "--graph-cache-size -1"}) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.status, 2) << arguments << outcome.output;
        EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    }
}

} // namespace
