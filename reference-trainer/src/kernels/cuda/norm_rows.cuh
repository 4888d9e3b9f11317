// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/packs.cuh"

#include <cstdint>

// Norms of 16-bit rows, as a stream: blocks stay on their multiprocessors and have the next rows on their way
// into shared memory while they work on one, so that memory never waits for sums. A row belongs to a group of
// warps, K packs of 8 to a lane; each lane waits for its own packs only. Rows are dealt to the
// multiprocessors in turns.
namespace gdt::kernels::cuda {

constexpr int kRowPack = 8; // elements
constexpr int kMostSharedBytes = 221184; // of a block's rows under way

/// K and the warps of a group for rows of `hidden` elements; warps is 0 where no group is large enough.
struct RowSpread {
    int packs = 0;
    int warps = 0;
};

/// The spread of `choices` that leaves the fewest lanes without work, the earlier one of equals.
template <int N> RowSpread spreadOf(std::int64_t hidden, const int (&choices)[N], int mostThreads) {
    const std::int64_t packs = hidden / kRowPack;
    RowSpread best;
    for (const int k : choices) {
        const std::int64_t warps = (packs + 32 * k - 1) / (32 * k);
        if (warps * 32 * k <= std::int64_t{mostThreads} * k
            && (best.warps == 0 || warps * k < std::int64_t{best.warps} * best.packs))
            best = {k, static_cast<int>(warps)};
    }
    return best;
}

/// Groups of a block: each of several warps has a barrier, and the block keeps one.
inline int groupsOf(int warps, int threads) {
    constexpr int kMostGroups = 15;
    const int room = threads / (32 * warps);
    return warps > 1 && room > kMostGroups ? kMostGroups : room;
}

/// Place of a lane among the packs of its group's row.
struct RowLane {
    int threads, group, groups, lane;

    __device__ explicit RowLane(int warps)
        : threads(32 * warps)
        , group(static_cast<int>(threadIdx.x) / threads)
        , groups(static_cast<int>(blockDim.x) / threads)
        , lane(static_cast<int>(threadIdx.x) % threads) { }

    /// First element of the lane's pack `p`.
    __device__ int at(int p) const { return (lane + threads * p) * kRowPack; }
    __device__ std::int64_t firstRow() const {
        return blockIdx.x + static_cast<std::int64_t>(gridDim.x) * group;
    }
    __device__ std::int64_t rowStep() const { return static_cast<std::int64_t>(gridDim.x) * groups; }
};

__device__ inline void waitForGroup(int group, int warps) {
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "r"(32 * warps) : "memory");
}

/// Sum over the warps of a group. `exchange` has a place for each warp of the block; between two uses of it
/// the group waits for another sum.
__device__ inline float groupSum(float own, int warps, int group, float* exchange) {
    own = warpSum(own);
    if (warps == 1)
        return own;
    if (threadIdx.x % 32 == 0)
        exchange[threadIdx.x / 32] = own;
    waitForGroup(group, warps);
    float sum = 0;
    for (int w = 0; w < warps; ++w)
        sum += exchange[group * warps + w];
    return sum;
}

// --- forward ---------------------------------------------------------------------------------------------

template <int K> constexpr int kForwardThreads = 512;
template <int K> constexpr int kForwardBlocks = K <= 3 ? 2 : 1; // of a multiprocessor
template <int K>
constexpr int kForwardStages = kMostSharedBytes / kForwardBlocks<K> / (kForwardThreads<K> * 16 * K) > 4
    ? 4
    : kMostSharedBytes / kForwardBlocks<K> / (kForwardThreads<K> * 16 * K);

