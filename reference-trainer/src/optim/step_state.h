// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gdt::optim {

// What one finished step left behind; the host reads these only in batches.
struct StepRecord {
    double loss;
    double gradNorm;
    double learningRate;
    double lossScale;
    std::int64_t skipped; // 1: the gradients were not finite and changed nothing
};

// Every number that changes from step to step, held in device memory. Kernels get a pointer to it, never a
// copy of a field: an argument by value would be frozen in a captured graph and replayed for ever. One stream
// owns it; the host reads it by an asynchronous copy.
struct StepState {
    static constexpr std::int64_t kHistory = 64;

    std::int64_t step; // optimizer steps finished
    std::int64_t updates; // of them since the moments were created: 0 = their memory holds nothing yet
    double learningRate; // of the step in progress
    double beta1Power; // beta1^(updates + 1), for Adam's bias correction
    double beta2Power;
    double lossScale; // gradients are multiplied by it
    std::int64_t goodSteps; // since it changed, see FinishStep
    std::int64_t overflow; // 1: the gradients of the step in progress are not finite, nothing is updated
    double loss; // mean over the tokens of the step so far, summed over micro-batches
    double gradSquares; // sum of squares of the scaled gradients
    double gradNorm; // unscaled
    double clipCoefficient; // gradient multiplier of the update: clip / lossScale
    StepRecord history[kHistory]; // ring, entry step % kHistory
};

} // namespace gdt::optim
