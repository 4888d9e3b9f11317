// SPDX-License-Identifier: Apache-2.0
// A step of ring attention for bf16 and f16 on tensor cores: the algorithm of attention_mma.cu for queries
// and keys of different ranks. What other steps left joins the sums of the first tile, in fp32, and so do
// results that later steps go on with.
#include "kernels/cuda/ring_attention_mma.cuh"

#include "kernels/cuda/attention_parts.cuh"

namespace gdt::kernels::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 16 * kWarps; // of the side that a block owns
constexpr int kForwardKeys = 64;

/// First elements of a (sample, head) pair, blockIdx.y counts them, and the steps from row to row. `row` is
/// the place among statistics; `of` are the places in the matrices of one rank's activations and of its keys
/// and values.
struct RingView {
    std::int64_t q, qStep, keys, values, kvStep, of, ofStep, row;
};

template <class Args> __device__ RingView ringViewOf(const Args& g) {
    const std::int64_t pair = blockIdx.y;
    const std::int64_t sample = pair / g.heads;
    const std::int64_t head = pair % g.heads;
    const std::int64_t hidden = g.heads * g.headSize;
    const std::int64_t keys = sample * 2 * hidden + head * g.headSize;
    return {sample * g.qStep + head * g.headSize, g.batch * g.qStep, keys, keys + hidden,
        g.batch * 2 * hidden, sample * hidden + head * g.headSize, g.batch * hidden, pair * g.logSumsStep};
}

/// Takes keys that do not exist, those from `end` on, from every row.
template <int N>
__device__ inline void hideMissingKeys(float (&score)[N][4], std::int64_t first, std::int64_t end, int lane) {
    const int existing = static_cast<int>(end - first);
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (columnOf(lane, n, e) >= existing)
                score[n][e] = -INFINITY;
        }
    }
}

/// Calls f(place, h, n) for what a thread holds of 16 rows from `first` on, as far as they exist: elements
/// 2 h and 2 h + 1 of acc[n] belong to `place` and the next one.
template <int D, class F>
__device__ inline void forEachPair(
    std::int64_t first, std::int64_t end, std::int64_t step, int lane, const F& f) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const std::int64_t row = first + lane / 4 + 8 * h;
        if (row >= end)
            continue;
#pragma unroll
        for (int n = 0; n < D / 8; ++n)
            f(row * step + columnOf(lane, n, 0), h, n);
    }
}

/// to += acc * factor.
template <int D>
__device__ inline void addRows(const float (&acc)[D / 8][4], float factor, float* to, std::int64_t step,
    std::int64_t first, std::int64_t end, int lane) {
    forEachPair<D>(first, end, step, lane, [&](std::int64_t place, int h, int n) {
        auto* pair = reinterpret_cast<float2*>(to + place);
        const float2 before = *pair;
        *pair = {before.x + acc[n][2 * h] * factor, before.y + acc[n][2 * h + 1] * factor};
    });
}

// --- forward ---------------------------------------------------------------------------------------------

