// SPDX-License-Identifier: Apache-2.0
// Kernels against naive fp64 references and published vectors.
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/fetch_tokens.h"
#include "kernels/gemm.h"
#include "kernels/optimizer.h"
#include "kernels/rng.h"

#include "test_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gdt::kernels {
namespace {

using test::normals;

TEST(Philox, MatchesPublishedVectors) {
    // Known answers of philox4x32-10 that come with the authors' library.
    using Block = std::array<std::uint32_t, 4>;
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr std::uint32_t kOnes = 0xffffffff;
    EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
        (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
        (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, NormalsHaveMeanZeroAndVarianceOne) {
    constexpr std::uint64_t kCount = 100000;
    double sum = 0;
    double squares = 0;
    for (std::uint64_t i = 0; i < kCount; ++i) {
        const double v = randomNormal(3, 1, i);
        sum += v;
        squares += v * v;
    }
    EXPECT_NEAR(sum / kCount, 0.0, 4.0 / std::sqrt(double(kCount)));
    EXPECT_NEAR(squares / kCount, 1.0, 6.0 / std::sqrt(double(kCount)));
}

TEST(InitNormal, ShardEqualsItsPartOfTheWhole) {
    std::vector<float> whole(100);
    std::vector<float> shard(40);
    InitNormal<float>::host({whole.data(), 100, 5, 3, 0, 0.0, 0.02});
    InitNormal<float>::host({shard.data(), 40, 5, 3, 60, 0.0, 0.02});
    for (std::size_t i = 0; i < shard.size(); ++i) {
        EXPECT_EQ(shard[i], whole[60 + i]);
    }
}

struct GemmCase {
    std::int64_t m, n, k;
    bool transposeA, transposeB;
    double alpha, beta;
    bool bias;
};

template <class T> void expectGemm(const GemmCase& shape, double tolerance) {
    const auto [m, n, k, transposeA, transposeB, alpha, beta, bias] = shape;
    const std::vector<T> a = normals<T>(static_cast<std::size_t>(m * k), 1);
    const std::vector<T> b = normals<T>(static_cast<std::size_t>(k * n), 2);
    const std::vector<T> before = normals<T>(static_cast<std::size_t>(m * n), 3);
    const std::vector<T> offset = normals<T>(static_cast<std::size_t>(n), 4);
    std::vector<T> c = before;
    const std::int64_t lda = transposeA ? m : k;
    const std::int64_t ldb = transposeB ? k : n;
    Gemm<T>::host({a.data(), b.data(), c.data(), bias ? offset.data() : nullptr, m, n, k, lda, ldb, n,
        static_cast<T>(alpha), static_cast<T>(beta), transposeA, transposeB});
    for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t l = 0; l < k; ++l) {
                const T x = a[static_cast<std::size_t>(transposeA ? l * lda + i : i * lda + l)];
                const T y = b[static_cast<std::size_t>(transposeB ? j * ldb + l : l * ldb + j)];
                sum += static_cast<double>(x) * static_cast<double>(y);
            }
            const std::size_t at = static_cast<std::size_t>(i * n + j);
            const double old = static_cast<double>(before[at]);
            const double added = bias ? static_cast<double>(offset[static_cast<std::size_t>(j)]) : 0.0;
            EXPECT_NEAR(static_cast<double>(c[at]), alpha * sum + beta * old + added, tolerance);
        }
    }
}

class GemmTest : public ::testing::TestWithParam<GemmCase> { };

TEST_P(GemmTest, EqualsTripleLoop) {
    expectGemm<double>(GetParam(), 1e-12);
    expectGemm<float>(GetParam(), 2e-4);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GemmTest,
    ::testing::Values(GemmCase{1, 1, 1, false, false, 1, 0, false},
        GemmCase{7, 5, 3, false, true, 1, 0, true}, GemmCase{33, 17, 65, false, false, 1, 0, false},
        GemmCase{13, 31, 19, true, false, 1, 1, false}, GemmCase{6, 9, 11, true, true, 0.5, 2, true}),
    [](const auto& one) {
        const GemmCase& c = one.param;
        return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k)
            + (c.transposeA ? "TransposedA" : "") + (c.transposeB ? "TransposedB" : "");
    });

TEST(Attention, FirstPositionCopiesItsValueAndRowsAreCausal) {
    constexpr std::int64_t kSeq = 6, kHeads = 2, kSize = 4, kWidth = kHeads * kSize;
    std::vector<double> qkv = normals(kSeq * 3 * kWidth, 1);
    std::vector<double> logSums(kHeads * kSeq), out(kSeq * kWidth), changed(kSeq * kWidth);
    AttentionForward<double>::host({qkv.data(), out.data(), logSums.data(), kSeq, 1, kHeads, kSize});
    for (std::size_t i = 0; i < kWidth; ++i) {
        EXPECT_DOUBLE_EQ(out[i], qkv[2 * kWidth + i]);
    }
    for (std::size_t i = 0; i < 3 * kWidth; ++i) {
        qkv[(kSeq - 1) * 3 * kWidth + i] += 1.0;
    }
    AttentionForward<double>::host({qkv.data(), changed.data(), logSums.data(), kSeq, 1, kHeads, kSize});
    for (std::size_t i = 0; i < (kSeq - 1) * kWidth; ++i) {
        EXPECT_EQ(out[i], changed[i]) << "an earlier position saw the last one";
    }
}

