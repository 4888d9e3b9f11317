// SPDX-License-Identifier: Apache-2.0
// A step of ring attention for bf16 and f16 on tensor cores: the algorithm of attention_mma.cu for queries
// and keys of different ranks. What other steps left joins the sums of the first tile, in fp32, and so do
// results that later steps go on with.
#include "kernels/cuda/ring_attention_mma.cuh"

#include "kernels/cuda/attention_tiles.cuh"

namespace gdt::kernels::cuda {

namespace {

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

/// to = acc * factor, or with `add` to += acc * factor.
template <int D>
__device__ inline void putRows(const float (&acc)[D / 8][4], float factor, bool add, float* to,
    std::int64_t step, std::int64_t first, std::int64_t end, int lane) {
    forEachPair<D>(first, end, step, lane, [&](std::int64_t place, int h, int n) {
        auto* pair = reinterpret_cast<float2*>(to + place);
        const float2 before = add ? *pair : float2{};
        *pair = {before.x + acc[n][2 * h] * factor, before.y + acc[n][2 * h + 1] * factor};
    });
}

/// The parts of one (sample, head) that a step reads.
template <class T> struct RingHeads { HeadRows<T> q, k, v; };
template <class T, class Args> __device__ RingHeads<T> ringHeadsOf(const Args& g, const RingView& view) {
    return {{g.q + view.q, view.qStep, g.queries}, {g.kv + view.keys, view.kvStep, g.keys},
        {g.kv + view.values, view.kvStep, g.keys}};
}

/// Queries of one rank and keys of another. A shard may begin at an odd position: no pairs of random numbers.
template <class Keep> struct TwoShards {
    using Kept = Keep;
    Keep keep;
    std::int64_t heads;
    bool causal;

    template <int N>
    __device__ void drop(float (&values)[N][4], std::int64_t row, std::int64_t first, int lane) const {
        if constexpr (Keep::kDrops) {
#pragma unroll
            for (int n = 0; n < N; ++n) {
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    values[n][e] *= keep.share(heads, row + 8 * (e >> 1), first + columnOf(lane, n, e));
            }
        }
    }
    template <int N>
    __device__ void draw(KeptOfKeys<N>& kept, std::int64_t key, std::int64_t first, int lane) const {
#pragma unroll
        for (int n = 0; n < N; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const float share = keep.share(heads, first + columnOf(lane, n, e), key + 8 * (e >> 1));
                kept.bits |= (share != 0.0F ? 1U : 0U) << (4 * n + e);
            }
        }
    }
    template <int N>
    __device__ void hideMissing(float (&score)[N][4], std::int64_t first, std::int64_t end, int lane) const {
        if (first + 8 * N > end)
            hideMissingKeys(score, first, end, lane);
    }
};

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kTileThreads)
    ringForwardKernel(typename RingAttentionForward<T>::Args g, Keep keep) {
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<ForwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const RingView view = ringViewOf(g);
    const auto [q, k, v] = ringHeadsOf<T>(g, view);
    const TwoShards<Keep> rule{keep, g.heads, g.causal};
    // With a diagonal the longest rows first, so that the last blocks to start are short.
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    startForward(tiles, q, k, v, firstRow);
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
    attendTo<T, D>(out, softmax, tiles, k, v, rule, firstRow);
    softmax.finish(g.logSums + view.row, row, g.queries, lane);
    const float share[2] = {1.0F / softmax.total[0], 1.0F / softmax.total[1]};
    forEachPair<D>(firstRow + warp * 16, g.queries, view.ofStep, lane, [&](std::int64_t place, int h, int n) {
        *reinterpret_cast<float2*>(g.out + view.of + place)
            = {out[n][2 * h] * share[h], out[n][2 * h + 1] * share[h]};
    });
}

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kTileThreads)
    ringKeyGradient(typename RingAttentionBackward<T>::Args g, Keep keep) {
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const RingView view = ringViewOf(g);
    const auto [q, k, v] = ringHeadsOf<T>(g, view);
    const HeadRows<T> dout{g.dout + view.of, view.ofStep, g.queries};
    const TwoShards<Keep> rule{keep, g.heads, g.causal};
    const std::int64_t firstKey = static_cast<std::int64_t>(blockIdx.x) * kRows;
    float dk[D / 8][4] = {};
    float dv[D / 8][4] = {};
    gradientOfKeys<T, D>(
        dk, dv, tiles, q, dout, k, v, {g.logSums + view.row, g.rowSums + view.row}, rule, firstKey);
    const float scale = rsqrtf(static_cast<float>(D));
    const std::int64_t first = firstKey + warp * 16;
    putRows<D>(dk, scale, g.add, g.dkv + view.keys, view.kvStep, first, g.keys, lane);
    putRows<D>(dv, 1.0F, g.add, g.dkv + view.values, view.kvStep, first, g.keys, lane);
}

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kTileThreads)
    ringQueryGradient(typename RingAttentionBackward<T>::Args g, Keep keep) {
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const RingView view = ringViewOf(g);
    const auto [q, k, v] = ringHeadsOf<T>(g, view);
    const HeadRows<T> dout{g.dout + view.of, view.ofStep, g.queries};
    const TwoShards<Keep> rule{keep, g.heads, g.causal};
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    float dq[D / 8][4] = {};
    gradientOfQueries<T, D>(
        dq, tiles, q, dout, k, v, {g.logSums + view.row, g.rowSums + view.row}, rule, firstRow);
    putRows<D>(dq, rsqrtf(static_cast<float>(D)), g.add, g.dq + view.of, view.ofStep, firstRow + warp * 16,
        g.queries, lane);
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
    kernel<<<grid, kTileThreads, shared, context.stream>>>(g, keep);
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
