// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/tables.cuh"
#include "kernels/elementwise.h"
#include "kernels/philox.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// --- one element in, one out -----------------------------------------------------------------------------

__device__ inline float tanhOf(float x) {
    const float bounded = fminf(fmaxf(x, -30.0F), 30.0F);
    return 1.0F - 2.0F / (expf(2.0F * bounded) + 1.0F);
}
__device__ inline double tanhOf(double x) {
    const double bounded = fmin(fmax(x, -30.0), 30.0);
    return 1.0 - 2.0 / (exp(2.0 * bounded) + 1.0);
}

constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kCubic = 0.044715;

// What is rounded to 16 bits afterwards needs no more than the hardware's own tanh (relative error 2^-11).
template <class T> __device__ inline Wide<T> tanhFor(Wide<T> x) {
    if constexpr (isNarrow<T>) {
        float result;
        asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
        return result;
    } else {
        return tanhOf(x);
    }
}

// x * (1 + tanh(u)) / 2 with u = sqrt(2 / pi) * (x + kCubic * x^3).
template <class T, class W = Wide<T>> __device__ inline W gelu(W x) {
    const W t = tanhFor<T>(x * (W(kSqrt2OverPi) + W(kSqrt2OverPi * kCubic) * (x * x)));
    const W half = W(0.5) * x;
    return half + half * t;
}

template <class T, class W = Wide<T>> __device__ inline W geluGradient(W x, W dout) {
    const W square = x * x;
    const W t = tanhFor<T>(x * (W(kSqrt2OverPi) + W(kSqrt2OverPi * kCubic) * square));
    const W slope = W(0.5 * kSqrt2OverPi) + W(1.5 * kSqrt2OverPi * kCubic) * square; // half of du/dx
    return dout * ((W(0.5) + W(0.5) * t) + x * slope * (W(1) - t * t));
}

template <class T> struct Gelu {
    __device__ static Wide<T> of(Wide<T> a, Wide<T>) { return gelu<T>(a); }
};
template <class T> struct GeluSlope {
    __device__ static Wide<T> of(Wide<T> a, Wide<T> b) { return geluGradient<T>(a, b); }
};
template <class T> struct Sum {
    __device__ static Wide<T> of(Wide<T> a, Wide<T> b) { return a + b; }
};

// out = F(a, b), U packs of N elements a thread: several loads under way where F costs nothing, one where
// many warps hide the arithmetic better. With b null F gets 0 for it.
template <class T, class F, int N, int U, bool kPair>
__global__ void __launch_bounds__(kThreads) mapKernel(const T* a, const T* b, T* out, std::int64_t count) {
    using W = Wide<T>;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads * U + threadIdx.x) * N;
    Pack<T, N> x[U];
    Pack<T, N> y[U] = {};
#pragma unroll
    for (int u = 0; u < U; ++u) {
        const std::int64_t i = first + static_cast<std::int64_t>(u) * kThreads * N;
        if (i + N > count)
            continue;
        x[u] = loadPack<T, N>(a + i);
        if constexpr (kPair)
            y[u] = loadPack<T, N>(b + i);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
        const std::int64_t i = first + static_cast<std::int64_t>(u) * kThreads * N;
        if (i + N <= count) {
            W left[N], right[N];
            widenAll(x[u], left);
            widenAll(y[u], right);
#pragma unroll
            for (int k = 0; k < N; ++k)
                left[k] = F::of(left[k], right[k]);
            storePack(out + i, narrowAll<T, N>(left));
            continue;
        }
        for (std::int64_t k = i; k < count; ++k)
            out[k] = narrow<T>(F::of(widen(a[k]), kPair ? widen(b[k]) : W(0)));
    }
}

template <class T, class F, bool kPair, int U = 1>
cudaError_t map(const T* a, const T* b, T* out, std::int64_t count, LaunchContext& context) {
    constexpr int kPack = kPackOf16<T>;
    constexpr int kEach = kThreads * U;
    if (aligned(16, a, b, out))
        mapKernel<T, F, kPack, U, kPair>
            <<<blocksFor(count, kEach * kPack), kThreads, 0, context.stream>>>(a, b, out, count);
    else
        mapKernel<T, F, 1, U, kPair>
            <<<blocksFor(count, kEach), kThreads, 0, context.stream>>>(a, b, out, count);
    return launched();
}

template <class T> cudaError_t geluForward(const typename GeluForward<T>::Args& g, LaunchContext& context) {
    return map<T, Gelu<T>, false>(g.x, nullptr, g.out, g.count, context);
}
template <class T> cudaError_t geluBackward(const typename GeluBackward<T>::Args& g, LaunchContext& context) {
    return map<T, GeluSlope<T>, true>(g.x, g.dout, g.dx, g.count, context);
}
template <class T> cudaError_t residualAdd(const typename ResidualAdd<T>::Args& g, LaunchContext& context) {
    return map<T, Sum<T>, true, 4>(g.a, g.b, g.out, g.count, context);
}

// --- column sums -----------------------------------------------------------------------------------------

// Block (x, y) sums N * 32 columns over the y-th slice of rows into partial[y, columns]: 32 threads side by
// side, 8 rows at a time.
constexpr int kRowThreads = 8;
constexpr int kSumBlocks = 4; // of a multiprocessor

