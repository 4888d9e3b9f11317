// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"
#include "optim/step_state.h"

namespace gdt::kernels {

// Learning rate and Adam's bias-correction powers of the step in progress, computed on the device from
// state->step: linear warm-up, then half a cosine from peak to floor, then the floor.
struct LearningRateSchedule {
    static constexpr const char* kName = "learning_rate_schedule";
    struct Args {
        optim::StepState* state;
        double peak, floor;
        double beta1, beta2;
        std::int64_t warmupSteps, decaySteps;
    };
    static void host(const Args& args);
};

// state->gradSquares = (or, with `add`, +=) sum of squares of all gradients, in double and in index order.
template <class T> struct SumOfSquares {
    static constexpr const char* kName = nameOf<"sum_of_squares", T>();
    struct Args {
        const T* values;
        optim::StepState* state;
        std::int64_t count;
        bool add = false; // to what is there
    };
    static void host(const Args& args);
};

// gradNorm = sqrt(gradSquares) / lossScale; clipCoefficient = min(1, maxNorm / gradNorm) / lossScale.
// maxNorm <= 0 switches clipping off. With skipsOverflow, gradients that are not finite set state->overflow:
// the kernels after this one then change neither parameters nor moments. No host looks at it, so a replayed
// step decides anew.
struct ClipCoefficient {
    static constexpr const char* kName = "clip_coefficient";
    struct Args {
        optim::StepState* state;
        double maxNorm;
        bool skipsOverflow = false;
    };
    static void host(const Args& args);
};

// *target = value. What the host decides arrives by value and is frozen in a graph; only faults use it.
struct SetScalar {
    static constexpr const char* kName = "set_scalar";
    struct Args {
        double* target;
        double value;
    };
    static void host(const Args& args) { *args.target = args.value; }
};

// AdamW (Loshchilov, Hutter 2019) with decoupled weight decay; gradient multiplier, rate and powers come from
// the step state. While state->updates is 0 the moments count as zero, whatever their memory holds. Where T
// is narrow, `parameters` is the wide master copy and `rounded` what the model computes with; else rounded is
// null. Does nothing when state->overflow is set.
template <class T> struct AdamW {
    static constexpr const char* kName = nameOf<"adamw", T>();
    struct Args {
        Wide<T>* parameters;
        const Wide<T>* gradients;
        Wide<T>* firstMoment;
        Wide<T>* secondMoment;
        T* rounded;
        const optim::StepState* state;
        std::int64_t count;
        double beta1, beta2, epsilon, weightDecay;
    };
    static void host(const Args& args);
};

// Files the step's record under history[step % kHistory], clears the loss and counts the step. With a
// scaleWindow the loss scale is dynamic: an overflow halves it, down to 1, and so many steps without one
// double it, up to kMostLossScale.
inline constexpr double kMostLossScale = 0x1p32;

struct FinishStep {
    static constexpr const char* kName = "finish_step";
    struct Args {
        optim::StepState* state;
        std::int64_t scaleWindow = 0;
    };
    static void host(const Args& args);
};

} // namespace gdt::kernels
