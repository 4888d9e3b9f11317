// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tables.cuh"
#include "kernels/embedding.h"
#include "kernels/fetch_tokens.h"
#include "kernels/philox.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <class T, int N>
__global__ void __launch_bounds__(kThreads) embeddingForwardKernel(typename EmbeddingForward<T>::Args g) {
    const std::int64_t packs = g.hidden / N;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.rows * packs)
        return;
    const std::int64_t r = i / packs;
    const std::int64_t column = i % packs * N;
    *reinterpret_cast<Pack<T, N>*>(g.out + r * g.hidden + column)
        = *reinterpret_cast<const Pack<T, N>*>(g.table + g.tokens[r] * g.hidden + column);
}

template <class T>
cudaError_t embeddingForward(const typename EmbeddingForward<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if (g.hidden % kPack == 0 && aligned(16, g.table, g.out))
        embeddingForwardKernel<T, kPack>
            <<<blocksFor(g.rows * g.hidden / kPack, kThreads), kThreads, 0, context.stream>>>(g);
    else
        embeddingForwardKernel<T, 1>
            <<<blocksFor(g.rows * g.hidden, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

// Block (r, c): if row r is the first of its token, it adds all rows of that token, in order, for one slice
// of kThreads columns. The search is quadratic in the rows, but an integer compare is cheap beside the rest
// of a step, and no order of additions is left to chance.
template <class T>
__global__ void __launch_bounds__(kThreads) embeddingBackwardKernel(typename EmbeddingBackward<T>::Args g) {
    __shared__ int earlier;
    __shared__ unsigned ballots[kThreads / 32];
    const std::int64_t r = blockIdx.x;
    const std::int32_t token = g.tokens[r];
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
        g.dtable[token * g.hidden + column] += sum;
}

template <class T>
cudaError_t embeddingBackward(const typename EmbeddingBackward<T>::Args& g, LaunchContext& context) {
    const dim3 grid(static_cast<unsigned>(g.rows), blocksFor(g.hidden, kThreads));
    embeddingBackwardKernel<T><<<grid, kThreads, 0, context.stream>>>(g);
    return launched();
}

// One thread a (position, sample, pair), for all heads of queries and keys.
template <class T> __global__ void __launch_bounds__(kThreads) rotaryKernel(typename Rotary<T>::Args g) {
    using W = Wide<T>;
    const std::int64_t half = g.headSize / 2;
    const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (index >= g.seqLen * g.batch * half)
        return;
    const std::int64_t i = index % half;
    const std::int64_t r = index / half;
    const std::int64_t t = r / g.batch;
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(g.headSize);
    const double angle = static_cast<double>(t) * pow(g.base, exponent);
    const W c = static_cast<W>(cos(angle));
    const W s = static_cast<W>(sin(angle) * g.direction);
    T* row = g.qkv + r * 3 * g.heads * g.headSize + i;
#pragma unroll 4
    for (std::int64_t h = 0; h < 2 * g.heads; ++h) {
        T* first = row + h * g.headSize;
        const W x = widen(first[0]);
        const W y = widen(first[half]);
        first[0] = narrow<T>(x * c - y * s);
        first[half] = narrow<T>(x * s + y * c);
    }
}

template <class T> cudaError_t rotary(const typename Rotary<T>::Args& g, LaunchContext& context) {
    const std::int64_t threads = g.seqLen * g.batch * g.headSize / 2;
    rotaryKernel<T><<<blocksFor(threads, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

__global__ void __launch_bounds__(kThreads) fetchTokensKernel(FetchTokens::Args g) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.seqLen * g.batch)
        return;
    const std::int64_t b = i % g.batch;
    const std::int64_t microBatch = g.state->step * g.microBatches + g.microBatch;
    const std::int64_t sample = (microBatch * g.ranks + g.rank) * g.batch + b;
    const PhiloxBlock r = randomBlock(g.seed, kSampleStream, static_cast<std::uint64_t>(sample));
    const std::uint64_t random = static_cast<std::uint64_t>(r.v1) << 32U | r.v0;
    const std::int32_t* from
        = g.corpus + random % static_cast<std::uint64_t>(g.corpusLength - g.seqLen) + i / g.batch;
    g.tokens[i] = from[0];
    g.targets[i] = from[1];
}

cudaError_t fetchTokens(const FetchTokens::Args& g, LaunchContext& context) {
    fetchTokensKernel<<<blocksFor(g.seqLen * g.batch, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<EmbeddingForward<T>, embeddingForward<T>>(), entry<EmbeddingBackward<T>, embeddingBackward<T>>(),  \
        entry<Rotary<T>, rotary<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), entry<FetchTokens, fetchTokens>()};

} // namespace

std::span<const Launcher> embeddingLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
