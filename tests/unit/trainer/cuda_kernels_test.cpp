// SPDX-License-Identifier: Apache-2.0
// Every CUDA kernel against the host kernel in double on the same, already rounded, inputs. Odd sizes first:
// they take the paths without wide memory accesses.
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/gemm.h"
#include "kernels/norm.h"
#include "kernels/optimizer.h"

#include "cuda_harness.h"

namespace gdt::kernels {
namespace {

using test::expectClose;
using test::fromDouble;
using test::normals;
using test::rounded;
using test::tolerance;
using test::TypedGpu;
using Values = std::vector<double>;

TYPED_TEST_SUITE(TypedGpu, test::DeviceTypes);

std::size_t length(std::int64_t count) {
    return static_cast<std::size_t>(count);
}

TYPED_TEST(TypedGpu, Elementwise) {
    using T = TypeParam;
    for (const std::size_t count : {7UL, 4096UL, 100003UL}) {
        const auto n = static_cast<std::int64_t>(count);
        const Values x = rounded<T>(normals<double>(count, 1, 2.0));
        const Values y = rounded<T>(normals<double>(count, 2));
        Values wanted(count);
        T* dx = this->template put<T>(x);
        T* dy = this->template put<T>(y);
        T* out = this->template poison<T>(count);
        GeluForward<double>::host({x.data(), wanted.data(), n});
        this->template run<GeluForward<T>>({dx, out, n});
        expectClose(this->get(out, count), wanted, tolerance<T>(), "gelu forward");
        GeluBackward<double>::host({x.data(), y.data(), wanted.data(), n});
        this->template run<GeluBackward<T>>({dx, dy, out, n});
        expectClose(this->get(out, count), wanted, tolerance<T>(), "gelu backward");
        ResidualAdd<double>::host({x.data(), y.data(), wanted.data(), n});
        this->template run<ResidualAdd<T>>({dx, dy, out, n});
        expectClose(this->get(out, count), wanted, tolerance<T>(), "residual add");
        Wide<T>* wide = this->template put<Wide<T>>(x);
        this->template run<RoundValues<T>>({wide, out, n});
        EXPECT_EQ(this->get(out, count), x) << "rounding what is rounded changes nothing";
    }
}

TYPED_TEST(TypedGpu, BiasBackward) {
    using T = TypeParam;
    for (const auto& [rows, columns] :
        {std::pair{5L, 3L}, {1000L, 768L}, {257L, 771L}, {64L, 24L}, {2L, 6400L}, {40000L, 40L}}) {
        const Values dy = rounded<T>(normals<double>(length(rows * columns), 1));
        const Values before = rounded<Wide<T>>(normals<double>(length(columns), 2));
        Values wanted = before;
        BiasBackward<double>::host({dy.data(), wanted.data(), rows, columns});
        Wide<T>* out = this->template put<Wide<T>>(before);
        this->template run<BiasBackward<T>>({this->template put<T>(dy), out, rows, columns});
        expectClose(this->get(out, length(columns)), wanted, 10 * tolerance<Wide<T>>(), "bias backward");
    }
}

TYPED_TEST(TypedGpu, RandomNumbersAreTheHosts) {
    using T = TypeParam;
    constexpr std::size_t kCount = 10001;
    Values wanted(kCount);
    InitNormal<double>::host({wanted.data(), kCount, 7, 3, 1ULL << 33U, 0.5, 2.0});
    T* out = this->template poison<T>(kCount);
    this->template run<InitNormal<T>>({out, kCount, 7, 3, 1ULL << 33U, 0.5, 2.0});
    expectClose(this->get(out, kCount), wanted, tolerance<T>(), "normals");
}

TYPED_TEST(TypedGpu, Norms) {
    using T = TypeParam;
    using W = Wide<T>;
    // The last ones: many rows side by side in a block, seven warps a row, a block a row, more than that.
    for (const auto& [rows, hidden] : {std::pair{3L, 5L}, {700L, 768L}, {33L, 100L}, {2L, 4096L},
             {9001L, 64L}, {1000L, 1600L}, {7L, 8192L}, {300L, 2056L}, {2L, 8200L}}) {
        const std::size_t count = length(rows * hidden);
        const double epsilon = static_cast<double>(static_cast<W>(1e-5));
        const Values x = rounded<T>(normals<double>(count, 1, 3.0));
        const Values gain = rounded<T>(normals<double>(length(hidden), 2));
        const Values bias = rounded<T>(normals<double>(length(hidden), 3));
        const Values dout = rounded<T>(normals<double>(count, 4));
        const Values before = rounded<T>(normals<double>(count, 5));
        const Values sums = rounded<W>(normals<double>(length(hidden), 6));
        T* dx = this->template put<T>(x);
        T* dgain = this->template put<T>(gain);
        T* ddout = this->template put<T>(dout);
        for (const bool layer : {true, false}) {
            const std::string name = layer ? "layer norm " : "rms norm ";
            Values out(count), mean(length(rows)), rstd(length(rows));
            Values gradient = before, gainSum = sums, biasSum = sums;
            T* gpuOut = this->template poison<T>(count);
            W* gpuMean = this->template poison<W>(length(rows));
            W* gpuRstd = this->template poison<W>(length(rows));
            T* gpuGradient = this->template put<T>(before);
            W* gpuGain = this->template put<W>(sums);
            W* gpuBias = this->template put<W>(sums);
            if (layer) {
                LayerNormForward<double>::host({x.data(), gain.data(), bias.data(), out.data(), mean.data(),
                    rstd.data(), rows, hidden, epsilon});
                LayerNormBackward<double>::host({x.data(), gain.data(), mean.data(), rstd.data(), dout.data(),
                    gradient.data(), gainSum.data(), biasSum.data(), rows, hidden});
                this->template run<LayerNormForward<T>>({dx, dgain, this->template put<T>(bias), gpuOut,
                    gpuMean, gpuRstd, rows, hidden, static_cast<W>(1e-5)});
                this->template run<LayerNormBackward<T>>(
                    {dx, dgain, gpuMean, gpuRstd, ddout, gpuGradient, gpuGain, gpuBias, rows, hidden});
                expectClose(this->get(gpuBias, length(hidden)), biasSum, 10 * tolerance<W>(), name + "bias");
            } else {
                RmsNormForward<double>::host(
                    {x.data(), gain.data(), out.data(), rstd.data(), rows, hidden, epsilon});
                RmsNormBackward<double>::host({x.data(), gain.data(), rstd.data(), dout.data(),
                    gradient.data(), gainSum.data(), rows, hidden});
                this->template run<RmsNormForward<T>>(
                    {dx, dgain, gpuOut, gpuRstd, rows, hidden, static_cast<W>(1e-5)});
                this->template run<RmsNormBackward<T>>(
                    {dx, dgain, gpuRstd, ddout, gpuGradient, gpuGain, rows, hidden});
            }
            expectClose(this->get(gpuOut, count), out, tolerance<T>(), name + "forward");
            expectClose(this->get(gpuGradient, count), gradient, tolerance<T>(), name + "backward");
            expectClose(this->get(gpuGain, length(hidden)), gainSum, 10 * tolerance<W>(), name + "gain");
        }
    }
}

TYPED_TEST(TypedGpu, CrossEntropy) {
    using T = TypeParam;
    using W = Wide<T>;
    for (const auto& [rows, vocab] : {std::pair{4L, 8L}, {9L, 513L}, {130L, 1024L}, {5L, 50304L}}) {
        const std::size_t count = length(rows * vocab);
        const Values logits = rounded<T>(normals<double>(count, 1, 5.0));
        const std::vector<std::int32_t> targets
            = test::tokens(length(rows), static_cast<std::int32_t>(vocab), 3);
        optim::StepState state{};
        state.lossScale = 8.0;
        state.loss = 0.25;
        optim::StepState* gpuState = this->putRaw(std::vector{state});
        Values work = logits, losses(length(rows));
        const double weight = 1.0 / static_cast<double>(rows);
        SoftmaxCrossEntropy<double>::host(
            {work.data(), targets.data(), losses.data(), &state, rows, vocab, weight});
        LossAccumulate<double>::host({losses.data(), &state, rows, weight});
        T* gpuLogits = this->template put<T>(logits);
        W* gpuLosses = this->template poison<W>(length(rows));
        this->template run<SoftmaxCrossEntropy<T>>(
            {gpuLogits, this->putRaw(targets), gpuLosses, gpuState, rows, vocab, weight});
        this->template run<LossAccumulate<T>>({gpuLosses, gpuState, rows, weight});
        expectClose(this->get(gpuLogits, count), work, tolerance<T>(), "gradient of logits");
        expectClose(this->get(gpuLosses, length(rows)), losses, 5 * tolerance<W>(), "losses");
        EXPECT_NEAR(this->getRaw(gpuState, 1)[0].loss, state.loss, 10 * tolerance<W>() * state.loss);
    }
}

TYPED_TEST(TypedGpu, Embedding) {
    using T = TypeParam;
    for (const auto& [rows, vocab, hidden] :
        {std::tuple{30L, 4L, 5L}, {1000L, 77L, 768L}, {600L, 50304L, 300L}}) {
        const std::vector<std::int32_t> tokens
            = test::tokens(length(rows), static_cast<std::int32_t>(vocab), 1);
        const Values table = rounded<T>(normals<double>(length(vocab * hidden), 2));
        const Values dout = rounded<T>(normals<double>(length(rows * hidden), 3));
        Values out(length(rows * hidden)), sums = rounded<Wide<T>>(table);
        std::int32_t* gpuTokens = this->putRaw(tokens);
        T* gpuOut = this->template poison<T>(out.size());
        Wide<T>* gpuSums = this->template put<Wide<T>>(sums);
        EmbeddingForward<double>::host({tokens.data(), table.data(), out.data(), rows, hidden});
        this->template run<EmbeddingForward<T>>(
            {gpuTokens, this->template put<T>(table), gpuOut, rows, hidden});
        EXPECT_EQ(this->get(gpuOut, out.size()), out);
        EmbeddingBackward<double>::host({tokens.data(), dout.data(), sums.data(), rows, hidden});
        this->template run<EmbeddingBackward<T>>(
            {gpuTokens, this->template put<T>(dout), gpuSums, rows, hidden});
        expectClose(this->get(gpuSums, sums.size()), sums, tolerance<Wide<T>>(), "embedding backward");
    }
}

TYPED_TEST(TypedGpu, Rotary) {
    using T = TypeParam;
    for (const auto& [seq, batch, heads, size] : {std::tuple{9L, 2L, 3L, 6L}, {513L, 2L, 4L, 64L},
             {33L, 3L, 25L, 64L}, {70L, 1L, 40L, 128L}, {9L, 1L, 1L, 16L}, {5L, 2L, 5L, 200L}}) {
        Values qkv = rounded<T>(normals<double>(length(seq * batch * 3 * heads * size), 1));
        T* gpu = this->template put<T>(qkv);
        Rotary<double>::host({qkv.data(), seq, batch, heads, size, 10000.0, -1.0});
        this->template run<Rotary<T>>({gpu, seq, batch, heads, size, 10000.0, -1.0});
        expectClose(this->get(gpu, qkv.size()), qkv, tolerance<T>(), "rotary");
    }
}

TYPED_TEST(TypedGpu, Attention) {
    using T = TypeParam;
    using W = Wide<T>;
    for (const auto& [seq, batch, heads, size] : {std::tuple{5L, 2L, 3L, 4L}, {100L, 1L, 2L, 16L},
             {65L, 2L, 2L, 40L}, {200L, 1L, 2L, 64L}, {193L, 2L, 1L, 128L}, {449L, 2L, 2L, 64L},
             {384L, 1L, 2L, 128L}, {70L, 1L, 1L, 200L}, {1L, 1L, 3L, 128L}, {1L, 2L, 1L, 64L},
             {65L, 3L, 5L, 128L}, {129L, 3L, 1L, 64L}, {641L, 1L, 2L, 128L}, {833L, 1L, 3L, 64L}}) {
        const std::size_t in = length(seq * batch * 3 * heads * size);
        const std::size_t count = in / 3;
        const std::size_t rows = length(seq * batch * heads);
        const Values qkv = rounded<T>(normals<double>(in, 1, 1.5));
        const Values dout = rounded<T>(normals<double>(count, 2));
        Values out(count), logSums(rows), dqkv(in), scratch(rows);
        AttentionForward<double>::host({qkv.data(), out.data(), logSums.data(), seq, batch, heads, size});
        T* gpuQkv = this->template put<T>(qkv);
        T* gpuOut = this->template poison<T>(count);
        W* gpuSums = this->template poison<W>(rows);
        const std::string name = "attention, head size " + std::to_string(size);
        this->template run<AttentionForward<T>>({gpuQkv, gpuOut, gpuSums, seq, batch, heads, size});
        expectClose(this->get(gpuOut, count), out, 2 * tolerance<T>(), name);
        expectClose(this->get(gpuSums, rows), logSums, tolerance<W>() * 10, name + ", log sums");
        AttentionBackward<double>::host({qkv.data(), out.data(), logSums.data(), dout.data(), dqkv.data(),
            scratch.data(), seq, batch, heads, size});
        T* gpuGradient = this->template poison<T>(in);
        this->template run<AttentionBackward<T>>({gpuQkv, gpuOut, gpuSums, this->template put<T>(dout),
            gpuGradient, this->template poison<W>(rows), seq, batch, heads, size});
        expectClose(this->get(gpuGradient, in), dqkv, 4 * tolerance<T>(), name + ", gradient");
    }
}

TYPED_TEST(TypedGpu, Gemm) {
    using T = TypeParam;
    using W = Wide<T>;
    struct Shape {
        std::int64_t m, n, k;
        bool transposeA, transposeB, bias;
        double alpha, beta;
    };
    for (const Shape& s :
        {Shape{7, 5, 3, false, true, true, 1, 0}, Shape{64, 96, 128, false, true, true, 1, 0},
            Shape{33, 17, 65, false, false, false, 1, 0}, Shape{256, 512, 384, true, false, false, 1, 1},
            Shape{6, 9, 11, true, true, false, 0.5, 2}, Shape{1024, 768, 768, false, true, true, 1, 0}}) {
        const Values a = rounded<T>(normals<double>(length(s.m * s.k), 1));
        const Values b = rounded<T>(normals<double>(length(s.k * s.n), 2));
        const Values before = rounded<T>(normals<double>(length(s.m * s.n), 3));
        const Values bias = rounded<T>(normals<double>(length(s.n), 4));
        Values wanted = before;
        const std::int64_t lda = s.transposeA ? s.m : s.k;
        const std::int64_t ldb = s.transposeB ? s.k : s.n;
        Gemm<double>::host({a.data(), b.data(), wanted.data(), s.bias ? bias.data() : nullptr, s.m, s.n, s.k,
            lda, ldb, s.n, s.alpha, s.beta, s.transposeA, s.transposeB});
        T* gpuA = this->template put<T>(a);
        T* gpuB = this->template put<T>(b);
        T* gpuBias = s.bias ? this->template put<T>(bias) : nullptr;
        T* gpuC = this->template put<T>(before);
        this->template run<Gemm<T>>({gpuA, gpuB, gpuC, gpuBias, s.m, s.n, s.k, lda, ldb, s.n,
            static_cast<W>(s.alpha), static_cast<W>(s.beta), s.transposeA, s.transposeB});
        const std::string name
            = "product " + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
        expectClose(this->get(gpuC, wanted.size()), wanted, 2 * tolerance<T>(), name);
        if (s.bias)
            continue;
        W* wide = this->template put<W>(before);
        this->template run<Gemm<T, W>>({gpuA, gpuB, wide, nullptr, s.m, s.n, s.k, lda, ldb, s.n,
            static_cast<W>(s.alpha), static_cast<W>(s.beta), s.transposeA, s.transposeB});
        expectClose(this->get(wide, wanted.size()), wanted, 2 * tolerance<W>(), name + ", wide");
    }
}

TYPED_TEST(TypedGpu, Optimizer) {
    using T = TypeParam;
    using W = Wide<T>;
    for (const std::int64_t count : {7L, 100000L, 100001L}) {
        const std::size_t n = length(count);
        const Values start = rounded<W>(normals<double>(n, 1));
        const Values gradient = rounded<W>(normals<double>(n, 2));
        Values parameters = start, first(n, 99.0), second(n, 99.0);
        optim::StepState state{};
        state.lossScale = 4.0;
        optim::StepState* gpuState = this->putRaw(std::vector{state});
        W* gpuParameters = this->template put<W>(start);
        W* gpuGradient = this->template put<W>(gradient);
        W* gpuFirst = this->template poison<W>(n);
        W* gpuSecond = this->template poison<W>(n);
        T* gpuRounded = std::is_same_v<T, W> ? nullptr : this->template poison<T>(n);
        for (int step = 0; step < 3; ++step) {
            const LearningRateSchedule::Args schedule{nullptr, 0.1, 0.01, 0.9, 0.95, 2, 10};
            auto onHost = schedule;
            onHost.state = &state;
            LearningRateSchedule::host(onHost);
            SumOfSquares<double>::host({gradient.data(), &state, count});
            ClipCoefficient::host({&state, 1.0});
            AdamW<double>::host({parameters.data(), gradient.data(), first.data(), second.data(), nullptr,
                &state, count, 0.9, 0.95, 1e-8, 0.1});
            FinishStep::host({&state});
            auto onGpu = schedule;
            onGpu.state = gpuState;
            this->template run<LearningRateSchedule>(onGpu);
            this->template run<SumOfSquares<W>>(
                {gpuGradient, gpuState, 0}); // of nothing: a rank may own none
            this->template run<SumOfSquares<W>>({gpuGradient, gpuState, count, true});
            this->template run<ClipCoefficient>({gpuState, 1.0});
            this->template run<AdamW<T>>({gpuParameters, gpuGradient, gpuFirst, gpuSecond, gpuRounded,
                gpuState, count, 0.9, 0.95, 1e-8, 0.1});
            this->template run<FinishStep>({gpuState});
        }
        expectClose(this->get(gpuParameters, n), parameters, 10 * tolerance<W>(), "parameters");
        expectClose(this->get(gpuFirst, n), first, 10 * tolerance<W>(), "first moment");
        expectClose(this->get(gpuSecond, n), second, 10 * tolerance<W>(), "second moment");
        if (gpuRounded != nullptr) {
            EXPECT_EQ(this->get(gpuRounded, n), rounded<T>(this->get(gpuParameters, n)));
        }
        const optim::StepState got = this->getRaw(gpuState, 1)[0];
        EXPECT_EQ(got.step, 3);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_NEAR(got.history[i].learningRate, state.history[i].learningRate, 1e-14);
            EXPECT_NEAR(
                got.history[i].gradNorm, state.history[i].gradNorm, 1e-10 * state.history[i].gradNorm);
        }
    }
}

} // namespace
} // namespace gdt::kernels
