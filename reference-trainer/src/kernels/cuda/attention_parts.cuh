// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.h"
#include "kernels/cuda/attention_keep.cuh"
#include "kernels/cuda/mma.cuh"

// What both tensor-core forms of attention share: where the matrices lie, and what happens to accumulators
// between the products. A thread holds two rows, lane / 4 and 8 further, of its warp's 16; of N x 8 columns
// it holds in `[n]` columns 8 n + 2 (lane % 4) and the next.
namespace gdt::kernels::cuda {

constexpr float kLog2E = 1.4426950408889634F;

/// First elements of a (sample, head) pair in the matrices, and the steps from row to row.
struct AttentionView {
    std::int64_t q, k, v, rowStep, out, outStep, row;
};

template <class Args> __device__ AttentionView viewOf(const Args& g, int pair) {
    const std::int64_t sample = pair / static_cast<int>(g.heads);
    const std::int64_t head = pair % static_cast<int>(g.heads);
    const std::int64_t hidden = g.heads * g.headSize;
    const std::int64_t q = sample * 3 * hidden + head * g.headSize;
    return {q, q + hidden, q + 2 * hidden, g.batch * 3 * hidden, sample * hidden + head * g.headSize,
        g.batch * hidden, static_cast<std::int64_t>(pair) * g.seqLen};
}

__device__ inline float powerOfTwo(float v) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(result) : "f"(v));
    return result;
}

/// Column of the tile of element e of [n].
__device__ inline int columnOf(int lane, int n, int e) {
    return n * 8 + (lane % 4) * 2 + (e & 1);
}

/// Takes from each row what it must not see: keys after the row itself. `row` and `first` are the thread's
/// first row and the tile's first key.
template <int N>
__device__ inline void hideLaterKeys(float (&score)[N][4], std::int64_t row, std::int64_t first, int lane) {
    const int visible = static_cast<int>(row - first);
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (columnOf(lane, n, e) > visible + (e >> 1) * 8)
                score[n][e] = -INFINITY;
        }
    }
}

/// Softmax over tiles of keys as they come. Exponents are to the base 2.
struct SoftmaxRows {
    float largest[2] = {-INFINITY, -INFINITY};
    float total[2] = {0.0F, 0.0F}; // of this thread's columns

    /// Scores become probabilities relative to the largest so far; `shrink` is what sums over earlier tiles
    /// are worth now. Every row sees a key of the first tile.
    template <int N> __device__ void take(float (&score)[N][4], float scale, float (&shrink)[2]) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float seen = score[0][2 * h];
#pragma unroll
            for (int n = 0; n < N; ++n)
                seen = fmaxf(seen, fmaxf(score[n][2 * h], score[n][2 * h + 1]));
            seen = fmaxf(seen, __shfl_xor_sync(0xffffffffU, seen, 1));
            seen = fmaxf(largest[h], fmaxf(seen, __shfl_xor_sync(0xffffffffU, seen, 2)) * scale);
            shrink[h] = powerOfTwo(largest[h] - seen);
            largest[h] = seen;
            float sum = 0;
#pragma unroll
            for (int n = 0; n < N; ++n) {
#pragma unroll
                for (int e = 2 * h; e < 2 * h + 2; ++e) {
                    score[n][e] = powerOfTwo(score[n][e] * scale - seen);
                    sum += score[n][e];
                }
            }
            total[h] = total[h] * shrink[h] + sum;
        }
    }

    /// Adds up the columns of the four threads of a row and writes the logarithms of the sums.
    __device__ void finish(float* logSums, std::int64_t row, std::int64_t end, int lane) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            total[h] += __shfl_xor_sync(0xffffffffU, total[h], 1);
            total[h] += __shfl_xor_sync(0xffffffffU, total[h], 2);
            if (lane % 4 == 0 && row + 8 * h < end)
                logSums[row + 8 * h] = largest[h] / kLog2E + logf(total[h]);
        }
    }
};

template <int N> __device__ inline void shrinkRows(float (&out)[N][4], const float (&shrink)[2]) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            out[n][e] *= shrink[e >> 1];
    }
}

/// What dropout keeps around a thread's rows of a tile and columns of [n] and [n + 1], n even. Lanes of
/// neighbouring rows need the same random numbers: one draws those for [n], the other those for [n + 1].
/// `draw(n)` gives the bits of KeepSome::keptAround.
template <class F> __device__ inline void keptAround(unsigned (&kept)[2], int n, int lane, const F& draw) {
    const bool odd = lane / 4 % 2 != 0;
    const unsigned mine = draw(n + (odd ? 1 : 0));
    const unsigned other = __shfl_xor_sync(0xffffffffU, mine, 4);
    kept[0] = odd ? other : mine;
    kept[1] = odd ? mine : other;
}

/// Applies dropout to a tile whose rows are queries; nothing without dropout.
template <int N, class Keep>
__device__ inline void dropOfQueries(
    float (&values)[N][4], const Keep& keep, std::int64_t row, std::int64_t first, int lane) {
    if constexpr (Keep::kDrops) {
        static_assert(N % 2 == 0);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const int n = i / 2 * 2;
            const int h = i % 2;
            unsigned kept[2];
            keptAround(kept, n, lane,
                [&](int column) { return keep.keptAround(row + 8 * h, first + columnOf(lane, column, 0)); });
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const unsigned bit = kept[e >> 1] >> (lane / 4 % 2 * 2 + (e & 1));
                values[n + (e >> 1)][2 * h + (e & 1)] *= (bit & 1U) != 0 ? keep.scale : 0.0F;
            }
        }
    }
}

