// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common.cuh"

#include <cstdint>

// What kernels bound by memory share: packs of 16-bit numbers converted in pairs by the hardware, since a
// conversion in software costs more than the memory access it belongs to, and sums of columns in two stages.
namespace gdt::kernels::cuda {

/// The numbers of a pack.
template <class T, int N> __device__ inline void widenAll(const Pack<T, N>& from, Wide<T> (&to)[N]) {
    if constexpr (isNarrow<T> && N % 2 == 0) {
        std::uint32_t words[N / 2];
        std::memcpy(words, &from, sizeof(words));
#pragma unroll
        for (int k = 0; k < N / 2; ++k) {
            if constexpr (std::is_same_v<T, BFloat16>) {
                to[2 * k] = __uint_as_float(words[k] << 16);
                to[2 * k + 1] = __uint_as_float(words[k] & 0xffff0000U);
            } else {
                asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\n"
                    "cvt.f32.f16 %0, low;\ncvt.f32.f16 %1, high;\n}"
                    : "=f"(to[2 * k]), "=f"(to[2 * k + 1])
                    : "r"(words[k]));
            }
        }
    } else {
#pragma unroll
        for (int k = 0; k < N; ++k)
            to[k] = widen(from.v[k]);
    }
}

/// Numbers rounded to T, to nearest.
template <class T, int N> __device__ inline Pack<T, N> narrowAll(const Wide<T> (&from)[N]) {
    Pack<T, N> to;
    if constexpr (isNarrow<T> && N % 2 == 0) {
        std::uint32_t words[N / 2];
#pragma unroll
        for (int k = 0; k < N / 2; ++k) { // the first operand becomes the upper half
            if constexpr (std::is_same_v<T, BFloat16>)
                asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
                    : "=r"(words[k])
                    : "f"(from[2 * k + 1]), "f"(from[2 * k]));
            else
                asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(words[k]) : "f"(from[2 * k + 1]), "f"(from[2 * k]));
        }
        std::memcpy(&to, words, sizeof(words));
    } else {
#pragma unroll
        for (int k = 0; k < N; ++k)
            to.v[k] = narrow<T>(from[k]);
    }
    return to;
}

template <class T, int N> __device__ inline Pack<T, N> loadPack(const T* from) {
    return *reinterpret_cast<const Pack<T, N>*>(from);
}
template <class T, int N> __device__ inline void storePack(T* to, const Pack<T, N>& pack) {
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

/// Second stage of sums over rows: adds partial[p, columns of first, columns of second] over p to first and
/// second, of `columns` each; second may be null, then it has no columns in `partial` either. A block of
/// kPartialThreads takes 32 columns, its warps every kPartialWarps-th p, and adds their sums in order.
constexpr int kPartialWarps = 16;
constexpr int kPartialThreads = 32 * kPartialWarps;

template <class W>
__global__ void __launch_bounds__(kPartialThreads)
    addPartialSums(const W* partial, W* first, W* second, std::int64_t count, std::int64_t columns) {
    __shared__ W shared[kPartialWarps][32];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int part = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t width = second == nullptr ? columns : 2 * columns;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
    W sum = 0;
    if (column < width) {
#pragma unroll 8
        for (std::int64_t p = part; p < count; p += kPartialWarps)
            sum += partial[p * width + column];
    }
    shared[part][lane] = sum;
    __syncthreads();
    if (part != 0 || column >= width)
        return;
#pragma unroll
    for (int p = 1; p < kPartialWarps; ++p)
        sum += shared[p][lane];
    W* out = column < columns ? first + column : second + (column - columns);
    *out += sum;
}

template <class W>
inline cudaError_t addPartialsTo(
    W* first, W* second, const W* partial, std::int64_t count, std::int64_t columns, cudaStream_t stream) {
    const std::int64_t width = second == nullptr ? columns : 2 * columns;
    addPartialSums<W>
        <<<blocksFor(width, 32), kPartialThreads, 0, stream>>>(partial, first, second, count, columns);
    return launched();
}

} // namespace gdt::kernels::cuda
