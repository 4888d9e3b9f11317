// SPDX-License-Identifier: Apache-2.0
// Attention without tensor cores, for every type and head size up to 256: a warp a row, keys in tiles that
// the block shares, softmax as the tiles come. attention_mma.cu is the fast form for bf16.
#include "kernels/attention.h"
#include "kernels/cuda/attention_mma.cuh"
#include "kernels/cuda/tables.cuh"

namespace gdt::kernels::cuda {

namespace {

constexpr int kWarps = 4;
constexpr int kTile = 32; // rows of the other side at a time, one a lane

/// Sizes and offsets of one (sample, head); a position further is one rowStep or outStep further.
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
    template <class T> __device__ void store(T* to, W factor, int size) const {
        const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
        for (int c = 0; c < C; ++c) {
            if (lane + 32 * c < size)
                to[lane + 32 * c] = narrow<T>(v[c] * factor);
        }
    }
};

template <class T, int C>
__global__ void __launch_bounds__(32 * kWarps) forwardKernel(typename AttentionForward<T>::Args g) {
    using W = Wide<T>;
    extern __shared__ unsigned char memory[];
    const int size = static_cast<int>(g.headSize);
    auto* keys = reinterpret_cast<W*>(memory);
    W* values = keys + kTile * (size + 1);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    W* query = values + kTile * (size + 1) + warp * size;
    const View view = viewOf(g, blockIdx.y);
    const std::int64_t firstRow = static_cast<std::int64_t>(blockIdx.x) * kWarps;
    const std::int64_t i = firstRow + warp;
    const std::int64_t last = min(firstRow + kWarps, g.seqLen);
    const W scale = W(1) / sqrtOf(static_cast<W>(size));
    if (i < g.seqLen) {
        for (int d = lane; d < size; d += 32)
            query[d] = widen(g.qkv[view.q + i * view.rowStep + d]);
    }
    Columns<W, C> out;
    W largest = minusInfinity<W>();
    W total = 0;
    for (std::int64_t first = 0; first < last; first += kTile) {
        __syncthreads();
        loadTile<T>(keys, g.qkv + view.k, view.rowStep, first, g.seqLen, size);
        loadTile<T>(values, g.qkv + view.v, view.rowStep, first, g.seqLen, size);
        __syncthreads();
        if (i >= g.seqLen || first > i)
            continue;
        const bool visible = first + lane <= i;
        const W score
            = visible ? scale * dotShared(query, keys + lane * (size + 1), size) : minusInfinity<W>();
        const W seen = largerOf(largest, warpMax(score));
        const W p = visible ? expOf(score - seen) : W(0);
        const W shrink = expOf(largest - seen);
        largest = seen;
        total = total * shrink + warpSum(p);
#pragma unroll
        for (int c = 0; c < C; ++c)
            out.v[c] *= shrink;
        for (int j = 0; j < kTile; ++j)
            out.addScaled(__shfl_sync(0xffffffffU, p, j), values + j * (size + 1), size);
    }
    if (i >= g.seqLen)
        return;
    out.store(g.out + view.out + i * view.outStep, W(1) / total, size);
    if (lane == 0)
        g.logSums[view.row + i] = largest + logOf(total);
}

// scratch = sum of dout * out of each row.
template <class T>
__global__ void __launch_bounds__(32 * kWarps) rowSumsKernel(typename AttentionBackward<T>::Args g) {
    using W = Wide<T>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
    if (i >= g.seqLen)
        return;
    const View view = viewOf(g, blockIdx.y);
    W sum = 0;
    for (std::int64_t d = lane; d < g.headSize; d += 32) {
        const std::int64_t place = view.out + i * view.outStep + d;
        sum += widen(g.dout[place]) * widen(g.out[place]);
    }
    sum = warpSum(sum);
    if (lane == 0)
        g.scratch[view.row + i] = sum;
}

// Gradient of the queries: a warp a query, over all keys before it.
template <class T, int C>
__global__ void __launch_bounds__(32 * kWarps) queryGradient(typename AttentionBackward<T>::Args g) {
    using W = Wide<T>;
    extern __shared__ unsigned char memory[];
    const int size = static_cast<int>(g.headSize);
    auto* keys = reinterpret_cast<W*>(memory);
    W* values = keys + kTile * (size + 1);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    W* query = values + kTile * (size + 1) + 2 * warp * size;
    W* dout = query + size;
    const View view = viewOf(g, blockIdx.y);
    const std::int64_t firstRow = static_cast<std::int64_t>(blockIdx.x) * kWarps;
    const std::int64_t i = firstRow + warp;
    const std::int64_t last = min(firstRow + kWarps, g.seqLen);
    const W scale = W(1) / sqrtOf(static_cast<W>(size));
    W logSum = 0;
    W rowSum = 0;
    if (i < g.seqLen) {
        for (int d = lane; d < size; d += 32) {
            query[d] = widen(g.qkv[view.q + i * view.rowStep + d]);
            dout[d] = widen(g.dout[view.out + i * view.outStep + d]);
        }
        logSum = g.logSums[view.row + i];
        rowSum = g.scratch[view.row + i];
    }
    Columns<W, C> dq;
    for (std::int64_t first = 0; first < last; first += kTile) {
        __syncthreads();
        loadTile<T>(keys, g.qkv + view.k, view.rowStep, first, g.seqLen, size);
        loadTile<T>(values, g.qkv + view.v, view.rowStep, first, g.seqLen, size);
        __syncthreads();
        if (i >= g.seqLen || first > i)
            continue;
        W dscore = 0;
        if (first + lane <= i) {
            const W p = expOf(scale * dotShared(query, keys + lane * (size + 1), size) - logSum);
            dscore = scale * p * (dotShared(dout, values + lane * (size + 1), size) - rowSum);
        }
        for (int j = 0; j < kTile; ++j)
            dq.addScaled(__shfl_sync(0xffffffffU, dscore, j), keys + j * (size + 1), size);
    }
    if (i < g.seqLen)
        dq.store(g.dqkv + view.q + i * view.rowStep, W(1), size);
}

// Gradients of keys and values: a warp a key, over all queries after it.
template <class T, int C>
__global__ void __launch_bounds__(32 * kWarps) keyGradient(typename AttentionBackward<T>::Args g) {
    using W = Wide<T>;
    extern __shared__ unsigned char memory[];
    const int size = static_cast<int>(g.headSize);
    auto* queries = reinterpret_cast<W*>(memory);
    W* douts = queries + kTile * (size + 1);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    W* key = douts + kTile * (size + 1) + 2 * warp * size;
    W* value = key + size;
    const View view = viewOf(g, blockIdx.y);
    const std::int64_t firstRow = static_cast<std::int64_t>(blockIdx.x) * kWarps;
    const std::int64_t j = firstRow + warp;
    const W scale = W(1) / sqrtOf(static_cast<W>(size));
    if (j < g.seqLen) {
        for (int d = lane; d < size; d += 32) {
            key[d] = widen(g.qkv[view.k + j * view.rowStep + d]);
            value[d] = widen(g.qkv[view.v + j * view.rowStep + d]);
        }
    }
    Columns<W, C> dk, dv;
    for (std::int64_t first = firstRow / kTile * kTile; first < g.seqLen; first += kTile) {
        __syncthreads();
        loadTile<T>(queries, g.qkv + view.q, view.rowStep, first, g.seqLen, size);
        loadTile<T>(douts, g.dout + view.out, view.outStep, first, g.seqLen, size);
        __syncthreads();
        if (j >= g.seqLen)
            continue;
        const std::int64_t i = first + lane;
        W p = 0;
        W dscore = 0;
        if (i >= j && i < g.seqLen) {
            p = expOf(scale * dotShared(key, queries + lane * (size + 1), size) - g.logSums[view.row + i]);
            dscore
                = scale * p * (dotShared(value, douts + lane * (size + 1), size) - g.scratch[view.row + i]);
        }
        for (int l = 0; l < kTile; ++l) {
            dv.addScaled(__shfl_sync(0xffffffffU, p, l), douts + l * (size + 1), size);
            dk.addScaled(__shfl_sync(0xffffffffU, dscore, l), queries + l * (size + 1), size);
        }
    }
    if (j >= g.seqLen)
        return;
    dk.store(g.dqkv + view.k + j * view.rowStep, W(1), size);
    dv.store(g.dqkv + view.v + j * view.rowStep, W(1), size);
}

template <class Kernel, class Args>
cudaError_t launchRows(
    Kernel kernel, const Args& g, std::size_t rowsInShared, std::size_t wideBytes, LaunchContext& context) {
    const auto size = static_cast<std::size_t>(g.headSize);
    const std::size_t shared = (2 * kTile * (size + 1) + rowsInShared * size) * wideBytes;
    const cudaError_t error
        = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
    if (error != cudaSuccess)
        return error;
    const dim3 grid(blocksFor(g.seqLen, kWarps), static_cast<unsigned>(g.batch * g.heads));
    kernel<<<grid, 32 * kWarps, shared, context.stream>>>(g);
    return launched();
}

template <class T, int C>
cudaError_t forwardColumns(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    return launchRows(forwardKernel<T, C>, g, kWarps, sizeof(Wide<T>), context);
}

template <class T, int C>
cudaError_t backwardColumns(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    const dim3 grid(blocksFor(g.seqLen, kWarps), static_cast<unsigned>(g.batch * g.heads));
    rowSumsKernel<T><<<grid, 32 * kWarps, 0, context.stream>>>(g);
    cudaError_t error = launched();
    if (error == cudaSuccess)
        error = launchRows(queryGradient<T, C>, g, 2 * kWarps, sizeof(Wide<T>), context);
    if (error == cudaSuccess)
        error = launchRows(keyGradient<T, C>, g, 2 * kWarps, sizeof(Wide<T>), context);
    return error;
}

template <class T> cudaError_t forward(const typename AttentionForward<T>::Args& g, LaunchContext& context) {
    if constexpr (std::is_same_v<T, BFloat16>) {
        if (mmaFits(g))
            return mmaForward(g, context);
    }
    if (g.headSize <= 32)
        return forwardColumns<T, 1>(g, context);
    if (g.headSize <= 64)
        return forwardColumns<T, 2>(g, context);
    if (g.headSize <= 128)
        return forwardColumns<T, 4>(g, context);
    return g.headSize <= 256 ? forwardColumns<T, 8>(g, context) : cudaErrorNotSupported;
}

template <class T>
cudaError_t backward(const typename AttentionBackward<T>::Args& g, LaunchContext& context) {
    if constexpr (std::is_same_v<T, BFloat16>) {
        if (mmaFits(g))
            return mmaBackward(g, context);
    }
    if (g.headSize <= 32)
        return backwardColumns<T, 1>(g, context);
    if (g.headSize <= 64)
        return backwardColumns<T, 2>(g, context);
    if (g.headSize <= 128)
        return backwardColumns<T, 4>(g, context);
    return g.headSize <= 256 ? backwardColumns<T, 8>(g, context) : cudaErrorNotSupported;
}

#define GDT_ENTRIES(T) entry<AttentionForward<T>, forward<T>>(), entry<AttentionBackward<T>, backward<T>>()

constexpr Launcher kTable[] = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16)};

} // namespace

std::span<const Launcher> attentionLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
