// SPDX-License-Identifier: Apache-2.0
// Attention for bf16 and f16 on the tensor cores of every GPU since Ampere, after FlashAttention-2 (Dao
// 2023): tiles of queries and keys, softmax as the tiles come, nothing of size seqLen x seqLen. The backward
// pass has one kernel for keys and values and one for queries, so that no sum needs atomic additions and
// every run gives the same bits.
#include "kernels/cuda/attention_mma.cuh"

#include "kernels/cuda/attention_parts.cuh"

namespace gdt::kernels::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 16 * kWarps; // of the side that a block owns
// --- forward ---------------------------------------------------------------------------------------------

template <int D> constexpr int kForwardKeys = 64;

template <int D> struct ForwardTiles {
    alignas(128) unsigned char query[kRows * D * 2];
    alignas(128) unsigned char keys[2][kForwardKeys<D> * D * 2];
    alignas(128) unsigned char values[2][kForwardKeys<D> * D * 2];
};

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kThreads) forwardKernel(typename AttentionForward<T>::Args g, Keep all) {
    constexpr int kKeys = kForwardKeys<D>;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<ForwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const Keep keep = all.of(static_cast<int>(blockIdx.y), g.heads);
    // The longest rows first, so that the last blocks to start are short.
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    const std::int64_t lastRow = min(firstRow + kRows, g.seqLen);
    const int tileCount = static_cast<int>((lastRow + kKeys - 1) / kKeys);
    const float scale = rsqrtf(static_cast<float>(D)) * kLog2E;
    const auto copyKeys = [&](int tile) {
        const std::int64_t first = static_cast<std::int64_t>(tile) * kKeys;
        copyTile<RowLayout<D>, kKeys, D, kThreads>(
            sharedAddress(tiles.keys[tile % 2]), g.qkv + view.k, view.rowStep, first, g.seqLen);
        copyTile<RowLayout<D>, kKeys, D, kThreads>(
            sharedAddress(tiles.values[tile % 2]), g.qkv + view.v, view.rowStep, first, g.seqLen);
        commitCopies();
    };
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.query), g.qkv + view.q, view.rowStep, firstRow, g.seqLen);
    copyKeys(0);
    float out[D / 8][4] = {};
    SoftmaxRows softmax;
    const std::int64_t row = firstRow + warp * 16 + lane / 4;
    for (int tile = 0; tile < tileCount; ++tile) {
        waitForCopies<0>();
        __syncthreads();
        if (tile + 1 < tileCount)
            copyKeys(tile + 1);
        float score[kKeys / 8][4] = {};
        multiplyRows<T, D, kKeys>(
            score, sharedAddress(tiles.query), warp * 16, sharedAddress(tiles.keys[tile % 2]), lane);
        const std::int64_t first = static_cast<std::int64_t>(tile) * kKeys;
        if (first + kKeys - 1 > firstRow + warp * 16)
            hideLaterKeys(score, row, first, lane);
        float shrink[2];
        softmax.take(score, scale, shrink);
        shrinkRows(out, shrink);
        dropOfQueries(score, keep, row, first, lane);
        multiplyColumns<T, D, kKeys>(out, score, sharedAddress(tiles.values[tile % 2]), lane);
    }
    softmax.finish(g.logSums + view.row, row, g.seqLen, lane);
    storeRows<RowLayout<D>, D>(out, 1.0F / softmax.total[0], 1.0F / softmax.total[1], tiles.query, warp * 16,
        g.out + view.out, view.outStep, firstRow + warp * 16, g.seqLen, lane);
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

