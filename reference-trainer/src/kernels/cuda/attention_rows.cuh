// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/attention_keep.cuh"

#include <type_traits>

// Attention without tensor cores, for every type and head size up to 256: a warp a row, keys in tiles that
// the block shares, softmax as the tiles come. The fast forms, for 16 bits, are in the files *_mma.cu and
// *_wgmma.cu.
namespace gdt::kernels::cuda {

/// Queries against keys and values. Row r of a matrix, r = position * batch + sample, begins `...Row`
/// elements after row r - 1; the heads lie side by side in it. Statistics of a (sample, head) begin `logStep`
/// after those of the one before. O is the type of `out`.
template <class T, class O> struct ForwardRows {
    const T* q;
    const T* k;
    const T* v;
    O* out;
    Wide<T>* logSums;
    std::int64_t queries, keys, batch, heads, qRow, kvRow, outRow, logStep;
    int headSize;
    bool causal; ///< query i sees keys j <= i
    bool merge; ///< `out` and `logSums` hold attention to other keys, which these join
};

/// With `add` the gradients are added to what is there.
template <class T, class O> struct BackwardRows {
    const T* q;
    const T* k;
    const T* v;
    const T* dout;
    const Wide<T>* logSums;
    const Wide<T>* rowSums;
    O* dq;
    O* dk;
    O* dv;
    std::int64_t queries, keys, batch, heads, qRow, kvRow, outRow, dqRow, dkvRow, logStep;
    int headSize;
    bool causal;
    bool add;
};

namespace rows {

constexpr int kWarps = 4;
constexpr int kTile = 32; // rows of the other side at a time, one a lane

/// The matrix of one (sample, head); blockIdx.y counts them.
template <class P> __device__ std::int64_t offset(const P& g, std::int64_t row) {
    return static_cast<std::int64_t>(blockIdx.y) / g.heads * row
        + static_cast<std::int64_t>(blockIdx.y) % g.heads * g.headSize;
}

// Copies kTile rows from `first` on into shared memory, one column more apart than they are long, so that the
// lanes of a warp, a row each, meet different banks. Rows past the end become zero.
template <class T>
__device__ void loadTile(
    Wide<T>* tile, const T* from, std::int64_t step, std::int64_t first, std::int64_t end, int size) {
    for (int i = static_cast<int>(threadIdx.x); i < kTile * size; i += 32 * kWarps) {
        const std::int64_t row = first + i / size;
        tile[i / size * (size + 1) + i % size] = row < end ? widen(from[row * step + i % size]) : Wide<T>(0);
    }
}

template <class W> __device__ W dotShared(const W* a, const W* b, int size) {
    W sum = 0;
    for (int d = 0; d < size; ++d)
        sum += a[d] * b[d];
    return sum;
}

// Lane l owns the columns l, l + 32, ... of its warp's row.
template <class W, int C> struct Columns {
    W v[C] = {};

    __device__ void addScaled(W factor, const W* row, int size) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (int c = 0; c < C; ++c) {
            if (lane + 32 * c < size)
                v[c] += factor * row[lane + 32 * c];
        }
    }
    template <class O> __device__ void load(const O* from, int size) {
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (int c = 0; c < C; ++c) {
            if (lane + 32 * c < size)
                v[c] = widen(from[lane + 32 * c]);
        }
    }
    template <class O> __device__ void store(O* to, W factor, int size, bool add) const {
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (int c = 0; c < C; ++c) {
            if (lane + 32 * c < size)
                to[lane + 32 * c] = narrow<O>((add ? widen(to[lane + 32 * c]) : W(0)) + v[c] * factor);
        }
    }
};

template <class T, class O, int C, class Keep>
__global__ void __launch_bounds__(32 * kWarps) forwardKernel(ForwardRows<T, O> g, Keep keep) {
    using W = Wide<T>;
    extern __shared__ unsigned char memory[];
    const int size = g.headSize;
    auto* keys = reinterpret_cast<W*>(memory);
    W* values = keys + kTile * (size + 1);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    W* query = values + kTile * (size + 1) + warp * size;
    const std::int64_t firstRow = static_cast<std::int64_t>(blockIdx.x) * kWarps;
    const std::int64_t i = firstRow + warp;
    const std::int64_t last = g.causal ? min(firstRow + kWarps, g.keys) : g.keys;
    const std::int64_t seen = g.causal ? min(i + 1, g.keys) : g.keys; // keys that this row sees
    const W scale = W(1) / sqrtOf(static_cast<W>(size));
    O* out = g.out + offset(g, g.outRow) + i * g.batch * g.outRow;
    W* logSum = g.logSums + blockIdx.y * g.logStep + i;
    Columns<W, C> sum;
    W largest = minusInfinity<W>();
    W total = 0;
    if (i < g.queries) {
        for (int d = lane; d < size; d += 32)
            query[d] = widen(g.q[offset(g, g.qRow) + i * g.batch * g.qRow + d]);
        if (g.merge) { // as a block whose largest score is its log sum and whose weights sum to 1
            sum.load(out, size);
            largest = *logSum;
            total = 1;
        }
    }
    for (std::int64_t first = 0; first < last; first += kTile) {
        __syncthreads();
        loadTile<T>(keys, g.k + offset(g, g.kvRow), g.batch * g.kvRow, first, g.keys, size);
        loadTile<T>(values, g.v + offset(g, g.kvRow), g.batch * g.kvRow, first, g.keys, size);
        __syncthreads();
        if (i >= g.queries || first >= seen)
            continue;
        const bool visible = first + lane < seen;
        const W score
            = visible ? scale * dotShared(query, keys + lane * (size + 1), size) : minusInfinity<W>();
        const W both = largerOf(largest, warpMax(score));
        const W p = visible ? expOf(score - both) : W(0);
        const W shrink = expOf(largest - both);
        largest = both;
        total = total * shrink + warpSum(p);
#pragma unroll
        for (int c = 0; c < C; ++c)
            sum.v[c] *= shrink;
        W weight = p;
        if constexpr (Keep::kDrops)
            weight = visible ? p * keep.share(g.heads, i, first + lane) : W(0);
        for (int j = 0; j < kTile; ++j)
            sum.addScaled(__shfl_sync(0xffffffffU, weight, j), values + j * (size + 1), size);
    }
    if (i >= g.queries)
        return;
    sum.store(out, total > W(0) ? W(1) / total : W(0), size, false);
    __syncwarp();
    if (lane == 0)
        *logSum = total > W(0) ? largest + logOf(total) : minusInfinity<W>();
}

// Gradient of the queries: a warp a query, over all keys that it sees.
template <class T, class O, int C, class Keep>
__global__ void __launch_bounds__(32 * kWarps) queryGradient(BackwardRows<T, O> g, Keep keep) {
    using W = Wide<T>;
    extern __shared__ unsigned char memory[];
    const int size = g.headSize;
    auto* keys = reinterpret_cast<W*>(memory);
    W* values = keys + kTile * (size + 1);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    W* query = values + kTile * (size + 1) + 2 * warp * size;
    W* dout = query + size;
    const std::int64_t firstRow = static_cast<std::int64_t>(blockIdx.x) * kWarps;
    const std::int64_t i = firstRow + warp;
    const std::int64_t last = g.causal ? min(firstRow + kWarps, g.keys) : g.keys;
    const std::int64_t seen = g.causal ? min(i + 1, g.keys) : g.keys;
    const W scale = W(1) / sqrtOf(static_cast<W>(size));
    W logSum = 0;
    W rowSum = 0;
    if (i < g.queries) {
        for (int d = lane; d < size; d += 32) {
            query[d] = widen(g.q[offset(g, g.qRow) + i * g.batch * g.qRow + d]);
            dout[d] = widen(g.dout[offset(g, g.outRow) + i * g.batch * g.outRow + d]);
        }
        logSum = g.logSums[blockIdx.y * g.logStep + i];
        rowSum = g.rowSums[blockIdx.y * g.logStep + i];
    }
    Columns<W, C> dq;
    for (std::int64_t first = 0; first < last; first += kTile) {
        __syncthreads();
        loadTile<T>(keys, g.k + offset(g, g.kvRow), g.batch * g.kvRow, first, g.keys, size);
        loadTile<T>(values, g.v + offset(g, g.kvRow), g.batch * g.kvRow, first, g.keys, size);
        __syncthreads();
        if (i >= g.queries || first >= seen)
            continue;
        W dscore = 0;
        if (first + lane < seen) {
            const W p = expOf(scale * dotShared(query, keys + lane * (size + 1), size) - logSum);
            W dp = dotShared(dout, values + lane * (size + 1), size);
            if constexpr (Keep::kDrops)
                dp *= keep.share(g.heads, i, first + lane);
            dscore = scale * p * (dp - rowSum);
        }
        for (int j = 0; j < kTile; ++j)
            dq.addScaled(__shfl_sync(0xffffffffU, dscore, j), keys + j * (size + 1), size);
    }
    if (i < g.queries)
        dq.store(g.dq + offset(g, g.dqRow) + i * g.batch * g.dqRow, W(1), size, g.add);
}

// Gradients of keys and values: a warp a key, over all queries that see it.
template <class T, class O, int C, class Keep>
__global__ void __launch_bounds__(32 * kWarps) keyGradient(BackwardRows<T, O> g, Keep keep) {
    using W = Wide<T>;
    extern __shared__ unsigned char memory[];
    const int size = g.headSize;
    auto* queries = reinterpret_cast<W*>(memory);
    W* douts = queries + kTile * (size + 1);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    W* key = douts + kTile * (size + 1) + 2 * warp * size;
    W* value = key + size;
    const std::int64_t firstKey = static_cast<std::int64_t>(blockIdx.x) * kWarps;
    const std::int64_t j = firstKey + warp;
    const W scale = W(1) / sqrtOf(static_cast<W>(size));
    if (j < g.keys) {
        const std::int64_t row = offset(g, g.kvRow) + j * g.batch * g.kvRow;
        for (int d = lane; d < size; d += 32) {
            key[d] = widen(g.k[row + d]);
            value[d] = widen(g.v[row + d]);
        }
    }
    Columns<W, C> dk, dv;
    for (std::int64_t first = g.causal ? firstKey / kTile * kTile : 0; first < g.queries; first += kTile) {
        __syncthreads();
        loadTile<T>(queries, g.q + offset(g, g.qRow), g.batch * g.qRow, first, g.queries, size);
        loadTile<T>(douts, g.dout + offset(g, g.outRow), g.batch * g.outRow, first, g.queries, size);
        __syncthreads();
        if (j >= g.keys)
            continue;
        const std::int64_t i = first + lane;
        W p = 0;
        W dscore = 0;
        if (i < g.queries && (!g.causal || i >= j)) {
            const std::int64_t row = blockIdx.y * g.logStep + i;
            p = expOf(scale * dotShared(key, queries + lane * (size + 1), size) - g.logSums[row]);
            const W dp = dotShared(value, douts + lane * (size + 1), size);
            if constexpr (Keep::kDrops) {
                const W share = keep.share(g.heads, i, j);
                dscore = scale * p * (dp * share - g.rowSums[row]);
                p *= share;
            } else {
                dscore = scale * p * (dp - g.rowSums[row]);
            }
        }
        for (int l = 0; l < kTile; ++l) {
            dv.addScaled(__shfl_sync(0xffffffffU, p, l), douts + l * (size + 1), size);
            dk.addScaled(__shfl_sync(0xffffffffU, dscore, l), queries + l * (size + 1), size);
        }
    }
    if (j >= g.keys)
        return;
    dk.store(g.dk + offset(g, g.dkvRow) + j * g.batch * g.dkvRow, W(1), size, g.add);
    dv.store(g.dv + offset(g, g.dkvRow) + j * g.batch * g.dkvRow, W(1), size, g.add);
}

template <class Kernel, class P, class Keep>
cudaError_t launch(Kernel kernel, const P& g, const Keep& keep, std::int64_t rowCount, int rowsInShared,
    std::size_t wideBytes, LaunchContext& context) {
    if (rowCount == 0)
        return cudaSuccess;
    const auto size = static_cast<std::size_t>(g.headSize);
    const std::size_t shared
        = (2 * kTile * (size + 1) + static_cast<std::size_t>(rowsInShared) * size) * wideBytes;
    const cudaError_t error
        = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error != cudaSuccess)
        return error;
    const dim3 grid(blocksFor(rowCount, kWarps), static_cast<unsigned>(g.batch * g.heads));
    kernel<<<grid, 32 * kWarps, shared, context.stream>>>(g, keep);
    return launched();
}

