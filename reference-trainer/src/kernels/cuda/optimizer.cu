// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/tables.cuh"
#include "kernels/optimizer.h"

namespace gdt::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void learningRateKernel(LearningRateSchedule::Args g) {
    optim::StepState& state = *g.state;
    const double done = static_cast<double>(state.step + 1);
    const double warmup = static_cast<double>(g.warmupSteps);
    if (done <= warmup) {
        state.learningRate = g.peak * done / warmup;
    } else {
        const double span = fmax(1.0, static_cast<double>(g.decaySteps) - warmup);
        const double part = fmin(1.0, (done - warmup) / span);
        state.learningRate = g.floor + (g.peak - g.floor) * 0.5 * (1.0 + cos(3.14159265358979323846 * part));
    }
    const double updates = static_cast<double>(state.updates + 1);
    state.beta1Power = pow(g.beta1, updates);
    state.beta2Power = pow(g.beta2, updates);
}

cudaError_t learningRateSchedule(const LearningRateSchedule::Args& g, LaunchContext& context) {
    learningRateKernel<<<1, 1, 0, context.stream>>>(g);
    return launched();
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    sumOfSquaresKernel(typename SumOfSquares<T>::Args g, double* partial) {
    __shared__ double shared[32];
    double sum = 0;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads * N;
    const std::int64_t packed = g.count / N * N;
    const std::int64_t begin = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
    for (std::int64_t i = begin; i < packed; i += step) {
        const auto x = *reinterpret_cast<const Pack<T, N>*>(g.values + i);
#pragma unroll
        for (int k = 0; k < N; ++k)
            sum += static_cast<double>(x.v[k]) * static_cast<double>(x.v[k]);
    }
    if (blockIdx.x == 0 && packed + threadIdx.x < g.count) {
        const double x = static_cast<double>(g.values[packed + threadIdx.x]);
        sum += x * x;
    }
    sum = blockSum(sum, shared);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    addSquaresKernel(const double* partial, int count, optim::StepState* state, bool add) {
    __shared__ double shared[32];
    double sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads)
        sum += partial[i];
    sum = blockSum(sum, shared);
    if (threadIdx.x == 0)
        state->gradSquares = add ? state->gradSquares + sum : sum;
}

template <class T> cudaError_t sumOfSquares(const typename SumOfSquares<T>::Args& g, LaunchContext& context) {
    auto* partial = static_cast<double*>(context.workspace.memory());
    if (partial == nullptr)
        return cudaErrorMemoryAllocation;
    constexpr int kPack = kPackOf16<T>;
    const unsigned most = static_cast<unsigned>(context.multiprocessors) * 8;
    const unsigned wanted = blocksFor(g.count, kThreads * kPack);
    // At least one: a rank may own none of a range, and a grid of none is an error.
    const unsigned blocks = wanted > most ? most : wanted < 1 ? 1 : wanted;
    if (aligned(16, g.values))
        sumOfSquaresKernel<T, kPack><<<blocks, kThreads, 0, context.stream>>>(g, partial);
    else
        sumOfSquaresKernel<T, 1><<<blocks, kThreads, 0, context.stream>>>(g, partial);
    addSquaresKernel<<<1, kThreads, 0, context.stream>>>(partial, static_cast<int>(blocks), g.state, g.add);
    return launched();
}

__global__ void clipKernel(ClipCoefficient::Args g) {
    optim::StepState& state = *g.state;
    state.gradNorm = sqrt(state.gradSquares) / state.lossScale;
    state.overflow = g.skipsOverflow && !isfinite(state.gradSquares) ? 1 : 0;
    const bool clip = g.maxNorm > 0 && state.gradNorm > g.maxNorm;
    state.clipCoefficient = (clip ? g.maxNorm / state.gradNorm : 1.0) / state.lossScale;
}

cudaError_t clipCoefficient(const ClipCoefficient::Args& g, LaunchContext& context) {
    clipKernel<<<1, 1, 0, context.stream>>>(g);
    return launched();
}

template <class T, int N> __global__ void __launch_bounds__(kThreads) adamwKernel(typename AdamW<T>::Args g) {
    using W = Wide<T>;
    const optim::StepState& state = *g.state;
    if (state.overflow != 0)
        return;
    const bool fresh = state.updates == 0;
    const W beta1 = static_cast<W>(g.beta1);
    const W beta2 = static_cast<W>(g.beta2);
    const W scale = static_cast<W>(state.clipCoefficient);
    const W correction1 = static_cast<W>(1.0 / (1.0 - state.beta1Power));
    const W correction2 = static_cast<W>(1.0 / (1.0 - state.beta2Power));
    const W rate = static_cast<W>(state.learningRate);
    const W keep = static_cast<W>(1.0 - state.learningRate * g.weightDecay);
    const W epsilon = static_cast<W>(g.epsilon);
    const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * N;
    if (i >= g.count)
        return;
    using Block = Pack<W, N>;
    Block m{}, v{};
    const Block gradient = *reinterpret_cast<const Block*>(g.gradients + i);
    Block p = *reinterpret_cast<const Block*>(g.parameters + i);
    if (!fresh) {
        m = *reinterpret_cast<const Block*>(g.firstMoment + i);
        v = *reinterpret_cast<const Block*>(g.secondMoment + i);
    }
    Pack<T, N> narrowed;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const W d = gradient.v[k] * scale;
        m.v[k] = beta1 * m.v[k] + (W(1) - beta1) * d;
        v.v[k] = beta2 * v.v[k] + (W(1) - beta2) * d * d;
        p.v[k] = keep * p.v[k] - rate * (m.v[k] * correction1) / (sqrtOf(v.v[k] * correction2) + epsilon);
        narrowed.v[k] = narrow<T>(p.v[k]);
    }
    *reinterpret_cast<Block*>(g.firstMoment + i) = m;
    *reinterpret_cast<Block*>(g.secondMoment + i) = v;
    *reinterpret_cast<Block*>(g.parameters + i) = p;
    if (g.rounded != nullptr)
        *reinterpret_cast<Pack<T, N>*>(g.rounded + i) = narrowed;
}

