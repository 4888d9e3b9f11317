// SPDX-License-Identifier: Apache-2.0
// Attention for bf16 and f16 on Hopper: the algorithm of attention_mma.cu with the matrix instructions of a
// warpgroup, after FlashAttention-3 (Shah et al. 2024) as far as products run beside the softmax. Each
// warpgroup owns 64 rows; those of a block share the tiles of the other side. Compiled for sm_90a alone.
#include "kernels/cuda/attention_wgmma.cuh"

#include "kernels/cuda/attention_parts.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace gdt::kernels::cuda {

namespace {

using wgmma::PanelLayout;

constexpr int kGroupRows = 64;
constexpr int kGroupThreads = 128;

/// Where a thread stands.
struct Place {
    int lane = static_cast<int>(threadIdx.x) % 32;
    int warp = static_cast<int>(threadIdx.x) / 32 % 4; // of its warpgroup
    // The same for the whole warp, which the compiler must know.
    int group = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / kGroupThreads, 0);
    int tileRow = group * kGroupRows + warp * 16; // of the warp, in tiles of the block's own rows
};

// --- forward ---------------------------------------------------------------------------------------------

template <int D> struct Forward {
    static constexpr int kGroups = 2;
    static constexpr int kRows = kGroups * kGroupRows;
    static constexpr int kThreads = kGroups * kGroupThreads;
    // A head of 64 leaves room for a second block, which computes while the other one waits.
    static constexpr int kBlocks = D == 64 ? 2 : 1;
    static constexpr int kKeys = D == 64 ? 64 : 128;

    struct Tiles {
        alignas(1024) unsigned char query[kRows * D * 2];
        alignas(1024) unsigned char keys[2][kKeys * D * 2];
        alignas(1024) unsigned char values[2][kKeys * D * 2];
    };
};

// The product with the values of a tile runs while the scores of the next tile turn into probabilities.
template <class T, int D, class Keep>
__global__ void __launch_bounds__(Forward<D>::kThreads, Forward<D>::kBlocks)
    forwardKernel(typename AttentionForward<T>::Args g, Keep keep) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using Shape = Forward<D>;
    constexpr int kKeys = Shape::kKeys;
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& tiles = *reinterpret_cast<typename Shape::Tiles*>(memory);
    const Place at;
    const AttentionView view = viewOf(g, blockIdx.y);
    // The longest rows first, so that the last blocks to start are short.
    const int seqLen = static_cast<int>(g.seqLen);
    const int firstRow = static_cast<int>(gridDim.x - 1 - blockIdx.x) * Shape::kRows;
    const int tileCount = (min(firstRow + Shape::kRows, seqLen) + kKeys - 1) / kKeys;
    const auto copy = [&](unsigned char* to, std::int64_t from, int tile) {
        copyTile<PanelLayout<kKeys>, kKeys, D, Shape::kThreads>(
            sharedAddress(to), g.qkv + from, view.rowStep, tile * kKeys, g.seqLen);
    };
    float score[kKeys / 8][4];
    float out[D / 8][4] = {};
    std::uint32_t share[kKeys / 16][4];
    SoftmaxRows softmax;
    const float scale = rsqrtf(static_cast<float>(D)) * kLog2E;
    const int row = firstRow + at.tileRow + at.lane / 4;
    // Scores of a tile to probabilities, shrink to what earlier sums are worth.
    const auto weigh = [&](int tile, float(&shrink)[2]) {
        const int first = tile * kKeys;
        if (first + kKeys - 1 > firstRow + at.tileRow)
            hideLaterKeys(score, row, first, at.lane);
        softmax.take(score, scale, shrink);
        dropOfQueries(score, keep, g.heads, row, first, at.lane);
    };
    const auto arrive = [] {
        waitForCopies<0>();
        wgmma::publishCopies();
        __syncthreads();
    };
    copyTile<PanelLayout<Shape::kRows>, Shape::kRows, D, Shape::kThreads>(
        sharedAddress(tiles.query), g.qkv + view.q, view.rowStep, firstRow, g.seqLen);
    copy(tiles.keys[0], view.k, 0);
    commitCopies();
    for (int tile = 0; tile < tileCount; ++tile) {
        arrive();
        if (tile + 1 < tileCount)
            copy(tiles.keys[(tile + 1) % 2], view.k, tile + 1);
        copy(tiles.values[tile % 2], view.v, tile);
        commitCopies();
        wgmma::startRows<T, D, Shape::kRows, kKeys>(
            score, sharedAddress(tiles.query), at.group * kGroupRows, sharedAddress(tiles.keys[tile % 2]));
        if (tile > 0) {
            wgmma::startColumns<T, D, kKeys>(out, share, sharedAddress(tiles.values[(tile + 1) % 2]));
            wgmma::waitForProducts<1>();
        } else {
            wgmma::waitForProducts<0>();
        }
        wgmma::fenceRegisters(score);
        float shrink[2];
        weigh(tile, shrink);
        wgmma::waitForProducts<0>();
        wgmma::fenceRegisters(out);
        shrinkRows(out, shrink);
        wgmma::packRows<T>(share, score);
    }
    arrive();
    wgmma::startColumns<T, D, kKeys>(out, share, sharedAddress(tiles.values[(tileCount + 1) % 2]));
    wgmma::waitForProducts<0>();
    wgmma::fenceRegisters(out);
    softmax.finish(g.logSums + view.row, row, seqLen, at.lane);
    __syncthreads();
    storeRows<PanelLayout<Shape::kRows>, D>(out, 1.0F / softmax.total[0], 1.0F / softmax.total[1],
        tiles.query, at.tileRow, g.out + view.out, view.outStep, firstRow + at.tileRow, seqLen, at.lane);
