// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"
#include "optim/step_state.h"

namespace gdt::kernels {

// Softmax cross-entropy, forward and backward in one pass: losses[row] = -log softmax(logits)[target], and
// logits are overwritten by their gradient (softmax - onehot) * weight * state->lossScale.
template <class T> struct SoftmaxCrossEntropy {
    static constexpr const char* kName = nameOf<"softmax_cross_entropy", T>();
    struct Args {
        T* logits;
        const std::int32_t* targets;
        Wide<T>* losses;
        const optim::StepState* state;
        std::int64_t rows, vocab;
        double weight; // 1 / (tokens of the global batch)
    };
    static void host(const Args& args);
};

// state->loss += weight * sum of losses, rows in order.
template <class T> struct LossAccumulate {
    static constexpr const char* kName = nameOf<"loss_accumulate", T>();
    struct Args {
        const Wide<T>* losses;
        optim::StepState* state;
        std::int64_t rows;
        double weight;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
