// SPDX-License-Identifier: Apache-2.0
// Attention for bf16 and f16 on tensor cores, after FlashAttention-2 (Dao 2023): tiles of queries and keys,
// softmax as the tiles come, nothing of size seqLen x seqLen. The backward pass has one kernel for keys and
// values and one for queries, so that no sum needs atomic additions and every run gives the same bits.
#include "kernels/cuda/attention_mma.cuh"

#include "kernels/cuda/attention_keep.cuh"
#include "kernels/cuda/mma.cuh"

namespace gdt::kernels::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 16 * kWarps; // of the side that a block owns
constexpr float kLog2E = 1.4426950408889634F;

struct View {
    std::int64_t q, k, v, rowStep, out, outStep, row;
};

template <class Args> __device__ View viewOf(const Args& g, std::int64_t pair) {
    const std::int64_t sample = pair / g.heads;
    const std::int64_t head = pair % g.heads;
    const std::int64_t hidden = g.heads * g.headSize;
    const std::int64_t q = sample * 3 * hidden + head * g.headSize;
    return {q, q + hidden, q + 2 * hidden, g.batch * 3 * hidden, sample * hidden + head * g.headSize,
        g.batch * hidden, pair * g.seqLen};
}

// --- forward ---------------------------------------------------------------------------------------------

template <int D> constexpr int kForwardKeys = 64;

template <int D> struct ForwardTiles {
    alignas(128) unsigned char query[kRows * D * 2];
    alignas(128) unsigned char keys[2][kForwardKeys<D> * D * 2];
    alignas(128) unsigned char values[2][kForwardKeys<D> * D * 2];
};

template <class T, int D, class Keep>
__global__ void __launch_bounds__(kThreads) forwardKernel(typename AttentionForward<T>::Args g, Keep keep) {
    constexpr int kKeys = kForwardKeys<D>;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<ForwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const View view = viewOf(g, blockIdx.y);
    // The longest rows first, so that the last blocks to start are short.
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    const std::int64_t lastRow = min(firstRow + kRows, g.seqLen);
    const int tileCount = static_cast<int>((lastRow + kKeys - 1) / kKeys);
    const float scale = rsqrtf(static_cast<float>(D)) * kLog2E;
    const auto copyKeys = [&](int tile) {
        const std::int64_t first = static_cast<std::int64_t>(tile) * kKeys;
        copyTile<kKeys, D, kThreads>(
            sharedAddress(tiles.keys[tile % 2]), g.qkv + view.k, view.rowStep, first, g.seqLen);
        copyTile<kKeys, D, kThreads>(
            sharedAddress(tiles.values[tile % 2]), g.qkv + view.v, view.rowStep, first, g.seqLen);
        commitCopies();
    };
    copyTile<kRows, D, kThreads>(
        sharedAddress(tiles.query), g.qkv + view.q, view.rowStep, firstRow, g.seqLen);
    copyKeys(0);
    float out[D / 8][4] = {};
    float largest[2] = {-INFINITY, -INFINITY}; // in units of the base-2 exponent, as all scores below
    float total[2] = {0.0F, 0.0F};
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
        const bool whole = first + kKeys - 1 <= firstRow + warp * 16;
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const std::int64_t column = first + n * 8 + (lane % 4) * 2 + (e & 1);
                const bool visible = whole || column <= row + (e >> 1) * 8;
                score[n][e] = visible ? score[n][e] * scale : -INFINITY;
            }
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float seen = largest[h];
#pragma unroll
            for (int n = 0; n < kKeys / 8; ++n)
                seen = fmaxf(seen, fmaxf(score[n][2 * h], score[n][2 * h + 1]));
            seen = fmaxf(seen, __shfl_xor_sync(0xffffffffU, seen, 1));
            seen = fmaxf(seen, __shfl_xor_sync(0xffffffffU, seen, 2));
            const float shrink = exp2f(largest[h] - seen);
            largest[h] = seen;
            float sum = 0;
#pragma unroll
            for (int n = 0; n < kKeys / 8; ++n) {
                score[n][2 * h] = exp2f(score[n][2 * h] - seen);
                score[n][2 * h + 1] = exp2f(score[n][2 * h + 1] - seen);
                sum += score[n][2 * h] + score[n][2 * h + 1];
            }
            total[h] = total[h] * shrink + sum;