#endif
}

// --- backward --------------------------------------------------------------------------------------------

template <int D> struct Backward {
    static constexpr int kGroups = D == 64 ? 3 : 2;
    static constexpr int kRows = kGroups * kGroupRows;
    static constexpr int kThreads = kGroups * kGroupThreads;
    static constexpr int kOther = 64;

    struct Tiles {
        alignas(1024) unsigned char own[2][kRows * D * 2];
        alignas(1024) unsigned char other[2][2][kOther * D * 2]; // [stage][which]
        float logSum[2][kOther];
        float rowSum[2][kOther];
    };
};

// A block owns kRows keys and their values and goes over the queries from the diagonal on. All products are
// transposed: rows are keys, columns are queries.
template <class T, int D, class Keep>
__global__ void __launch_bounds__(Backward<D>::kThreads, 1)
    keyGradient(typename AttentionBackward<T>::Args g, Keep keep) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using Shape = Backward<D>;
    constexpr int kOther = Shape::kOther;
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& tiles = *reinterpret_cast<typename Shape::Tiles*>(memory);
    const Place at;
    const AttentionView view = viewOf(g, blockIdx.y);
    const int seqLen = static_cast<int>(g.seqLen);
    const int firstKey = static_cast<int>(blockIdx.x) * Shape::kRows;
    const int groupKey = firstKey + at.group * kGroupRows;
    const float scale = rsqrtf(static_cast<float>(D));
    const int tileCount = (seqLen + kOther - 1) / kOther;
    const auto copyQueries = [&](int tile) {
        const int stage = tile % 2;
        const int first = tile * kOther;
        copyTile<PanelLayout<kOther>, kOther, D, Shape::kThreads>(
            sharedAddress(tiles.other[stage][0]), g.qkv + view.q, view.rowStep, first, g.seqLen);
        copyTile<PanelLayout<kOther>, kOther, D, Shape::kThreads>(
            sharedAddress(tiles.other[stage][1]), g.dout + view.out, view.outStep, first, g.seqLen);
        commitCopies();
        if (const int i = static_cast<int>(threadIdx.x); i < kOther) {
            const bool exists = first + i < seqLen;
            tiles.logSum[stage][i] = exists ? g.logSums[view.row + first + i] * kLog2E : INFINITY;
            tiles.rowSum[stage][i] = exists ? g.scratch[view.row + first + i] : 0.0F;
        }
    };
    copyTile<PanelLayout<Shape::kRows>, Shape::kRows, D, Shape::kThreads>(
        sharedAddress(tiles.own[0]), g.qkv + view.k, view.rowStep, firstKey, g.seqLen);
    copyTile<PanelLayout<Shape::kRows>, Shape::kRows, D, Shape::kThreads>(
        sharedAddress(tiles.own[1]), g.qkv + view.v, view.rowStep, firstKey, g.seqLen);
    const int firstTile = firstKey / kOther;
    copyQueries(firstTile);
    float dk[D / 8][4] = {};
    float dv[D / 8][4] = {};
    const int key = groupKey + at.warp * 16 + at.lane / 4;
    for (int tile = firstTile; tile < tileCount; ++tile) {
        const int stage = tile % 2;
        waitForCopies<0>();
        wgmma::publishCopies();
        __syncthreads();
        if (tile + 1 < tileCount)
            copyQueries(tile + 1);
        const int first = tile * kOther;
        if (first + kOther <= groupKey || groupKey >= g.seqLen)
            continue; // none of these queries sees a key of the warpgroup
        const std::uint32_t queries = sharedAddress(tiles.other[stage][0]);
        const std::uint32_t douts = sharedAddress(tiles.other[stage][1]);
        float p[kOther / 8][4];
        float dp[kOther / 8][4];
        wgmma::startRows<T, D, Shape::kRows, kOther>(
            p, sharedAddress(tiles.own[0]), at.group * kGroupRows, queries);
        wgmma::startRows<T, D, Shape::kRows, kOther>(
            dp, sharedAddress(tiles.own[1]), at.group * kGroupRows, douts);
        wgmma::waitForProducts<1>();
        wgmma::fenceRegisters(p);
        const bool whole = first >= groupKey + at.warp * 16 + 15;
        probabilitiesOfKeys(p, scale * kLog2E, tiles.logSum[stage], key, first, whole, at.lane);
        std::uint32_t share[kOther / 16][4];
        [[maybe_unused]] KeptOfKeys<kOther / 8> kept;
        if constexpr (Keep::kDrops) {
            kept.draw(keep, g.heads, key, first, at.lane);
            float part[kOther / 8][4];
            kept.apply(part, p, keep.scale);
            wgmma::packRows<T>(share, part);
        } else {
            wgmma::packRows<T>(share, p);
        }
        wgmma::startColumns<T, D, kOther>(dv, share, douts);
        wgmma::waitForProducts<1>();
        wgmma::fenceRegisters(dp);
        if constexpr (Keep::kDrops)
            kept.apply(dp, dp, keep.scale);
        scoreGradientOfKeys(p, dp, tiles.rowSum[stage], at.lane);
        std::uint32_t change[kOther / 16][4];
        wgmma::packRows<T>(change, p);
        wgmma::startColumns<T, D, kOther>(dk, change, queries);
        wgmma::waitForProducts<0>();
        wgmma::fenceRegisters(dv);
        wgmma::fenceRegisters(dk);
    }
    __syncthreads();
    const int first = firstKey + at.tileRow;
    storeRows<PanelLayout<Shape::kRows>, D>(
        dk, scale, scale, tiles.own[0], at.tileRow, g.dqkv + view.k, view.rowStep, first, seqLen, at.lane);
    storeRows<PanelLayout<Shape::kRows>, D>(
        dv, 1.0F, 1.0F, tiles.own[1], at.tileRow, g.dqkv + view.v, view.rowStep, first, seqLen, at.lane);
