// SPDX-License-Identifier: Apache-2.0
#include "finite_difference.h"
#include "stage_harness.h"

namespace gdt::model {
namespace {

using test::StageHarness;

struct Variant {
    bool tied;
    NormKind norm;
    double dropout = 0;
    Activation activation = Activation::Gelu;

    [[nodiscard]] std::string name() const {
        return std::string(tied ? "Tied" : "Untied") + (norm == NormKind::Rms ? "Rms" : "Layer")
            + (dropout > 0 ? "Dropout" : "") + (activation == Activation::Swiglu ? "Swiglu" : "");
    }
};

class GptStageGradient : public ::testing::TestWithParam<Variant> { };

// The entire model, every parameter, against central differences of the loss.
TEST_P(GptStageGradient, MatchesDifferences) {
    ModelConfig config = test::tinyModel();
    config.tiedHead = GetParam().tied;
    config.norm = GetParam().norm;
    config.dropout = config.embeddingDropout = config.attentionDropout = GetParam().dropout;
    config.activation = GetParam().activation;
    config.mlpWidth = config.activation == Activation::Swiglu ? 10 : 0;
    StageHarness<double> h(config, 3);
    const auto count = static_cast<std::size_t>(h.stage.layout().count());
    // Starting values of 0.02 make many gradients vanish; larger ones exercise every non-linearity.
    for (std::size_t i = 0; i < count; ++i) {
        h.values[i] += 0.3 * kernels::randomNormal(17, 0, i);
    }
    h.computeGradients();
    for (const Parameter& parameter : h.stage.layout().parameters()) {
        double* at = h.values + parameter.offset;
        std::vector<double> values(at, at + parameter.count);
        const std::vector<double> gradient(
            h.gradients + parameter.offset, h.gradients + parameter.offset + parameter.count);
        const auto loss = [&] {
            std::copy(values.begin(), values.end(), at);
            return h.loss();
        };
        test::expectGradient(values, gradient, loss, parameter.name.c_str(), 5);
        std::copy(values.begin(), values.end(), at);
    }
}

INSTANTIATE_TEST_SUITE_P(Variants, GptStageGradient,
    ::testing::Values(Variant{true, NormKind::Layer}, Variant{false, NormKind::Layer},
        Variant{true, NormKind::Rms}, Variant{true, NormKind::Layer, 0.3},
        Variant{true, NormKind::Rms, 0, Activation::Swiglu}),
    [](const auto& one) { return one.param.name(); });

TEST(GptStage, UntrainedLossIsTheLogarithmOfTheVocabulary) {
    StageHarness<double> h(test::tinyModel(), 3);
    EXPECT_NEAR(h.loss(), std::log(7.0), 0.1);
}

TEST(GptStage, SinglePrecisionAgreesWithDouble) {
    StageHarness<double> wide(test::tinyModel(), 3);
    StageHarness<float> narrow(test::tinyModel(), 3);
    EXPECT_NEAR(wide.loss(), narrow.loss(), 1e-5);
    wide.computeGradients();
    narrow.computeGradients();
    for (std::int64_t i = 0; i < wide.stage.layout().count(); ++i) {
        EXPECT_NEAR(wide.gradients[i], static_cast<double>(narrow.gradients[i]), 1e-5);
    }
}

TEST(GptStage, ShorterSequenceFitsTheSameBuffers) {
    StageHarness<double> whole(test::tinyModel(), 3);
    StageHarness<double> part(test::tinyModel(), 3);
    ModelConfig shortConfig = test::tinyModel();
    shortConfig.seqLen = 4;
    StageHarness<double> exact(shortConfig, 3);
    part.shape.seqLen = 4;
    part.tokens = exact.tokens;
    part.targets = exact.targets;
    EXPECT_DOUBLE_EQ(part.loss(), exact.loss());
    EXPECT_NE(part.loss(), whole.loss());
}

TEST(GptStage, ActivationsFitWhatTheStageAsksFor) {
    for (const std::int64_t layers : {1, 2, 5}) {
        ModelConfig config = test::tinyModel();
        config.layers = layers;
        StageHarness<float> h(config, 4);
        EXPECT_LE(h.pool.usedBytes(), h.stage.buffers().bytes());
        EXPECT_GT(h.pool.usedBytes() * 2, h.stage.buffers().bytes()) << "the bound is far too generous";
    }
}

struct DroppedPlace {
    const char* name;
    double ModelConfig::*share;
};

class GptStageDropout : public ::testing::TestWithParam<DroppedPlace> { };

TEST_P(GptStageDropout, DrawsByTheNumberOfTheSample) {
    ModelConfig config = test::tinyModel();
    StageHarness<double> plain(config, 3);
    config.*GetParam().share = 0.5;
    StageHarness<double> dropped(config, 3);
    const double once = dropped.loss();
    EXPECT_NE(once, plain.loss());
    EXPECT_EQ(once, dropped.loss()) << "the same samples drop the same elements";
    config.dropoutSeed = 2;
    EXPECT_NE(once, (StageHarness<double>(config, 3).loss()));
}

INSTANTIATE_TEST_SUITE_P(Places, GptStageDropout,
    ::testing::Values(DroppedPlace{"Branches", &ModelConfig::dropout},
        DroppedPlace{"Embedding", &ModelConfig::embeddingDropout},
        DroppedPlace{"Attention", &ModelConfig::attentionDropout}),
    [](const auto& one) { return one.param.name; });

class GptStageRecompute : public ::testing::TestWithParam<std::tuple<Recompute, Activation>> { };

// What is computed again has the bits of the first time, dropout included, and is not kept in between.
TEST_P(GptStageRecompute, GivesTheSameBitsFromLessMemory) {
    ModelConfig config = test::tinyModel();
    config.layers = 4;
    config.dropout = config.attentionDropout = 0.2;
    config.activation = std::get<1>(GetParam());
    StageHarness<float> kept(config, 3);
    config.recompute = std::get<0>(GetParam());
    StageHarness<float> again(config, 3);
    kept.computeGradients();
    again.computeGradients();
    const auto count = static_cast<std::size_t>(kept.stage.layout().count());
    EXPECT_EQ(std::vector<float>(kept.gradients, kept.gradients + count),
        std::vector<float>(again.gradients, again.gradients + count));
    EXPECT_LT(again.stage.buffers().bytes(), kept.stage.buffers().bytes());
}

INSTANTIATE_TEST_SUITE_P(Kinds, GptStageRecompute,
    ::testing::Combine(::testing::Values(Recompute::Selective, Recompute::Full),
        ::testing::Values(Activation::Gelu, Activation::Swiglu)),
    [](const auto& one) {
        return std::string(std::get<0>(one.param) == Recompute::Full ? "Full" : "Selective")
            + (std::get<1>(one.param) == Activation::Swiglu ? "Swiglu" : "Gelu");
    });

TEST(GptStage, LossScaleMultipliesGradientsAndNotTheLoss) {
    StageHarness<double> h(test::tinyModel(), 3);
    h.computeGradients();
    const std::vector<double> plain(h.gradients, h.gradients + h.stage.layout().count());
    const double loss = h.loss();
    h.state->lossScale = 8.0;
    h.computeGradients();
    EXPECT_DOUBLE_EQ(h.loss(), loss);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_NEAR(h.gradients[i], 8.0 * plain[i], 1e-12);
    }
}

TEST(ParameterLayout, CopiesComeFirstThenDecayedThenReplicated) {
    ParameterLayout layout;
    const int own = layout.addVector("qkv.bias", 7, Shard::whole(2), 0.0, false);
    const int shared = layout.addVector("gain", 3, Shard::whole(3), 1.0, true);
    const int matrix = layout.addMatrix("weight", 4, Shard::whole(2, 3), 0.02);
    const int copy = layout.addCopy("embedding", 0, Shard::whole(4), 0.02);
    layout.finish(8);
    EXPECT_EQ(layout.at(copy).offset, 0);
    EXPECT_EQ(layout.at(matrix).offset, 4);
    EXPECT_EQ(layout.at(shared).offset, 10);
    EXPECT_EQ(layout.at(own).offset, 13);
    EXPECT_EQ(layout.decayedCount(), 10);
    EXPECT_EQ(layout.secondary().count, 4);
    EXPECT_EQ(layout.replicated().first, 10);
    EXPECT_EQ(layout.replicated().count, 3);
    EXPECT_EQ(layout.usedCount(), 15);
    EXPECT_EQ(layout.count(), 16);
}

TEST(Shard, PartsOfRowsAndColumnsCoverTheWholeOnce) {
    std::vector<int> seen(6 * 4, 0);
    for (int part = 0; part < 2; ++part) {
        const Shard rows = Shard::ofRows(6, 4, part, 2, 3); // as queries, keys and values
        EXPECT_EQ(rows.count(), 12);
        for (std::int64_t i = 0; i < rows.count(); ++i) {
            ++seen[static_cast<std::size_t>(rows.globalIndex(i))];
        }
        EXPECT_EQ(rows.globalIndex(4), (2 + part) * 4) << "own row of the second block";
        const Shard columns = Shard::ofColumns(6, 4, part, 2);
        for (std::int64_t i = 0; i < columns.count(); ++i) {
            ++seen[static_cast<std::size_t>(columns.globalIndex(i))];
        }
    }
    EXPECT_EQ(seen, std::vector<int>(24, 2));
}

TEST(ModelConfig, GatedMlpHasAsManyParametersAsThePlainOne) {
    ModelConfig config;
    config.hidden = 768;
    EXPECT_EQ(config.mlpHidden(), 3072);
    config.activation = Activation::Swiglu;
    EXPECT_EQ(config.mlpHidden(), 2048);
    config.hidden = 64;
    EXPECT_EQ(config.mlpHidden(), 192) << "8/3 * 64 = 170.7, rounded up";
    config.mlpWidth = 100;
    EXPECT_EQ(config.mlpHidden(), 100);
}

TEST(ModelConfig, ProblemNamesTheOption) {
    ModelConfig config;
    config.heads = 3;
    EXPECT_NE(config.problem().find("--heads 3"), std::string::npos);
    config.hidden = 9;
    EXPECT_NE(config.problem().find("even"), std::string::npos);
    EXPECT_TRUE(ModelConfig().problem().empty());
}

} // namespace
} // namespace gdt::model
