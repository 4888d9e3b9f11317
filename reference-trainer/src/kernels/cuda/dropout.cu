// SPDX-License-Identifier: Apache-2.0
#include "kernels/columns.h"
#include "kernels/cuda/tables.cuh"
#include "kernels/dropout.h"
#include "kernels/philox.h"
#include "kernels/sequence_shard.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <class Args> __device__ bool kept(const Args& g, std::int64_t row, std::int64_t column) {
    if (g.rate <= 0)
        return true;
    const std::int64_t local = g.firstRow + row;
    const std::int64_t position = globalPosition(local / g.batch, g.chunk, g.first0, g.first1);
    const std::int64_t sample = *g.firstSample + local % g.batch;
    const auto element = static_cast<std::uint64_t>((sample * g.seqLen + position) * g.columns + column);
    const PhiloxBlock r = randomBlock(g.seed, g.stream, element);
    return unitInterval(r.v0, r.v1) >= g.rate;
}

template <class T>
__global__ void __launch_bounds__(kThreads) biasDropoutAddKernel(typename BiasDropoutAdd<T>::Args g) {
    using W = Wide<T>;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.rows * g.columns)
        return;
    const std::int64_t column = i % g.columns;
    const W value = widen(g.branch[i]) + (g.bias != nullptr ? widen(g.bias[column]) : W(0));
    const W scale = static_cast<W>(1.0 / (1.0 - g.rate));
    g.out[i] = narrow<T>(widen(g.residual[i]) + (kept(g, i / g.columns, column) ? value * scale : W(0)));
}

// The same without dropout and with whole packs, where every row begins with one.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) biasAddKernel(typename BiasDropoutAdd<T>::Args g) {
    const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
    if (i >= g.rows * g.columns)
        return;
    const auto residual = *reinterpret_cast<const Pack<T, N>*>(g.residual + i);
    const auto branch = *reinterpret_cast<const Pack<T, N>*>(g.branch + i);
    Pack<T, N> bias{};
    if (g.bias != nullptr)
        bias = *reinterpret_cast<const Pack<T, N>*>(g.bias + i % g.columns);
    Pack<T, N> result;
#pragma unroll
    for (int k = 0; k < N; ++k)
        result.v[k] = narrow<T>(widen(residual.v[k]) + (widen(branch.v[k]) + widen(bias.v[k])));
    *reinterpret_cast<Pack<T, N>*>(g.out + i) = result;
}

template <class T>
cudaError_t biasDropoutAdd(const typename BiasDropoutAdd<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if (g.rate <= 0 && g.columns % kPack == 0 && aligned(16, g.residual, g.branch, g.bias, g.out))
        biasAddKernel<T, kPack>
            <<<blocksFor(g.rows * g.columns, kThreads * kPack), kThreads, 0, context.stream>>>(g);
    else
        biasDropoutAddKernel<T><<<blocksFor(g.rows * g.columns, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

template <class T> __global__ void __launch_bounds__(kThreads) dropoutKernel(typename Dropout<T>::Args g) {
    using W = Wide<T>;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.rows * g.columns)
        return;
    const W scale = static_cast<W>(1.0 / (1.0 - g.rate));
    g.out[i] = narrow<T>(kept(g, i / g.columns, i % g.columns) ? widen(g.x[i]) * scale : W(0));
}

template <class T> cudaError_t dropout(const typename Dropout<T>::Args& g, LaunchContext& context) {
    dropoutKernel<T><<<blocksFor(g.rows * g.columns, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

// --- parts of the columns of a matrix ---------------------------------------------------------------------

template <class From, class To, class Args>
__global__ void __launch_bounds__(kThreads) columnsKernel(Args g) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.rows * g.columns)
        return;
    const std::int64_t row = i / g.columns;
    const std::int64_t column = i % g.columns;
    const From value = g.from[row * g.fromStep + column];
    if constexpr (std::is_same_v<From, To>)
        g.to[row * g.toStep + column] = value;
    else
        g.to[row * g.toStep + column] = narrow<To>(value);
}

template <class T> cudaError_t copyColumns(const typename CopyColumns<T>::Args& g, LaunchContext& context) {
    columnsKernel<T, T><<<blocksFor(g.rows * g.columns, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

template <class T> cudaError_t roundColumns(const typename RoundColumns<T>::Args& g, LaunchContext& context) {
    columnsKernel<Wide<T>, T><<<blocksFor(g.rows * g.columns, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<BiasDropoutAdd<T>, biasDropoutAdd<T>>(), entry<Dropout<T>, dropout<T>>(),                          \
        entry<CopyColumns<T>, copyColumns<T>>(), entry<RoundColumns<T>, roundColumns<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), GDT_ENTRIES(Float16)};

} // namespace

std::span<const Launcher> dropoutLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
