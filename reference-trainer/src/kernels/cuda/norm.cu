// SPDX-License-Identifier: Apache-2.0
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

// The same with the row in registers, K packs a lane, for rows that fit.
template <class T, int N, int K, bool kCentred, class Args>
__global__ void __launch_bounds__(32 * kWarps) normForwardCached(Args g) {
    using W = Wide<T>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
    if (r >= g.rows)
        return;
    const T* row = g.x + r * g.hidden;
    Pack<T, N> x[K];
    W sum = 0;
#pragma unroll
    for (int p = 0; p < K; ++p) {
        const int i = (lane + 32 * p) * N;
        x[p] = {};
        if (i < g.hidden)
            x[p] = *reinterpret_cast<const Pack<T, N>*>(row + i);
    }
    if constexpr (kCentred) {
#pragma unroll
        for (int p = 0; p < K; ++p) {
#pragma unroll
            for (int k = 0; k < N; ++k)
                sum += widen(x[p].v[k]);
        }
        sum = warpSum(sum);
    }
    const W mean = sum / static_cast<W>(g.hidden);
    W squares = 0;
#pragma unroll
    for (int p = 0; p < K; ++p) {
        const bool inside = (lane + 32 * p) * N < g.hidden;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const W d = inside ? widen(x[p].v[k]) - mean : W(0);
            squares += d * d;
        }
    }
    const W rstd = W(1) / sqrtOf(warpSum(squares) / static_cast<W>(g.hidden) + g.epsilon);
    T* out = g.out + r * g.hidden;
#pragma unroll
    for (int p = 0; p < K; ++p) {
        const int i = (lane + 32 * p) * N;
        if (i >= g.hidden)
            continue;
        const auto gain = *reinterpret_cast<const Pack<T, N>*>(g.gain + i);
        Pack<T, N> bias{};
        if constexpr (kCentred)
            bias = *reinterpret_cast<const Pack<T, N>*>(g.bias + i);
        Pack<T, N> result;
#pragma unroll
        for (int k = 0; k < N; ++k)
            result.v[k] = narrow<T>((widen(x[p].v[k]) - mean) * rstd * widen(gain.v[k]) + widen(bias.v[k]));
        *reinterpret_cast<Pack<T, N>*>(out + i) = result;
    }
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

template <class T, int K, bool kCentred, class Args>
cudaError_t forwardCached(const Args& g, LaunchContext& context) {
    normForwardCached<T, kPackOf16<T>, K, kCentred, Args>
        <<<blocksFor(g.rows, kWarps), 32 * kWarps, 0, context.stream>>>(g);
    return launched();
}

template <class T, bool kCentred, class Args> cudaError_t forward(const Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    const unsigned blocks = blocksFor(g.rows, kWarps);
    if constexpr (isNarrow<T>) {
        constexpr int kLane = 32 * kPack; // elements of a pack a lane
        if (g.hidden % kPack == 0 && g.hidden <= 8 * kLane
            && aligned(16, g.x, g.out, g.gain, static_cast<const char*>(biasOf(g)))) {
            if (g.hidden <= 2 * kLane)
                return forwardCached<T, 2, kCentred>(g, context);
            return g.hidden <= 4 * kLane ? forwardCached<T, 4, kCentred>(g, context)
                                         : forwardCached<T, 8, kCentred>(g, context);
        }
    }
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
template <class T, int N, bool kCentred, class Args>
__global__ void normBackward(Args g, Wide<T>* partialGain, Wide<T>* partialBias) {
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
    for (std::int64_t i = threadIdx.x; i < g.hidden; i += blockDim.x) {
        partialGain[blockIdx.x * g.hidden + i] = gainSum[i];
        if constexpr (kCentred)
            partialBias[blockIdx.x * g.hidden + i] = biasSum[i];
    }
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
    W* partialBias = partial + blocks * g.hidden;
    kernel<<<static_cast<unsigned>(blocks), blockThreads, shared, context.stream>>>(g, partial, partialBias);
    const unsigned columns = blocksFor(g.hidden, 32);
    addPartials<W><<<columns, 256, 0, context.stream>>>(partial, g.dgain, blocks, g.hidden);
    if constexpr (kCentred)
        addPartials<W><<<columns, 256, 0, context.stream>>>(partialBias, g.dbias, blocks, g.hidden);
    return launched();
}

// For bf16 rows of up to 512 * G elements: G warps a row, which stays in their registers, as do the sums of
// their columns until the block adds them up at the end.
constexpr int kCachedPacks = 2;
constexpr int kCachedThreads = 256;

template <int G> __device__ inline void meet(int group) {
    if constexpr (G == 1)
        __syncwarp();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(32 * G) : "memory");
}

