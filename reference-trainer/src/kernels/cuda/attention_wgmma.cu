// SPDX-License-Identifier: Apache-2.0
// Attention for bf16 and f16 on Hopper. The forward pass is in attention_forward.cuh; the backward pass is
// the algorithm of attention_mma.cu with the matrix instructions of a warpgroup. Each warpgroup owns 64 rows;
// those of a block share the tiles of the other side. Compiled for sm_90a alone.
#include "kernels/cuda/attention_wgmma.cuh"

#include "kernels/cuda/attention_forward.cuh"
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
    keyGradient(typename AttentionBackward<T>::Args g, Keep all) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using Shape = Backward<D>;
    constexpr int kOther = Shape::kOther;
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& tiles = *reinterpret_cast<typename Shape::Tiles*>(memory);
    const Place at;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const Keep keep = all.of(static_cast<int>(blockIdx.y), g.heads);
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
            kept.draw(keep, key, first, at.lane);
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
    queryGradient(typename AttentionBackward<T>::Args g, Keep all) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using Shape = Backward<D>;
    constexpr int kOther = Shape::kOther;
    extern __shared__ __align__(1024) unsigned char memory[];
    auto& tiles = *reinterpret_cast<typename Shape::Tiles*>(memory);
    const Place at;
    const AttentionView view = viewOf(g, static_cast<int>(blockIdx.y));
    const Keep keep = all.of(static_cast<int>(blockIdx.y), g.heads);
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
        dropOfQueries(dp, keep, row, first, at.lane);
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

// Drawing the masks needs registers that three warpgroups do not leave.
template <int D, bool DROPS>
using ForwardShape = std::conditional_t<D == 128, hopper::Shape<128, 2, 128, 2>,
    std::conditional_t<DROPS, hopper::Shape<64, 2, 128, 3>, hopper::Shape<64, 3, 128, 2>>>;

template <class T, int D>
cudaError_t forwardOf(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        return hopper::launchForward<ForwardShape<D, Keep::kDrops>, T>(g, keep, context);
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