template <class T, int N>
__global__ void __launch_bounds__(32 * kRowThreads, kSumBlocks)
    columnSums(typename BiasBackward<T>::Args g, std::int64_t rowsEach, Wide<T>* partial) {
    using W = Wide<T>;
    __shared__ W shared[kRowThreads][32 * N];
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int part = static_cast<int>(threadIdx.x) / 32;
    const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * 32 + lane) * N;
    const std::int64_t first = blockIdx.y * rowsEach;
    const std::int64_t end = min(first + rowsEach, g.rows);
    W sum[N] = {};
    if (column < g.columns) {
#pragma unroll 4
        for (std::int64_t r = first + part; r < end; r += kRowThreads) {
            W x[N];
            widenAll(loadPack<T, N>(g.dy + r * g.columns + column), x);
#pragma unroll
            for (int k = 0; k < N; ++k)
                sum[k] += x[k];
        }
    }
#pragma unroll
    for (int k = 0; k < N; ++k)
        shared[part][lane * N + k] = sum[k];
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < 32 * N; c += 32 * kRowThreads) {
        const std::int64_t target = static_cast<std::int64_t>(blockIdx.x) * 32 * N + c;
        W total = 0;
        for (int p = 0; p < kRowThreads; ++p)
            total += shared[p][c];
        if (target < g.columns)
            partial[blockIdx.y * g.columns + target] = total;
    }
}

// As many slices as the device runs at once and no more: each would be waited for alone.
template <class T, int N>
cudaError_t sumColumns(const typename BiasBackward<T>::Args& g, Wide<T>* partial, LaunchContext& context) {
    const unsigned columns = blocksFor(g.columns, 32 * N);
    const std::int64_t most
        = static_cast<std::int64_t>(runtime::cuda::Workspace::kBytes / sizeof(Wide<T>)) / g.columns;
    std::int64_t slices = kSumBlocks * context.multiprocessors / columns;
    slices = slices > most ? most : slices;
    slices = slices > (g.rows + 31) / 32 ? (g.rows + 31) / 32 : slices;
    slices = slices < 1 ? 1 : slices;
    const std::int64_t rowsEach = (g.rows + slices - 1) / slices;
    const dim3 grid(columns, static_cast<unsigned>(slices));
    columnSums<T, N><<<grid, 32 * kRowThreads, 0, context.stream>>>(g, rowsEach, partial);
    return addPartialsTo<Wide<T>>(g.dbias, nullptr, partial, slices, g.columns, context.stream);
}

template <class T> cudaError_t biasBackward(const typename BiasBackward<T>::Args& g, LaunchContext& context) {
    auto* partial = static_cast<Wide<T>*>(context.workspace.memory());
    if (partial == nullptr)
        return cudaErrorMemoryAllocation;
    constexpr int kPack = kPackOf16<T>;
    if (g.columns % kPack == 0 && aligned(16, g.dy))
        return sumColumns<T, kPack>(g, partial, context);
    return sumColumns<T, 1>(g, partial, context);
}

// --- starting values -------------------------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(kThreads) initNormalKernel(typename InitNormal<T>::Args g) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i >= g.count)
        return;
    const std::int64_t offset = g.columns == 0 ? i : i / g.columns * g.globalColumns + i % g.columns;
    const PhiloxBlock r = randomBlock(g.seed, g.parameter, g.firstIndex + static_cast<std::uint64_t>(offset));
    const double radius = sqrt(-2.0 * log(unitInterval(r.v0, r.v1)));
    const double normal = radius * cos(2.0 * 3.14159265358979323846 * unitInterval(r.v2, r.v3));
    g.values[i] = narrow<T>(static_cast<Wide<T>>(g.mean + g.deviation * normal));
}

template <class T> cudaError_t initNormal(const typename InitNormal<T>::Args& g, LaunchContext& context) {
    initNormalKernel<T><<<blocksFor(g.count, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

// A thread rounds a pack of N; the last one may be shorter.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) roundKernel(typename RoundValues<T>::Args g) {
    const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
    if (i + N <= g.count) {
        Wide<T> values[N];
        widenAll(loadPack<Wide<T>, N>(g.x + i), values);
        storePack(g.out + i, narrowAll<T, N>(values));
        return;
    }
    for (std::int64_t k = i; k < g.count; ++k)
        g.out[k] = narrow<T>(g.x[k]);
}

template <class T> cudaError_t roundValues(const typename RoundValues<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<Wide<T>>;
    if (aligned(16, g.x) && aligned(kPack * sizeof(T), g.out))
        roundKernel<T, kPack><<<blocksFor(g.count, kThreads * kPack), kThreads, 0, context.stream>>>(g);
    else
        roundKernel<T, 1><<<blocksFor(g.count, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

#define GDT_ENTRIES(T)                                                                                       \
    entry<GeluForward<T>, geluForward<T>>(), entry<GeluBackward<T>, geluBackward<T>>(),                      \
        entry<ResidualAdd<T>, residualAdd<T>>(), entry<BiasBackward<T>, biasBackward<T>>(),                  \
        entry<InitNormal<T>, initNormal<T>>(), entry<RoundValues<T>, roundValues<T>>()

constexpr Launcher kTable[]
    = {GDT_ENTRIES(double), GDT_ENTRIES(float), GDT_ENTRIES(BFloat16), GDT_ENTRIES(Float16)};

} // namespace

std::span<const Launcher> elementwiseLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
