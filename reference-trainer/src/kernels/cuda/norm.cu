// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/norm_rows.cuh"
#include "kernels/cuda/tables.cuh"
#include "kernels/norm.h"

namespace gdt::kernels::cuda {

namespace {

// --- forward: one warp a row, which it reads three times, the last two from cache -------------------------

constexpr int kWarps = 8;

template <class T, int N, class F>
__device__ inline void forEachInRow(const T* row, std::int64_t hidden, int lane, const F& f) {
    for (std::int64_t i = lane * N; i < hidden; i += 32 * N) {
        const auto x = *reinterpret_cast<const Pack<T, N>*>(row + i);
        f(i, x);
    }
}

// Mean and variance by the layer norm, mean square by the RMS norm.
template <class T, int N, bool kCentred, class Args>
__global__ void __launch_bounds__(32 * kWarps) normForward(Args g) {
    using W = Wide<T>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
    if (r >= g.rows)
        return;
    const T* row = g.x + r * g.hidden;
    W mean = 0;
    if constexpr (kCentred) {
        W sum = 0;
        forEachInRow<T, N>(row, g.hidden, lane, [&](std::int64_t, const Pack<T, N>& x) {
#pragma unroll
            for (int k = 0; k < N; ++k)
                sum += widen(x.v[k]);
        });
        mean = warpSum(sum) / static_cast<W>(g.hidden);
    }
    W squares = 0;
    forEachInRow<T, N>(row, g.hidden, lane, [&](std::int64_t, const Pack<T, N>& x) {
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const W d = widen(x.v[k]) - mean;
            squares += d * d;
        }
    });
    const W rstd = W(1) / sqrtOf(warpSum(squares) / static_cast<W>(g.hidden) + g.epsilon);
    T* out = g.out + r * g.hidden;
    forEachInRow<T, N>(row, g.hidden, lane, [&](std::int64_t i, const Pack<T, N>& x) {
        Pack<T, N> result;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            W value = (widen(x.v[k]) - mean) * rstd * widen(g.gain[i + k]);
            if constexpr (kCentred)
                value += widen(g.bias[i + k]);
            result.v[k] = narrow<T>(value);
        }
        *reinterpret_cast<Pack<T, N>*>(out + i) = result;
    });
    if (lane == 0) {
        g.rstd[r] = rstd;
        if constexpr (kCentred)
            g.mean[r] = mean;
    }
}

template <class Args> const void* biasOf(const Args& g) {
    if constexpr (requires { g.bias; })
        return g.bias;
    else
        return nullptr;
}

// So much shared memory for a kernel, or cudaErrorNotSupported: the device has not that much.
template <class Kernel> cudaError_t allowShared(Kernel kernel, int bytes) {
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) == cudaSuccess)
        return cudaSuccess;
    cudaGetLastError(); // it is not this launch's
    return cudaErrorNotSupported;
}

template <class T, int K, bool kCentred, class Args>
cudaError_t forwardStreamedOf(const Args& g, int warps, LaunchContext& context) {
    const int threads = groupsOf(warps, kForwardThreads<K>) * warps * 32;
    const int shared = threads * kForwardStages<K> * K * 16;
    const auto kernel = normForwardStreamed<T, K, kCentred, Args>;
    if (const cudaError_t error = allowShared(kernel, shared); error != cudaSuccess)
        return error;
    const auto blocks = static_cast<unsigned>(context.multiprocessors * kForwardBlocks<K>);
    kernel<<<blocks, static_cast<unsigned>(threads), static_cast<std::size_t>(shared), context.stream>>>(
        g, warps);
    return launched();
}

template <class T, bool kCentred, class Args>
cudaError_t forwardStreamed(const Args& g, LaunchContext& context) {
    const auto [packs, warps] = spreadOf(g.hidden, {4, 3, 7, 2, 1}, kForwardThreads<4>);
    switch (warps == 0 ? 0 : packs) {
    case 1:
        return forwardStreamedOf<T, 1, kCentred>(g, warps, context);
    case 2:
        return forwardStreamedOf<T, 2, kCentred>(g, warps, context);
    case 3:
        return forwardStreamedOf<T, 3, kCentred>(g, warps, context);
    case 4:
        return forwardStreamedOf<T, 4, kCentred>(g, warps, context);
    case 7:
        return forwardStreamedOf<T, 7, kCentred>(g, warps, context);
    default:
        return cudaErrorNotSupported;
    }
}