#pragma unroll
            for (int n = 0; n < D / 8; ++n) {
                out[n][2 * h] *= shrink;
                out[n][2 * h + 1] *= shrink;
            }
        }
        if constexpr (Keep::kDrops) {
#pragma unroll
            for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    float shares[2];
                    keep.sharesOfRow(shares, g.heads, row + 8 * h, first + n * 8 + (lane % 4) * 2);
                    score[n][2 * h] *= shares[0];
                    score[n][2 * h + 1] *= shares[1];
                }
            }
        }
        multiplyColumns<T, D, kKeys>(out, score, sharedAddress(tiles.values[tile % 2]), lane);
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        total[h] += __shfl_xor_sync(0xffffffffU, total[h], 1);
        total[h] += __shfl_xor_sync(0xffffffffU, total[h], 2);
        if (lane % 4 == 0 && row + 8 * h < g.seqLen)
            g.logSums[view.row + row + 8 * h] = largest[h] / kLog2E + logf(total[h]);
    }
    storeRows<D>(out, 1.0F / total[0], 1.0F / total[1], tiles.query, warp * 16, g.out + view.out,
        view.outStep, firstRow + warp * 16, g.seqLen, lane);
}

// --- backward --------------------------------------------------------------------------------------------

// scratch = sum of dout * out of each row, D / 8 threads a row.
template <class T, int D>
__global__ void __launch_bounds__(256) rowSumsKernel(typename AttentionBackward<T>::Args g) {
    constexpr int kEach = D / 8;
    const View view = viewOf(g, blockIdx.y);
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (256 / kEach) + threadIdx.x / kEach;
    float sum = 0;
    if (i < g.seqLen) {
        const std::int64_t place = view.out + i * view.outStep + threadIdx.x % kEach * 8;
        const auto a = *reinterpret_cast<const Pack<T, 8>*>(g.dout + place);
        const auto b = *reinterpret_cast<const Pack<T, 8>*>(g.out + place);
#pragma unroll
        for (int k = 0; k < 8; ++k)
            sum += widen(a.v[k]) * widen(b.v[k]);
    }
#pragma unroll
    for (int step = kEach / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffU, sum, step);
    if (i < g.seqLen && threadIdx.x % kEach == 0)
        g.scratch[view.row + i] = sum;
}

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
__global__ void __launch_bounds__(kThreads) keyGradient(typename AttentionBackward<T>::Args g, Keep keep) {
    constexpr int kOther = kBackwardRows<D>;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const View view = viewOf(g, blockIdx.y);
    const std::int64_t firstKey = static_cast<std::int64_t>(blockIdx.x) * kRows;
    const float scale = rsqrtf(static_cast<float>(D));
    const int firstTile = static_cast<int>(firstKey / kOther);
    const int tileCount = static_cast<int>((g.seqLen + kOther - 1) / kOther);
    const auto copyQueries = [&](int tile) {
        const int stage = tile % 2;
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        copyTile<kOther, D, kThreads>(
            sharedAddress(tiles.other[stage][0]), g.qkv + view.q, view.rowStep, first, g.seqLen);
        copyTile<kOther, D, kThreads>(
            sharedAddress(tiles.other[stage][1]), g.dout + view.out, view.outStep, first, g.seqLen);
        commitCopies();
        for (int i = static_cast<int>(threadIdx.x); i < kOther; i += kThreads) {
            const bool exists = first + i < g.seqLen;
            tiles.logSum[stage][i] = exists ? g.logSums[view.row + first + i] * kLog2E : INFINITY;
            tiles.rowSum[stage][i] = exists ? g.scratch[view.row + first + i] : 0.0F;
        }
    };
    copyTile<kRows, D, kThreads>(
        sharedAddress(tiles.own[0]), g.qkv + view.k, view.rowStep, firstKey, g.seqLen);
    copyTile<kRows, D, kThreads>(
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
#pragma unroll
        for (int n = 0; n < kOther / 8; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int column = n * 8 + (lane % 4) * 2 + (e & 1);
                const bool visible = whole || first + column >= key + (e >> 1) * 8;
                p[n][e] = visible ? exp2f(p[n][e] * scale * kLog2E - tiles.logSum[stage][column]) : 0.0F;
            }
        }
        [[maybe_unused]] std::uint32_t kept = 0; // a bit for each probability
        if constexpr (Keep::kDrops) {
            float part[kOther / 8][4];
#pragma unroll
            for (int n = 0; n < kOther / 8; ++n) {
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    float shares[2];
                    keep.sharesOfColumn(shares, g.heads, first + n * 8 + (lane % 4) * 2, key + 8 * h);
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        part[n][2 * h + e] = p[n][2 * h + e] * shares[e];
                        kept |= (shares[e] != 0.0F ? 1U : 0U) << (4 * n + 2 * h + e);
                    }
                }
            }
            multiplyColumns<T, D, kOther>(dv, part, douts, lane);
        } else {
            multiplyColumns<T, D, kOther>(dv, p, douts, lane);
        }
        float dp[kOther / 8][4] = {};
        multiplyRows<T, D, kOther>(dp, sharedAddress(tiles.own[1]), warp * 16, douts, lane);
        if constexpr (Keep::kDrops) {
#pragma unroll
            for (int n = 0; n < kOther / 8; ++n) {
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    dp[n][e] *= (kept >> (4 * n + e) & 1U) != 0 ? keep.scale : 0.0F;
            }
        }