template <class T> cudaError_t adamw(const typename AdamW<T>::Args& g, LaunchContext& context) {
    constexpr int kPack = kPackOf16<Wide<T>>;
    const bool packed = g.count % kPack == 0
        && aligned(16, g.parameters, g.gradients, g.firstMoment, g.secondMoment)
        && aligned(sizeof(T) * kPack, g.rounded);
    if (packed)
        adamwKernel<T, kPack><<<blocksFor(g.count, kThreads * kPack), kThreads, 0, context.stream>>>(g);
    else
        adamwKernel<T, 1><<<blocksFor(g.count, kThreads), kThreads, 0, context.stream>>>(g);
    return launched();
}

__global__ void finishKernel(FinishStep::Args g) {
    optim::StepState& state = *g.state;
    state.history[state.step % optim::StepState::kHistory]
        = {state.loss, state.gradNorm, state.learningRate, state.lossScale, state.overflow};
    state.loss = 0;
    ++state.step;
    state.updates += 1 - state.overflow;
    if (g.scaleWindow == 0)
        return;
    if (state.overflow != 0) {
        state.lossScale = fmax(1.0, state.lossScale / 2);
        state.goodSteps = 0;
    } else if (++state.goodSteps == g.scaleWindow) {
        state.lossScale = fmin(kMostLossScale, state.lossScale * 2);
        state.goodSteps = 0;
    }
}

cudaError_t finishStep(const FinishStep::Args& g, LaunchContext& context) {
    finishKernel<<<1, 1, 0, context.stream>>>(g);
    return launched();
}

__global__ void setScalarKernel(SetScalar::Args g) {
    *g.target = g.value;
}

cudaError_t setScalar(const SetScalar::Args& g, LaunchContext& context) {
    setScalarKernel<<<1, 1, 0, context.stream>>>(g);
    return launched();
}

constexpr Launcher kTable[] = {entry<LearningRateSchedule, learningRateSchedule>(),
    entry<SumOfSquares<double>, sumOfSquares<double>>(), entry<SumOfSquares<float>, sumOfSquares<float>>(),
    entry<ClipCoefficient, clipCoefficient>(), entry<AdamW<double>, adamw<double>>(),
    entry<AdamW<float>, adamw<float>>(), entry<AdamW<BFloat16>, adamw<BFloat16>>(),
    entry<AdamW<Float16>, adamw<Float16>>(), entry<FinishStep, finishStep>(), entry<SetScalar, setScalar>()};

} // namespace

std::span<const Launcher> optimizerLaunchers() {
    return kTable;
}

} // namespace gdt::kernels::cuda