template <class T, bool kCentred, class Args> cudaError_t forward(const Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if constexpr (isNarrow<T>) {
        if (g.hidden % kRowPack == 0
            && aligned(16, g.x, g.out, g.gain, static_cast<const char*>(biasOf(g)))) {
            const cudaError_t error = forwardStreamed<T, kCentred>(g, context);
            if (error != cudaErrorNotSupported)
                return error;
        }
    }
    const unsigned blocks = blocksFor(g.rows, kWarps);
    if (g.hidden % kPack == 0 && aligned(16, g.x, g.out))
        normForward<T, kPack, kCentred, Args><<<blocks, 32 * kWarps, 0, context.stream>>>(g);
    else
        normForward<T, 1, kCentred, Args><<<blocks, 32 * kWarps, 0, context.stream>>>(g);
    return launched();
}

template <class T>
cudaError_t layerForward(const typename LayerNormForward<T>::Args& g, LaunchContext& context) {
    return forward<T, true>(g, context);
}
template <class T> cudaError_t rmsForward(const typename RmsNormForward<T>::Args& g, LaunchContext& context) {
    return forward<T, false>(g, context);
}

// --- backward --------------------------------------------------------------------------------------------

// A block takes every gridDim.x-th row. Its threads keep the sums of their columns in shared memory, each
// its own, and leave them as one row of partial sums: gain first, then bias.
template <class T, int N, bool kCentred, class Args> __global__ void normBackward(Args g, Wide<T>* partial) {
    using W = Wide<T>;
    extern __shared__ unsigned char memory[];
    __shared__ W reduce[2][32];
    auto* gainSum = reinterpret_cast<W*>(memory);
    W* biasSum = gainSum + g.hidden;
    const std::int64_t first = static_cast<std::int64_t>(threadIdx.x) * N;
    const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * N;
    for (std::int64_t i = threadIdx.x; i < g.hidden; i += blockDim.x) {
        gainSum[i] = 0;
        if constexpr (kCentred)
            biasSum[i] = 0;
    }
    __syncthreads();
    const W n = static_cast<W>(g.hidden);
    for (std::int64_t r = blockIdx.x; r < g.rows; r += gridDim.x) {
        const T* x = g.x + r * g.hidden;
        const T* dout = g.dout + r * g.hidden;
        W mean = 0;
        if constexpr (kCentred)
            mean = g.mean[r];
        const W rstd = g.rstd[r];
        W sum = 0;
        W sumHat = 0;
        for (std::int64_t i = first; i < g.hidden; i += step) {
            const auto px = *reinterpret_cast<const Pack<T, N>*>(x + i);
            const auto pd = *reinterpret_cast<const Pack<T, N>*>(dout + i);
#pragma unroll
            for (int k = 0; k < N; ++k) {
                const W hat = (widen(px.v[k]) - mean) * rstd;
                const W d = widen(pd.v[k]);
                const W dhat = d * widen(g.gain[i + k]);
                sum += dhat;
                sumHat += dhat * hat;
                gainSum[i + k] += d * hat;
                if constexpr (kCentred)
                    biasSum[i + k] += d;
            }
        }
        if constexpr (kCentred)
            sum = blockSum(sum, reduce[0]);
        sumHat = blockSum(sumHat, reduce[1]);
        T* dx = g.dx + r * g.hidden;
        for (std::int64_t i = first; i < g.hidden; i += step) {
            const auto px = *reinterpret_cast<const Pack<T, N>*>(x + i);
            const auto pd = *reinterpret_cast<const Pack<T, N>*>(dout + i);
            auto result = *reinterpret_cast<const Pack<T, N>*>(dx + i);
#pragma unroll
            for (int k = 0; k < N; ++k) {
                const W hat = (widen(px.v[k]) - mean) * rstd;
                W own = widen(pd.v[k]) * widen(g.gain[i + k]) - hat * sumHat / n;
                if constexpr (kCentred)
                    own -= sum / n;
                result.v[k] = narrow<T>(widen(result.v[k]) + rstd * own);
            }
            *reinterpret_cast<Pack<T, N>*>(dx + i) = result;
        }
    }
    __syncthreads();
    const std::int64_t width = (kCentred ? 2 : 1) * g.hidden;
    for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x)
        partial[blockIdx.x * width + i] = gainSum[i];
}

template <class Args> auto* biasGradientOf(const Args& g) {
    if constexpr (requires { g.dbias; })
        return g.dbias;
    else
        return static_cast<decltype(g.dgain)>(nullptr);
}

