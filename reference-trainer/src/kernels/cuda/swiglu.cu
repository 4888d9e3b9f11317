// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tables.cuh"
#include "kernels/swiglu.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr unsigned kMostRows = 65535; // blocks along y

// What is rounded to 16 bits afterwards needs no more than the hardware's own exponential.
template <class T> __device__ inline Wide<T> sigmoid(Wide<T> x) {
    if constexpr (isNarrow<T>)
        return __fdividef(1.0F, 1.0F + __expf(-x));
    else
        return Wide<T>(1) / (Wide<T>(1) + expOf(-x));
}

// A thread takes N columns, in every gridDim.y-th row.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) swigluForwardKernel(typename SwigluForward<T>::Args g) {
    using W = Wide<T>;
    using Some = Pack<T, N>;
    const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
    if (c >= g.width)
        return;
    for (std::int64_t r = blockIdx.y; r < g.rows; r += gridDim.y) {
        const T* from = g.x + r * 2 * g.width + c;
        const Some gates = *reinterpret_cast<const Some*>(from);
        const Some values = *reinterpret_cast<const Some*>(from + g.width);
        Some out;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const W gate = widen(gates.v[k]);
            out.v[k] = narrow<T>(gate * sigmoid<T>(gate) * widen(values.v[k]));
        }
        *reinterpret_cast<Some*>(g.out + r * g.width + c) = out;
    }
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) swigluBackwardKernel(typename SwigluBackward<T>::Args g) {
    using W = Wide<T>;
    using Some = Pack<T, N>;
    const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
    if (c >= g.width)
        return;
    for (std::int64_t r = blockIdx.y; r < g.rows; r += gridDim.y) {
        const std::int64_t at = r * 2 * g.width + c;
        const Some gates = *reinterpret_cast<const Some*>(g.x + at);
        const Some values = *reinterpret_cast<const Some*>(g.x + at + g.width);
        const Some dout = *reinterpret_cast<const Some*>(g.dout + r * g.width + c);
        Some dgates;
        Some dvalues;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const W gate = widen(gates.v[k]);
            const W d = widen(dout.v[k]);
            const W s = sigmoid<T>(gate);
            dgates.v[k] = narrow<T>(d * widen(values.v[k]) * s * (W(1) + gate * (W(1) - s)));
            dvalues.v[k] = narrow<T>(d * gate * s);
        }
        *reinterpret_cast<Some*>(g.dx + at) = dgates;
        *reinterpret_cast<Some*>(g.dx + at + g.width) = dvalues;
    }
}

template <class Args> dim3 gridOf(const Args& g, int each) {
    const auto rows = static_cast<unsigned>(g.rows < kMostRows ? g.rows : kMostRows);
    return {blocksFor(g.width, kThreads * each), rows};
}

template <class T>
cudaError_t swigluForward(const typename SwigluForward<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if (g.width % kPack == 0 && aligned(16, g.x, g.out))
        swigluForwardKernel<T, kPack><<<gridOf(g, kPack), kThreads, 0, context.stream>>>(g);
    else
        swigluForwardKernel<T, 1><<<gridOf(g, 1), kThreads, 0, context.stream>>>(g);
    return launched();
}

template <class T>
cudaError_t swigluBackward(const typename SwigluBackward<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if (g.width % kPack == 0 && aligned(16, g.x, g.dout, g.dx))
        swigluBackwardKernel<T, kPack><<<gridOf(g, kPack), kThreads, 0, context.stream>>>(g);
    else
        swigluBackwardKernel<T, 1><<<gridOf(g, 1), kThreads, 0, context.stream>>>(g);
    return launched();
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<SwigluForward<T>, swigluForward<T>>(), entry<SwigluBackward<T>, swigluBackward<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), GDT_ENTRIES(Float16)};

} // namespace

std::span<const Launcher> swigluLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
