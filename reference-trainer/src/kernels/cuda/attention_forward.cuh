// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.h"
#include "kernels/cuda/attention_parts.cuh"
#include "kernels/cuda/tile_pipeline.cuh"
#include "kernels/cuda/wgmma.cuh"

// Attention's forward pass for bf16 and f16 on Hopper, after FlashAttention-3 (Shah et al. 2024). One warp of
// a block asks the copy engine for the tiles. The other warpgroups own 64 queries each and go over the keys:
// the product with the values of a tile runs while the scores of the next turn into probabilities, and the
// warpgroups take turns, so that one multiplies while another computes exponentials.
namespace gdt::kernels::cuda::hopper {

/// How a block works: GROUPS warpgroups that multiply, of 64 queries each, tiles of KEYS keys, STAGES tiles
/// of keys and as many of values in flight. One block fills a multiprocessor.
template <int D_, int GROUPS, int KEYS, int STAGES> struct Shape {
    static constexpr int D = D_;
    static constexpr int kGroups = GROUPS;
    static constexpr int kKeys = KEYS;
    static constexpr int kStages = STAGES;

    static constexpr int kRows = GROUPS * 64;
    static constexpr int kThreads = (GROUPS + 1) * 128;
    // What the register file leaves the warpgroups that multiply, in steps of 8, beside kIdle for the other.
    static constexpr int kIdle = 24;
    static constexpr int kAtStart = 65536 / kThreads / 8 * 8;
    static constexpr int kMost = ((GROUPS + 1) * kAtStart - kIdle) / GROUPS / 8 * 8;
    static constexpr int kBusy = kMost < 240 ? kMost : 240;

    struct Tiles {
        alignas(1024) unsigned char queries[GROUPS][64 * D * 2];
        alignas(1024) unsigned char keys[STAGES][KEYS * D * 2];
        alignas(1024) unsigned char values[STAGES][KEYS * D * 2];
        TileBarrier queriesFull[GROUPS];
        TileBarrier keysFull[STAGES], keysEmpty[STAGES];
        TileBarrier valuesFull[STAGES], valuesEmpty[STAGES];
    };
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/// The rows of a (sample, head) that a block takes. Those that see the most keys start first.
template <class S> __device__ int firstRowOfBlock() {
    return static_cast<int>(gridDim.x - 1 - blockIdx.x) * S::kRows;
}
template <class S> __device__ int tilesOfBlock(int seqLen) {
    return (min(firstRowOfBlock<S>() + S::kRows, seqLen) + S::kKeys - 1) / S::kKeys;
}

/// What one thread of the block does: asks for all tiles.
template <class S, class Args>
__device__ void fetchTiles(typename S::Tiles& tiles, const Args& g, const CUtensorMap& qkv) {
    RingPlace<S::kStages> keys;
    RingPlace<S::kStages> values;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const int tileCount = tilesOfBlock<S>(static_cast<int>(g.seqLen));
    const auto fetchKeys = [&](int tile) {
        waitFor(tiles.keysEmpty[keys.stage], keys.parity ^ 1);
        copyBoxes<S::kKeys, S::D>(tiles.keys[keys.stage], qkv, tile * S::kKeys,
            static_cast<std::int32_t>(view.k), tiles.keysFull[keys.stage]);
        keys.advance();
    };
    fetchKeys(0);
    for (int group = 0; group < S::kGroups; ++group)
        copyBoxes<64, S::D>(tiles.queries[group], qkv, firstRowOfBlock<S>() + group * 64,
            static_cast<std::int32_t>(view.q), tiles.queriesFull[group]);
    for (int tile = 0; tile < tileCount; ++tile) {
        if (tile + 1 < tileCount)
            fetchKeys(tile + 1);
        waitFor(tiles.valuesEmpty[values.stage], values.parity ^ 1);
        copyBoxes<S::kKeys, S::D>(tiles.values[values.stage], qkv, tile * S::kKeys,
            static_cast<std::int32_t>(view.v), tiles.valuesFull[values.stage]);
        values.advance();
    }
}

// Barriers of the block by number; 0 belongs to __syncthreads.
constexpr int kTurn = 1; // of the first warpgroup; the others' follow

/// What warpgroup `group` does, one of those that multiply.
template <class S, class T, class Args, class Keep>
__device__ void attend(typename S::Tiles& tiles, const Args& g, Keep keep, int group) {
    constexpr int D = S::D;
    constexpr int kKeys = S::kKeys;
    int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
    const int pair = static_cast<int>(blockIdx.y);
    const int seqLen = static_cast<int>(g.seqLen);
    const int tileCount = tilesOfBlock<S>(seqLen);
    const int firstRow = firstRowOfBlock<S>() + group * 64 + warp * 16; // of the warp
    const int row = firstRow + lane / 4;
    const float scale = rsqrtf(static_cast<float>(D)) * kLog2E;
    const int next = kTurn + (group + 1) % S::kGroups;
    const auto leave = [&](TileBarrier& barrier) {
        if (lane == 0)
            arriveAt(barrier);
    };
    RingPlace<S::kStages> keys;
    RingPlace<S::kStages> values;
    float score[kKeys / 8][4];
    float out[D / 8][4] = {};
    std::uint32_t share[kKeys / 16][4];
    SoftmaxRows softmax;
    unsigned char* queries = tiles.queries[group];
    if (group == S::kGroups - 1)
        arriveAtBarrier(next, 256); // the first turn is the first warpgroup's
    waitFor(tiles.queriesFull[group], 0);
    for (int tile = 0; tile < tileCount; ++tile) {
        waitFor(tiles.keysFull[keys.stage], keys.parity);
        waitAtBarrier(kTurn + group, 256);
        wgmma::startRows<T, D, 64, kKeys>(
            score, sharedAddress(queries), 0, sharedAddress(tiles.keys[keys.stage]));
        if (tile > 0) {
            waitFor(tiles.valuesFull[values.stage], values.parity);
            wgmma::startColumns<T, D, kKeys>(out, share, sharedAddress(tiles.values[values.stage]));
            arriveAtBarrier(next, 256);
            wgmma::waitForProducts<1>();
        } else {
            arriveAtBarrier(next, 256);
            wgmma::waitForProducts<0>();
        }
        wgmma::fenceRegisters(score);
        leave(tiles.keysEmpty[keys.stage]);
        keys.advance();
        const int first = tile * kKeys;
        if (first + kKeys - 1 > firstRow)
            hideLaterKeys(score, row, first, lane);
        float shrink[2];
        softmax.take(score, scale, shrink);
        dropOfQueries(score, keep.of(pair, g.heads), row, first, lane);
        wgmma::waitForProducts<0>();
        wgmma::fenceRegisters(out);
        if (tile > 0) {
            leave(tiles.valuesEmpty[values.stage]);
            values.advance();
        }
        // Once the largest score has been seen, nothing shrinks any more.
        if (__any_sync(0xffffffffU, shrink[0] != 1.0F || shrink[1] != 1.0F))
            shrinkRows(out, shrink);
        wgmma::packRows<T>(share, score);
    }
    waitFor(tiles.valuesFull[values.stage], values.parity);
    wgmma::startColumns<T, D, kKeys>(out, share, sharedAddress(tiles.values[values.stage]));
    const AttentionView view = viewOf(g, pair);
    softmax.finish(g.logSums + view.row, row, seqLen, lane);
    wgmma::waitForProducts<0>();
    wgmma::fenceRegisters(out);
    waitAtBarrier(kTurn + S::kGroups + group, 128); // all warps are done with the queries
    // Addresses that follow from the lane would be computed before the loop and kept in registers.
    asm volatile("" : "+r"(lane));
    storeRows<wgmma::PanelLayout<64>, D>(out, 1.0F / softmax.total[0], 1.0F / softmax.total[1], queries,
        warp * 16, g.out + view.out, view.outStep, firstRow, seqLen, lane);
    if (group == 0)
        waitAtBarrier(kTurn, 256); // what the last warpgroup still arrived at
}

#endif

template <class S, class T, class Keep>
__global__ void __launch_bounds__(S::kThreads, 1) attentionForward(
    typename AttentionForward<T>::Args g, Keep keep, const __grid_constant__ CUtensorMap qkv) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& tiles = *reinterpret_cast<typename S::Tiles*>(memory);
    if (threadIdx.x == 0) {
        for (int group = 0; group < S::kGroups; ++group)
            startBarrier(tiles.queriesFull[group], 1);
        for (int i = 0; i < S::kStages; ++i) {
            startBarrier(tiles.keysFull[i], 1);
            startBarrier(tiles.keysEmpty[i], S::kGroups * 4);
            startBarrier(tiles.valuesFull[i], 1);
            startBarrier(tiles.valuesEmpty[i], S::kGroups * 4);
        }
        wgmma::publishCopies();
    }
    __syncthreads();
    // The same for the whole warp, which the compiler must know.
    const int group = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / 128, 0);
    if (group == S::kGroups) {
        giveRegisters<S::kIdle>();
        if (threadIdx.x == S::kGroups * 128)
            fetchTiles<S>(tiles, g, qkv);
    } else {
        takeRegisters<S::kBusy>();
        attend<S, T>(tiles, g, keep, group);
    }
#endif
}

/// Starts a block for each S::kRows positions of each (sample, head).
template <class S, class T, class Keep>
cudaError_t launchForward(
    const typename AttentionForward<T>::Args& g, const Keep& keep, LaunchContext& context) {
    const std::int64_t rowStep = 3 * g.heads * g.headSize * g.batch;
    CUtensorMap qkv;
    cudaError_t error = describeMatrix(qkv, g.qkv, g.seqLen, rowStep, rowStep);
    if (error != cudaSuccess)
        return error;
    const auto kernel = attentionForward<S, T, Keep>;
    constexpr int kShared = sizeof(typename S::Tiles);
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
    if (error != cudaSuccess)
        return error;
    const dim3 grid(blocksFor(g.seqLen, S::kRows), static_cast<unsigned>(g.batch * g.heads));
    kernel<<<grid, S::kThreads, kShared, context.stream>>>(g, keep, qkv);
    return launched();
}

} // namespace gdt::kernels::cuda::hopper
