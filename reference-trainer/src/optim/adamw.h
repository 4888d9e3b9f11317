// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/parameter.h"
#include "optim/step_state.h"
#include "runtime/stream.h"

namespace gdt::optim {

/// Rates and powers are per optimizer step; clipNorm <= 0 switches clipping off.
struct OptimizerConfig {
    double peakRate = 1e-2;
    double floorRate = 5e-4;
    double beta1 = 0.9;
    double beta2 = 0.95;
    double epsilon = 1e-8;
    double weightDecay = 0.01;
    double clipNorm = 1.0;
    std::int64_t warmupSteps = 20;
    std::int64_t decaySteps = 200;
};

/// AdamW over the whole parameter block with global-norm clipping, all on the device: issue() never waits and
/// passes no number that changes between steps by value, so it can be captured. Moments are allocated at the
/// first issue(), as frameworks do; a graph must therefore be captured after one eager step.
template <class T> class AdamWOptimizer {
public:
    using Wide = kernels::Wide<T>;

    /// All pointers are device memory that outlives the optimizer. `master` are the parameters; where T is
    /// narrow each update also rounds them into `values`, else both are the same block.
    AdamWOptimizer(runtime::Device& device, const OptimizerConfig& config,
        const model::ParameterLayout& layout, Wide* master, T* values, Wide* gradients, StepState* state);
    ~AdamWOptimizer();
    AdamWOptimizer(const AdamWOptimizer&) = delete;
    AdamWOptimizer& operator=(const AdamWOptimizer&) = delete;

    /// Allocates the moments when they do not exist yet; else does nothing. The first update clears them.
    runtime::Status ensureState();
    /// Forgets the moments, so that Adam starts afresh. Waits for the device.
    runtime::Status releaseState();

    /// Schedule, norm, clip, update, clear gradients, file the step's record.
    runtime::Status issue(runtime::Stream& stream);

private:
    runtime::Status update(runtime::Stream& stream, std::int64_t first, std::int64_t count, double decay);

    runtime::Device& m_device;
    OptimizerConfig m_config;
    std::int64_t m_count;
    std::int64_t m_decayedCount;
    Wide* m_master;
    T* m_rounded; // null where T is as wide
    Wide* m_gradients;
    StepState* m_state;
    Wide* m_firstMoment = nullptr;
    Wide* m_secondMoment = nullptr;
};

} // namespace gdt::optim