template <int D> struct ForwardTiles {
    alignas(128) unsigned char query[kRows * D * 2];
    alignas(128) unsigned char keys[2][kForwardKeys * D * 2];
    alignas(128) unsigned char values[2][kForwardKeys * D * 2];
};

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kThreads)
    ringForwardKernel(typename RingAttentionForward<T>::Args g, Keep keep) {
    constexpr int kKeys = kForwardKeys;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<ForwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const RingView view = ringViewOf(g);
    // With a diagonal the longest rows first, so that the last blocks to start are short.
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    const std::int64_t seen = g.causal ? min(firstRow + kRows, g.keys) : g.keys;
    const int tileCount = static_cast<int>((seen + kKeys - 1) / kKeys);
    const float scale = rsqrtf(static_cast<float>(D)) * kLog2E;
    const auto copyKeys = [&](int tile) {
        const std::int64_t first = static_cast<std::int64_t>(tile) * kKeys;
        copyTile<RowLayout<D>, kKeys, D, kThreads>(
            sharedAddress(tiles.keys[tile % 2]), g.kv + view.keys, view.kvStep, first, g.keys);
        copyTile<RowLayout<D>, kKeys, D, kThreads>(
            sharedAddress(tiles.values[tile % 2]), g.kv + view.values, view.kvStep, first, g.keys);
        commitCopies();
    };
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.query), g.q + view.q, view.qStep, firstRow, g.queries);
    copyKeys(0);
    float out[D / 8][4] = {};
    SoftmaxRows softmax;
    const std::int64_t row = firstRow + warp * 16 + lane / 4;
    if (g.merge) { // as a tile whose largest score is its log sum and whose weights sum to 1
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (row + 8 * h >= g.queries)
                continue;
            softmax.largest[h] = g.logSums[view.row + row + 8 * h] * kLog2E;
            softmax.total[h] = lane % 4 == 0 ? 1.0F : 0.0F; // the four threads of a row add theirs
        }
        forEachPair<D>(
            firstRow + warp * 16, g.queries, view.ofStep, lane, [&](std::int64_t place, int h, int n) {
                const float2 before = *reinterpret_cast<const float2*>(g.out + view.of + place);
                out[n][2 * h] = before.x;
                out[n][2 * h + 1] = before.y;
            });
    }
    for (int tile = 0; tile < tileCount; ++tile) {
        waitForCopies<0>();
        __syncthreads();
        if (tile + 1 < tileCount)
            copyKeys(tile + 1);
        float score[kKeys / 8][4] = {};
        multiplyRows<T, D, kKeys>(
            score, sharedAddress(tiles.query), warp * 16, sharedAddress(tiles.keys[tile % 2]), lane);
        const std::int64_t first = static_cast<std::int64_t>(tile) * kKeys;
        if (g.causal && first + kKeys - 1 > firstRow + warp * 16)
            hideLaterKeys(score, row, first, lane);
        if (first + kKeys > g.keys)
            hideMissingKeys(score, first, g.keys, lane);
        float shrink[2];
        softmax.take(score, scale, shrink);
        shrinkRows(out, shrink);
        if constexpr (Keep::kDrops) { // a shard may begin at an odd position: no pairs of random numbers
#pragma unroll
            for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    score[n][e] *= keep.share(g.heads, row + 8 * (e >> 1), first + columnOf(lane, n, e));
            }
        }
        multiplyColumns<T, D, kKeys>(out, score, sharedAddress(tiles.values[tile % 2]), lane);
    }
    softmax.finish(g.logSums + view.row, row, g.queries, lane);
    const float share[2] = {1.0F / softmax.total[0], 1.0F / softmax.total[1]};
    forEachPair<D>(firstRow + warp * 16, g.queries, view.ofStep, lane, [&](std::int64_t place, int h, int n) {
        *reinterpret_cast<float2*>(g.out + view.of + place)
            = {out[n][2 * h] * share[h], out[n][2 * h + 1] * share[h]};
    });
}

// --- backward --------------------------------------------------------------------------------------------

// Fewer rows at a time where the accumulators of a head of 128 fill the registers.
template <int D> constexpr int kBackwardRows = D == 64 ? 64 : 32;

template <int D> struct BackwardTiles {
    static constexpr int kOther = kBackwardRows<D>;
    alignas(128) unsigned char own[2][kRows * D * 2];
    alignas(128) unsigned char other[2][2][kOther * D * 2]; // [stage][which]
    float logSum[2][kOther];
    float rowSum[2][kOther];
};

