// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of parallel ranks against the host kernels in double on the same, already rounded, inputs.
#include "kernels/attention.h"
#include "kernels/columns.h"
#include "kernels/dropout.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/fetch_tokens.h"
#include "kernels/optimizer.h"
#include "kernels/ring_attention.h"
#include "kernels/vocab_parallel.h"

#include "cuda_harness.h"

namespace gdt::kernels {
namespace {

using test::expectClose;
using test::normals;
using test::rounded;
using test::tolerance;
using test::TypedGpu;
using Values = std::vector<double>;

TYPED_TEST_SUITE(TypedGpu, test::DeviceTypes);

std::size_t length(std::int64_t count) {
    return static_cast<std::size_t>(count);
}

TYPED_TEST(TypedGpu, BiasDropoutAdd) {
    using T = TypeParam;
    struct Case {
        std::int64_t rows, columns, batch;
        double rate;
        bool bias;
    };
    for (const Case& c :
        {Case{10, 5, 2, 0.25, true}, Case{64, 768, 4, 0.0, true}, Case{64, 768, 4, 0.1, false}}) {
        const std::size_t count = length(c.rows * c.columns);
        const Values residual = rounded<T>(normals<double>(count, 1));
        const Values branch = rounded<T>(normals<double>(count, 2));
        const Values bias = rounded<T>(normals<double>(length(c.columns), 3));
        const std::int64_t firstSample = 1LL << 33;
        Values out(count), back(count);
        BiasDropoutAdd<double>::host({residual.data(), branch.data(), c.bias ? bias.data() : nullptr,
            out.data(), &firstSample, c.rows, c.columns, c.batch, 2, 100, 7, 3, 50, 5, 9, c.rate});
        Dropout<double>::host({branch.data(), back.data(), &firstSample, c.rows, c.columns, c.batch, 2, 100,
            7, 3, 50, 5, 9, c.rate});
        const std::int64_t* gpuSample = this->putRaw(std::vector{firstSample});
        T* gpuBranch = this->template put<T>(branch);
        T* gpuOut = this->template poison<T>(count);
        T* gpuBack = this->template poison<T>(count);
        this->template run<BiasDropoutAdd<T>>(
            {this->template put<T>(residual), gpuBranch, c.bias ? this->template put<T>(bias) : nullptr,
                gpuOut, gpuSample, c.rows, c.columns, c.batch, 2, 100, 7, 3, 50, 5, 9, c.rate});
        this->template run<Dropout<T>>(
            {gpuBranch, gpuBack, gpuSample, c.rows, c.columns, c.batch, 2, 100, 7, 3, 50, 5, 9, c.rate});
        expectClose(this->get(gpuOut, count), out, tolerance<T>(), "bias, dropout, add");
        expectClose(this->get(gpuBack, count), back, tolerance<T>(), "dropout backward");
    }
}

TYPED_TEST(TypedGpu, Columns) {
    using T = TypeParam;
    const Values from = rounded<T>(normals<double>(9 * 20, 1));
    Values to(9 * 13, 0.5);
    T* gpuTo = this->template put<T>(to);
    T* gpuWide = this->template put<T>(to);
    CopyColumns<double>::host({from.data() + 3, to.data() + 2, 9, 7, 20, 13});
    this->template run<CopyColumns<T>>({this->template put<T>(from) + 3, gpuTo + 2, 9, 7, 20, 13});
    this->template run<RoundColumns<T>>({this->template put<Wide<T>>(from) + 3, gpuWide + 2, 9, 7, 20, 13});
    EXPECT_EQ(this->get(gpuTo, to.size()), to);
    EXPECT_EQ(this->get(gpuWide, to.size()), to);
}

TYPED_TEST(TypedGpu, VocabEmbedding) {
    using T = TypeParam;
    constexpr std::int64_t kRows = 300, kHidden = 72, kFirst = 10, kVocab = 20;
    const std::vector<std::int32_t> tokens = test::tokens(kRows, 40, 1);
    const Values table = rounded<T>(normals<double>(kVocab * kHidden, 2));
    const Values dout = rounded<T>(normals<double>(kRows * kHidden, 3));
    Values out(kRows * kHidden), sums = rounded<Wide<T>>(table);
    Wide<T>* gpuSums = this->template put<Wide<T>>(sums);
    const std::int32_t* gpuTokens = this->putRaw(tokens);
    T* gpuOut = this->template poison<T>(out.size());
    VocabEmbeddingForward<double>::host(
        {tokens.data(), table.data(), out.data(), kRows, kHidden, kFirst, kVocab});
    VocabEmbeddingBackward<double>::host(
        {tokens.data(), dout.data(), sums.data(), kRows, kHidden, kFirst, kVocab});
    this->template run<VocabEmbeddingForward<T>>(
        {gpuTokens, this->template put<T>(table), gpuOut, kRows, kHidden, kFirst, kVocab});
    this->template run<VocabEmbeddingBackward<T>>(
        {gpuTokens, this->template put<T>(dout), gpuSums, kRows, kHidden, kFirst, kVocab});
    EXPECT_EQ(this->get(gpuOut, out.size()), out);
    expectClose(this->get(gpuSums, sums.size()), sums, tolerance<Wide<T>>(), "gradient of the part");
}

TYPED_TEST(TypedGpu, VocabCrossEntropy) {
    using T = TypeParam;
    using W = Wide<T>;
    constexpr std::int64_t kRows = 37, kVocab = 1001, kFirst = 500;
    const Values logits = rounded<T>(normals<double>(kRows * kVocab, 1, 3.0));
    const std::vector<std::int32_t> targets = test::tokens(kRows, 2000, 3);
    optim::StepState state{};
    state.lossScale = 2.0;
    Values work = logits, maxima(kRows), sums(2 * kRows), losses(kRows);
    VocabMaximum<double>::host({logits.data(), maxima.data(), kRows, kVocab});
    VocabSums<double>::host(
        {logits.data(), targets.data(), maxima.data(), sums.data(), kRows, kVocab, kFirst});
    VocabCrossEntropy<double>::host({work.data(), targets.data(), maxima.data(), sums.data(), losses.data(),
        &state, kRows, kVocab, kFirst, 0.1});
    T* gpuLogits = this->template put<T>(logits);
    const std::int32_t* gpuTargets = this->putRaw(targets);
    W* gpuMaxima = this->template poison<W>(kRows);
    W* gpuSums = this->template poison<W>(2 * kRows);
    W* gpuLosses = this->template poison<W>(kRows);
    this->template run<VocabMaximum<T>>({gpuLogits, gpuMaxima, kRows, kVocab});
    this->template run<VocabSums<T>>({gpuLogits, gpuTargets, gpuMaxima, gpuSums, kRows, kVocab, kFirst});
    this->template run<VocabCrossEntropy<T>>({gpuLogits, gpuTargets, gpuMaxima, gpuSums, gpuLosses,
        this->putRaw(std::vector{state}), kRows, kVocab, kFirst, 0.1});
    EXPECT_EQ(this->get(gpuMaxima, kRows), maxima);
    expectClose(this->get(gpuSums, sums.size()), sums, 10 * tolerance<W>(), "sums");
    expectClose(this->get(gpuLosses, losses.size()), losses, 10 * tolerance<W>(), "losses");
    expectClose(this->get(gpuLogits, work.size()), work, tolerance<T>(), "gradient of logits");
}

TYPED_TEST(TypedGpu, RingAttention) {
    using T = TypeParam;
    using W = Wide<T>;
    constexpr std::int64_t kQueries = 40, kKeys = 40, kBatch = 2, kHeads = 2, kSize = 16;
    constexpr std::int64_t kHidden = kHeads * kSize, kRows = kQueries * kBatch, kStats = kRows * kHeads;
    const Values q = rounded<T>(normals<double>(kRows * 3 * kHidden, 1));
    const Values dout = rounded<T>(normals<double>(kRows * kHidden, 2));
    const Values kv[2] = {rounded<T>(normals<double>(kRows * 2 * kHidden, 3)),
        rounded<T>(normals<double>(kRows * 2 * kHidden, 4))};
    Values out(kRows * kHidden), logSums(kStats), rowSums(kStats), dq(kRows * kHidden),
        dkv(kRows * 2 * kHidden);
    W* gpuOut = this->template poison<W>(out.size());
    W* gpuLogs = this->template poison<W>(kStats);
    W* gpuRowSums = this->template poison<W>(kStats);
    W* gpuDq = this->template put<W>(dq);
    W* gpuDkv = this->template put<W>(dkv);
    const T* gpuQ = this->template put<T>(q);
    const T* gpuDout = this->template put<T>(dout);
    for (const bool second : {false, true}) { // the causal block, then one that is seen whole
        RingAttentionForward<double>::host({q.data(), kv[second].data(), out.data(), logSums.data(), kQueries,
            kKeys, kBatch, kHeads, kSize, 3 * kHidden, kQueries, !second, second});
        this->template run<RingAttentionForward<T>>({gpuQ, this->template put<T>(kv[second]), gpuOut, gpuLogs,
            kQueries, kKeys, kBatch, kHeads, kSize, 3 * kHidden, kQueries, !second, second});
    }
    expectClose(this->get(gpuOut, out.size()), out, 10 * tolerance<W>(), "two blocks");
    expectClose(this->get(gpuLogs, logSums.size()), logSums, 10 * tolerance<W>(), "log sums");
    const Values narrowOut = rounded<T>(out);
    AttentionRowSums<double>::host(
        {narrowOut.data(), dout.data(), rowSums.data(), kQueries, kBatch, kHeads, kSize});
    this->template run<AttentionRowSums<T>>(
        {this->template put<T>(narrowOut), gpuDout, gpuRowSums, kQueries, kBatch, kHeads, kSize});
    expectClose(this->get(gpuRowSums, kStats), rowSums, 10 * tolerance<W>(), "row sums");
    for (const bool second : {false, true}) {
        RingAttentionBackward<double>::host(
            {q.data(), kv[second].data(), dout.data(), logSums.data(), rowSums.data(), dq.data(), dkv.data(),
                kQueries, kKeys, kBatch, kHeads, kSize, 3 * kHidden, kQueries, !second});
        this->template run<RingAttentionBackward<T>>(
            {gpuQ, this->template put<T>(kv[second]), gpuDout, gpuLogs, gpuRowSums, gpuDq, gpuDkv, kQueries,
                kKeys, kBatch, kHeads, kSize, 3 * kHidden, kQueries, !second});
    }
    expectClose(this->get(gpuDq, dq.size()), dq, 20 * tolerance<W>(), "gradient of queries");
    expectClose(this->get(gpuDkv, dkv.size()), dkv, 20 * tolerance<W>(), "gradient of keys and values");
}

TYPED_TEST(TypedGpu, ShardsOfParameters) {
    using T = TypeParam;
    Values wanted(6 * 5);
    T* out = this->template poison<T>(wanted.size());
    InitNormal<double>::host({wanted.data(), 30, 7, 3, 100, 0.0, 1.0, 5, 20});
    this->template run<InitNormal<T>>({out, 30, 7, 3, 100, 0.0, 1.0, 5, 20});
    expectClose(this->get(out, wanted.size()), wanted, tolerance<T>(), "columns of a matrix");
}

TYPED_TEST(TypedGpu, RotaryOfAPartOfTheSequence) {
    using T = TypeParam;
    Values qkv = rounded<T>(normals<double>(12 * 2 * 3 * 2 * 16, 1));
    T* gpu = this->template put<T>(qkv);
    Rotary<double>::host({qkv.data(), 12, 2, 2, 16, 10000.0, 1.0, 6, 18, 42});
    this->template run<Rotary<T>>({gpu, 12, 2, 2, 16, 10000.0, 1.0, 6, 18, 42});
    expectClose(this->get(gpu, qkv.size()), qkv, tolerance<T>(), "rotary of a shard");
}

TYPED_TEST(TypedGpu, SumOfSquaresAdds) {
    using W = Wide<TypeParam>;
    optim::StepState state{};
    optim::StepState* gpuState = this->putRaw(std::vector{state});
    W* values = this->template put<W>({3.0, 4.0});
    this->template run<SumOfSquares<W>>({values, gpuState, 2});
    this->template run<SumOfSquares<W>>({values, gpuState, 1, true});
    EXPECT_DOUBLE_EQ(this->getRaw(gpuState, 1)[0].gradSquares, 25.0 + 9.0);
}

class FetchOnGpu : public test::Gpu { };

TEST_F(FetchOnGpu, TakesTheHostsSamples) {
    const std::vector<std::int32_t> corpus = test::tokens(5000, 97, 1);
    optim::StepState state{};
    state.step = 12;
    for (const bool shard : {false, true}) {
        constexpr std::int64_t kSeq = 32, kBatch = 3;
        const std::int64_t positions = shard ? 16 : kSeq;
        std::vector<std::int32_t> tokens(length(positions * kBatch)), targets(tokens.size());
        std::int64_t first = -1;
        FetchTokens::Args args{};
        args.corpus = corpus.data();
        args.state = &state;
        args.tokens = tokens.data();
        args.targets = targets.data();
        args.corpusLength = 5000;
        args.seqLen = kSeq;
        args.batch = kBatch;
        args.microBatch = 1;
        args.microBatches = 2;
        args.rank = 1;
        args.ranks = 2;
        args.seed = 9;
        args.firstSample = &first;
        args.localLen = positions;
        args.chunk = shard ? 8 : 0;
        args.first0 = 8;
        args.first1 = 16;
        FetchTokens::host(args);
        args.corpus = putRaw(corpus);
        args.state = putRaw(std::vector{state});
        args.tokens = putRaw(std::vector<std::int32_t>(tokens.size(), -1));
        args.targets = putRaw(std::vector<std::int32_t>(tokens.size(), -1));
        args.firstSample = putRaw(std::vector<std::int64_t>{-1});
        run<FetchTokens>(args);
        EXPECT_EQ(getRaw(args.tokens, tokens.size()), tokens);
        EXPECT_EQ(getRaw(args.targets, tokens.size()), targets);
        EXPECT_EQ(getRaw(args.firstSample, 1)[0], first);
    }
}

} // namespace
} // namespace gdt::kernels
