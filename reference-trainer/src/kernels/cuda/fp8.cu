// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tables.cuh"
#include "kernels/fp8.h"
#include "kernels/small_format.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kTile = 32; // of the matrix that a block transposes
constexpr int kTileRows = 8;

// Two numbers to nearest, saturated, the first in the lower byte. GPUs before Ada have no instruction for it.
template <bool kGradient> __device__ inline std::uint16_t packedFp8(float low, float high) {
#if __CUDA_ARCH__ >= 890
    std::uint16_t r;
    if constexpr (kGradient)
        asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;\n" : "=h"(r) : "f"(high), "f"(low));
    else
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;\n" : "=h"(r) : "f"(high), "f"(low));
    return r;
#else
    constexpr SmallFormat kFormat = kGradient ? kE5M2 : kE4M3;
    return static_cast<std::uint16_t>(encode(low, kFormat, true) | encode(high, kFormat, true) << 8U);
#endif
}

// The largest magnitude of the block joins *amax. The bits of numbers without a sign are in their order, and
// a maximum depends on no order.
__device__ inline void joinAmax(float most, float* amax) {
    if (amax == nullptr)
        return;
    int bits = __float_as_int(most);
    for (int step = 16; step > 0; step /= 2)
        bits = max(bits, __shfl_xor_sync(0xffffffffU, bits, step));
    if ((threadIdx.x + threadIdx.y * blockDim.x) % 32 == 0)
        atomicMax(reinterpret_cast<int*>(amax), bits);
}

__device__ inline float larger(float most, float value) {
    return __int_as_float(max(__float_as_int(most), __float_as_int(fabsf(value))));
}

// N elements a thread in each round; N is even, or 1.
template <class T, bool kGradient, int N>
__global__ void __launch_bounds__(kThreads) quantizeKernel(typename QuantizeFp8<T>::Args g) {
    const std::int64_t count = g.rows * g.columns;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads * N;
    const float scale = *g.scale;
    float most = 0;
    for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N; i < count;
         i += step) {
        const auto x = *reinterpret_cast<const Pack<T, N>*>(g.x + i);
        Pack<std::uint8_t, N> out;
#pragma unroll
        for (int k = 0; k < N; k += 2) {
            const float low = widen(x.v[k]);
            const float high = N > 1 ? widen(x.v[N > 1 ? k + 1 : k]) : 0.0F;
            most = larger(larger(most, low), high);
            const std::uint16_t both = packedFp8<kGradient>(low * scale, high * scale);
            out.v[k] = static_cast<std::uint8_t>(both);
            if constexpr (N > 1)
                out.v[k + 1] = static_cast<std::uint8_t>(both >> 8);
        }
        *reinterpret_cast<Pack<std::uint8_t, N>*>(g.out + i) = out;
    }
    joinAmax(most, g.amax);
}

template <class T, bool kGradient>
__global__ void __launch_bounds__(kTile* kTileRows) transposeKernel(typename QuantizeFp8<T>::Args g) {
    __shared__ std::uint8_t tile[kTile][kTile + 4];
    const float scale = *g.scale;
    const std::int64_t firstRow = static_cast<std::int64_t>(blockIdx.y) * kTile;
    const std::int64_t firstColumn = static_cast<std::int64_t>(blockIdx.x) * kTile;
    float most = 0;
    for (int r = static_cast<int>(threadIdx.y); r < kTile; r += kTileRows) {
        const std::int64_t row = firstRow + r;
        const std::int64_t column = firstColumn + threadIdx.x;
        const bool exists = row < g.rows && column < g.columns;
        const float value = exists ? widen(g.x[row * g.columns + column]) : 0.0F;
        most = larger(most, value);
        tile[r][threadIdx.x] = static_cast<std::uint8_t>(packedFp8<kGradient>(value * scale, 0.0F));
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.y); c < kTile; c += kTileRows) {
        const std::int64_t row = firstRow + threadIdx.x;
        const std::int64_t column = firstColumn + c;
        if (row < g.rows && column < g.columns)
            g.out[column * g.rows + row] = tile[threadIdx.x][c];
    }
    joinAmax(most, g.amax);
}

template <class T, bool kGradient>
cudaError_t quantizeAs(const typename QuantizeFp8<T>::Args& g, LaunchContext& context) {
    if (g.transposed) {
        const dim3 grid(blocksFor(g.columns, kTile), blocksFor(g.rows, kTile));
        transposeKernel<T, kGradient><<<grid, dim3(kTile, kTileRows), 0, context.stream>>>(g);
        return launched();
    }
    constexpr int kPack = kPackOf16<T>;
    const std::int64_t count = g.rows * g.columns;
    const unsigned most = static_cast<unsigned>(context.multiprocessors) * 16;
    const unsigned wanted = blocksFor(count, kThreads * kPack);
    const unsigned blocks = wanted > most ? most : wanted;
    if (count % kPack == 0 && aligned(16, g.x) && aligned(kPack, g.out))
        quantizeKernel<T, kGradient, kPack><<<blocks, kThreads, 0, context.stream>>>(g);
    else
        quantizeKernel<T, kGradient, 1><<<blocks, kThreads, 0, context.stream>>>(g);
    return launched();
}

template <class T> cudaError_t quantize(const typename QuantizeFp8<T>::Args& g, LaunchContext& context) {
    return g.gradient ? quantizeAs<T, true>(g, context) : quantizeAs<T, false>(g, context);
}

__global__ void __launch_bounds__(kThreads) updateScalesKernel(UpdateFp8Scales::Args g) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.count)
        return;
    g.history[g.state->step % kFp8History * g.count + i] = g.amax[i];
    g.amax[i] = 0;
    float most = 0;
    for (std::int64_t s = 0; s < kFp8History; ++s)
        most = larger(most, g.history[s * g.count + i]);
    if (!(most > 0) || !isfinite(most))
        return;
    const float largest = i % kFp8Tensors == 2 ? kMostE5M2 : kMostE4M3;
    g.scale[i] = ldexpf(1.0F, min(max(ilogbf(largest / most), -100), 100));
    g.inverse[i].value = 1.0F / g.scale[i];
}

cudaError_t updateScales(const UpdateFp8Scales::Args& g, LaunchContext& context) {
    updateScalesKernel<<<blocksFor(g.count, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

__global__ void setFp8ScaleKernel(SetFp8Scale::Args g) {
    *g.scale = static_cast<float>(g.value);
    g.inverse->value = 1.0F / *g.scale;
}

cudaError_t setFp8Scale(const SetFp8Scale::Args& g, LaunchContext& context) {
    setFp8ScaleKernel<<<1, 1, 0, context.stream>>>(g);
    return launched();
}

constexpr Launcher kTable[] = {entry<QuantizeFp8<BFloat16>, quantize<BFloat16>>(),
    entry<UpdateFp8Scales, updateScales>(), entry<SetFp8Scale, setFp8Scale>()};

} // namespace

std::span<const Launcher> fp8Launchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