template <class T, int N, bool kCentred, class Args>
cudaError_t backwardPacked(const Args& g, LaunchContext& context) {
    using W = Wide<T>;
    auto* partial = static_cast<W*>(context.workspace.memory());
    if (partial == nullptr)
        return cudaErrorMemoryAllocation;
    constexpr int kBlocksAMultiprocessor = 8;
    const std::int64_t most
        = static_cast<std::int64_t>(runtime::cuda::Workspace::kBytes / sizeof(W)) / (2 * g.hidden);
    std::int64_t blocks = static_cast<std::int64_t>(context.multiprocessors) * kBlocksAMultiprocessor;
    blocks = blocks > g.rows ? g.rows : blocks;
    blocks = blocks > most ? most : blocks;
    const std::int64_t threads = ((g.hidden + N - 1) / N + 31) / 32 * 32;
    const auto blockThreads = static_cast<unsigned>(threads > 512 ? 512 : threads);
    const std::size_t shared = (kCentred ? 2 : 1) * static_cast<std::size_t>(g.hidden) * sizeof(W);
    const auto kernel = normBackward<T, N, kCentred, Args>;
    if (shared > 48 * 1024) {
        const cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
        if (error != cudaSuccess)
            return error;
    }
    kernel<<<static_cast<unsigned>(blocks), blockThreads, shared, context.stream>>>(g, partial);
    return addPartialsTo<W>(g.dgain, biasGradientOf(g), partial, blocks, g.hidden, context.stream);
}

template <class T, int K, bool kCentred, class Args>
cudaError_t backwardStreamedOf(const Args& g, int warps, LaunchContext& context) {
    auto* partial = static_cast<float*>(context.workspace.memory());
    if (partial == nullptr)
        return cudaErrorMemoryAllocation;
    const int threads = groupsOf(warps, kBackwardThreads<K>) * warps * 32;
    const int shared = threads * kBackwardStages<K> * 3 * K * 16;
    const auto kernel = normBackwardStreamed<T, K, kCentred, Args>;
    if (const cudaError_t error = allowShared(kernel, shared); error != cudaSuccess)
        return error;
    const auto blocks = static_cast<unsigned>(context.multiprocessors);
    kernel<<<blocks, static_cast<unsigned>(threads), static_cast<std::size_t>(shared), context.stream>>>(
        g, warps, partial);
    return addPartialsTo<float>(g.dgain, biasGradientOf(g), partial, blocks, g.hidden, context.stream);
}

template <class T, bool kCentred, class Args>
cudaError_t backwardStreamed(const Args& g, LaunchContext& context) {
    const auto [packs, warps] = spreadOf(g.hidden, {4, 3, 7, 2, 1}, kBackwardThreads<7>);
    switch (warps == 0 ? 0 : packs) {
    case 1:
        return backwardStreamedOf<T, 1, kCentred>(g, warps, context);
    case 2:
        return backwardStreamedOf<T, 2, kCentred>(g, warps, context);
    case 3:
        return backwardStreamedOf<T, 3, kCentred>(g, warps, context);
    case 4:
        return backwardStreamedOf<T, 4, kCentred>(g, warps, context);
    case 7:
        return backwardStreamedOf<T, 7, kCentred>(g, warps, context);
    default:
        return cudaErrorNotSupported;
    }
}

template <class T, bool kCentred, class Args> cudaError_t backward(const Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T> / 2;
    if constexpr (isNarrow<T>) {
        if (g.hidden % kRowPack == 0 && aligned(16, g.x, g.dout, g.dx, g.gain)) {
            const cudaError_t error = backwardStreamed<T, kCentred>(g, context);
            if (error != cudaErrorNotSupported)
                return error;
        }
    }
    if (g.hidden % kPack == 0 && aligned(sizeof(T) * kPack, g.x, g.dout, g.dx))
        return backwardPacked<T, kPack, kCentred>(g, context);
    return backwardPacked<T, 1, kCentred>(g, context);
}

template <class T>
cudaError_t layerBackward(const typename LayerNormBackward<T>::Args& g, LaunchContext& context) {
    return backward<T, true>(g, context);
}
template <class T>
cudaError_t rmsBackward(const typename RmsNormBackward<T>::Args& g, LaunchContext& context) {
    return backward<T, false>(g, context);
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<LayerNormForward<T>, layerForward<T>>(), entry<LayerNormBackward<T>, layerBackward<T>>(),          \
        entry<RmsNormForward<T>, rmsForward<T>>(), entry<RmsNormBackward<T>, rmsBackward<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), GDT_ENTRIES(Float16)};

} // namespace

std::span<const Launcher> normLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
