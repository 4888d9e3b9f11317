// SPDX-License-Identifier: Apache-2.0
// The classifier when the vocabulary is spread over ranks: three passes with two collectives between them.
#include "kernels/cuda/tables.cuh"
#include "kernels/vocab_parallel.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads) maximumKernel(typename VocabMaximum<T>::Args g) {
    using W = Wide<T>;
    __shared__ W shared[kThreads / 32];
    const T* row = g.logits + blockIdx.x * g.vocab;
    W largest = minusInfinity<W>();
    for (std::int64_t i = threadIdx.x; i < g.vocab; i += kThreads)
        largest = largerOf(largest, widen(row[i]));
    largest = warpMax(largest);
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = largest;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int i = 1; i < kThreads / 32; ++i)
        largest = largerOf(largest, shared[i]);
    g.maxima[blockIdx.x] = largest;
}

template <class T> cudaError_t maximum(const typename VocabMaximum<T>::Args& g, LaunchContext& context) {
    maximumKernel<T><<<static_cast<unsigned>(g.rows), kThreads, 0, context.stream>>>(g);
    return launched();
}

template <class T> __global__ void __launch_bounds__(kThreads) sumsKernel(typename VocabSums<T>::Args g) {
    using W = Wide<T>;
    __shared__ W shared[32];
    const std::int64_t r = blockIdx.x;
    const T* row = g.logits + r * g.vocab;
    const W largest = g.maxima[r];
    W total = 0;
    for (std::int64_t i = threadIdx.x; i < g.vocab; i += kThreads)
        total += expOf(widen(row[i]) - largest);
    total = blockSum(total, shared);
    if (threadIdx.x != 0)
        return;
    const std::int64_t target = g.targets[r] - g.firstToken;
    g.sums[r] = target >= 0 && target < g.vocab ? widen(row[target]) - largest : W(0);
    g.sums[g.rows + r] = total;
}

template <class T> cudaError_t sums(const typename VocabSums<T>::Args& g, LaunchContext& context) {
    sumsKernel<T><<<static_cast<unsigned>(g.rows), kThreads, 0, context.stream>>>(g);
    return launched();
}

template <class T>
__global__ void __launch_bounds__(kThreads) crossEntropyKernel(typename VocabCrossEntropy<T>::Args g) {
    using W = Wide<T>;
    const std::int64_t r = blockIdx.x;
    T* row = g.logits + r * g.vocab;
    const W largest = g.maxima[r];
    const W total = g.sums[g.rows + r];
    const std::int64_t target = g.targets[r] - g.firstToken;
    const W scale = static_cast<W>(g.weight * g.state->lossScale);
    if (threadIdx.x == 0)
        g.losses[r] = logOf(total) - g.sums[r];
    for (std::int64_t i = threadIdx.x; i < g.vocab; i += kThreads) {
        const W value = expOf(widen(row[i]) - largest) * (scale / total);
        row[i] = narrow<T>(i == target ? value - scale : value);
    }
}

template <class T>
cudaError_t crossEntropy(const typename VocabCrossEntropy<T>::Args& g, LaunchContext& context) {
    crossEntropyKernel<T><<<static_cast<unsigned>(g.rows), kThreads, 0, context.stream>>>(g);
    return launched();
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<VocabMaximum<T>, maximum<T>>(), entry<VocabSums<T>, sums<T>>(),                                    \
        entry<VocabCrossEntropy<T>, crossEntropy<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), GDT_ENTRIES(Float16)};

} // namespace

std::span<const Launcher> vocabParallelLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
