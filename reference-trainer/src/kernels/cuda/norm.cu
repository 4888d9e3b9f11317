// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/form.h"
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

// The same for rows that fit into the registers of `warps` warps, one or all of a block, at K packs a lane: a
// row is read once.
template <class T, int K, bool kCentred, class Args>
__global__ void __launch_bounds__(32 * kWarps) normForwardCached(Args g, int warps) {
    using W = Wide<T>;
    constexpr int N = kPackOf16<T>;
    __shared__ W shared[2][32];
    const int threads = 32 * warps;
    const int lane = static_cast<int>(threadIdx.x) % threads;
    const int rowsOfBlock = static_cast<int>(blockDim.x) / threads;
    const std::int64_t r
        = static_cast<std::int64_t>(blockIdx.x) * rowsOfBlock + static_cast<int>(threadIdx.x) / threads;
    if (r >= g.rows)
        return;
    const auto sumOfRow
        = [&](W own, int turn) { return warps == 1 ? warpSum(own) : blockSum(own, shared[turn]); };
    const T* row = g.x + r * g.hidden;
    Pack<T, N> x[K];
#pragma unroll
    for (int p = 0; p < K; ++p) {
        const int i = (lane + threads * p) * N;
        if (i < g.hidden)
            x[p] = loadPack<T, N>(row + i);
    }
    W mean = 0;
    if constexpr (kCentred) {
        W sum = 0;
#pragma unroll
        for (int p = 0; p < K; ++p) {
            if ((lane + threads * p) * N >= g.hidden)
                continue;
            W values[N];
            widenAll(x[p], values);
#pragma unroll
            for (int k = 0; k < N; ++k)
                sum += values[k];
        }
        mean = sumOfRow(sum, 0) / static_cast<W>(g.hidden);
    }
    W squares = 0;
#pragma unroll
    for (int p = 0; p < K; ++p) {
        if ((lane + threads * p) * N >= g.hidden)
            continue;
        W values[N];
        widenAll(x[p], values);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const W d = values[k] - mean;
            squares += d * d;
        }
    }
    const W rstd = W(1) / sqrtOf(sumOfRow(squares, 1) / static_cast<W>(g.hidden) + g.epsilon);
    T* out = g.out + r * g.hidden;
