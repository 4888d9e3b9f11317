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
    struct Case {
        std::int64_t rows, columns, fromStep, toStep, from, to;
    };
    // In packs and one by one; the last ones need several blocks across or along the rows.
    for (const Case& c : {Case{9, 7, 20, 13, 3, 2}, Case{6, 8, 24, 16, 8, 8}, Case{6, 8, 24, 16, 4, 8},
             Case{3, 3072, 4608, 3072, 1536, 0}, Case{262149, 8, 8, 16, 0, 8}}) {
        const Values from = rounded<T>(normals<double>(length(c.rows * c.fromStep), 1));
        Values to(length(c.rows * c.toStep), 0.5);
        T* gpuTo = this->template put<T>(to);
        T* gpuRounded = this->template put<T>(to);
        CopyColumns<double>::host(
            {from.data() + c.from, to.data() + c.to, c.rows, c.columns, c.fromStep, c.toStep});
        this->template run<CopyColumns<T>>(
            {this->template put<T>(from) + c.from, gpuTo + c.to, c.rows, c.columns, c.fromStep, c.toStep});
        EXPECT_EQ(this->get(gpuTo, to.size()), to);
        const Values wide = rounded<Wide<T>>(normals<double>(length(c.rows * c.fromStep), 2));
        const Values rounding = rounded<T>(wide);
        CopyColumns<double>::host(
            {rounding.data() + c.from, to.data() + c.to, c.rows, c.columns, c.fromStep, c.toStep});
        this->template run<RoundColumns<T>>({this->template put<Wide<T>>(wide) + c.from, gpuRounded + c.to,
            c.rows, c.columns, c.fromStep, c.toStep});
        EXPECT_EQ(this->get(gpuRounded, to.size()), to);
    }
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

// Heads of 64 and 128 run on tensor cores in bf16 and fp16, which round the probabilities.
TYPED_TEST(TypedGpu, RingAttention) {
    using T = TypeParam;
    using W = Wide<T>;
    constexpr std::int64_t kBatch = 2, kHeads = 2;
    const std::int64_t firstSample = 7;
    const std::int64_t* gpuSample = this->putRaw(std::vector{firstSample});
    struct Case {
        std::int64_t positions, size;
        double dropout;
    };
    for (const Case& c : {Case{40, 16, 0}, Case{150, 64, 0}, Case{90, 128, 0}, Case{64, 64, 0},
             Case{150, 64, 0.3}, Case{150, 128, 0.3}}) {
        const std::int64_t hidden = kHeads * c.size;
        const std::int64_t rows = c.positions * kBatch;
        const std::size_t stats = length(rows * kHeads);
        const bool narrows = isNarrow<T> && c.size >= 64;
        const double limit = narrows ? 2 * tolerance<T>() : 10 * tolerance<W>();
        const std::string name = ", head size " + std::to_string(c.size) + (c.dropout > 0 ? ", dropout" : "");
        // Queries are the second and the fourth part of a sequence of eight, keys the same or other ones.
        const auto placed = [&](auto args, const std::int64_t* sample, bool second) {
            args.dropout = c.dropout;
            args.seed = 5;
            args.stream = 9;
            args.firstSample = sample;
            args.firstHead = 2;
            args.allHeads = kHeads + 4;
            args.wholeLen = 4 * c.positions;
            args.chunk = c.positions / 2;
            args.queryFirst0 = args.chunk;
            args.queryFirst1 = 3 * args.chunk;
            args.keyFirst0 = second ? 0 : args.queryFirst0;
            args.keyFirst1 = second ? 2 * args.chunk : args.queryFirst1;
            if constexpr (requires { args.add; })
                args.add = second;
            return args;
        };
        const Values q = rounded<T>(normals<double>(length(rows * 3 * hidden), 1));
        const Values dout = rounded<T>(normals<double>(length(rows * hidden), 2));
        const Values kv[2] = {rounded<T>(normals<double>(length(rows * 2 * hidden), 3)),
            rounded<T>(normals<double>(length(rows * 2 * hidden), 4))};
        Values out(length(rows * hidden)), logSums(stats), rowSums(stats), dq(length(rows * hidden)),
            dkv(length(rows * 2 * hidden));
        W* gpuOut = this->template poison<W>(out.size());
        W* gpuLogs = this->template poison<W>(stats);
        W* gpuRowSums = this->template poison<W>(stats);
        W* gpuDq = this->template poison<W>(dq.size());
        W* gpuDkv = this->template poison<W>(dkv.size());
        const T* gpuQ = this->template put<T>(q);
        const T* gpuDout = this->template put<T>(dout);
        const T* gpuKv[2] = {this->template put<T>(kv[0]), this->template put<T>(kv[1])};
        using Forward = RingAttentionForward<T>;
        using HostForward = RingAttentionForward<double>;
        for (const bool second : {false, true}) { // the causal block, then one that is seen whole
            HostForward::host(placed(typename HostForward::Args{q.data(), kv[second].data(), out.data(),
                                         logSums.data(), c.positions, c.positions, kBatch, kHeads, c.size,
                                         3 * hidden, c.positions, !second, second},
                &firstSample, second));
            this->template run<Forward>(
                placed(typename Forward::Args{gpuQ, gpuKv[second], gpuOut, gpuLogs, c.positions, c.positions,
                           kBatch, kHeads, c.size, 3 * hidden, c.positions, !second, second},
                    gpuSample, second));
        }
        expectClose(this->get(gpuOut, out.size()), out, limit, "two blocks" + name);
        expectClose(this->get(gpuLogs, stats), logSums, 10 * tolerance<W>(), "log sums" + name);
        const Values narrowOut = rounded<T>(out);
        AttentionRowSums<double>::host(
            {narrowOut.data(), dout.data(), rowSums.data(), c.positions, kBatch, kHeads, c.size});
        this->template run<AttentionRowSums<T>>(
            {this->template put<T>(narrowOut), gpuDout, gpuRowSums, c.positions, kBatch, kHeads, c.size});
        expectClose(this->get(gpuRowSums, stats), rowSums, 10 * tolerance<W>(), "row sums" + name);
        using Backward = RingAttentionBackward<T>;
        using HostBackward = RingAttentionBackward<double>;
        for (const bool second : {false, true}) {
            HostBackward::host(
                placed(typename HostBackward::Args{q.data(), kv[second].data(), dout.data(), logSums.data(),
                           rowSums.data(), dq.data(), dkv.data(), c.positions, c.positions, kBatch, kHeads,
                           c.size, 3 * hidden, c.positions, !second},
                    &firstSample, second));
            this->template run<Backward>(placed(
                typename Backward::Args{gpuQ, gpuKv[second], gpuDout, gpuLogs, gpuRowSums, gpuDq, gpuDkv,
                    c.positions, c.positions, kBatch, kHeads, c.size, 3 * hidden, c.positions, !second},
                gpuSample, second));
        }
        expectClose(this->get(gpuDq, dq.size()), dq, 2 * limit, "gradient of queries" + name);
        expectClose(this->get(gpuDkv, dkv.size()), dkv, 2 * limit, "gradient of keys and values" + name);
    }
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