template <class T, int G, bool kCentred, class Args>
__global__ void __launch_bounds__(kCachedThreads, 2)
    normBackwardCached(Args g, float* partialGain, float* partialBias) {
    constexpr int N = 8;
    constexpr int kGroups = kCachedThreads / (32 * G);
    extern __shared__ float sums[]; // [2 * hidden]
    __shared__ float exchange[2][kGroups][G][2];
    const int member = static_cast<int>(threadIdx.x) % (32 * G);
    const int group = static_cast<int>(threadIdx.x) / (32 * G);
    float gainSum[kCachedPacks][N] = {};
    float biasSum[kCentred ? kCachedPacks : 1][N] = {};
    Pack<T, N> gain[kCachedPacks];
#pragma unroll
    for (int p = 0; p < kCachedPacks; ++p) {
        const int i = (member + 32 * G * p) * N;
        gain[p] = {};
        if (i < g.hidden)
            gain[p] = *reinterpret_cast<const Pack<T, N>*>(g.gain + i);
    }
    const float share = 1.0F / static_cast<float>(g.hidden);
    int turn = 0;
    for (std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * kGroups + group; r < g.rows;
         r += static_cast<std::int64_t>(gridDim.x) * kGroups) {
        Pack<T, N> x[kCachedPacks];
        Pack<T, N> dout[kCachedPacks];
        Pack<T, N> dx[kCachedPacks];
#pragma unroll
        for (int p = 0; p < kCachedPacks; ++p) {
            const int i = (member + 32 * G * p) * N;
            x[p] = dout[p] = dx[p] = {};
            if (i >= g.hidden)
                continue;
            x[p] = *reinterpret_cast<const Pack<T, N>*>(g.x + r * g.hidden + i);
            dout[p] = *reinterpret_cast<const Pack<T, N>*>(g.dout + r * g.hidden + i);
            dx[p] = *reinterpret_cast<const Pack<T, N>*>(g.dx + r * g.hidden + i);
        }
        float mean = 0;
        if constexpr (kCentred)
            mean = g.mean[r];
        const float rstd = g.rstd[r];
        float sum = 0;
        float sumHat = 0;
#pragma unroll
        for (int p = 0; p < kCachedPacks; ++p) {
#pragma unroll
            for (int k = 0; k < N; ++k) { // past the end the gradient is 0, and so is what it adds
                const float d = widen(dout[p].v[k]);
                const float hat = (widen(x[p].v[k]) - mean) * rstd;
                const float dhat = d * widen(gain[p].v[k]);
                sum += dhat;
                sumHat += dhat * hat;
                gainSum[p][k] += d * hat;
                if constexpr (kCentred)
                    biasSum[p][k] += d;
            }
        }
        sum = warpSum(sum);
        sumHat = warpSum(sumHat);
        if constexpr (G > 1) {
            if (member % 32 == 0) {
                exchange[turn][group][member / 32][0] = sum;
                exchange[turn][group][member / 32][1] = sumHat;
            }
            meet<G>(group);
            sum = sumHat = 0;
#pragma unroll
            for (int w = 0; w < G; ++w) {
                sum += exchange[turn][group][w][0];
                sumHat += exchange[turn][group][w][1];
            }
            turn ^= 1; // the other half is free: everybody has passed the barrier after reading it
        }
#pragma unroll
        for (int p = 0; p < kCachedPacks; ++p) {
            const int i = (member + 32 * G * p) * N;
            if (i >= g.hidden)
                continue;
#pragma unroll
            for (int k = 0; k < N; ++k) {
                const float hat = (widen(x[p].v[k]) - mean) * rstd;
                float own = widen(dout[p].v[k]) * widen(gain[p].v[k]) - hat * (sumHat * share);
                if constexpr (kCentred)
                    own -= sum * share;
                dx[p].v[k] = narrow<T>(widen(dx[p].v[k]) + rstd * own);
            }
            *reinterpret_cast<Pack<T, N>*>(g.dx + r * g.hidden + i) = dx[p];
        }
    }
    for (int turnOf = 0; turnOf < kGroups; ++turnOf) {
        if (group == turnOf) {
#pragma unroll
            for (int p = 0; p < kCachedPacks; ++p) {
                const int i = (member + 32 * G * p) * N;
                if (i >= g.hidden)
                    continue;
#pragma unroll
                for (int k = 0; k < N; ++k) {
                    sums[i + k] = (turnOf == 0 ? 0.0F : sums[i + k]) + gainSum[p][k];
                    if constexpr (kCentred)
                        sums[g.hidden + i + k]
                            = (turnOf == 0 ? 0.0F : sums[g.hidden + i + k]) + biasSum[p][k];
                }
            }
        }
        __syncthreads();
    }
    for (std::int64_t i = threadIdx.x; i < g.hidden; i += kCachedThreads) {
        partialGain[blockIdx.x * g.hidden + i] = sums[i];
        if constexpr (kCentred)
            partialBias[blockIdx.x * g.hidden + i] = sums[g.hidden + i];
    }
}

template <class T, int G, bool kCentred, class Args>
cudaError_t backwardCached(const Args& g, LaunchContext& context) {
    auto* partial = static_cast<float*>(context.workspace.memory());
    if (partial == nullptr)
        return cudaErrorMemoryAllocation;
    const std::int64_t blocks = 2 * context.multiprocessors;
    const std::size_t shared = 2 * static_cast<std::size_t>(g.hidden) * sizeof(float);
    float* partialBias = partial + blocks * g.hidden;
    normBackwardCached<T, G, kCentred, Args>
        <<<static_cast<unsigned>(blocks), kCachedThreads, shared, context.stream>>>(g, partial, partialBias);
    const unsigned columns = blocksFor(g.hidden, 32);
    addPartials<float><<<columns, 256, 0, context.stream>>>(partial, g.dgain, blocks, g.hidden);
    if constexpr (kCentred)
        addPartials<float><<<columns, 256, 0, context.stream>>>(partialBias, g.dbias, blocks, g.hidden);
    return launched();
}

template <class T, bool kCentred, class Args> cudaError_t backward(const Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T> / 2;
    if constexpr (isNarrow<T>) {
        if (g.hidden % 8 == 0 && g.hidden <= 2048 && aligned(16, g.x, g.dout, g.dx, g.gain))
            return g.hidden <= 512 ? backwardCached<T, 1, kCentred>(g, context)
                : g.hidden <= 1024 ? backwardCached<T, 2, kCentred>(g, context)
                                   : backwardCached<T, 4, kCentred>(g, context);
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