TEST(Attention, ExtremeScoresStayFinite) {
    std::vector<float> qkv = normals<float>(4 * 3 * 2, 1, 1e4);
    std::vector<float> logSums(4), out(4 * 2);
    AttentionForward<float>::host({qkv.data(), out.data(), logSums.data(), 4, 1, 1, 2});
    for (const float v : out) {
        EXPECT_TRUE(std::isfinite(v));
    }
}

TEST(Rotary, ScoresDependOnDistanceOnly) {
    constexpr std::int64_t kSeq = 8, kSize = 6;
    const std::vector<double> row = normals(3 * kSize, 1);
    std::vector<double> qkv;
    for (std::int64_t t = 0; t < kSeq; ++t) {
        qkv.insert(qkv.end(), row.begin(), row.end());
    }
    Rotary<double>::host({qkv.data(), kSeq, 1, 1, kSize, 10000.0, 1.0});
    const auto score = [&](std::int64_t i, std::int64_t j) {
        double sum = 0;
        for (std::int64_t d = 0; d < kSize; ++d) {
            sum += qkv[static_cast<std::size_t>(i * 3 * kSize + d)]
                * qkv[static_cast<std::size_t>(j * 3 * kSize + kSize + d)];
        }
        return sum;
    };
    EXPECT_NEAR(score(3, 1), score(7, 5), 1e-12);
    EXPECT_GT(std::abs(score(3, 1) - score(3, 2)), 1e-6);
}

TEST(SoftmaxCrossEntropy, UniformLogitsCostTheLogarithmOfTheVocabulary) {
    std::vector<double> logits(2 * 10, 5e4);
    const std::vector<std::int32_t> targets{3, 7};
    std::vector<double> losses(2);
    optim::StepState state{};
    state.lossScale = 8.0;
    SoftmaxCrossEntropy<double>::host({logits.data(), targets.data(), losses.data(), &state, 2, 10, 0.5});
    EXPECT_DOUBLE_EQ(losses[0], std::log(10.0));
    EXPECT_DOUBLE_EQ(logits[3], 8.0 * 0.5 * (0.1 - 1.0)); // the loss scale is part of the gradient
    EXPECT_DOUBLE_EQ(logits[4], 8.0 * 0.5 * 0.1);
}

TEST(FetchTokens, GlobalBatchIsTheSameOverOneOrTwoRanks) {
    const std::vector<std::int32_t> corpus = test::tokens(5000, 97, 1);
    optim::StepState state{};
    state.step = 12;
    constexpr std::int64_t kSeq = 9;
    const auto fetch = [&](std::int64_t batch, std::int64_t rank, std::int64_t ranks) {
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(kSeq * batch)), targets(tokens.size());
        FetchTokens::host(
            {corpus.data(), &state, tokens.data(), targets.data(), 5000, kSeq, batch, 1, 2, rank, ranks, 4});
        std::vector<std::int32_t> firstRow(tokens.begin(), tokens.begin() + batch);
        for (std::int64_t i = 0; i < (kSeq - 1) * batch; ++i) {
            EXPECT_EQ(targets[static_cast<std::size_t>(i)], tokens[static_cast<std::size_t>(i + batch)]);
        }
        return firstRow;
    };
    std::vector<std::int32_t> spread = fetch(3, 0, 2);
    const std::vector<std::int32_t> second = fetch(3, 1, 2);
    spread.insert(spread.end(), second.begin(), second.end());
    EXPECT_EQ(fetch(6, 0, 1), spread);
}

TEST(FetchTokens, StepOnTheDeviceChoosesTheData) {
    const std::vector<std::int32_t> corpus = test::tokens(5000, 97, 1);
    optim::StepState state{};
    std::vector<std::int32_t> first(16), second(16), targets(16);
    FetchTokens::Args args{corpus.data(), &state, first.data(), targets.data(), 5000, 16, 1, 0, 1, 0, 1, 4};
    FetchTokens::host(args);
    state.step = 1;
    args.tokens = second.data();
    FetchTokens::host(args);
    EXPECT_NE(first, second);
}

