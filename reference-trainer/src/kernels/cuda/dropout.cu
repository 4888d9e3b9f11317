// SPDX-License-Identifier: Apache-2.0
#include "kernels/columns.h"
#include "kernels/cuda/packs.cuh"
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

template <class To, int N, class From> __device__ inline Pack<To, N> converted(const Pack<From, N>& from) {
    if constexpr (std::is_same_v<From, To>) {
        return from;
    } else {
        Wide<To> values[N];
        widenAll(from, values);
        return narrowAll<To, N>(values);
    }
}

// A thread takes a pack of N columns of kColumnRows rows, whose loads are under way together.
constexpr int kColumnRows = 4;

template <class From, class To, int N, class Args>
__global__ void __launch_bounds__(kThreads) columnsKernel(Args g) {
    const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
    if (column >= g.columns)
        return;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kColumnRows;
    for (std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kColumnRows; first < g.rows;
         first += step) {
        Pack<From, N> packs[kColumnRows];
#pragma unroll
        for (int u = 0; u < kColumnRows; ++u) {
            if (first + u < g.rows)
                packs[u] = loadPack<From, N>(g.from + (first + u) * g.fromStep + column);
        }
#pragma unroll
        for (int u = 0; u < kColumnRows; ++u) {
            if (first + u < g.rows)
                storePack(g.to + (first + u) * g.toStep + column, converted<To>(packs[u]));
        }
    }
}

template <class From, class To, int N, class Args>
cudaError_t columnsBy(const Args& g, LaunchContext& context) {
    constexpr unsigned kMostBlocks = 65535; // along y
    const unsigned warps = blocksFor(g.columns, 32 * N);
    const unsigned threads = warps > kThreads / 32 ? kThreads : 32 * warps;
    const unsigned rows = blocksFor(g.rows, kColumnRows);
    const dim3 grid(
        blocksFor(g.columns, static_cast<int>(threads) * N), rows > kMostBlocks ? kMostBlocks : rows);
    columnsKernel<From, To, N><<<grid, threads, 0, context.stream>>>(g);
    return launched();
}

template <class From, class To, class Args> cudaError_t columnsOf(const Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<From>;
    if ((g.columns | g.fromStep | g.toStep) % kPack == 0 && aligned(16, g.from)
        && aligned(kPack * sizeof(To), g.to))
        return columnsBy<From, To, kPack>(g, context);
    return columnsBy<From, To, 1>(g, context);
}

template <class T> cudaError_t copyColumns(const typename CopyColumns<T>::Args& g, LaunchContext& context) {
    return columnsOf<T, T>(g, context);
}

template <class T> cudaError_t roundColumns(const typename RoundColumns<T>::Args& g, LaunchContext& context) {
    return columnsOf<Wide<T>, T>(g, context);
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