#pragma unroll
    for (int p = 0; p < K; ++p) {
        const int i = (lane + threads * p) * N;
        if (i >= g.hidden)
            continue;
        W values[N], gain[N], bias[N] = {};
        widenAll(x[p], values);
        widenAll(loadPack<T, N>(g.gain + i), gain);
        if constexpr (kCentred)
            widenAll(loadPack<T, N>(g.bias + i), bias);
#pragma unroll
        for (int k = 0; k < N; ++k)
            values[k] = (values[k] - mean) * rstd * gain[k] + bias[k];
        storePack(out + i, narrowAll<T, N>(values));
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
cudaError_t forwardCached(const Args& g, int warps, LaunchContext& context) {
    normForwardCached<T, K, kCentred, Args>
        <<<blocksFor(g.rows, kWarps / warps), static_cast<unsigned>(32 * kWarps), 0, context.stream>>>(
            g, warps);
    return launched();
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
        g, warps, kernelForm >= 2);
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
        if (kernelForm != 0 && g.hidden % kPack == 0
            && aligned(16, g.x, g.out, g.gain, static_cast<const char*>(biasOf(g)))) {
            const cudaError_t error = forwardStreamed<T, kCentred>(g, context);
            if (error != cudaErrorNotSupported)
                return error;
        }
        constexpr int kMostPacks = 8; // a lane
        const std::int64_t perWarp = (g.hidden / kPack + 31) / 32;
        const int warps = perWarp <= kMostPacks ? 1 : kWarps;
        const std::int64_t packs = (perWarp + warps - 1) / warps;
        if (g.hidden % kPack == 0 && packs <= kMostPacks
            && aligned(16, g.x, g.out, g.gain, static_cast<const char*>(biasOf(g)))) {
            if (packs <= 2)
                return forwardCached<T, 2, kCentred>(g, warps, context);
            return packs <= 4 ? forwardCached<T, 4, kCentred>(g, warps, context)
                              : forwardCached<T, kMostPacks, kCentred>(g, warps, context);
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

// For 16-bit rows: a row belongs to a group of warps, a pack to a lane. While a row is worked on, the next
// is on its way into shared memory; each lane waits for its own packs only. The sums of its columns
// stay in its registers, and the block adds those of its groups at the end.
constexpr int kStages = 2; // rows of a group in shared memory
constexpr int kMostThreads = 1024; // of a block

// Adds the sums of a block's groups, each with those of N columns from `i` on, in order, and leaves them as
// the block's row of partial sums. `all` has room for a row of each group.
template <bool kCentred, int N>
__device__ inline void addGroups(float* all, const float (&gainSum)[N], const float (&biasSum)[N], int hidden,
    int group, int groups, int i, float* partial) {
    const int width = (kCentred ? 2 : 1) * hidden;
    if (i < hidden) {
        float* own = all + group * width + i;
#pragma unroll
        for (int k = 0; k < N; k += 4) {
            storePack(own + k, Pack<float, 4>{gainSum[k], gainSum[k + 1], gainSum[k + 2], gainSum[k + 3]});
            if constexpr (kCentred)
                storePack(own + hidden + k,
                    Pack<float, 4>{biasSum[k], biasSum[k + 1], biasSum[k + 2], biasSum[k + 3]});
        }
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < width; c += static_cast<int>(blockDim.x)) {
        float sum = 0;
        for (int other = 0; other < groups; ++other)
            sum += all[other * width + c];
        partial[static_cast<std::int64_t>(blockIdx.x) * width + c] = sum;
    }
}

template <class T, bool kCentred, class Args>
__global__ void __launch_bounds__(kMostThreads) normBackwardStaged(Args g, int warps, float* partial) {
    constexpr int N = 8;
    extern __shared__ uint4 staged[]; // [kStages][3][blockDim.x], afterwards [groups][width] sums
    __shared__ float2 exchange[2][32];
    const int threads = 32 * warps;
    const int group = static_cast<int>(threadIdx.x) / threads;
    const int groups = static_cast<int>(blockDim.x) / threads;
    const int i = static_cast<int>(threadIdx.x) % threads * N;
    const bool inside = i < g.hidden;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * groups;
    const auto place = [&](int stage, int tensor) {
        return staged + (stage * 3 + tensor) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
    };
    const auto fetch = [&](int stage, std::int64_t r) {
        __syncwarp(); // what was there has been read
        if (inside && r < g.rows) {
            const T* const rows[] = {g.x, g.dout, g.dx};
#pragma unroll
            for (int t = 0; t < 3; ++t)
                copyChunk(sharedAddress(place(stage, t)), rows[t] + r * g.hidden + i, true);
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
    float gain[N] = {};
    if (inside)
        widenAll(loadPack<T, N>(g.gain + i), gain);
    float gainSum[N] = {};
    float biasSum[N] = {};
    const float share = 1.0F / static_cast<float>(g.hidden);
    std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * groups + group;
    fetch(0, r);
    float2 next = statistics(r);
    int stage = 0;
    for (; r < g.rows; r += step) {
        fetch(stage ^ 1, r + step);
        const auto [mean, rstd] = next;
        next = statistics(r + step);
        waitForCopies<1>(); // the row after this one may still be on its way
        float hat[N] = {};
        float dhat[N] = {}; // past the end of the row nothing adds to any sum
        float2 sums{};
        if (inside) {
            widenAll(loadPack<T, N>(reinterpret_cast<const T*>(place(stage, 0))), hat);
            widenAll(loadPack<T, N>(reinterpret_cast<const T*>(place(stage, 1))), dhat);
#pragma unroll
            for (int k = 0; k < N; ++k) {
                hat[k] = (hat[k] - mean) * rstd;
                gainSum[k] += dhat[k] * hat[k];
                biasSum[k] += dhat[k];
                dhat[k] *= gain[k];
                sums.x += dhat[k];
                sums.y += dhat[k] * hat[k];
            }
        }
        sums = groupSums(sums, warps, group, exchange[stage]);
        if (inside) {
            const float ofMean = kCentred ? sums.x * share : 0.0F;
            const float ofHat = sums.y * share;
            float dx[N];
            widenAll(loadPack<T, N>(reinterpret_cast<const T*>(place(stage, 2))), dx);
#pragma unroll
            for (int k = 0; k < N; ++k)
                dx[k] += rstd * (dhat[k] - ofMean - hat[k] * ofHat);
            storePack(g.dx + r * g.hidden + i, narrowAll<T, N>(dx));
        }
        stage ^= 1;
    }
    waitForCopies<0>();
    __syncthreads();
    addGroups<kCentred>(reinterpret_cast<float*>(staged), gainSum, biasSum, static_cast<int>(g.hidden), group,
        groups, i, partial);
}

// One block a multiprocessor, of as many groups as find room. cudaErrorNotSupported: the device has not that
// much shared memory.
template <class T, bool kCentred, class Args>
cudaError_t backwardStaged(const Args& g, LaunchContext& context) {
    auto* partial = static_cast<float*>(context.workspace.memory());
    if (partial == nullptr)
        return cudaErrorMemoryAllocation;
    const int warps = static_cast<int>(blocksFor(g.hidden, 8 * 32));
    constexpr int kMostGroups = 15; // each of several warps has a barrier, and the block keeps one
    const int room = kMostThreads / (32 * warps);
    const int groups = warps > 1 && room > kMostGroups ? kMostGroups : room;
    const int threads = groups * warps * 32;
    const int shared = threads * kStages * 3 * 16;
    const auto kernel = normBackwardStaged<T, kCentred, Args>;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared) != cudaSuccess) {
        cudaGetLastError(); // it is not this launch's
        return cudaErrorNotSupported;
    }
    const auto blocks = static_cast<unsigned>(context.multiprocessors);
    kernel<<<blocks, static_cast<unsigned>(threads), static_cast<std::size_t>(shared), context.stream>>>(
        g, warps, partial);
    return addPartialsTo<float>(g.dgain, biasGradientOf(g), partial, blocks, g.hidden, context.stream);
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
        g, warps, kernelForm >= 2, partial);
    return addPartialsTo<float>(g.dgain, biasGradientOf(g), partial, blocks, g.hidden, context.stream);
}

template <class T, bool kCentred, class Args>
cudaError_t backwardStreamed(const Args& g, LaunchContext& context) {
    const auto [packs, warps] = kernelForm == 3 ? spreadOf(g.hidden, {1}, kBackwardThreads<1>)
                                                : spreadOf(g.hidden, {4, 3, 7, 2, 1}, kBackwardThreads<7>);
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
        if (kernelForm != 0 && g.hidden % 8 == 0 && aligned(16, g.x, g.dout, g.dx, g.gain)) {
            const cudaError_t error = backwardStreamed<T, kCentred>(g, context);
            if (error != cudaErrorNotSupported)
                return error;
        }
        if (g.hidden % 8 == 0 && g.hidden <= 8 * kMostThreads && aligned(16, g.x, g.dout, g.dx, g.gain)) {
            const cudaError_t error = backwardStaged<T, kCentred>(g, context);
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
