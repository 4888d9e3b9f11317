// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"
#include "kernels/fp8.h"
#include "model/parameter.h"
#include "optim/optimizer_hooks.h"
#include "optim/step_state.h"
#include "runtime/stream.h"

#include <array>

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
    double lossScale = 1.0; ///< at first
    std::int64_t scaleWindow = 0; ///< 0: it stays so; else see kernels::FinishStep
    std::int64_t warmupSteps = 20;
    std::int64_t decaySteps = 200;
};

/// The other ranks' part in an optimizer step.
struct OptimizerRanks {
    comm::Communicator* norm = nullptr; ///< ranks whose gradients count for one norm; null: this one alone
    /// ZeRO-1: the replicas each update their part of the parameters and then gather all. Null: each updates
    /// all.
    comm::Communicator* shards = nullptr;
    /// Ranks that hold parts of the same tensors: the largest value of a tensor is that over all of them.
    std::array<comm::Communicator*, 2> tensorParts{};
    bool countsReplicated = true; ///< whether tensors that all tensor-parallel ranks hold count here
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
        const model::ParameterLayout& layout, Wide* master, T* values, Wide* gradients, StepState* state,
        const OptimizerRanks& ranks = {}, const kernels::Fp8Scales& scales = {},
        OptimizerHooks* hooks = nullptr);
    ~AdamWOptimizer();
    AdamWOptimizer(const AdamWOptimizer&) = delete;
    AdamWOptimizer& operator=(const AdamWOptimizer&) = delete;

    /// Allocates the moments when they do not exist yet; else does nothing. The first update clears them.
    runtime::Status ensureState();
    /// Forgets the moments, so that Adam starts afresh. Waits for the device.
    runtime::Status releaseState();

    /// Schedule, norm, clip, update, clear gradients, scales of 8-bit tensors, file the step's record.
    runtime::Status issue(runtime::Stream& stream);

    /// The moments of the elements that this rank updates; null before ensureState().
    [[nodiscard]] Wide* firstMoment() const { return m_firstMoment; }
    [[nodiscard]] Wide* secondMoment() const { return m_secondMoment; }
    [[nodiscard]] std::int64_t ownedCount() const { return m_end - m_begin; }

private:
    runtime::Status norm(runtime::Stream& stream);
    runtime::Status addSquares(runtime::Stream& stream, std::int64_t begin, std::int64_t end, bool& first);
    runtime::Status update(runtime::Stream& stream, std::int64_t begin, std::int64_t end, double decay);
    runtime::Status gatherShards(runtime::Stream& stream);
    runtime::Status updateScales(runtime::Stream& stream);

    runtime::Device& m_device;
    OptimizerConfig m_config;
    const model::ParameterLayout& m_layout;
    OptimizerRanks m_ranks;
    OptimizerHooks m_noHooks;
    OptimizerHooks& m_hooks;
    std::int64_t m_begin = 0; // elements that this rank updates
    std::int64_t m_end = 0;
    Wide* m_master;
    T* m_rounded; // null where T is as wide
    Wide* m_gradients;
    StepState* m_state;
    kernels::Fp8Scales m_scales;
    Wide* m_firstMoment = nullptr;
    Wide* m_secondMoment = nullptr;
};

} // namespace gdt::optim