TEST(LearningRateSchedule, WarmsUpThenFallsToTheFloor) {
    optim::StepState state{};
    const auto rateAt = [&](std::int64_t step) {
        state.step = step;
        LearningRateSchedule::host({&state, 1.0, 0.1, 0.9, 0.99, 10, 110});
        return state.learningRate;
    };
    EXPECT_DOUBLE_EQ(rateAt(0), 0.1);
    EXPECT_DOUBLE_EQ(rateAt(9), 1.0);
    EXPECT_DOUBLE_EQ(rateAt(59), 0.55); // half way down
    EXPECT_DOUBLE_EQ(rateAt(109), 0.1);
    EXPECT_DOUBLE_EQ(rateAt(5000), 0.1);
    state.updates = 2;
    LearningRateSchedule::host({&state, 1.0, 0.1, 0.9, 0.99, 10, 110});
    EXPECT_DOUBLE_EQ(state.beta1Power, 0.9 * 0.9 * 0.9);
}

TEST(ClipCoefficient, LimitsTheUnscaledNorm) {
    optim::StepState state{};
    state.lossScale = 4.0;
    state.gradSquares = 400.0; // scaled norm 20, true norm 5
    ClipCoefficient::host({&state, 1.0});
    EXPECT_DOUBLE_EQ(state.gradNorm, 5.0);
    EXPECT_DOUBLE_EQ(state.clipCoefficient * 20.0, 1.0);
    ClipCoefficient::host({&state, 50.0});
    EXPECT_DOUBLE_EQ(state.clipCoefficient, 0.25);
}

TEST(AdamW, FollowsTheDefinitionForThreeSteps) {
    double p = 0.5, m = 0, v = 0;
    double parameter = 0.5, first = 1e30, second = 1e30; // fresh memory holds anything
    optim::StepState state{};
    state.clipCoefficient = 0.5;
    for (int step = 1; step <= 3; ++step) {
        const double raw = 0.3 * step;
        const double g = raw * 0.5;
        state.updates = step - 1;
        state.learningRate = 0.01 * step;
        state.beta1Power = std::pow(0.9, step);
        state.beta2Power = std::pow(0.95, step);
        m = 0.9 * m + 0.1 * g;
        v = 0.95 * v + 0.05 * g * g;
        p -= state.learningRate * 0.1 * p;
        p -= state.learningRate * (m / (1 - state.beta1Power))
            / (std::sqrt(v / (1 - state.beta2Power)) + 1e-8);
        AdamW<double>::host({&parameter, &raw, &first, &second, nullptr, &state, 1, 0.9, 0.95, 1e-8, 0.1});
        EXPECT_NEAR(parameter, p, 1e-15);
    }
}

TEST(LossScale, AnOverflowChangesNothingAndHalvesIt) {
    optim::StepState state{};
    state.lossScale = 8.0;
    const auto step = [&](double squares) {
        std::vector<float> parameters{1.0F}, gradients{4.0F}, first{0.5F}, second{0.25F};
        state.gradSquares = squares;
        LearningRateSchedule::host({&state, 0.1, 0.01, 0.9, 0.95, 1, 10});
        ClipCoefficient::host({&state, 1.0, true});
        AdamW<float>::host({parameters.data(), gradients.data(), first.data(), second.data(), nullptr, &state,
            1, 0.9, 0.95, 1e-8, 0.1});
        FinishStep::host({&state, 2});
        EXPECT_EQ(parameters[0] == 1.0F, !std::isfinite(squares));
        EXPECT_EQ(first[0] == 0.5F && second[0] == 0.25F, !std::isfinite(squares));
        return state.lossScale;
    };
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(step(16.0), 8.0);
    EXPECT_EQ(step(kInfinity), 4.0);
    EXPECT_EQ(state.updates, 1) << "Adam's powers do not count it";
    EXPECT_EQ(state.step, 2);
    EXPECT_EQ(state.history[1].skipped, 1);
    EXPECT_EQ(step(std::nan("")), 2.0);
    EXPECT_EQ(step(1.0), 2.0);
    EXPECT_EQ(step(1.0), 4.0) << "two steps without overflow";
    for (int i = 0; i < 5; ++i) {
        step(kInfinity);
    }
    EXPECT_EQ(state.lossScale, 1.0) << "the least";
    state.lossScale = kMostLossScale;
    step(1.0);
    EXPECT_EQ(step(1.0), kMostLossScale);
}

TEST(FinishStep, FilesTheStepInARing) {
    optim::StepState state{};
    for (int i = 0; i < optim::StepState::kHistory + 3; ++i) {
        state.loss = i;
        FinishStep::host({&state});
        EXPECT_EQ(state.loss, 0.0);
    }
    EXPECT_EQ(state.step, optim::StepState::kHistory + 3);
    EXPECT_EQ(state.history[2].loss, optim::StepState::kHistory + 2);
    EXPECT_EQ(state.history[3].loss, 3);
}

} // namespace
} // namespace gdt::kernels
