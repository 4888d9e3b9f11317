// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/tables.cuh"
#include "kernels/fp8.h"
#include "kernels/small_format.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;
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

// The larger magnitude; what is not a number wins.
__device__ inline float larger(float most, float value) {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(most), "f"(fabsf(value)));
    return result;
}

// The largest magnitude of a block joins *amax. The bits of numbers without a sign are in their
// order, and a maximum depends on no order. Updates of one address wait for each other, so a block makes one
// at most, and none that would change nothing. `known`: what thread 0 found there earlier, if it is above 0.
__device__ inline void joinAmax(float most, float* amax, int known = 0) {
    __shared__ int shared[kThreads / 32];
    if (amax == nullptr)
        return;
    int bits = __float_as_int(most);
    for (int step = 16; step > 0; step /= 2)
        bits = max(bits, __shfl_xor_sync(0xffffffffU, bits, step));
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = bits;
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    for (int w = 1; w < kThreads / 32; ++w)
        bits = max(bits, shared[w]);
    auto* all = reinterpret_cast<int*>(amax);
    if (bits > (known > 0 ? known : *static_cast<volatile int*>(all)))
        atomicMax(all, bits);
}

constexpr int kPacks = 2; // a thread

// A thread converts kPacks packs of N elements; N is even, or 1.
template <class T, bool kGradient, int N>
__global__ void __launch_bounds__(kThreads) quantizeKernel(typename QuantizeFp8<T>::Args g) {
    const std::int64_t count = g.rows * g.columns;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads * kPacks + threadIdx.x) * N;
    Pack<T, N> x[kPacks];
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
        const std::int64_t i = first + static_cast<std::int64_t>(u) * kThreads * N;
        x[u] = {};
        if (i < count)
            x[u] = loadPack<T, N>(g.x + i);
    }
    const float scale = *g.scale;
    float most = 0;
#pragma unroll
    for (int u = 0; u < kPacks; ++u) {
        const std::int64_t i = first + static_cast<std::int64_t>(u) * kThreads * N;
        if (i >= count)
            break;
        float values[N];
        widenAll(x[u], values);
#pragma unroll
        for (int k = 0; k < N; ++k)
            most = larger(most, values[k]);
        if constexpr (N == 1) {
            g.out[i] = static_cast<std::uint8_t>(packedFp8<kGradient>(values[0] * scale, 0.0F));
        } else {
            Pack<std::uint16_t, N / 2> out;
#pragma unroll
            for (int k = 0; k < N / 2; ++k)
                out.v[k] = packedFp8<kGradient>(values[2 * k] * scale, values[2 * k + 1] * scale);
            storePack(reinterpret_cast<std::uint16_t*>(g.out + i), out);
        }
    }
    joinAmax(most, g.amax);
}

// A block turns kTileRows x kTileColumns. A thread converts eight columns of four rows, which makes a word of
// four rows for each column. In shared memory a column's words lie one after the other, in chunks of 16 bytes
// that are permuted so that neither side meets a bank twice; from there they leave as chunks of 16 rows.
constexpr int kTileRows = 128;
constexpr int kTileColumns = 64;
constexpr int kChunks = kTileRows / 16;

__device__ inline int chunkOf(int column, int chunk) {
    return column * kChunks + (chunk ^ (column / 8 % kChunks));
}

