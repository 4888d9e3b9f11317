// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tables.cuh"
#include "kernels/embedding.h"
#include "kernels/fetch_tokens.h"
#include "kernels/philox.h"
#include "kernels/sequence_shard.h"
#include "kernels/vocab_parallel.h"

#include <cstdint>

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// The part of the table that a rank holds; all of it without tensor parallelism.
struct TokenRange {
    std::int64_t first = 0;
    std::int64_t count = INT64_MAX;

    __device__ std::int64_t place(std::int32_t token) const { // -1 when another rank holds it
        const std::int64_t index = token - first;
        return index >= 0 && index < count ? index : -1;
    }
};

template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    forwardKernel(typename EmbeddingForward<T>::Args g, TokenRange range) {
    const std::int64_t packs = g.hidden / N;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.rows * packs)
        return;
    const std::int64_t r = i / packs;
    const std::int64_t column = i % packs * N;
    const std::int64_t place = range.place(g.tokens[r]);
    Pack<T, N> values{};
    if (place >= 0)
        values = *reinterpret_cast<const Pack<T, N>*>(g.table + place * g.hidden + column);
    *reinterpret_cast<Pack<T, N>*>(g.out + r * g.hidden + column) = values;
}

template <class T>
cudaError_t forwardOf(const typename EmbeddingForward<T>::Args& g, TokenRange range, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if (g.hidden % kPack == 0 && aligned(16, g.table, g.out))
        forwardKernel<T, kPack>
            <<<blocksFor(g.rows * g.hidden / kPack, kThreads), kThreads, 0, context.stream>>>(g, range);
    else
        forwardKernel<T, 1>
            <<<blocksFor(g.rows * g.hidden, kThreads), kThreads, 0, context.stream>>>(g, range);
    return launched();
}

// Block (r, c): if row r is the first of its token, it adds all rows of that token, in order, for one slice
// of kThreads columns. The search is quadratic in the rows, but an integer compare is cheap beside the rest
// of a step, and no order of additions is left to chance.
template <class T>
__global__ void __launch_bounds__(kThreads)
    backwardKernel(typename EmbeddingBackward<T>::Args g, TokenRange range) {
    __shared__ int earlier;
    __shared__ unsigned ballots[kThreads / 32];
    const std::int64_t r = blockIdx.x;
    const std::int32_t token = g.tokens[r];
    if (range.place(token) < 0)
        return;
    if (threadIdx.x == 0)
        earlier = 0;
    __syncthreads();
    bool seen = false;
    for (std::int64_t i = threadIdx.x; i < r && !seen; i += kThreads)
        seen = g.tokens[i] == token;
    if (seen)
        earlier = 1;
    __syncthreads();
    if (earlier != 0)
        return;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
    Wide<T> sum = 0;
    for (std::int64_t first = r; first < g.rows; first += kThreads) {
        const std::int64_t own = first + threadIdx.x;
        const unsigned ballot = __ballot_sync(0xffffffffU, own < g.rows && g.tokens[own] == token);
        if (threadIdx.x % 32 == 0)
            ballots[threadIdx.x / 32] = ballot;
        __syncthreads();
        for (int w = 0; w < kThreads / 32; ++w) {
            unsigned left = ballots[w];
            while (left != 0) {
                const int bit = __ffs(static_cast<int>(left)) - 1;
                left &= left - 1;
                if (column < g.hidden)
                    sum += widen(g.dout[(first + w * 32 + bit) * g.hidden + column]);
            }
        }
        __syncthreads();
    }
    if (column < g.hidden)
        g.dtable[range.place(token) * g.hidden + column] += sum;
}

template <class T>
cudaError_t backwardOf(
    const typename EmbeddingBackward<T>::Args& g, TokenRange range, LaunchContext& context) {
    const dim3 grid(static_cast<unsigned>(g.rows), blocksFor(g.hidden, kThreads));
    backwardKernel<T><<<grid, kThreads, 0, context.stream>>>(g, range);
    return launched();
}

template <class T>
cudaError_t embeddingForward(const typename EmbeddingForward<T>::Args& g, LaunchContext& context) {
    return forwardOf<T>(g, {}, context);
}
template <class T>
cudaError_t embeddingBackward(const typename EmbeddingBackward<T>::Args& g, LaunchContext& context) {
    return backwardOf<T>(g, {}, context);
}
template <class T>
cudaError_t vocabForward(const typename VocabEmbeddingForward<T>::Args& g, LaunchContext& context) {
    return forwardOf<T>({g.tokens, g.table, g.out, g.rows, g.hidden}, {g.firstToken, g.vocab}, context);
}
template <class T>
cudaError_t vocabBackward(const typename VocabEmbeddingBackward<T>::Args& g, LaunchContext& context) {
    return backwardOf<T>({g.tokens, g.dout, g.dtable, g.rows, g.hidden}, {g.firstToken, g.vocab}, context);
}