template <class T, int K, bool kCentred, class Args>
__global__ void __launch_bounds__(kForwardThreads<K>, kForwardBlocks<K>)
    normForwardStreamed(Args g, int warps) {
    constexpr int N = kRowPack;
    constexpr int kStages = kForwardStages<K>;
    extern __shared__ uint4 staged[]; // [kStages][K][blockDim.x]
    __shared__ float exchange[2][kForwardThreads<K> / 32];
    const RowLane own(warps);
    const int hidden = static_cast<int>(g.hidden);
    const std::int64_t step = own.rowStep();
    const auto place = [&](int stage, int p) {
        return staged + (stage * K + p) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
    };
    const auto fetch = [&](int stage, std::int64_t r) {
        if (r < g.rows) {
#pragma unroll
            for (int p = 0; p < K; ++p) {
                if (own.at(p) < hidden)
                    copyChunk(sharedAddress(place(stage, p)), g.x + r * hidden + own.at(p), true);
            }
        }
        commitCopies();
    };
    std::int64_t r = own.firstRow();
#pragma unroll
    for (int s = 0; s + 1 < kStages; ++s)
        fetch(s, r + s * step);
    Pack<T, N> gain[K] = {};
    Pack<T, N> bias[K] = {};
#pragma unroll
    for (int p = 0; p < K; ++p) {
        if (own.at(p) >= hidden)
            continue;
        gain[p] = loadPack<T, N>(g.gain + own.at(p));
        if constexpr (kCentred)
            bias[p] = loadPack<T, N>(g.bias + own.at(p));
    }
    const float share = 1.0F / static_cast<float>(hidden);
    const auto epsilon = static_cast<float>(g.epsilon);
    int stage = 0;
    for (; r < g.rows; r += step) {
        fetch(stage == 0 ? kStages - 1 : stage - 1, r + (kStages - 1) * step);
        waitForCopies<kStages - 1>();
        Pack<T, N> x[K];
        float values[N];
        float sum = 0;
#pragma unroll
        for (int p = 0; p < K; ++p) {
            if (own.at(p) >= hidden)
                continue;
            x[p] = loadPack<T, N>(reinterpret_cast<const T*>(place(stage, p)));
            if constexpr (kCentred) {
                widenAll(x[p], values);
#pragma unroll
                for (int k = 0; k < N; ++k)
                    sum += values[k];
            }
        }
        const float mean = kCentred ? groupSum(sum, warps, own.group, exchange[0]) * share : 0.0F;
        float squares = 0;
#pragma unroll
        for (int p = 0; p < K; ++p) {
            if (own.at(p) >= hidden)
                continue;
            widenAll(x[p], values);
#pragma unroll
            for (int k = 0; k < N; ++k) {
                const float d = values[k] - mean;
                squares += d * d;
            }
        }
        squares = groupSum(squares, warps, own.group, exchange[1]);
        if constexpr (!kCentred) {
            if (warps > 1) // nothing else keeps the next row from the places of this sum
                waitForGroup(own.group, warps);
        }
        const float rstd = 1.0F / sqrtf(squares * share + epsilon);
#pragma unroll
        for (int p = 0; p < K; ++p) {
            if (own.at(p) >= hidden)
                continue;
            float factor[N];
            float shift[N] = {};
            widenAll(x[p], values);
            widenAll(gain[p], factor);
            if constexpr (kCentred)
                widenAll(bias[p], shift);
#pragma unroll
            for (int k = 0; k < N; ++k)
                values[k] = (values[k] - mean) * rstd * factor[k] + shift[k];
            storePack(g.out + r * hidden + own.at(p), narrowAll<T, N>(values));
        }
        if (own.lane == 0) {
            g.rstd[r] = rstd;
            if constexpr (kCentred)
                g.mean[r] = mean;
        }
        stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    waitForCopies<0>();
}

// --- backward --------------------------------------------------------------------------------------------

// As many threads as the sums of K packs of columns leave registers for.
template <int K>
constexpr int kBackwardThreads = K == 1 ? 1024
    : K == 2                            ? 640
    : K == 3                            ? 512
    : K == 4                            ? 384
                                        : 256;
template <int K> constexpr int kBackwardStages = kMostSharedBytes / (kBackwardThreads<K> * 16 * 3 * K);

/// Both sums over the warps of a group. `exchange`: a place for each warp of the block, in two halves taken
/// by turns: everybody has passed the barrier after reading the other one.
__device__ inline float2 groupSums(float2 own, int warps, int group, float2* exchange) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool upper = lane >= 16; // lower lanes go on with x, upper ones with y
    float sum = (upper ? own.y : own.x) + __shfl_xor_sync(0xffffffffU, upper ? own.x : own.y, 16);
    for (int step = 8; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffU, sum, step);
    if (warps == 1)
        return {__shfl_sync(0xffffffffU, sum, 0), __shfl_sync(0xffffffffU, sum, 16)};
    if (lane % 16 == 0)
        (upper ? exchange[threadIdx.x / 32].y : exchange[threadIdx.x / 32].x) = sum;
    waitForGroup(group, warps);
    float2 all{};
    for (int w = 0; w < warps; ++w) {
        const float2 other = exchange[group * warps + w];
        all.x += other.x;
        all.y += other.y;
    }
    return all;
}

/// Adds the sums of a block's groups, in order, and leaves them as the block's row of partial sums: gain
/// first, then bias. `all` has room for a row of each group.
template <bool kCentred, int K>
__device__ inline void addGroupSums(float* all, const float (&gainSum)[K][kRowPack],
    const float (&biasSum)[K][kRowPack], int hidden, const RowLane& own, float* partial) {
    const int width = (kCentred ? 2 : 1) * hidden;
#pragma unroll
    for (int p = 0; p < K; ++p) {
        if (own.at(p) >= hidden)
            continue;
        float* to = all + own.group * width + own.at(p);
#pragma unroll
        for (int k = 0; k < kRowPack; k += 4) {
            storePack(to + k,
                Pack<float, 4>{gainSum[p][k], gainSum[p][k + 1], gainSum[p][k + 2], gainSum[p][k + 3]});
            if constexpr (kCentred)
                storePack(to + hidden + k,
                    Pack<float, 4>{biasSum[p][k], biasSum[p][k + 1], biasSum[p][k + 2], biasSum[p][k + 3]});
        }
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < width; c += static_cast<int>(blockDim.x)) {
        float sum = 0;
        for (int other = 0; other < own.groups; ++other)
            sum += all[other * width + c];
        partial[static_cast<std::int64_t>(blockIdx.x) * width + c] = sum;
    }
}

