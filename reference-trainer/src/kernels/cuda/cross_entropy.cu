// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy.h"
#include "kernels/cuda/tables.cuh"

namespace gdt::kernels::cuda {

namespace {

// What is rounded to 16 bits afterwards needs no more than the hardware's own exponential.
template <class T> __device__ Wide<T> expFor(Wide<T> v) {
    if constexpr (isNarrow<T>)
        return __expf(v);
    else
        return expOf(v);
}

// Largest value and sum of exp(value - largest) of what was seen so far.
template <class T, class W = Wide<T>> struct Running {
    W largest;
    W total;

    template <int N> __device__ void add(const W (&values)[N]) {
        W seen = values[0];
#pragma unroll
        for (int k = 1; k < N; ++k)
            seen = largerOf(seen, values[k]);
        if (seen > largest) {
            total *= expFor<T>(largest - seen);
            largest = seen;
        }
#pragma unroll
        for (int k = 0; k < N; ++k)
            total += expFor<T>(values[k] - largest);
    }
    __device__ void merge(W otherLargest, W otherTotal) {
        const W both = largerOf(largest, otherLargest);
        if (both == minusInfinity<W>())
            return;
        total = total * expFor<T>(largest - both) + otherTotal * expFor<T>(otherLargest - both);
        largest = both;
    }
};

template <class T, class W = Wide<T>> __device__ Running<T> blockRunning(Running<T> own, W* shared) {
    for (int step = 16; step > 0; step /= 2) {
        // Both lanes of a pair compute the same sum, since the merge treats them alike.
        const W largest = __shfl_xor_sync(0xffffffffU, own.largest, step);
        const W total = __shfl_xor_sync(0xffffffffU, own.total, step);
        own.merge(largest, total);
    }
    const int warps = static_cast<int>(blockDim.x) / 32;
    if (warps == 1)
        return own;
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = own.largest;
        shared[32 + threadIdx.x / 32] = own.total;
    }
    __syncthreads();
    Running<T> all{shared[0], shared[32]};
    for (int i = 1; i < warps; ++i)
        all.merge(shared[i], shared[32 + i]);
    return all;
}

// One block a row: one pass for the sum, one that turns the logits into their gradient.
template <class T, int N> __global__ void crossEntropy(typename SoftmaxCrossEntropy<T>::Args g) {
    using W = Wide<T>;
    __shared__ W shared[64];
    const std::int64_t r = blockIdx.x;
    T* row = g.logits + r * g.vocab;
    const std::int64_t target = g.targets[r];
    const W targetLogit = widen(row[target]);
    Running<T> own{minusInfinity<W>(), W(0)};
    for (std::int64_t i = static_cast<std::int64_t>(threadIdx.x) * N; i < g.vocab; i += blockDim.x * N) {
        const auto x = *reinterpret_cast<const Pack<T, N>*>(row + i);
        W values[N];
#pragma unroll
        for (int k = 0; k < N; ++k)
            values[k] = widen(x.v[k]);
        own.add(values);
    }
    const Running<T> all = blockRunning<T>(own, shared);
    if (threadIdx.x == 0)
        g.losses[r] = logOf(all.total) - (targetLogit - all.largest);
    const W scale = static_cast<W>(g.weight * g.state->lossScale);
    const W share = scale / all.total;
    __syncthreads(); // everybody has read the target's logit
    for (std::int64_t i = static_cast<std::int64_t>(threadIdx.x) * N; i < g.vocab; i += blockDim.x * N) {
        auto x = *reinterpret_cast<const Pack<T, N>*>(row + i);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            W value = expFor<T>(widen(x.v[k]) - all.largest) * share;
            if (i + k == target)
                value -= scale;
            x.v[k] = narrow<T>(value);
        }
        *reinterpret_cast<Pack<T, N>*>(row + i) = x;
    }
}

template <class T>
cudaError_t softmaxCrossEntropy(const typename SoftmaxCrossEntropy<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    const unsigned threads = g.vocab <= 256 ? 32 : g.vocab <= 4096 ? 128 : 512;
    const auto rows = static_cast<unsigned>(g.rows);
    if (g.vocab % kPack == 0 && aligned(16, g.logits))
        crossEntropy<T, kPack><<<rows, threads, 0, context.stream>>>(g);
    else
        crossEntropy<T, 1><<<rows, threads, 0, context.stream>>>(g);
    return launched();
}

constexpr int kSumThreads = 1024;

template <class T>
__global__ void __launch_bounds__(kSumThreads) lossAccumulateKernel(typename LossAccumulate<T>::Args g) {
    __shared__ double shared[32];
    double sum = 0;
    for (std::int64_t r = threadIdx.x; r < g.rows; r += kSumThreads)
        sum += static_cast<double>(g.losses[r]);
    sum = blockSum(sum, shared);
    if (threadIdx.x == 0)
        g.state->loss += g.weight * sum;
}

template <class T>
cudaError_t lossAccumulate(const typename LossAccumulate<T>::Args& g, LaunchContext& context) {
    lossAccumulateKernel<T><<<1, kSumThreads, 0, context.stream>>>(g);
    return launched();
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<SoftmaxCrossEntropy<T>, softmaxCrossEntropy<T>>(), entry<LossAccumulate<T>, lossAccumulate<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), GDT_ENTRIES(Float16)};

} // namespace

std::span<const Launcher> crossEntropyLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