// One thread a (position, sample, N pairs), for all heads of queries and keys.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) rotaryKernel(typename Rotary<T>::Args g) {
    using W = Wide<T>;
    const std::int64_t half = g.headSize / 2;
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (index >= g.seqLen * g.batch * (half / N))
        return;
    const std::int64_t i = index % (half / N) * N;
    const std::int64_t r = index / (half / N);
    const std::int64_t position = globalPosition(r / g.batch, g.chunk, g.first0, g.first1);
    W c[N];
    W s[N];
    for (int k = 0; k < N; ++k) {
        const double exponent = -2.0 * static_cast<double>(i + k) / static_cast<double>(g.headSize);
        const double angle = static_cast<double>(position) * pow(g.base, exponent);
        c[k] = static_cast<W>(cos(angle));
        s[k] = static_cast<W>(sin(angle) * g.direction);
    }
    T* row = g.qkv + r * 3 * g.heads * g.headSize + i;
#pragma unroll 4
    for (std::int64_t h = 0; h < 2 * g.heads; ++h) {
        auto* first = reinterpret_cast<Pack<T, N>*>(row + h * g.headSize);
        auto* second = reinterpret_cast<Pack<T, N>*>(row + h * g.headSize + half);
        Pack<T, N> a = *first;
        Pack<T, N> b = *second;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const W x = widen(a.v[k]);
            const W y = widen(b.v[k]);
            a.v[k] = narrow<T>(x * c[k] - y * s[k]);
            b.v[k] = narrow<T>(x * s[k] + y * c[k]);
        }
        *first = a;
        *second = b;
    }
}

template <class T> cudaError_t rotary(const typename Rotary<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = sizeof(T) == 2 ? 4 : 1;
    const std::int64_t pairs = g.seqLen * g.batch * g.headSize / 2;
    if (g.headSize % (2 * kPack) == 0 && aligned(kPack * sizeof(T), g.qkv))
        rotaryKernel<T, kPack><<<blocksFor(pairs / kPack, kThreads), kThreads, 0, context.stream>>>(g);
    else
        rotaryKernel<T, 1><<<blocksFor(pairs, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

__global__ void __launch_bounds__(kThreads) fetchTokensKernel(FetchTokens::Args g) {
    const std::int64_t positions = g.chunk == 0 ? g.seqLen : g.localLen;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= positions * g.batch)
        return;
    const std::int64_t b = i % g.batch;
    const std::int64_t microBatch = g.state->step * g.microBatches + g.microBatch;
    const std::int64_t sample = (microBatch * g.ranks + g.rank) * g.batch + b;
    const PhiloxBlock r = randomBlock(g.seed, kSampleStream, static_cast<std::uint64_t>(sample));
    const std::uint64_t random = static_cast<std::uint64_t>(r.v1) << 32U | r.v0;
    const std::int32_t* from = g.corpus + random % static_cast<std::uint64_t>(g.corpusLength - g.seqLen)
        + globalPosition(i / g.batch, g.chunk, g.first0, g.first1);
    if (i == 0 && g.firstSample != nullptr)
        *g.firstSample = sample;
    g.tokens[i] = from[0];
    g.targets[i] = from[1];
}

cudaError_t fetchTokens(const FetchTokens::Args& g, LaunchContext& context) {
    const std::int64_t positions = g.chunk == 0 ? g.seqLen : g.localLen;
    fetchTokensKernel<<<blocksFor(positions * g.batch, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<EmbeddingForward<T>, embeddingForward<T>>(), entry<EmbeddingBackward<T>, embeddingBackward<T>>(),  \
        entry<VocabEmbeddingForward<T>, vocabForward<T>>(),                                                  \
        entry<VocabEmbeddingBackward<T>, vocabBackward<T>>(), entry<Rotary<T>, rotary<T>>()

constexpr Launcher kTable[] = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16),
    GDT_ENTRIES(Float16), entry<FetchTokens, fetchTokens>()};

} // namespace

std::span<const Launcher> embeddingLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