// A block owns kRows keys and their values and goes over the queries from the diagonal on. All products are
// transposed: rows are keys, columns are queries.
template <class T, int D, class Keep>
__global__ void __launch_bounds__(kThreads) keyGradient(typename AttentionBackward<T>::Args g, Keep all) {
    constexpr int kOther = kBackwardRows<D>;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const Keep keep = all.of(static_cast<int>(blockIdx.y), g.heads);
    const std::int64_t firstKey = static_cast<std::int64_t>(blockIdx.x) * kRows;
    const float scale = rsqrtf(static_cast<float>(D));
    const int firstTile = static_cast<int>(firstKey / kOther);
    const int tileCount = static_cast<int>((g.seqLen + kOther - 1) / kOther);
    const auto copyQueries = [&](int tile) {
        const int stage = tile % 2;
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        copyTile<RowLayout<D>, kOther, D, kThreads>(
            sharedAddress(tiles.other[stage][0]), g.qkv + view.q, view.rowStep, first, g.seqLen);
        copyTile<RowLayout<D>, kOther, D, kThreads>(
            sharedAddress(tiles.other[stage][1]), g.dout + view.out, view.outStep, first, g.seqLen);
        commitCopies();
        for (int i = static_cast<int>(threadIdx.x); i < kOther; i += kThreads) {
            const bool exists = first + i < g.seqLen;
            tiles.logSum[stage][i] = exists ? g.logSums[view.row + first + i] * kLog2E : INFINITY;
            tiles.rowSum[stage][i] = exists ? g.scratch[view.row + first + i] : 0.0F;
        }
    };
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.own[0]), g.qkv + view.k, view.rowStep, firstKey, g.seqLen);
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.own[1]), g.qkv + view.v, view.rowStep, firstKey, g.seqLen);
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
        const bool whole = first >= firstKey + warp * 16 + 15;
        probabilitiesOfKeys(p, scale * kLog2E, tiles.logSum[stage], key, first, whole, lane);
        float dp[kOther / 8][4] = {};
        multiplyRows<T, D, kOther>(dp, sharedAddress(tiles.own[1]), warp * 16, douts, lane);
        if constexpr (Keep::kDrops) {
            KeptOfKeys<kOther / 8> kept;
            kept.draw(keep, key, first, lane);
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
    storeRows<RowLayout<D>, D>(
        dk, scale, scale, tiles.own[0], warp * 16, g.dqkv + view.k, view.rowStep, first, g.seqLen, lane);
    storeRows<RowLayout<D>, D>(
        dv, 1.0F, 1.0F, tiles.own[1], warp * 16, g.dqkv + view.v, view.rowStep, first, g.seqLen, lane);
}

// A block owns kRows queries and goes over the keys up to the diagonal.
template <class T, int D, class Keep>
__global__ void __launch_bounds__(kThreads) queryGradient(typename AttentionBackward<T>::Args g, Keep all) {
    constexpr int kOther = kBackwardRows<D>;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const Keep keep = all.of(static_cast<int>(blockIdx.y), g.heads);
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    const std::int64_t lastRow = min(firstRow + kRows, g.seqLen);
    const int tileCount = static_cast<int>((lastRow + kOther - 1) / kOther);
    const float scale = rsqrtf(static_cast<float>(D));
    const auto copyKeys = [&](int tile) {
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        copyTile<RowLayout<D>, kOther, D, kThreads>(
            sharedAddress(tiles.other[tile % 2][0]), g.qkv + view.k, view.rowStep, first, g.seqLen);
        copyTile<RowLayout<D>, kOther, D, kThreads>(
            sharedAddress(tiles.other[tile % 2][1]), g.qkv + view.v, view.rowStep, first, g.seqLen);
        commitCopies();
    };
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.own[0]), g.qkv + view.q, view.rowStep, firstRow, g.seqLen);
    copyTile<RowLayout<D>, kRows, D, kThreads>(
        sharedAddress(tiles.own[1]), g.dout + view.out, view.outStep, firstRow, g.seqLen);
    copyKeys(0);
    const std::int64_t row = firstRow + warp * 16 + lane / 4;
    float logSum[2];
    float rowSum[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const bool exists = row + 8 * h < g.seqLen;
        logSum[h] = exists ? g.logSums[view.row + row + 8 * h] * kLog2E : INFINITY;
        rowSum[h] = exists ? g.scratch[view.row + row + 8 * h] : 0.0F;
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
        dropOfQueries(dp, keep, row, first, lane);
        const bool whole = first + kOther - 1 <= firstRow + warp * 16;
        scoreGradientOfQueries(p, dp, scale * kLog2E, logSum, rowSum, row, first, whole, lane);
        multiplyColumns<T, D, kOther>(dq, p, keys, lane);
    }
    __syncthreads();
    storeRows<RowLayout<D>, D>(dq, scale, scale, tiles.own[0], warp * 16, g.dqkv + view.q, view.rowStep,
        firstRow + warp * 16, g.seqLen, lane);
}

// --- launch ----------------------------------------------------------------------------------------------

template <class T, int D>
cudaError_t forwardOf(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        return launchRows(
            forwardKernel<T, D, Keep>, g, keep, kRows, kThreads, sizeof(ForwardTiles<D>), context);
    });
}

template <class T, int D>
cudaError_t backwardOf(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    if (const cudaError_t error = launchRowSums<T, D>(g, context); error != cudaSuccess)
        return error;
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        const cudaError_t error = launchRows(
            keyGradient<T, D, Keep>, g, keep, kRows, kThreads, sizeof(BackwardTiles<D>), context);
        return error == cudaSuccess ? launchRows(
                   queryGradient<T, D, Keep>, g, keep, kRows, kThreads, sizeof(BackwardTiles<D>), context)
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