/// Which probabilities of a tile dropout keeps, a bit each; rows are keys, columns queries.
template <int N> struct KeptOfKeys {
    std::uint32_t bits = 0;
    static_assert(N <= 8 && N % 2 == 0);

    template <class Keep>
    __device__ void draw(const Keep& keep, std::int64_t key, std::int64_t first, int lane) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const int n = i / 2 * 2;
            const int h = i % 2;
            unsigned kept[2];
            keptAround(kept, n, lane,
                [&](int column) { return keep.keptAround(first + columnOf(lane, column, 0), key + 8 * h); });
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const unsigned bit = kept[e >> 1] >> ((e & 1) * 2 + lane / 4 % 2);
                bits |= (bit & 1U) << (4 * (n + (e >> 1)) + 2 * h + (e & 1));
            }
        }
    }
    __device__ void apply(float (&to)[N][4], const float (&from)[N][4], float scale) const {
#pragma unroll
        for (int n = 0; n < N; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e)
                to[n][e] = (bits >> (4 * n + e) & 1U) != 0 ? from[n][e] * scale : 0.0F;
        }
    }
};

/// Scores, rows of keys and columns of queries, become probabilities. `logSum` (of a column, to the base 2)
/// is infinite where there is no query. Queries before a key do not see it; `first` is the tile's first
/// query.
template <int N>
__device__ inline void probabilitiesOfKeys(float (&p)[N][4], float scale, const float* logSum,
    std::int64_t key, std::int64_t first, bool whole, int lane) {
    const int least = static_cast<int>(key - first);
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const int column = columnOf(lane, n, e);
            const bool visible = whole || column >= least + (e >> 1) * 8;
            p[n][e] = visible ? powerOfTwo(p[n][e] * scale - logSum[column]) : 0.0F;
        }
    }
}

/// Probabilities, rows of keys and columns of queries, become the gradient of the scores.
template <int N>
__device__ inline void scoreGradientOfKeys(
    float (&p)[N][4], const float (&dp)[N][4], const float* rowSum, int lane) {
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e)
            p[n][e] *= dp[n][e] - rowSum[columnOf(lane, n, e)];
    }
}

/// Scores, rows of queries and columns of keys, become the gradient of the scores: p * (dp - rowSum).
template <int N>
__device__ inline void scoreGradientOfQueries(float (&p)[N][4], const float (&dp)[N][4], float scale,
    const float (&logSum)[2], const float (&rowSum)[2], std::int64_t row, std::int64_t first, bool whole,
    int lane) {
    const int visible = static_cast<int>(row - first);
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const bool seen = whole || columnOf(lane, n, e) <= visible + (e >> 1) * 8;
            const float share = seen ? powerOfTwo(p[n][e] * scale - logSum[e >> 1]) : 0.0F;
            p[n][e] = share * (dp[n][e] - rowSum[e >> 1]);
        }
    }
}

/// sums[batch, heads, seqLen] = sum of dout * out of each row.
template <class T> struct RowSumArgs {
    const T* out;
    const T* dout;
    float* sums;
    std::int64_t seqLen, batch, heads;
};

// D / 8 threads a row.
template <class T, int D> __global__ void __launch_bounds__(256) attentionRowSumsOfTiles(RowSumArgs<T> g) {
    constexpr int kEach = D / 8;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (256 / kEach) + threadIdx.x / kEach;
    float sum = 0;
    if (i < g.seqLen) {
        const std::int64_t place = (i * g.batch * g.heads + blockIdx.y) * D + threadIdx.x % kEach * 8;
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
        g.sums[static_cast<std::int64_t>(blockIdx.y) * g.seqLen + i] = sum;
}

template <class T, int D> cudaError_t launchRowSums(const RowSumArgs<T>& g, LaunchContext& context) {
    const dim3 grid(blocksFor(g.seqLen, 256 / (D / 8)), static_cast<unsigned>(g.batch * g.heads));
    attentionRowSumsOfTiles<T, D><<<grid, 256, 0, context.stream>>>(g);
    return launched();
}
template <class T, int D>
cudaError_t launchRowSums(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    return launchRowSums<T, D>(RowSumArgs<T>{g.out, g.dout, g.scratch, g.seqLen, g.batch, g.heads}, context);
}

/// Starts `kernel` with a block for each `rows` positions of each (sample, head).
template <class Kernel, class Args, class Keep>
cudaError_t launchRows(Kernel kernel, const Args& g, const Keep& keep, int rows, int threads,
    std::size_t shared, LaunchContext& context) {
    const cudaError_t error
        = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error != cudaSuccess)
        return error;
    const dim3 grid(blocksFor(g.seqLen, rows), static_cast<unsigned>(g.batch * g.heads));
    kernel<<<grid, static_cast<unsigned>(threads), shared, context.stream>>>(g, keep);
    return launched();
}

} // namespace gdt::kernels::cuda