template <class T, class O, int C, class Keep>
cudaError_t backwardOf(const BackwardRows<T, O>& g, const Keep& keep, LaunchContext& context) {
    const cudaError_t error
        = launch(queryGradient<T, O, C, Keep>, g, keep, g.queries, 2 * kWarps, sizeof(Wide<T>), context);
    return error == cudaSuccess
        ? launch(keyGradient<T, O, C, Keep>, g, keep, g.keys, 2 * kWarps, sizeof(Wide<T>), context)
        : error;
}

template <class T, class O, int C, class Keep>
cudaError_t forwardOf(const ForwardRows<T, O>& g, const Keep& keep, LaunchContext& context) {
    return launch(forwardKernel<T, O, C, Keep>, g, keep, g.queries, kWarps, sizeof(Wide<T>), context);
}

template <class T, class O, class Keep>
cudaError_t forwardBySize(const ForwardRows<T, O>& g, const Keep& keep, LaunchContext& context) {
    if (g.headSize <= 32)
        return forwardOf<T, O, 1>(g, keep, context);
    if (g.headSize <= 64)
        return forwardOf<T, O, 2>(g, keep, context);
    if (g.headSize <= 128)
        return forwardOf<T, O, 4>(g, keep, context);
    return g.headSize <= 256 ? forwardOf<T, O, 8>(g, keep, context) : cudaErrorNotSupported;
}

