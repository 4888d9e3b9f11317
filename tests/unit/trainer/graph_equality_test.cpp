// SPDX-License-Identifier: Apache-2.0
// Graphs compute what eager execution computes, bit for bit: each scope, mode and placement of the tensor-
// parallel collectives, with dropout, on one rank and on several; and a capture that fails on one rank sends
// the others to eager execution, too.
#include "layout_run.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gdt::train {
namespace {

using graphs::GraphMode;
using graphs::Scope;
using test::RunResult;

RunConfig baseRun() {
    RunConfig config = test::tinyRun();
    config.model.layers = 4;
    config.model.dropout = 0.2;
    config.model.embeddingDropout = 0.1;
    config.model.attentionDropout = 0.2;
    config.steps = 8;
    return config;
}

// The first steps overflow: what a replay skips, eager execution skips.
RunConfig alone() {
    RunConfig config = baseRun();
    config.type = ElementType::F16;
    config.optimizer.lossScale = 0x1p27;
    config.optimizer.scaleWindow = 2;
    return config;
}

RunConfig tensorAndPipeline() {
    RunConfig config = baseRun();
    config.model.activation = model::Activation::Swiglu;
    config.model.recompute = model::Recompute::Selective;
    config.parallel.tensor = 2;
    config.parallel.pipeline = 2;
    return config;
}

RunConfig sequenceAndRing() {
    RunConfig config = baseRun();
    config.parallel.tensor = 2;
    config.parallel.context = 2;
    config.sequenceParallel = true;
    config.model.recompute = model::Recompute::Full;
    return config;
}

RunConfig replicas() {
    RunConfig config = baseRun();
    config.parallel.data = 2;
    config.distributedOptimizer = true;
    return config;
}

RunConfig eightBits() {
    RunConfig config = baseRun();
    config.type = ElementType::FP8;
    config.parallel.tensor = 2;
    config.parallel.data = 2;
    config.model.recompute = model::Recompute::Full;
    return config;
}

void expectSameBits(const RunResult& a, const RunResult& b, const std::string& what) {
    ASSERT_EQ(a.problem, "") << what;
    ASSERT_EQ(b.problem, "") << what;
    ASSERT_EQ(a.records.size(), b.records.size()) << what;
    for (std::size_t i = 0; i < a.records.size(); ++i) {
        EXPECT_EQ(std::memcmp(&a.records[i], &b.records[i], sizeof(optim::StepRecord)), 0)
            << what << ", step " << i;
    }
    EXPECT_EQ(a.parameters, b.parameters) << what;
}

void expectGraphs(const RunResult& result, const std::string& what) {
    for (const std::string& said : result.runs) {
        EXPECT_NE(said, "graphs 0") << what;
    }
}

struct Layout {
    const char* name;
    RunConfig (*make)();
};

class GraphEquality : public ::testing::TestWithParam<Layout> { };

TEST_P(GraphEquality, EveryScopeAndPlacementBitForBit) {
    const RunResult eager = test::trainRanks(GetParam().make());
    for (const Scope scope : {Scope::Cycle, Scope::Full, Scope::Microbatch, Scope::Layer, Scope::Hop}) {
        for (const auto placement : {CollectivePlacement::Inside, CollectivePlacement::Fork}) {
            RunConfig config = GetParam().make();
            config.graphs.mode = GraphMode::Manual;
            config.graphs.maxGraphs = 4096;
            config.graphFull = scope == Scope::Full;
            config.passScope = scope == Scope::Full ? Scope::Cycle : scope;
            config.tensorComm = placement;
            const bool same = config.parallel.tensor == 1 && placement == CollectivePlacement::Fork;
            if (same || !config.layoutProblem().empty()) {
                continue; // no ring, no hop
            }
            const std::string what = std::string(graphs::scopeName(scope))
                + (placement == CollectivePlacement::Fork ? " fork" : " inside");
            const RunResult result = test::trainRanks(config);
            expectSameBits(eager, result, what);
            expectGraphs(result, what);
        }
    }
}

TEST_P(GraphEquality, SegmentsWithCollectivesOutsideAndBlindCapture) {
    const RunResult eager = test::trainRanks(GetParam().make());
    RunConfig segments = GetParam().make();
    segments.graphs.mode = GraphMode::Manual;
    segments.graphs.maxGraphs = 4096;
    segments.passScope = Scope::Segment;
    segments.tensorComm = CollectivePlacement::Outside;
    const RunResult cut = test::trainRanks(segments);
    expectSameBits(eager, cut, "segment");
    expectGraphs(cut, "segment");
    RunConfig blind = GetParam().make();
    blind.graphs.mode = GraphMode::Auto;
    blind.graphs.maxGraphs = 4096;
    const RunResult automatic = test::trainRanks(blind);
    expectSameBits(eager, automatic, "auto");
    expectGraphs(automatic, "auto");
}

TEST_P(GraphEquality, FullCacheUnderEveryPolicy) {
    const RunResult eager = test::trainRanks(GetParam().make());
    for (const auto policy :
        {graphs::CachePolicy::Fallback, graphs::CachePolicy::Lru, graphs::CachePolicy::Lfu}) {
        RunConfig config = GetParam().make();
        config.graphs.mode = GraphMode::Manual;
        config.passScope = Scope::Microbatch;
        config.keyByMicroBatch = true;
        config.graphs.maxGraphs = 3;
        config.graphs.policy = policy;
        expectSameBits(eager, test::trainRanks(config), "policy " + std::to_string(static_cast<int>(policy)));
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, GraphEquality,
    ::testing::Values(Layout{"Alone", &alone}, Layout{"TensorAndPipeline", &tensorAndPipeline},
        Layout{"SequenceAndRing", &sequenceAndRing}, Layout{"Replicas", &replicas},
        Layout{"EightBits", &eightBits}),
    [](const auto& one) { return one.param.name; });

TEST(GraphAgreement, AFailureOnAnyRankSendsItsPeersToEager) {
    for (const Scope scope : {Scope::Cycle, Scope::Layer}) {
        const RunResult eager = test::trainRanks(tensorAndPipeline());
        for (int rank = 0; rank < 4; ++rank) {
            RunConfig config = tensorAndPipeline();
            config.graphs.mode = GraphMode::Manual;
            config.graphs.maxGraphs = 4096;
            config.passScope = scope;
            std::string problem;
            config.faults.push_back(
                *faults::parseFault("unjoined-fork@rank=" + std::to_string(rank), problem));
            const std::string what = std::string(graphs::scopeName(scope)) + ", rank " + std::to_string(rank);
            const RunResult result = test::trainRanks(config);
            expectSameBits(eager, result, what);
            // The graphs that failed are missing on the rank's peers as well: all for a cycle, else its
            // stage's.
            const auto& runs = result.runs;
            const std::size_t peer = static_cast<std::size_t>(rank ^ 1);
            EXPECT_EQ(runs.at(static_cast<std::size_t>(rank)), runs.at(peer)) << what;
            const bool everywhere = runs.at(0) == runs.at(2);
            EXPECT_EQ(everywhere, scope == Scope::Cycle) << what << ": " << runs.at(0) << ", " << runs.at(2);
        }
    }
}

} // namespace
} // namespace gdt::train