// A block owns kRows keys and their values and goes over the queries that see them. All products are
// transposed: rows are keys, columns are queries.
template <class T, int D, class Keep>
__global__ void __launch_bounds__(kThreads)
    ringKeyGradient(typename RingAttentionBackward<T>::Args g, Keep keep) {
    constexpr int kOther = kBackwardRows<D>;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const RingView view = ringViewOf(g);
    const std::int64_t firstKey = static_cast<std::int64_t>(blockIdx.x) * kRows;
    const float scale = rsqrtf(static_cast<float>(D));
    const int firstTile = g.causal ? static_cast<int>(firstKey / kOther) : 0;
    const int tileCount = static_cast<int>((g.queries + kOther - 1) / kOther);
    const auto copyQueries = [&](int tile) {
        const int stage = tile % 2;
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        copyTile<RowLayout<D>, kOther, D, kThreads>(
            sharedAddress(tiles.other[stage][0]), g.q + view.q, view.qStep, first, g.queries);
        copyTile<RowLayout<D>, kOther, D, kThreads>(
            sharedAddress(tiles.other[stage][1]), g.dout + view.of, view.ofStep, first, g.queries);
        commitCopies();
        for (int i = static_cast<int>(threadIdx.x); i < kOther; i += kThreads) {
            const bool exists = first + i < g.queries;
            tiles.logSum[stage][i] = exists ? g.logSums[view.row + first + i] * kLog2E : INFINITY;
            tiles.rowSum[stage][i] = exists ? g.rowSums[view.row + first + i] : 0.0F;
        }
    };
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.own[0]), g.kv + view.keys, view.kvStep, firstKey, g.keys);
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.own[1]), g.kv + view.values, view.kvStep, firstKey, g.keys);
    if (firstTile < tileCount)
        copyQueries(firstTile);
    float dk[D / 8][4] = {};
    float dv[D / 8][4] = {};
    const std::int64_t key = firstKey + warp * 16 + lane / 4;
    for (int tile = firstTile; tile < tileCount; ++tile) {
        const int stage = tile % 2;
        waitForCopies<0>();
        __syncthreads();
        if (tile + 1 < tileCount)
            copyQueries(tile + 1);
        const std::uint32_t queries = sharedAddress(tiles.other[stage][0]);
        const std::uint32_t douts = sharedAddress(tiles.other[stage][1]);
        float p[kOther / 8][4] = {};
        multiplyRows<T, D, kOther>(p, sharedAddress(tiles.own[0]), warp * 16, queries, lane);
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        const bool whole = !g.causal || first >= firstKey + warp * 16 + 15;
        probabilitiesOfKeys(p, scale * kLog2E, tiles.logSum[stage], key, first, whole, lane);
        float dp[kOther / 8][4] = {};
        multiplyRows<T, D, kOther>(dp, sharedAddress(tiles.own[1]), warp * 16, douts, lane);
        if constexpr (Keep::kDrops) {
            KeptOfKeys<kOther / 8> kept;
#pragma unroll
            for (int n = 0; n < kOther / 8; ++n) {
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const float share = keep.share(g.heads, first + columnOf(lane, n, e), key + 8 * (e >> 1));
                    kept.bits |= (share != 0.0F ? 1U : 0U) << (4 * n + e);
                }
            }
            float part[kOther / 8][4];
            kept.apply(part, p, keep.scale);
            multiplyColumns<T, D, kOther>(dv, part, douts, lane);
            kept.apply(dp, dp, keep.scale);
        } else {
            multiplyColumns<T, D, kOther>(dv, p, douts, lane);
        }
        scoreGradientOfKeys(p, dp, tiles.rowSum[stage], lane);
        multiplyColumns<T, D, kOther>(dk, p, queries, lane);
    }
    const std::int64_t first = firstKey + warp * 16;
    addRows<D>(dk, scale, g.dkv + view.keys, view.kvStep, first, g.keys, lane);
    addRows<D>(dv, 1.0F, g.dkv + view.values, view.kvStep, first, g.keys, lane);
}

