// SPDX-License-Identifier: Apache-2.0
// Attention for bf16 and f16 on the tensor cores of every GPU since Ampere, after FlashAttention-2 (Dao
// 2023): tiles of queries and keys, softmax as the tiles come, nothing of size seqLen x seqLen. The backward
// pass has one kernel for keys and values and one for queries, so that no sum needs atomic additions and
// every run gives the same bits.
#include "kernels/cuda/attention_mma.cuh"

#include "kernels/cuda/attention_tiles.cuh"

namespace gdt::kernels::cuda {

namespace {

/// The three parts of qkv at (sample, head) number blockIdx.y.
template <class T> struct ThreeHeads { HeadRows<T> q, k, v; };
template <class T, class Args> __device__ ThreeHeads<T> headsOf(const Args& g, const AttentionView& view) {
    const auto at = [&](std::int64_t place) { return HeadRows<T>{g.qkv + place, view.rowStep, g.seqLen}; };
    return {at(view.q), at(view.k), at(view.v)};
}

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kTileThreads)
    forwardKernel(typename AttentionForward<T>::Args g, Keep all) {
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<ForwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const auto [q, k, v] = headsOf<T>(g, view);
    const SameSequence<Keep> rule{all.of(static_cast<int>(blockIdx.y), g.heads)};
    // The longest rows first, so that the last blocks to start are short.
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    startForward(tiles, q, k, v, firstRow);
    float out[D / 8][4] = {};
    SoftmaxRows softmax;
    attendTo<T, D>(out, softmax, tiles, k, v, rule, firstRow);
    softmax.finish(g.logSums + view.row, firstRow + warp * 16 + lane / 4, g.seqLen, lane);
    storeRows<RowLayout<D>, D>(out, 1.0F / softmax.total[0], 1.0F / softmax.total[1], tiles.query, warp * 16,
        g.out + view.out, view.outStep, firstRow + warp * 16, g.seqLen, lane);
}

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kTileThreads) keyGradient(typename AttentionBackward<T>::Args g, Keep all) {
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const auto [q, k, v] = headsOf<T>(g, view);
    const HeadRows<T> dout{g.dout + view.out, view.outStep, g.seqLen};
    const SameSequence<Keep> rule{all.of(static_cast<int>(blockIdx.y), g.heads)};
    const std::int64_t firstKey = static_cast<std::int64_t>(blockIdx.x) * kRows;
    float dk[D / 8][4] = {};
    float dv[D / 8][4] = {};
    gradientOfKeys<T, D>(
        dk, dv, tiles, q, dout, k, v, {g.logSums + view.row, g.scratch + view.row}, rule, firstKey);
    const float scale = rsqrtf(static_cast<float>(D));
    const std::int64_t first = firstKey + warp * 16;
    storeRows<RowLayout<D>, D>(
        dk, scale, scale, tiles.own[0], warp * 16, g.dqkv + view.k, view.rowStep, first, g.seqLen, lane);
    storeRows<RowLayout<D>, D>(
        dv, 1.0F, 1.0F, tiles.own[1], warp * 16, g.dqkv + view.v, view.rowStep, first, g.seqLen, lane);
}

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kTileThreads)
    queryGradient(typename AttentionBackward<T>::Args g, Keep all) {
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const auto [q, k, v] = headsOf<T>(g, view);
    const HeadRows<T> dout{g.dout + view.out, view.outStep, g.seqLen};
    const SameSequence<Keep> rule{all.of(static_cast<int>(blockIdx.y), g.heads)};
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    float dq[D / 8][4] = {};
    gradientOfQueries<T, D>(
        dq, tiles, q, dout, k, v, {g.logSums + view.row, g.scratch + view.row}, rule, firstRow);
    const float scale = rsqrtf(static_cast<float>(D));
    __syncthreads();
    storeRows<RowLayout<D>, D>(dq, scale, scale, tiles.own[0], warp * 16, g.dqkv + view.q, view.rowStep,
        firstRow + warp * 16, g.seqLen, lane);
}

// --- launch ----------------------------------------------------------------------------------------------

template <class T, int D>
cudaError_t forwardOf(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        return launchRows(
            forwardKernel<T, D, Keep>, g, keep, kRows, kTileThreads, sizeof(ForwardTiles<D>), context);
    });
}

template <class T, int D>
cudaError_t backwardOf(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    if (const cudaError_t error = launchRowSums<T, D>(g, context); error != cudaSuccess)
        return error;
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        const cudaError_t error = launchRows(
            keyGradient<T, D, Keep>, g, keep, kRows, kTileThreads, sizeof(BackwardTiles<D>), context);
        return error == cudaSuccess ? launchRows(
                   queryGradient<T, D, Keep>, g, keep, kRows, kTileThreads, sizeof(BackwardTiles<D>), context)
                                    : error;
    });
}

} // namespace

template <class T>
cudaError_t mmaForward(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    return g.headSize == 64 ? forwardOf<T, 64>(g, context) : forwardOf<T, 128>(g, context);
}

template <class T>
cudaError_t mmaBackward(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    return g.headSize == 64 ? backwardOf<T, 64>(g, context) : backwardOf<T, 128>(g, context);
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template cudaError_t mmaForward<T>(const AttentionForward<T>::Args&, LaunchContext&);                    \
    template cudaError_t mmaBackward<T>(const AttentionBackward<T>::Args&, LaunchContext&);
GDT_INSTANTIATE(BFloat16)
GDT_INSTANTIATE(Float16)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels::cuda
