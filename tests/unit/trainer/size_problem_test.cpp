// SPDX-License-Identifier: Apache-2.0
// What a run needs at least, before anything is allocated, against what it takes.
#include "train/size_problem.h"

#include "parallel/rank_communicators.h"
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <functional>

namespace gdt::train {
namespace {

struct Case {
    const char* name;
    std::function<void(RunConfig&)> change;
};

class LeastNeed : public ::testing::TestWithParam<Case> { };

// The bound refuses nothing that is possible, and is near enough to refuse what is not.
TEST_P(LeastNeed, IsBelowWhatTheRunTakesAndNotFarBelow) {
    RunConfig config;
    config.model.hidden = 128;
    config.model.layers = 4;
    config.corpusTokens = 4096;
    config.steps = 1;
    config.quiet = true;
    GetParam().change(config);
    const parallel::ParallelState alone(config.parallel, 0);
    const parallel::RankCommunicators none;
    RunReport report(config, 0);
    double taken = 0;
    const auto measure = [&](auto& trainer) {
        ASSERT_TRUE(runtime::ok(trainer.setUp())) << trainer.problem();
        ASSERT_TRUE(runtime::ok(trainer.train()));
        const auto moments = 2 * static_cast<std::size_t>(trainer.optimizer().ownedCount()) * sizeof(float);
        taken = static_cast<double>(trainer.deviceBytes() + moments);
    };
    if (config.type == ElementType::BF16) {
        Trainer<kernels::BFloat16> trainer(config, alone, none, report);
        measure(trainer);
    } else {
        Trainer<float> trainer(config, alone, none, report);
        measure(trainer);
    }
    const double least = leastNeed(config).device;
    EXPECT_LE(least, taken);
    EXPECT_GT(2.5 * least, taken);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LeastNeed,
    ::testing::Values(Case{"Ordinary", [](RunConfig&) {}},
        Case{"Gpipe",
            [](RunConfig& c) {
                c.schedule = pipeline::ScheduleKind::GPipe;
                c.microBatches = 4;
            }},
        Case{"Swiglu", [](RunConfig& c) { c.model.activation = model::Activation::Swiglu; }},
        Case{"Selective", [](RunConfig& c) { c.model.recompute = model::Recompute::Selective; }},
        Case{"Full", [](RunConfig& c) { c.model.recompute = model::Recompute::Full; }},
        Case{"Bf16", [](RunConfig& c) { c.type = ElementType::BF16; }},
        Case{"LargeVocabulary", [](RunConfig& c) { c.model.vocab = 4096; }}),
    [](const auto& one) { return one.param.name; });

TEST(SizeProblem, SaysWhatIsNeededAndWhatThereIs) {
    RunConfig config;
    EXPECT_EQ(sizeProblem(config, {1e9, 1e9}), "");
    const std::string device = sizeProblem(config, {1e6, 1e9});
    EXPECT_NE(device.find("GiB of device memory a rank"), std::string::npos) << device;
    const std::string host = sizeProblem(config, {1e9, 1e5});
    EXPECT_NE(host.find("of the host's memory for 1 rank and"), std::string::npos) << host;
    config.parallel.data = 2;
    const double one = leastNeed(config).host;
    EXPECT_EQ(sizeProblem(config, {1e9, 2 * one}), "");
    EXPECT_NE(sizeProblem(config, {1e9, 2 * one - 1}).find("for 2 ranks and"), std::string::npos);
}

} // namespace
} // namespace gdt::train
