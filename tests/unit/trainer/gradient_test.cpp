// SPDX-License-Identifier: Apache-2.0
// Each module's backward kernel against central differences of its forward kernel, fp64. Sizes are odd on
// purpose: no vector width or tile divides them.
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "kernels/swiglu.h"

#include "finite_difference.h"
#include "test_values.h"

namespace gdt::kernels {
namespace {

using Values = std::vector<double>;
using test::expectGradient;
using test::normals;
using test::weightedSum;

constexpr std::int64_t kRows = 7;
constexpr std::int64_t kHidden = 11;

TEST(LayerNorm, GradientMatchesDifferences) {
    Values x = normals(kRows * kHidden, 1);
    Values gain = normals(kHidden, 2);
    Values bias = normals(kHidden, 3);
    const Values weights = normals(x.size(), 4);
    Values out(x.size()), mean(kRows), rstd(kRows);
    const auto forward = [&] {
        LayerNormForward<double>::host(
            {x.data(), gain.data(), bias.data(), out.data(), mean.data(), rstd.data(), kRows, kHidden, 1e-5});
        return weightedSum(out, weights);
    };
    forward();
    Values dx(x.size(), 0.0), dgain(kHidden, 0.0), dbias(kHidden, 0.0);
    LayerNormBackward<double>::host({x.data(), gain.data(), mean.data(), rstd.data(), weights.data(),
        dx.data(), dgain.data(), dbias.data(), kRows, kHidden});
    expectGradient(x, dx, forward, "x");
    expectGradient(gain, dgain, forward, "gain");
    expectGradient(bias, dbias, forward, "bias");
}

TEST(LayerNorm, BackwardAddsToWhatTheResidualLeft) {
    const Values x = normals(kRows * kHidden, 1);
    const Values gain = normals(kHidden, 2);
    const Values bias(kHidden, 0.0);
    const Values dout = normals(x.size(), 4);
    Values out(x.size()), mean(kRows), rstd(kRows);
    LayerNormForward<double>::host(
        {x.data(), gain.data(), bias.data(), out.data(), mean.data(), rstd.data(), kRows, kHidden, 1e-5});
    Values clean(x.size(), 0.0), shared(x.size(), 2.0), dgain(kHidden), dbias(kHidden);
    LayerNormBackward<double>::host({x.data(), gain.data(), mean.data(), rstd.data(), dout.data(),
        clean.data(), dgain.data(), dbias.data(), kRows, kHidden});
    LayerNormBackward<double>::host({x.data(), gain.data(), mean.data(), rstd.data(), dout.data(),
        shared.data(), dgain.data(), dbias.data(), kRows, kHidden});
    for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_DOUBLE_EQ(shared[i], clean[i] + 2.0);
    }
}

TEST(RmsNorm, GradientMatchesDifferences) {
    Values x = normals(kRows * kHidden, 1);
    Values gain = normals(kHidden, 2);
    const Values weights = normals(x.size(), 4);
    Values out(x.size()), rstd(kRows);
    const auto forward = [&] {
        RmsNormForward<double>::host({x.data(), gain.data(), out.data(), rstd.data(), kRows, kHidden, 1e-5});
        return weightedSum(out, weights);
    };
    forward();
    Values dx(x.size(), 0.0), dgain(kHidden, 0.0);
    RmsNormBackward<double>::host(
        {x.data(), gain.data(), rstd.data(), weights.data(), dx.data(), dgain.data(), kRows, kHidden});
    expectGradient(x, dx, forward, "x");
    expectGradient(gain, dgain, forward, "gain");
}

TEST(Linear, GradientMatchesDifferences) {
    constexpr std::int64_t kOut = 5;
    Values x = normals(kRows * kHidden, 1);
    Values w = normals(kOut * kHidden, 2);
    Values bias = normals(kOut, 3);
    const Values weights = normals(kRows * kOut, 4);
    Values y(weights.size());
    const auto forward = [&] {
        Gemm<double>::host(linearForward(x.data(), w.data(), bias.data(), y.data(), kRows, kHidden, kOut));
        return weightedSum(y, weights);
    };
    Values dx(x.size()), dw(w.size(), 0.0), dbias(kOut, 0.0);
    const double* dy = weights.data();
    Gemm<double>::host(linearBackwardInput(dy, w.data(), dx.data(), kRows, kHidden, kOut));
    Gemm<double>::host(linearBackwardWeight(dy, x.data(), dw.data(), kRows, kHidden, kOut));
    BiasBackward<double>::host({dy, dbias.data(), kRows, kOut});
    expectGradient(x, dx, forward, "x");
    expectGradient(w, dw, forward, "w");
    expectGradient(bias, dbias, forward, "bias");
}

TEST(Gelu, GradientMatchesDifferences) {
    Values x = normals(37, 1, 2.0);
    const Values weights = normals(x.size(), 4);
    Values out(x.size()), dx(x.size());
    const std::int64_t count = static_cast<std::int64_t>(x.size());
    const auto forward = [&] {
        GeluForward<double>::host({x.data(), out.data(), count});
        return weightedSum(out, weights);
    };
    GeluBackward<double>::host({x.data(), weights.data(), dx.data(), count});
    expectGradient(x, dx, forward, "x");
}

TEST(Swiglu, GradientMatchesDifferences) {
    Values x = normals(kRows * 2 * kHidden, 1, 2.0);
    const Values weights = normals(kRows * kHidden, 4);
    Values out(weights.size()), dx(x.size());
    const auto forward = [&] {
        SwigluForward<double>::host({x.data(), out.data(), kRows, kHidden});
        return weightedSum(out, weights);
    };
    SwigluBackward<double>::host({x.data(), weights.data(), dx.data(), kRows, kHidden});
    expectGradient(x, dx, forward, "x");
}

TEST(Embedding, GradientMatchesDifferences) {
    constexpr std::int32_t kVocab = 4; // fewer than rows, so that a token occurs more than once
    const std::vector<std::int32_t> tokens = test::tokens(kRows, kVocab, 9);
    Values table = normals(kVocab * kHidden, 1);
    const Values weights = normals(kRows * kHidden, 4);
    Values out(weights.size()), dtable(table.size(), 0.0);
    const auto forward = [&] {
        EmbeddingForward<double>::host({tokens.data(), table.data(), out.data(), kRows, kHidden});
        return weightedSum(out, weights);
    };
    EmbeddingBackward<double>::host({tokens.data(), weights.data(), dtable.data(), kRows, kHidden});
    expectGradient(table, dtable, forward, "table");
}

struct AttentionCase {
    std::int64_t seqLen, batch, heads, headSize;
    double dropout = 0;
};

class Attention : public ::testing::TestWithParam<AttentionCase> { };

TEST_P(Attention, GradientMatchesDifferencesThroughRotary) {
    const auto [seqLen, batch, heads, headSize, dropout] = GetParam();
    const std::int64_t firstSample = 11;
    const std::int64_t rows = seqLen * batch;
    const std::int64_t hidden = heads * headSize;
    Values qkv = normals(static_cast<std::size_t>(rows * 3 * hidden), 1);
    const Values weights = normals(static_cast<std::size_t>(rows * hidden), 4);
    Values rotated(qkv.size()), out(weights.size());
    Values logSums(static_cast<std::size_t>(batch * heads * seqLen)), scratch(logSums.size());
    const auto forward = [&] {
        rotated = qkv;
        Rotary<double>::host({rotated.data(), seqLen, batch, heads, headSize, 100.0, 1.0});
        AttentionForward<double>::host({rotated.data(), out.data(), logSums.data(), seqLen, batch, heads,
            headSize, dropout, 7, 3, &firstSample, 0, heads, seqLen});
        return weightedSum(out, weights);
    };
    forward();
    Values dqkv(qkv.size());
    AttentionBackward<double>::host({rotated.data(), out.data(), logSums.data(), weights.data(), dqkv.data(),
        scratch.data(), seqLen, batch, heads, headSize, dropout, 7, 3, &firstSample, 0, heads, seqLen});
    Rotary<double>::host({dqkv.data(), seqLen, batch, heads, headSize, 100.0, -1.0});
    expectGradient(qkv, dqkv, forward, "qkv");
}

INSTANTIATE_TEST_SUITE_P(Shapes, Attention,
    ::testing::Values(AttentionCase{5, 2, 3, 4}, AttentionCase{7, 1, 1, 6}, AttentionCase{2, 3, 2, 2},
        AttentionCase{67, 1, 1, 2}, AttentionCase{9, 2, 2, 4, 0.4}),
    [](const auto& one) {
        const AttentionCase& c = one.param;
        return "Length" + std::to_string(c.seqLen) + "Batch" + std::to_string(c.batch) + "Heads"
            + std::to_string(c.heads) + "Size" + std::to_string(c.headSize)
            + (c.dropout > 0 ? "Dropout" : "");
    });

TEST(SoftmaxCrossEntropy, GradientMatchesDifferences) {
    constexpr std::int32_t kVocab = 9;
    const std::vector<std::int32_t> targets = test::tokens(kRows, kVocab, 9);
    optim::StepState state{};
    state.lossScale = 1.0;
    const double weight = 1.0 / kRows;
    Values logits = normals(kRows * kVocab, 1, 3.0);
    Values work, losses(kRows);
    const auto forward = [&] {
        work = logits;
        SoftmaxCrossEntropy<double>::host(
            {work.data(), targets.data(), losses.data(), &state, kRows, kVocab, weight});
        state.loss = 0;
        LossAccumulate<double>::host({losses.data(), &state, kRows, weight});
        return state.loss;
    };
    forward();
    const Values gradient = work;
    expectGradient(logits, gradient, forward, "logits");
}

} // namespace
} // namespace gdt::kernels
