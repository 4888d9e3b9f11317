// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer.h"

#include "kernels/number.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gdt::kernels {

void LearningRateSchedule::host(const Args& args) {
    optim::StepState& state = *args.state;
    const auto done = static_cast<double>(state.step + 1);
    const auto warmup = static_cast<double>(args.warmupSteps);
    if (done <= warmup) {
        state.learningRate = args.peak * done / warmup;
    } else {
        const double span = std::max(1.0, static_cast<double>(args.decaySteps) - warmup);
        const double part = std::min(1.0, (done - warmup) / span);
        const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * part));
        state.learningRate = args.floor + (args.peak - args.floor) * cosine;
    }
    const auto updates = static_cast<double>(state.updates + 1);
    state.beta1Power = std::pow(args.beta1, updates);
    state.beta2Power = std::pow(args.beta2, updates);
}

template <class T> void SumOfSquares<T>::host(const Args& args) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < args.count; ++i) {
        const auto v = static_cast<double>(args.values[i]);
        sum += v * v;
    }
    args.state->gradSquares = args.add ? args.state->gradSquares + sum : sum;
}

void ClipCoefficient::host(const Args& args) {
    optim::StepState& state = *args.state;
    state.gradNorm = std::sqrt(state.gradSquares) / state.lossScale;
    state.overflow = args.skipsOverflow && !std::isfinite(state.gradSquares) ? 1 : 0;
    const bool clip = args.maxNorm > 0 && state.gradNorm > args.maxNorm;
    state.clipCoefficient = (clip ? args.maxNorm / state.gradNorm : 1.0) / state.lossScale;
}

template <class T> void AdamW<T>::host(const Args& args) {
    using W = Wide<T>;
    const optim::StepState& state = *args.state;
    if (state.overflow != 0) {
        return;
    }
    if (state.updates == 0) {
        std::fill(args.firstMoment, args.firstMoment + args.count, W(0));
        std::fill(args.secondMoment, args.secondMoment + args.count, W(0));
    }
    const W beta1 = static_cast<W>(args.beta1);
    const W beta2 = static_cast<W>(args.beta2);
    const W scale = static_cast<W>(state.clipCoefficient);
    const W correction1 = static_cast<W>(1.0 / (1.0 - state.beta1Power));
    const W correction2 = static_cast<W>(1.0 / (1.0 - state.beta2Power));
    const W rate = static_cast<W>(state.learningRate);
    const W keep = static_cast<W>(1.0 - state.learningRate * args.weightDecay);
    const W epsilon = static_cast<W>(args.epsilon);
    for (std::int64_t i = 0; i < args.count; ++i) {
        const W g = args.gradients[i] * scale;
        const W m = beta1 * args.firstMoment[i] + (W(1) - beta1) * g;
        const W v = beta2 * args.secondMoment[i] + (W(1) - beta2) * g * g;
        args.firstMoment[i] = m;
        args.secondMoment[i] = v;
        args.parameters[i]
            = keep * args.parameters[i] - rate * (m * correction1) / (std::sqrt(v * correction2) + epsilon);
        if (args.rounded != nullptr) {
            args.rounded[i] = narrow<T>(args.parameters[i]);
        }
    }
}

void FinishStep::host(const Args& args) {
    optim::StepState& state = *args.state;
    state.history[state.step % optim::StepState::kHistory]
        = {state.loss, state.gradNorm, state.learningRate, state.lossScale, state.overflow};
    state.loss = 0;
    ++state.step;
    state.updates += 1 - state.overflow;
    if (args.scaleWindow == 0) {
        return;
    }
    if (state.overflow != 0) {
        state.lossScale = std::max(1.0, state.lossScale / 2);
        state.goodSteps = 0;
    } else if (++state.goodSteps == args.scaleWindow) {
        state.lossScale = std::min(kMostLossScale, state.lossScale * 2);
        state.goodSteps = 0;
    }
}

template struct SumOfSquares<float>;
template struct SumOfSquares<double>;
template struct AdamW<float>;
template struct AdamW<double>;
template struct AdamW<BFloat16>;
template struct AdamW<Float16>;

} // namespace gdt::kernels
