// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/attention_parts.cuh"

// The tiles of attention with `mma.sync`, for one sequence and for a step of the ring: a block owns kRows
// rows of one (sample, head) and goes over those of the other side, the next tile on its way while one is
// multiplied.
namespace gdt::kernels::cuda {

constexpr int kTileWarps = 4;
constexpr int kTileThreads = 32 * kTileWarps;
constexpr int kRows = 16 * kTileWarps; // of the side that a block owns
constexpr int kForwardKeys = 64;

// Fewer rows at a time where the accumulators of a head of 128 fill the registers.
template <int D> constexpr int kBackwardRows = D == 64 ? 64 : 32;

template <int D> struct ForwardTiles {
    alignas(128) unsigned char query[kRows * D * 2];
    alignas(128) unsigned char keys[2][kForwardKeys * D * 2];
    alignas(128) unsigned char values[2][kForwardKeys * D * 2];
};

template <int D> struct BackwardTiles {
    static constexpr int kOther = kBackwardRows<D>;
    alignas(128) unsigned char own[2][kRows * D * 2];
    alignas(128) unsigned char other[2][2][kOther * D * 2]; // [stage][which]
    float logSum[2][kOther];
    float rowSum[2][kOther];
};

/// A matrix's rows of one (sample, head), `step` elements apart; there are `count`.
template <class T> struct HeadRows {
    const T* from;
    std::int64_t step, count;
};

/// The logarithms of a row's sum of exponentials and its sum of dout * out.
struct RowNumbers {
    const float* logSums;
    const float* rowSums;
};

/// Queries and keys of one sequence: a query sees itself and what came before, and the rows that are hidden
/// from it cover those that do not exist.
template <class Keep> struct SameSequence {
    static constexpr bool causal = true;
    using Kept = Keep;
    Keep keep;

    template <int N>
    __device__ void drop(float (&values)[N][4], std::int64_t row, std::int64_t first, int lane) const {
        dropOfQueries(values, keep, row, first, lane);
    }
    template <int N>
    __device__ void draw(KeptOfKeys<N>& kept, std::int64_t key, std::int64_t first, int lane) const {
        kept.draw(keep, key, first, lane);
    }
    template <int N> __device__ void hideMissing(float (&)[N][4], std::int64_t, std::int64_t, int) const { }
};

/// Starts to copy R rows of two matrices, both from row `first` on.
template <int R, int D, class T>
__device__ inline void copyPair(
    unsigned char* a, unsigned char* b, const HeadRows<T>& ofA, const HeadRows<T>& ofB, std::int64_t first) {
    copyTile<RowLayout<D>, R, D, kTileThreads>(sharedAddress(a), ofA.from, ofA.step, first, ofA.count);
    copyTile<RowLayout<D>, R, D, kTileThreads>(sharedAddress(b), ofB.from, ofB.step, first, ofB.count);
}

/// Tiles of R keys that kRows queries from `firstRow` on see.
template <int R> __device__ inline int tilesSeen(bool causal, std::int64_t firstRow, std::int64_t keys) {
    const std::int64_t seen = causal ? min(firstRow + kRows, keys) : keys;
    return static_cast<int>((seen + R - 1) / R);
}

/// Starts to copy a block's queries and its first keys and values.
template <class T, int D>
__device__ inline void startForward(ForwardTiles<D>& tiles, const HeadRows<T>& queries,
    const HeadRows<T>& keys, const HeadRows<T>& values, std::int64_t firstRow) {
    copyTile<RowLayout<D>, kRows, D, kTileThreads>(
        sharedAddress(tiles.query), queries.from, queries.step, firstRow, queries.count);
    copyPair<kForwardKeys, D>(tiles.keys[0], tiles.values[0], keys, values, 0);
    commitCopies();
}

/// out and softmax go on with the keys and values that queries from `firstRow` on see. startForward() came
/// before.
template <class T, int D, class Rule>
__device__ inline void attendTo(float (&out)[D / 8][4], SoftmaxRows& softmax, ForwardTiles<D>& tiles,
    const HeadRows<T>& keys, const HeadRows<T>& values, const Rule& rule, std::int64_t firstRow) {
    constexpr int kKeys = kForwardKeys;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int tileCount = tilesSeen<kKeys>(rule.causal, firstRow, keys.count);
    const float scale = rsqrtf(static_cast<float>(D)) * kLog2E;
    const std::int64_t row = firstRow + warp * 16 + lane / 4;
    for (int tile = 0; tile < tileCount; ++tile) {
        waitForCopies<0>();
        __syncthreads();
        const std::int64_t first = static_cast<std::int64_t>(tile) * kKeys;
        if (tile + 1 < tileCount) {
            const int stage = (tile + 1) % 2;
            copyPair<kKeys, D>(tiles.keys[stage], tiles.values[stage], keys, values, first + kKeys);
            commitCopies();
        }
        float score[kKeys / 8][4] = {};
        multiplyRows<T, D, kKeys>(
            score, sharedAddress(tiles.query), warp * 16, sharedAddress(tiles.keys[tile % 2]), lane);
        if (rule.causal && first + kKeys - 1 > firstRow + warp * 16)
            hideLaterKeys(score, row, first, lane);
        rule.hideMissing(score, first, keys.count, lane);
        float shrink[2];
        softmax.take(score, scale, shrink);
        shrinkRows(out, shrink);
        rule.drop(score, row, first, lane);
        multiplyColumns<T, D, kKeys>(out, score, sharedAddress(tiles.values[tile % 2]), lane);
    }
}

/// dk and dv of the kRows keys from `firstKey` on: a walk over the queries that see them. All products are
/// transposed: rows are keys, columns are queries. dk lacks the scale of the scores.
template <class T, int D, class Rule>
__device__ inline void gradientOfKeys(float (&dk)[D / 8][4], float (&dv)[D / 8][4], BackwardTiles<D>& tiles,
    const HeadRows<T>& queries, const HeadRows<T>& douts, const HeadRows<T>& keys, const HeadRows<T>& values,
    const RowNumbers& numbers, const Rule& rule, std::int64_t firstKey) {
    constexpr int kOther = kBackwardRows<D>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const float scale = rsqrtf(static_cast<float>(D));
    const int firstTile = rule.causal ? static_cast<int>(firstKey / kOther) : 0;
    const int tileCount = static_cast<int>((queries.count + kOther - 1) / kOther);
    const auto copyQueries = [&](int tile) {
        const int stage = tile % 2;
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        copyPair<kOther, D>(tiles.other[stage][0], tiles.other[stage][1], queries, douts, first);
        commitCopies();
        for (int i = static_cast<int>(threadIdx.x); i < kOther; i += kTileThreads) {
            const bool exists = first + i < queries.count;
            tiles.logSum[stage][i] = exists ? numbers.logSums[first + i] * kLog2E : INFINITY;
            tiles.rowSum[stage][i] = exists ? numbers.rowSums[first + i] : 0.0F;
        }
    };
    copyPair<kRows, D>(tiles.own[0], tiles.own[1], keys, values, firstKey);
    if (firstTile < tileCount)
        copyQueries(firstTile);
    const std::int64_t key = firstKey + warp * 16 + lane / 4;
    for (int tile = firstTile; tile < tileCount; ++tile) {
        const int stage = tile % 2;
        waitForCopies<0>();
        __syncthreads();
        if (tile + 1 < tileCount)
            copyQueries(tile + 1);
        const std::uint32_t query = sharedAddress(tiles.other[stage][0]);
        const std::uint32_t dout = sharedAddress(tiles.other[stage][1]);
        float p[kOther / 8][4] = {};
        multiplyRows<T, D, kOther>(p, sharedAddress(tiles.own[0]), warp * 16, query, lane);
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        const bool whole = !rule.causal || first >= firstKey + warp * 16 + 15;
        probabilitiesOfKeys(p, scale * kLog2E, tiles.logSum[stage], key, first, whole, lane);
        float dp[kOther / 8][4] = {};
        multiplyRows<T, D, kOther>(dp, sharedAddress(tiles.own[1]), warp * 16, dout, lane);
        if constexpr (Rule::Kept::kDrops) {
            KeptOfKeys<kOther / 8> kept;
            rule.draw(kept, key, first, lane);
            float part[kOther / 8][4];
            kept.apply(part, p, rule.keep.scale);
            multiplyColumns<T, D, kOther>(dv, part, dout, lane);
            kept.apply(dp, dp, rule.keep.scale);
        } else {
            multiplyColumns<T, D, kOther>(dv, p, dout, lane);
        }
        scoreGradientOfKeys(p, dp, tiles.rowSum[stage], lane);
        multiplyColumns<T, D, kOther>(dk, p, query, lane);
    }
}

/// dq of the kRows queries from `firstRow` on: a walk over the keys that they see. dq lacks the scale of the
/// scores.
template <class T, int D, class Rule>
__device__ inline void gradientOfQueries(float (&dq)[D / 8][4], BackwardTiles<D>& tiles,
    const HeadRows<T>& queries, const HeadRows<T>& douts, const HeadRows<T>& keys, const HeadRows<T>& values,
    const RowNumbers& numbers, const Rule& rule, std::int64_t firstRow) {
    constexpr int kOther = kBackwardRows<D>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int tileCount = tilesSeen<kOther>(rule.causal, firstRow, keys.count);
    const float scale = rsqrtf(static_cast<float>(D));
    const auto copyKeys = [&](int tile) {
        copyPair<kOther, D>(tiles.other[tile % 2][0], tiles.other[tile % 2][1], keys, values,
            static_cast<std::int64_t>(tile) * kOther);
        commitCopies();
    };
    copyPair<kRows, D>(tiles.own[0], tiles.own[1], queries, douts, firstRow);
    copyKeys(0);
    const std::int64_t row = firstRow + warp * 16 + lane / 4;
    float logSum[2];
    float rowSum[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const bool exists = row + 8 * h < queries.count;
        logSum[h] = exists ? numbers.logSums[row + 8 * h] * kLog2E : INFINITY;
        rowSum[h] = exists ? numbers.rowSums[row + 8 * h] : 0.0F;
    }
    for (int tile = 0; tile < tileCount; ++tile) {
        waitForCopies<0>();
        __syncthreads();
        if (tile + 1 < tileCount)
            copyKeys(tile + 1);
        const std::uint32_t key = sharedAddress(tiles.other[tile % 2][0]);
        float p[kOther / 8][4] = {};
        float dp[kOther / 8][4] = {};
        multiplyRows<T, D, kOther>(p, sharedAddress(tiles.own[0]), warp * 16, key, lane);
        multiplyRows<T, D, kOther>(
            dp, sharedAddress(tiles.own[1]), warp * 16, sharedAddress(tiles.other[tile % 2][1]), lane);
        const std::int64_t first = static_cast<std::int64_t>(tile) * kOther;
        rule.hideMissing(p, first, keys.count, lane);
        rule.drop(dp, row, first, lane);
        const bool whole = !rule.causal || first + kOther - 1 <= firstRow + warp * 16;
        scoreGradientOfQueries(p, dp, scale * kLog2E, logSum, rowSum, row, first, whole, lane);
        multiplyColumns<T, D, kOther>(dq, p, key, lane);
    }
}

} // namespace gdt::kernels::cuda
