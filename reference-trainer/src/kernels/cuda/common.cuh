// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"
#include "runtime/cuda/launcher.h"

#include <cstdint>
#include <cstring>

// What the CUDA kernels share. Every kernel takes its Args struct by value, as the host version does; sums
// have an order that depends on shapes only, never on timing, so that two runs agree bit for bit.
namespace gdt::kernels::cuda {

using runtime::cuda::LaunchContext;
using runtime::cuda::Launcher;

/// Fits `K::Args` and a typed launch function to a table entry.
template <class K, cudaError_t (*F)(const typename K::Args&, LaunchContext&)> constexpr Launcher entry() {
    return {K::kName, [](const void* arguments, LaunchContext& context) {
                typename K::Args args;
                std::memcpy(&args, arguments, sizeof(args));
                return F(args, context);
            }};
}

inline cudaError_t launched() {
    return cudaGetLastError();
}

template <class T> inline unsigned blocksFor(T count, int perBlock) {
    return static_cast<unsigned>((count + perBlock - 1) / perBlock);
}

// --- numbers ---------------------------------------------------------------------------------------------

__device__ inline float widen(BFloat16 v) {
    return __uint_as_float(static_cast<unsigned>(v.bits) << 16);
}
__device__ inline float widen(Float16 v) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(v.bits));
    return result;
}
__device__ inline float widen(float v) {
    return v;
}
__device__ inline double widen(double v) {
    return v;
}

template <class T> __device__ inline T narrow(Wide<T> v) {
    return v;
}
template <> __device__ inline BFloat16 narrow<BFloat16>(float v) {
    const unsigned bits = __float_as_uint(v);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
    return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

template <> __device__ inline Float16 narrow<Float16>(float v) {
    Float16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(v));
    return result;
}

__device__ inline float expOf(float v) {
    return expf(v);
}
__device__ inline double expOf(double v) {
    return exp(v);
}
__device__ inline float logOf(float v) {
    return logf(v);
}
__device__ inline double logOf(double v) {
    return log(v);
}
__device__ inline float sqrtOf(float v) {
    return sqrtf(v);
}
__device__ inline double sqrtOf(double v) {
    return sqrt(v);
}
template <class W> __device__ inline W largerOf(W a, W b) {
    return a > b ? a : b;
}
template <class W> __device__ inline W minusInfinity() {
    return -static_cast<W>(__int_as_float(0x7f800000));
}

// --- memory ----------------------------------------------------------------------------------------------

/// N consecutive elements, moved with the widest accesses that their size allows.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };
template <class T> inline constexpr int kPackOf16 = 16 / static_cast<int>(sizeof(T));

/// Whether all of the pointers may be read in packs of `bytes`, each 16 at most.
template <class... P> inline bool aligned(std::size_t bytes, const P*... pointers) {
    return ((reinterpret_cast<std::uintptr_t>(pointers) % bytes == 0) && ...);
}

// --- sums ------------------------------------------------------------------------------------------------

template <class W> __device__ inline W warpSum(W v) {
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffffU, v, step);
    return v;
}
template <class W> __device__ inline W warpMax(W v) {
    for (int step = 16; step > 0; step /= 2)
        v = largerOf(v, __shfl_xor_sync(0xffffffffU, v, step));
    return v;
}

/// Sum over the block, for every thread. `shared` has room for 32 values; blockDim.x is a multiple of 32.
template <class W> __device__ inline W blockSum(W v, W* shared) {
    v = warpSum(v);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = v;
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x) / 32;
    W sum = 0;
    for (int i = 0; i < warps; ++i)
        sum += shared[i];
    return sum;
}

} // namespace gdt::kernels::cuda
