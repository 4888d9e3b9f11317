// SPDX-License-Identifier: Apache-2.0
// Whole training runs of a small model in this process.
#include "kernels/optimizer.h"
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace gdt::train {
namespace {

struct Outcome {
    std::vector<optim::StepRecord> records;
    std::vector<double> parameters;
    std::size_t graphs = 0;
};

RunConfig smallRun() {
    RunConfig config;
    config.model.hidden = 16;
    config.model.heads = 2;
    config.model.seqLen = 12;
    config.microBatch = 3;
    config.steps = 12;
    config.corpusTokens = 4096;
    config.optimizer.warmupSteps = 3;
    config.optimizer.decaySteps = 12;
    config.quiet = true;
    return config;
}

template <class T> Outcome runAs(const RunConfig& config) {
    const parallel::ParallelState alone({}, 0);
    RunReport report(config, 0);
    const parallel::RankCommunicators none;
    Trainer<T> trainer(config, alone, none, report);
    EXPECT_EQ(trainer.setUp(), runtime::Status::Success);
    EXPECT_EQ(trainer.train(), runtime::Status::Success);
    return {trainer.records(), {trainer.parameters().begin(), trainer.parameters().end()},
        trainer.graphManager().cache().graphs()};
}

Outcome run(const RunConfig& config) {
    switch (config.type) {
    case ElementType::F64:
        return runAs<double>(config);
    case ElementType::BF16:
    case ElementType::FP8:
        return runAs<kernels::BFloat16>(config);
    case ElementType::F16:
        return runAs<kernels::Float16>(config);
    default:
        return runAs<float>(config);
    }
}

void expectSameBits(const Outcome& a, const Outcome& b) {
    ASSERT_EQ(a.records.size(), b.records.size());
    for (std::size_t i = 0; i < a.records.size(); ++i) {
        EXPECT_EQ(std::memcmp(&a.records[i], &b.records[i], sizeof(optim::StepRecord)), 0) << "step " << i;
    }
    EXPECT_EQ(a.parameters, b.parameters);
}

class GraphEqualsEager : public ::testing::TestWithParam<ElementType> { };

TEST_P(GraphEqualsEager, InEveryScopeBitForBit) {
    RunConfig config = smallRun();
    config.type = GetParam();
    config.graphs.mode = graphs::GraphMode::Eager;
    const Outcome eager = run(config);
    EXPECT_EQ(eager.graphs, 0U);
    EXPECT_NE(eager.records.front().loss, eager.records.back().loss);

    config.graphs.mode = graphs::GraphMode::Manual;
    const Outcome both = run(config);
    EXPECT_EQ(both.graphs, 2U);
    expectSameBits(eager, both);

    config.graphOptimizer = false;
    expectSameBits(eager, run(config));
    config.graphCycle = false;
    config.graphOptimizer = true;
    expectSameBits(eager, run(config));
    config.graphFull = true;
    const Outcome full = run(config);
    EXPECT_EQ(full.graphs, 1U);
    expectSameBits(eager, full);
}

INSTANTIATE_TEST_SUITE_P(Types, GraphEqualsEager,
    ::testing::Values(
        ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16, ElementType::FP8),
    [](const auto& one) { return elementName(one.param); });

RunConfig halfRun(double lossScale) {
    RunConfig config = smallRun();
    config.type = ElementType::F16;
    config.optimizer.lossScale = lossScale;
    config.optimizer.scaleWindow = 3;
    config.steps = 30;
    return config;
}

// Steps whose gradients overflow happen in replays, too: the device decides.
TEST(HalfPrecision, LossScaleFallsUntilGradientsAreFiniteAndGrowsAgain) {
    RunConfig config = halfRun(kernels::kMostLossScale);
    const Outcome replayed = run(config);
    std::int64_t skipped = 0;
    for (std::size_t i = 0; i + 1 < replayed.records.size(); ++i) {
        const optim::StepRecord& record = replayed.records[i];
        const double next = replayed.records[i + 1].lossScale;
        EXPECT_EQ(std::isfinite(record.gradNorm), record.skipped == 0) << "step " << i;
        EXPECT_TRUE(next == record.lossScale || next == record.lossScale * (record.skipped != 0 ? 0.5 : 2.0));
        skipped += record.skipped;
    }
    EXPECT_GT(skipped, 3);
    EXPECT_LT(skipped, 20);
    EXPECT_LT(replayed.records.back().loss, replayed.records.front().loss);
    config.graphs.mode = graphs::GraphMode::Eager;
    expectSameBits(run(config), replayed);
}

TEST(HalfPrecision, ScaleOfTheLossHardlyChangesWhatIsLearnt) {
    RunConfig config = halfRun(1024.0);
    const Outcome small = run(config);
    config.optimizer.lossScale = 65536.0;
    const Outcome large = run(config);
    config.type = ElementType::BF16;
    config.optimizer = smallRun().optimizer;
    const Outcome bf16 = run(config);
    config.type = ElementType::F32;
    const Outcome single = run(config);
    for (std::size_t i = 0; i < single.records.size(); ++i) {
        const double loss = single.records[i].loss;
        EXPECT_NEAR(small.records[i].loss, loss, 0.01 * loss) << "step " << i;
        EXPECT_NEAR(large.records[i].loss, loss, 0.01 * loss) << "step " << i;
        EXPECT_NEAR(bf16.records[i].loss, loss, 0.03 * loss) << "step " << i;
    }
}

TEST(EightBits, LearnWhatSixteenBitsLearn) {
    RunConfig config = smallRun();
    config.steps = 40;
    config.type = ElementType::BF16;
    const Outcome wide = run(config);
    config.type = ElementType::FP8;
    const Outcome narrow = run(config);
    EXPECT_NE(narrow.parameters, wide.parameters);
    for (std::size_t i = 0; i < wide.records.size(); ++i) {
        EXPECT_NEAR(narrow.records[i].loss, wide.records[i].loss, 0.04 * wide.records[i].loss)
            << "step " << i;
    }
    EXPECT_LT(narrow.records.back().loss, narrow.records.front().loss);
    config.model.recompute = model::Recompute::Full;
    expectSameBits(narrow, run(config));
}

TEST(Trainer, WorkerThreadsDoNotChangeTheNumbers) {
    RunConfig config = smallRun();
    const Outcome threaded = run(config);
    config.hostWorkers = 0;
    expectSameBits(threaded, run(config));
}

TEST(Trainer, ReadingLossesMoreOftenDoesNotChangeThem) {
    RunConfig config = smallRun();
    const Outcome seldom = run(config);
    config.logInterval = 1;
    expectSameBits(seldom, run(config));
}

TEST(Trainer, OneMicroBatchOfTwiceTheSizeIsTheSameGlobalBatch) {
    RunConfig config = smallRun();
    config.type = ElementType::F64;
    config.microBatches = 2;
    const Outcome two = run(config);
    config.microBatches = 1;
    config.microBatch *= 2;
    const Outcome one = run(config);
    for (std::size_t i = 0; i < two.records.size(); ++i) {
        EXPECT_NEAR(two.records[i].loss, one.records[i].loss, 1e-10 * one.records[i].loss) << "step " << i;
    }
}

TEST(Trainer, DoubleAndSinglePrecisionAgree) {
    RunConfig config = smallRun();
    const Outcome narrow = run(config);
    config.type = ElementType::F64;
    const Outcome wide = run(config);
    for (std::size_t i = 0; i < wide.records.size(); ++i) {
        EXPECT_NEAR(narrow.records[i].loss, wide.records[i].loss, 1e-4);
    }
}

TEST(Trainer, RunsThatAreLongerThanTheDeviceHistoryKeepEveryRecord) {
    RunConfig config = smallRun();
    config.model.layers = 1;
    config.model.seqLen = 4;
    config.steps = optim::StepState::kHistory * 2 + 7;
    config.logInterval = optim::StepState::kHistory;
    const Outcome outcome = run(config);
    ASSERT_EQ(static_cast<std::int64_t>(outcome.records.size()), config.steps);
    config.logInterval = 5;
    expectSameBits(outcome, run(config));
}

TEST(Trainer, BucketedLengthsWithinTheCacheAreAllReplayed) {
    RunConfig config = smallRun();
    config.steps = 40;
    config.graphs.maxGraphs = 9;
    std::string problem;
    config.faults.push_back(*faults::parseFault("graph-cache-overflow@harmless", problem));
    EXPECT_EQ(run(config).graphs, 5U) << "four lengths and the optimizer";
    config.faults.assign(1, *faults::parseFault("graph-cache-overflow:6", problem));
    config.graphs.maxGraphs = 4;
    EXPECT_EQ(run(config).graphs, 4U);
}

TEST(Trainer, BlindCaptureWithChangingLengthsComputesTheSameAndGivesUp) {
    RunConfig config = smallRun();
    config.steps = 30;
    std::string problem;
    config.faults.push_back(*faults::parseFault("graph-cache-overflow:6", problem));
    config.graphs.mode = graphs::GraphMode::Eager;
    const Outcome eager = run(config);
    config.graphs.mode = graphs::GraphMode::Auto;
    const Outcome blind = run(config);
    expectSameBits(eager, blind);
    EXPECT_EQ(blind.graphs, 1U) << "only the optimizer's is left";
}

} // namespace
} // namespace gdt::train
