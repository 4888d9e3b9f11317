// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/tables.cuh"
#include "kernels/embedding.h"
#include "kernels/fetch_tokens.h"
#include "kernels/philox.h"
#include "kernels/sequence_shard.h"
#include "kernels/vocab_parallel.h"

#include <algorithm>
#include <cmath>
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

// --- rotary positions ------------------------------------------------------------------------------------

// Angle a position of each pair of a head, by value: the device need not raise anything to a power.
constexpr int kMostPairs = 128; // as attention, which takes heads of up to 256
struct Frequencies {
    double of[kMostPairs];
};

constexpr double kTwoPi = 6.28318530717958647692;

// For what is rounded to 16 bits afterwards the hardware's own functions do, once whole turns are taken off
// in double, where a late position loses nothing.
template <class T> __device__ inline void onCircle(double angle, Wide<T>& c, Wide<T>& s) {
    if constexpr (isNarrow<T>) {
        const double turns = angle * (1 / kTwoPi);
        __sincosf(static_cast<float>(turns - rint(turns)) * static_cast<float>(kTwoPi), &s, &c);
    } else {
        c = static_cast<Wide<T>>(cos(angle));
        s = static_cast<Wide<T>>(sin(angle));
    }
}

constexpr int kHeads = 2; // a thread

// Thread (x, y, z) turns N pairs, from x * N on, of kHeads heads: y, y + gridDim.y * blockDim.y, ... of row
// z.
template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    rotaryKernel(typename Rotary<T>::Args g, const __grid_constant__ Frequencies frequencies) {
    using W = Wide<T>;
    const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * blockDim.z + threadIdx.z;
    if (r >= g.seqLen * g.batch)
        return;
    const std::int64_t half = g.headSize / 2;
    const int i = static_cast<int>(threadIdx.x) * N;
    const std::int64_t heads = 2 * g.heads; // of queries and keys
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * blockDim.y;
    const std::int64_t head = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
    T* row = g.qkv + r * 3 * g.heads * g.headSize + i;
    Pack<T, N> a[kHeads], b[kHeads];
#pragma unroll
    for (int u = 0; u < kHeads; ++u) {
        const std::int64_t h = head + u * step;
        if (h >= heads)
            continue;
        a[u] = loadPack<T, N>(row + h * g.headSize);
        b[u] = loadPack<T, N>(row + h * g.headSize + half);
    }
    const std::int64_t position = globalPosition(
        static_cast<std::uint32_t>(r) / static_cast<std::uint32_t>(g.batch), g.chunk, g.first0, g.first1);
    W c[N], s[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        onCircle<T>(static_cast<double>(position) * frequencies.of[i + k], c[k], s[k]);
        s[k] *= static_cast<W>(g.direction);
    }
#pragma unroll
    for (int u = 0; u < kHeads; ++u) {
        const std::int64_t h = head + u * step;
        if (h >= heads)
            continue;
        W x[N], y[N];
        widenAll(a[u], x);
        widenAll(b[u], y);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const W turned = x[k] * c[k] - y[k] * s[k];
            y[k] = x[k] * s[k] + y[k] * c[k];
            x[k] = turned;
        }
        storePack(row + h * g.headSize, narrowAll<T, N>(x));
        storePack(row + h * g.headSize + half, narrowAll<T, N>(y));
    }
}

template <class T, int N>
cudaError_t rotaryPacked(const typename Rotary<T>::Args& g, LaunchContext& context) {
    Frequencies frequencies{};
    for (std::int64_t i = 0; i < g.headSize / 2; ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(g.headSize);
        frequencies.of[i] = std::pow(g.base, exponent);
    }
    const auto packs = static_cast<unsigned>(g.headSize / 2 / N);
    const unsigned groups = blocksFor(2 * g.heads, kHeads);
    const unsigned along = blocksFor(groups, static_cast<int>(kThreads / packs));
    const unsigned each = blocksFor(groups, static_cast<int>(along));
    constexpr unsigned kMostRows = 64; // threads along z
    const unsigned rows = std::min(kThreads / (each * packs), kMostRows);
    const dim3 grid(blocksFor(g.seqLen * g.batch, static_cast<int>(rows)), along);
    rotaryKernel<T, N><<<grid, dim3(packs, each, rows), 0, context.stream>>>(g, frequencies);
    return launched();
}

template <class T> cudaError_t rotary(const typename Rotary<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if (g.headSize < 2 || g.headSize > 2 * kMostPairs)
        return cudaErrorNotSupported;
    if (g.headSize % (2 * kPack) == 0 && aligned(16, g.qkv))
        return rotaryPacked<T, kPack>(g, context);
    return rotaryPacked<T, 1>(g, context);
}

// --- tokens ----------------------------------------------------------------------------------------------

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