template <class T, int K, bool kCentred, class Args>
__global__ void __launch_bounds__(kBackwardThreads<K>, 1)
    normBackwardStreamed(Args g, int warps, float* partial) {
    constexpr int N = kRowPack;
    constexpr int kStages = kBackwardStages<K>;
    extern __shared__ uint4 staged[]; // [kStages][3][K][blockDim.x], afterwards [groups][width] sums
    __shared__ float2 exchange[2][kBackwardThreads<K> / 32];
    const RowLane own(warps);
    const int hidden = static_cast<int>(g.hidden);
    const std::int64_t step = own.rowStep();
    const auto place = [&](int stage, int tensor, int p) {
        return staged + ((stage * 3 + tensor) * K + p) * static_cast<int>(blockDim.x)
            + static_cast<int>(threadIdx.x);
    };
    const auto load = [&](int stage, int tensor, int p, float(&values)[N]) {
        widenAll(loadPack<T, N>(reinterpret_cast<const T*>(place(stage, tensor, p))), values);
    };
    const auto fetch = [&](int stage, std::int64_t r) {
        if (r < g.rows) {
            const T* const rows[] = {g.x, g.dout, g.dx};
#pragma unroll
            for (int t = 0; t < 3; ++t) {
#pragma unroll
                for (int p = 0; p < K; ++p) {
                    if (own.at(p) < hidden)
                        copyChunk(sharedAddress(place(stage, t, p)), rows[t] + r * hidden + own.at(p), true);
                }
            }
        }
        commitCopies();
    };
    const auto statistics = [&](std::int64_t r) {
        float2 result{};
        if (r < g.rows) {
            if constexpr (kCentred)
                result.x = g.mean[r];
            result.y = g.rstd[r];
        }
        return result;
    };
    std::int64_t r = own.firstRow();
#pragma unroll
    for (int s = 0; s + 1 < kStages; ++s)
        fetch(s, r + s * step);
    float2 next = statistics(r);
    Pack<T, N> gain[K] = {};
#pragma unroll
    for (int p = 0; p < K; ++p) {
        if (own.at(p) < hidden)
            gain[p] = loadPack<T, N>(g.gain + own.at(p));
    }
    float gainSum[K][N] = {};
    float biasSum[K][N] = {};
    const float share = 1.0F / static_cast<float>(hidden);
    int stage = 0;
    for (int turn = 0; r < g.rows; r += step, turn ^= 1) {
        fetch(stage == 0 ? kStages - 1 : stage - 1, r + (kStages - 1) * step);
        const auto [mean, rstd] = next;
        next = statistics(r + step);
        waitForCopies<kStages - 1>();
        float2 sums{};
#pragma unroll
        for (int p = 0; p < K; ++p) {
            if (own.at(p) >= hidden)
                continue;
            float hat[N];
            float d[N];
            float factor[N];
            load(stage, 0, p, hat);
            load(stage, 1, p, d);
            widenAll(gain[p], factor);
#pragma unroll
            for (int k = 0; k < N; ++k) {
                hat[k] = (hat[k] - mean) * rstd;
                gainSum[p][k] += d[k] * hat[k];
                if constexpr (kCentred)
                    biasSum[p][k] += d[k];
                const float dhat = d[k] * factor[k];
                sums.x += dhat;
                sums.y += dhat * hat[k];
            }
        }
        sums = groupSums(sums, warps, own.group, exchange[turn]);
        const float ofMean = kCentred ? sums.x * share : 0.0F;
        const float ofHat = sums.y * share;
#pragma unroll
        for (int p = 0; p < K; ++p) { // once more from shared memory: registers are for the sums
            if (own.at(p) >= hidden)
                continue;
            float hat[N];
            float d[N];
            float factor[N];
            float dx[N];
            load(stage, 0, p, hat);
            load(stage, 1, p, d);
            load(stage, 2, p, dx);
            widenAll(gain[p], factor);
#pragma unroll
            for (int k = 0; k < N; ++k) {
                hat[k] = (hat[k] - mean) * rstd;
                dx[k] += rstd * (d[k] * factor[k] - ofMean - hat[k] * ofHat);
            }
            storePack(g.dx + r * hidden + own.at(p), narrowAll<T, N>(dx));
        }
        stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    waitForCopies<0>();
    __syncthreads();
    addGroupSums<kCentred, K>(reinterpret_cast<float*>(staged), gainSum, biasSum, hidden, own, partial);
}

} // namespace gdt::kernels::cuda