template <class T, class O, class Keep>
cudaError_t backwardBySize(const BackwardRows<T, O>& g, const Keep& keep, LaunchContext& context) {
    if (g.headSize <= 32)
        return backwardOf<T, O, 1>(g, keep, context);
    if (g.headSize <= 64)
        return backwardOf<T, O, 2>(g, keep, context);
    if (g.headSize <= 128)
        return backwardOf<T, O, 4>(g, keep, context);
    return g.headSize <= 256 ? backwardOf<T, O, 8>(g, keep, context) : cudaErrorNotSupported;
}

} // namespace rows

/// rowSums = sum of dout * out over each head's columns; matrices [positions * batch, heads * headSize], one
/// statistic a (sample, head, position).
template <class T, class O>
__global__ void __launch_bounds__(128) attentionRowSums(const O* out, const T* dout, Wide<T>* rowSums,
    std::int64_t positions, std::int64_t batch, std::int64_t heads, int headSize) {
    using W = Wide<T>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 4 + threadIdx.x / 32;
    if (i >= positions)
        return;
    const std::int64_t row = (i * batch + blockIdx.y / heads) * heads + blockIdx.y % heads;
    W sum = 0;
    for (int d = lane; d < headSize; d += 32)
        sum += widen(dout[row * headSize + d]) * widen(out[row * headSize + d]);
    sum = warpSum(sum);
    if (lane == 0)
        rowSums[blockIdx.y * positions + i] = sum;
}

} // namespace gdt::kernels::cuda
