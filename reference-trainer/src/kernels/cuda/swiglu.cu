// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/tables.cuh"
#include "kernels/swiglu.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// What is rounded to 16 bits afterwards needs no more than the hardware's own exponential.
template <class T> __device__ inline Wide<T> sigmoid(Wide<T> x) {
    if constexpr (isNarrow<T>)
        return __fdividef(1.0F, 1.0F + __expf(-x));
    else
        return Wide<T>(1) / (Wide<T>(1) + expOf(-x));
}

// The thread's first column, N columns a thread, and its row.
template <int N> __device__ inline std::int64_t columnOfThread() {
    return (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * N;
}
__device__ inline std::int64_t rowOfThread() {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) swigluForwardKernel(typename SwigluForward<T>::Args g) {
    const std::int64_t c = columnOfThread<N>();
    const std::int64_t r = rowOfThread();
    if (c >= g.width || r >= g.rows)
        return;
    const T* x = g.x + r * 2 * g.width + c;
    Wide<T> gate[N], value[N];
    widenAll(loadPack<T, N>(x), gate);
    widenAll(loadPack<T, N>(x + g.width), value);
#pragma unroll
    for (int k = 0; k < N; ++k)
        value[k] *= gate[k] * sigmoid<T>(gate[k]);
    storePack(g.out + r * g.width + c, narrowAll<T, N>(value));
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) swigluBackwardKernel(typename SwigluBackward<T>::Args g) {
    using W = Wide<T>;
    const std::int64_t c = columnOfThread<N>();
    const std::int64_t r = rowOfThread();
    if (c >= g.width || r >= g.rows)
        return;
    const T* x = g.x + r * 2 * g.width + c;
    W gate[N], value[N], dout[N];
    widenAll(loadPack<T, N>(x), gate);
    widenAll(loadPack<T, N>(x + g.width), value);
    widenAll(loadPack<T, N>(g.dout + r * g.width + c), dout);
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const W s = sigmoid<T>(gate[k]);
        const W passed = dout[k] * s;
        value[k] *= passed * (W(1) + gate[k] * (W(1) - s));
        gate[k] *= passed;
    }
    T* dx = g.dx + r * 2 * g.width + c;
    storePack(dx, narrowAll<T, N>(value));
    storePack(dx + g.width, narrowAll<T, N>(gate));
}

// Launches a kernel of the above: the columns of a row split evenly among blocks along y, as many rows in a
// block as there is room for.
template <class Args>
cudaError_t launchOver(void (*kernel)(Args), const Args& g, int each, LaunchContext& context) {
    const unsigned packs = blocksFor(g.width, each);
    const unsigned along = blocksFor(packs, kThreads);
    const unsigned threads = blocksFor(packs, static_cast<int>(along));
    const unsigned rows = kThreads / threads;
    const dim3 grid(blocksFor(g.rows, static_cast<int>(rows)), along);
    kernel<<<grid, dim3(threads, rows), 0, context.stream>>>(g);
    return launched();
}

template <class T>
cudaError_t swigluForward(const typename SwigluForward<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if (g.width % kPack == 0 && aligned(16, g.x, g.out))
        return launchOver(swigluForwardKernel<T, kPack>, g, kPack, context);
    return launchOver(swigluForwardKernel<T, 1>, g, 1, context);
}

template <class T>
cudaError_t swigluBackward(const typename SwigluBackward<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    if (g.width % kPack == 0 && aligned(16, g.x, g.dout, g.dx))
        return launchOver(swigluBackwardKernel<T, kPack>, g, kPack, context);
    return launchOver(swigluBackwardKernel<T, 1>, g, 1, context);
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