#endif
}

// A block owns kRows queries and goes over the keys up to the diagonal.
template <class T, int D, class Keep>
__global__ void __launch_bounds__(Backward<D>::kThreads, 1)
    queryGradient(typename AttentionBackward<T>::Args g, Keep keep) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using Shape = Backward<D>;
    constexpr int kOther = Shape::kOther;
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& tiles = *reinterpret_cast<typename Shape::Tiles*>(memory);
    const Place at;
    const AttentionView view = viewOf(g, blockIdx.y);
    const int seqLen = static_cast<int>(g.seqLen);
    const int firstRow = static_cast<int>(gridDim.x - 1 - blockIdx.x) * Shape::kRows;
    const int groupRow = firstRow + at.group * kGroupRows;
    const int tileCount = (min(firstRow + Shape::kRows, seqLen) + kOther - 1) / kOther;
    const float scale = rsqrtf(static_cast<float>(D));
    const auto copyKeys = [&](int tile) {
        const int first = tile * kOther;
        copyTile<PanelLayout<kOther>, kOther, D, Shape::kThreads>(
            sharedAddress(tiles.other[tile % 2][0]), g.qkv + view.k, view.rowStep, first, g.seqLen);
        copyTile<PanelLayout<kOther>, kOther, D, Shape::kThreads>(
            sharedAddress(tiles.other[tile % 2][1]), g.qkv + view.v, view.rowStep, first, g.seqLen);
        commitCopies();
    };
    copyTile<PanelLayout<Shape::kRows>, Shape::kRows, D, Shape::kThreads>(
        sharedAddress(tiles.own[0]), g.qkv + view.q, view.rowStep, firstRow, g.seqLen);
    copyTile<PanelLayout<Shape::kRows>, Shape::kRows, D, Shape::kThreads>(
        sharedAddress(tiles.own[1]), g.dout + view.out, view.outStep, firstRow, g.seqLen);
    copyKeys(0);
    const int row = groupRow + at.warp * 16 + at.lane / 4;
    float logSum[2];
    float rowSum[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const bool exists = row + 8 * h < seqLen;
        logSum[h] = exists ? g.logSums[view.row + row + 8 * h] * kLog2E : INFINITY;
        rowSum[h] = exists ? g.scratch[view.row + row + 8 * h] : 0.0F;
    }
    float dq[D / 8][4] = {};
    for (int tile = 0; tile < tileCount; ++tile) {
        waitForCopies<0>();
        wgmma::publishCopies();
        __syncthreads();
        if (tile + 1 < tileCount)
            copyKeys(tile + 1);
        const int first = tile * kOther;
        if (first >= groupRow + kGroupRows || groupRow >= g.seqLen)
            continue; // no query of the warpgroup sees these keys
        const std::uint32_t keys = sharedAddress(tiles.other[tile % 2][0]);
        float p[kOther / 8][4];
        float dp[kOther / 8][4];
        wgmma::startRows<T, D, Shape::kRows, kOther>(
            p, sharedAddress(tiles.own[0]), at.group * kGroupRows, keys);
        wgmma::startRows<T, D, Shape::kRows, kOther>(
            dp, sharedAddress(tiles.own[1]), at.group * kGroupRows, sharedAddress(tiles.other[tile % 2][1]));
        wgmma::waitForProducts<0>();
        wgmma::fenceRegisters(p);
        wgmma::fenceRegisters(dp);
        dropOfQueries(dp, keep, g.heads, row, first, at.lane);
        const bool whole = first + kOther - 1 <= groupRow + at.warp * 16;
        scoreGradientOfQueries(p, dp, scale * kLog2E, logSum, rowSum, row, first, whole, at.lane);
        std::uint32_t change[kOther / 16][4];
        wgmma::packRows<T>(change, p);
        wgmma::startColumns<T, D, kOther>(dq, change, keys);
        wgmma::waitForProducts<0>();
        wgmma::fenceRegisters(dq);
    }
    __syncthreads();
    storeRows<PanelLayout<Shape::kRows>, D>(dq, scale, scale, tiles.own[0], at.tileRow, g.dqkv + view.q,
        view.rowStep, firstRow + at.tileRow, seqLen, at.lane);