// A block owns kRows queries and goes over the keys that they see.
template <class T, int D, class Keep>
__global__ void __launch_bounds__(kThreads)
    ringQueryGradient(typename RingAttentionBackward<T>::Args g, Keep keep) {
    constexpr int kOther = kBackwardRows<D>;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const RingView view = ringViewOf(g);
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    const std::int64_t seen = g.causal ? min(firstRow + kRows, g.keys) : g.keys;
    const int tileCount = static_cast<int>((seen + kOther - 1) / kOther);
    const float scale = rsqrtf(static_cast<float>(D));
    const auto copyKeys = [&](int tile) {
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        copyTile<RowLayout<D>, kOther, D, kThreads>(
            sharedAddress(tiles.other[tile % 2][0]), g.kv + view.keys, view.kvStep, first, g.keys);
        copyTile<RowLayout<D>, kOther, D, kThreads>(
            sharedAddress(tiles.other[tile % 2][1]), g.kv + view.values, view.kvStep, first, g.keys);
        commitCopies();
    };
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.own[0]), g.q + view.q, view.qStep, firstRow, g.queries);
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.own[1]), g.dout + view.of, view.ofStep, firstRow, g.queries);
    copyKeys(0);
    const std::int64_t row = firstRow + warp * 16 + lane / 4;
    float logSum[2];
    float rowSum[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const bool exists = row + 8 * h < g.queries;
        logSum[h] = exists ? g.logSums[view.row + row + 8 * h] * kLog2E : INFINITY;
        rowSum[h] = exists ? g.rowSums[view.row + row + 8 * h] : 0.0F;
    }
    float dq[D / 8][4] = {};
    for (int tile = 0; tile < tileCount; ++tile) {
        waitForCopies<0>();
        __syncthreads();
        if (tile + 1 < tileCount)
            copyKeys(tile + 1);
        const std::uint32_t keys = sharedAddress(tiles.other[tile % 2][0]);
        float p[kOther / 8][4] = {};
        float dp[kOther / 8][4] = {};
        multiplyRows<T, D, kOther>(p, sharedAddress(tiles.own[0]), warp * 16, keys, lane);
        multiplyRows<T, D, kOther>(
            dp, sharedAddress(tiles.own[1]), warp * 16, sharedAddress(tiles.other[tile % 2][1]), lane);
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        if constexpr (Keep::kDrops) {
#pragma unroll
            for (int n = 0; n < kOther / 8; ++n) {
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    dp[n][e] *= keep.share(g.heads, row + 8 * (e >> 1), first + columnOf(lane, n, e));
            }
        }
        if (first + kOther > g.keys)
            hideMissingKeys(p, first, g.keys, lane);
        const bool whole = !g.causal || first + kOther - 1 <= firstRow + warp * 16;
        scoreGradientOfQueries(p, dp, scale * kLog2E, logSum, rowSum, row, first, whole, lane);
        multiplyColumns<T, D, kOther>(dq, p, keys, lane);
    }
    addRows<D>(dq, scale, g.dq + view.of, view.ofStep, firstRow + warp * 16, g.queries, lane);
}

// --- launch ----------------------------------------------------------------------------------------------

template <class Kernel, class Args, class Keep>
cudaError_t launchRing(Kernel kernel, const Args& g, const Keep& keep, std::int64_t rows, std::size_t shared,
    LaunchContext& context) {
    const cudaError_t error
        = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error != cudaSuccess)
        return error;
    const dim3 grid(blocksFor(rows, kRows), static_cast<unsigned>(g.batch * g.heads));
    kernel<<<grid, kThreads, shared, context.stream>>>(g, keep);
    return launched();
}

template <class T, int D>
cudaError_t forwardOf(const typename RingAttentionForward<T>::Args& g, LaunchContext& context) {
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        return launchRing(
            ringForwardKernel<T, D, Keep>, g, keep, g.queries, sizeof(ForwardTiles<D>), context);
    });
}

template <class T, int D>
cudaError_t backwardOf(const typename RingAttentionBackward<T>::Args& g, LaunchContext& context) {
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        const cudaError_t error
            = launchRing(ringKeyGradient<T, D, Keep>, g, keep, g.keys, sizeof(BackwardTiles<D>), context);
        return error == cudaSuccess
            ? launchRing(ringQueryGradient<T, D, Keep>, g, keep, g.queries, sizeof(BackwardTiles<D>), context)
            : error;
    });
}

} // namespace

template <class T>
cudaError_t ringMmaForward(const typename RingAttentionForward<T>::Args& g, LaunchContext& context) {
    return g.headSize == 64 ? forwardOf<T, 64>(g, context) : forwardOf<T, 128>(g, context);
}

template <class T>
cudaError_t ringMmaBackward(const typename RingAttentionBackward<T>::Args& g, LaunchContext& context) {
    return g.headSize == 64 ? backwardOf<T, 64>(g, context) : backwardOf<T, 128>(g, context);
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template cudaError_t ringMmaForward<T>(const RingAttentionForward<T>::Args&, LaunchContext&);            \
    template cudaError_t ringMmaBackward<T>(const RingAttentionBackward<T>::Args&, LaunchContext&);
GDT_INSTANTIATE(BFloat16)
GDT_INSTANTIATE(Float16)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels::cuda