#pragma unroll
        for (int n = 0; n < kOther / 8; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int column = n * 8 + (lane % 4) * 2 + (e & 1);
                p[n][e] *= dp[n][e] - tiles.rowSum[stage][column];
            }
        }
        multiplyColumns<T, D, kOther>(dk, p, queries, lane);
    }
    const std::int64_t first = firstKey + warp * 16;
    storeRows<D>(
        dk, scale, scale, tiles.own[0], warp * 16, g.dqkv + view.k, view.rowStep, first, g.seqLen, lane);
    storeRows<D>(
        dv, 1.0F, 1.0F, tiles.own[1], warp * 16, g.dqkv + view.v, view.rowStep, first, g.seqLen, lane);
}

// A block owns kRows queries and goes over the keys up to the diagonal.
template <class T, int D, class Keep>
__global__ void __launch_bounds__(kThreads) queryGradient(typename AttentionBackward<T>::Args g, Keep keep) {
    constexpr int kOther = kBackwardRows<D>;
    extern __shared__ __align__(128) unsigned char memory[];
    auto& tiles = *reinterpret_cast<BackwardTiles<D>*>(memory);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const View view = viewOf(g, blockIdx.y);
    const std::int64_t firstRow = static_cast<std::int64_t>(gridDim.x - 1 - blockIdx.x) * kRows;
    const std::int64_t lastRow = min(firstRow + kRows, g.seqLen);
    const int tileCount = static_cast<int>((lastRow + kOther - 1) / kOther);
    const float scale = rsqrtf(static_cast<float>(D));
    const auto copyKeys = [&](int tile) {
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        copyTile<kOther, D, kThreads>(
            sharedAddress(tiles.other[tile % 2][0]), g.qkv + view.k, view.rowStep, first, g.seqLen);
        copyTile<kOther, D, kThreads>(
            sharedAddress(tiles.other[tile % 2][1]), g.qkv + view.v, view.rowStep, first, g.seqLen);
        commitCopies();
    };
    copyTile<kRows, D, kThreads>(
        sharedAddress(tiles.own[0]), g.qkv + view.q, view.rowStep, firstRow, g.seqLen);
    copyTile<kRows, D, kThreads>(
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
        if constexpr (Keep::kDrops) {
#pragma unroll
            for (int n = 0; n < kOther / 8; ++n) {
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    float shares[2];
                    keep.sharesOfRow(shares, g.heads, row + 8 * h, first + n * 8 + (lane % 4) * 2);
                    dp[n][2 * h] *= shares[0];
                    dp[n][2 * h + 1] *= shares[1];
                }
            }
        }
        const bool whole = first + kOther - 1 <= firstRow + warp * 16;
#pragma unroll
        for (int n = 0; n < kOther / 8; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const std::int64_t column = first + n * 8 + (lane % 4) * 2 + (e & 1);
                const bool visible = whole || column <= row + (e >> 1) * 8;
                const float share = visible ? exp2f(p[n][e] * scale * kLog2E - logSum[e >> 1]) : 0.0F;
                p[n][e] = share * (dp[n][e] - rowSum[e >> 1]);
            }
        }
        multiplyColumns<T, D, kOther>(dq, p, keys, lane);
    }
    __syncthreads();
    storeRows<D>(dq, scale, scale, tiles.own[0], warp * 16, g.dqkv + view.q, view.rowStep,
        firstRow + warp * 16, g.seqLen, lane);
}

// --- launch ----------------------------------------------------------------------------------------------

template <class Kernel, class Args, class Keep>
cudaError_t launchRows(
    Kernel kernel, const Args& g, const Keep& keep, std::size_t shared, LaunchContext& context) {
    const cudaError_t error
        = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error != cudaSuccess)
        return error;
    const dim3 grid(blocksFor(g.seqLen, kRows), static_cast<unsigned>(g.batch * g.heads));
    kernel<<<grid, kThreads, shared, context.stream>>>(g, keep);
    return launched();
}

template <class T, int D>
cudaError_t forwardOf(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        return launchRows(forwardKernel<T, D, Keep>, g, keep, sizeof(ForwardTiles<D>), context);
    });
}

template <class T, int D>
cudaError_t backwardOf(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    const dim3 grid(blocksFor(g.seqLen, 256 / (D / 8)), static_cast<unsigned>(g.batch * g.heads));
    rowSumsKernel<T, D><<<grid, 256, 0, context.stream>>>(g);
    if (const cudaError_t error = launched(); error != cudaSuccess)
        return error;
    return withDropout<float>(g, [&]<class Keep>(const Keep& keep) {
        const cudaError_t error
            = launchRows(keyGradient<T, D, Keep>, g, keep, sizeof(BackwardTiles<D>), context);
        return error == cudaSuccess
            ? launchRows(queryGradient<T, D, Keep>, g, keep, sizeof(BackwardTiles<D>), context)
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