template <class T, bool kGradient>
__global__ void __launch_bounds__(kThreads) transposeKernel(typename QuantizeFp8<T>::Args g) {
    constexpr int N = 8;
    constexpr int kRowPacks = kTileColumns / N; // of a row of the tile
    __shared__ uint4 tile[kTileColumns * kChunks];
    auto* words = reinterpret_cast<std::uint32_t*>(tile);
    const std::int64_t firstRow = static_cast<std::int64_t>(blockIdx.y) * kTileRows;
    const std::int64_t firstColumn = static_cast<std::int64_t>(blockIdx.x) * kTileColumns;
    const int pack = static_cast<int>(threadIdx.x) % kRowPacks;
    const int quad = static_cast<int>(threadIdx.x) / kRowPacks;
    const std::int64_t column = firstColumn + pack * N;
    Pack<T, N> x[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const std::int64_t row = firstRow + quad * 4 + j;
        x[j] = {};
        if (row < g.rows && column < g.columns)
            x[j] = loadPack<T, N>(g.x + row * g.columns + column);
    }
    const float scale = *g.scale;
    const int known = g.amax != nullptr && threadIdx.x == 0 ? *reinterpret_cast<volatile int*>(g.amax) : 0;
    float values[4][N];
    float most = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        widenAll(x[j], values[j]);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            most = larger(most, values[j][k]);
            values[j][k] *= scale;
        }
    }
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const std::uint32_t low = packedFp8<kGradient>(values[0][k], values[1][k]);
        const std::uint32_t high = packedFp8<kGradient>(values[2][k], values[3][k]);
        words[chunkOf(pack * N + k, quad / 4) * 4 + quad % 4] = low | high << 16U;
    }
    __syncthreads();
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kTileColumns * kChunks; i += kThreads) {
        const std::int64_t outColumn = firstColumn + i / kChunks;
        const std::int64_t row = firstRow + i % kChunks * 16;
        if (outColumn < g.columns && row < g.rows)
            *reinterpret_cast<uint4*>(g.out + outColumn * g.rows + row)
                = tile[chunkOf(i / kChunks, i % kChunks)];
    }
    joinAmax(most, g.amax, known);
}

// The same for any size, element by element.
template <class T, bool kGradient>
__global__ void __launch_bounds__(kThreads) transposeAnyKernel(typename QuantizeFp8<T>::Args g) {
    constexpr int kSide = 32;
    __shared__ std::uint8_t tile[kSide][kSide + 4];
    const float scale = *g.scale;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int part = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t firstRow = static_cast<std::int64_t>(blockIdx.y) * kSide;
    const std::int64_t firstColumn = static_cast<std::int64_t>(blockIdx.x) * kSide;
    float most = 0;
    for (int r = part; r < kSide; r += kThreads / 32) {
        const std::int64_t row = firstRow + r;
        const std::int64_t column = firstColumn + lane;
        const bool exists = row < g.rows && column < g.columns;
        const float value = exists ? widen(g.x[row * g.columns + column]) : 0.0F;
        most = larger(most, value);
        tile[r][lane] = static_cast<std::uint8_t>(packedFp8<kGradient>(value * scale, 0.0F));
    }
    __syncthreads();
    for (int c = part; c < kSide; c += kThreads / 32) {
        const std::int64_t row = firstRow + lane;
        const std::int64_t column = firstColumn + c;
        if (row < g.rows && column < g.columns)
            g.out[column * g.rows + row] = tile[lane][c];
    }
    joinAmax(most, g.amax);
}

template <class T, bool kGradient>
cudaError_t transposeAs(const typename QuantizeFp8<T>::Args& g, LaunchContext& context) {
    if (g.rows % 16 == 0 && g.columns % 8 == 0 && aligned(16, g.x, g.out)) {
        const dim3 grid(blocksFor(g.columns, kTileColumns), blocksFor(g.rows, kTileRows));
        transposeKernel<T, kGradient><<<grid, kThreads, 0, context.stream>>>(g);
    } else {
        const dim3 grid(blocksFor(g.columns, 32), blocksFor(g.rows, 32));
        transposeAnyKernel<T, kGradient><<<grid, kThreads, 0, context.stream>>>(g);
    }
    return launched();
}

template <class T, bool kGradient>
cudaError_t quantizeAs(const typename QuantizeFp8<T>::Args& g, LaunchContext& context) {
    if (g.transposed)
        return transposeAs<T, kGradient>(g, context);
    constexpr int kPack = kPackOf16<T>;
    const std::int64_t count = g.rows * g.columns;
    if (count % kPack == 0 && aligned(16, g.x) && aligned(kPack, g.out))
        quantizeKernel<T, kGradient, kPack>
            <<<blocksFor(count, kThreads * kPack * kPacks), kThreads, 0, context.stream>>>(g);
    else
        quantizeKernel<T, kGradient, 1>
            <<<blocksFor(count, kThreads * kPacks), kThreads, 0, context.stream>>>(g);
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