#endif
}

// --- launch ----------------------------------------------------------------------------------------------

template <class T, int D>
cudaError_t forwardOf(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    using Shape = Forward<D>;
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        return launchRows(forwardKernel<T, D, Keep>, g, keep, Shape::kRows, Shape::kThreads,
            sizeof(typename Shape::Tiles), context);
    });
}

template <class T, int D>
cudaError_t backwardOf(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    using Shape = Backward<D>;
    if (const cudaError_t error = launchRowSums<T, D>(g, context); error != cudaSuccess)
        return error;
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        const auto launch = [&](auto kernel) {
            return launchRows(
                kernel, g, keep, Shape::kRows, Shape::kThreads, sizeof(typename Shape::Tiles), context);
        };
        const cudaError_t error = launch(keyGradient<T, D, Keep>);
        return error == cudaSuccess ? launch(queryGradient<T, D, Keep>) : error;
    });
}

} // namespace

bool hasWarpgroupProducts() {
    int device = 0;
    int major = 0;
    int minor = 0;
    return cudaGetDevice(&device) == cudaSuccess
        && cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess
        && cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess
        && major == 9 && minor == 0;
}

template <class T>
cudaError_t wgmmaForward(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    return g.headSize == 64 ? forwardOf<T, 64>(g, context) : forwardOf<T, 128>(g, context);
}

template <class T>
cudaError_t wgmmaBackward(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    return g.headSize == 64 ? backwardOf<T, 64>(g, context) : backwardOf<T, 128>(g, context);
}

#define GDT_INSTANTIATE(T)                                                                                   \
    template cudaError_t wgmmaForward<T>(const AttentionForward<T>::Args&, LaunchContext&);                  \
    template cudaError_t wgmmaBackward<T>(const AttentionBackward<T>::Args&, LaunchContext&);
GDT_INSTANTIATE(BFloat16)
GDT_INSTANTIATE(Float16)
#undef GDT_INSTANTIATE

} // namespace gdt::kernels::cuda
