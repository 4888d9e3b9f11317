// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faults/fault_registry.h"
#include "graphs/capture_hooks.h"
#include "graphs/region.h"
#include "model/layer_hooks.h"
#include "optim/step_state.h"
#include "parallel/gradient_reduction.h"
#include "runtime/memory_pool.h"

#include <functional>
#include <memory>
#include <optional>

namespace gdt::faults {

/// What faults may use of the trainer they act in. Outlives them.
struct FaultEnvironment {
    runtime::Device& device;
    runtime::GraphPool& pool;
    graphs::StreamSlot& compute;
    optim::StepState* state = nullptr; ///< device memory
    std::int64_t firstLayer = 0; ///< of this rank: where faults of a layer act unless told otherwise
    std::int64_t seqLen = 0;
    std::int64_t steps = 0;
    std::int64_t maxGraphs = 0;
    int rank = 0;
    std::size_t allocatedBytes = 0; ///< of the device, by the trainer itself
    double secondsPerStep = 0; ///< of the fastest interval so far, 0 before the first
    std::function<runtime::Status()> ensureOptimizerState;
    std::function<runtime::Status()> releaseOptimizerState;
};

/// One armed fault. The base class leaves everything alone; a fault overrides the places where it acts.
/// Called by the trainer's thread only. A function that makes the faulty call is [[gnu::noinline]] and wraps
/// the call in GDT_FAULT_SITE.
class Fault {
public:
    Fault(FaultSpec spec, FaultEnvironment& environment);
    virtual ~Fault() = default;
    Fault(const Fault&) = delete;
    Fault& operator=(const Fault&) = delete;

    /// Before the first step: what the fault needs itself.
    virtual runtime::Status open() { return runtime::Status::Success; }
    virtual runtime::Status beginStep() { return runtime::Status::Success; }
    virtual runtime::Status inForward(runtime::Stream&) { return runtime::Status::Success; }
    virtual runtime::Status betweenReplays(runtime::Stream&) { return runtime::Status::Success; }
    virtual runtime::Status endStep() { return runtime::Status::Success; }
    virtual std::optional<std::int64_t> warmupRuns(graphs::Scope) { return std::nullopt; }
    virtual std::optional<runtime::CaptureMode> captureMode(graphs::Scope) { return std::nullopt; }
    virtual std::optional<runtime::Status> beginCapture(
        graphs::Scope, runtime::Stream&, runtime::CaptureMode) {
        return std::nullopt;
    }
    virtual bool endsCapture(graphs::Scope, runtime::Status) { return true; }
    virtual bool staysEager(graphs::Scope) { return false; }
    virtual std::optional<runtime::Status> launch(graphs::Scope, runtime::GraphExec&, runtime::Stream&) {
        return std::nullopt;
    }
    virtual std::optional<runtime::Status> reduceGradients(
        const parallel::GradientReduction&, runtime::Stream&) {
        return std::nullopt;
    }
    virtual std::optional<std::int64_t> seqLen() { return std::nullopt; }

    void setStep(std::int64_t step) { m_step = step; }
    [[nodiscard]] bool here() const; ///< this rank is meant
    [[nodiscard]] bool inLayer(std::int64_t layer) const; ///< this rank and this layer

protected:
    [[nodiscard]] bool harmless() const { return m_spec.harmless; }
    [[nodiscard]] std::int64_t step() const { return m_step; }
    /// At or after @step=N, or `otherwise` without it.
    [[nodiscard]] bool started(std::int64_t otherwise) const;
    [[nodiscard]] const FaultSpec& spec() const { return m_spec; }
    [[nodiscard]] FaultEnvironment& env() const { return m_environment; }
    /// Warm-up for a fault of a capture of `scope`: the capture takes place at @step=N.
    [[nodiscard]] std::optional<std::int64_t> captureAtStep(graphs::Scope scope) const;

private:
    FaultSpec m_spec;
    FaultEnvironment& m_environment;
    std::int64_t m_step = 0;
};

using FaultFactory = std::unique_ptr<Fault> (*)(const FaultSpec&, FaultEnvironment&);

// capture_faults.cpp
std::unique_ptr<Fault> makeItemInCapture(const FaultSpec& spec, FaultEnvironment& environment);
std::unique_ptr<Fault> makeUnjoinedFork(const FaultSpec& spec, FaultEnvironment& environment);
std::unique_ptr<Fault> makeAbandonedCapture(const FaultSpec& spec, FaultEnvironment& environment);
std::unique_ptr<Fault> makeUnjoinedAllReduce(const FaultSpec& spec, FaultEnvironment& environment);
// memory_faults.cpp
std::unique_ptr<Fault> makeNoWarmupOptimizer(const FaultSpec& spec, FaultEnvironment& environment);
std::unique_ptr<Fault> makeRecordStream(const FaultSpec& spec, FaultEnvironment& environment);
std::unique_ptr<Fault> makeActivationRealloc(const FaultSpec& spec, FaultEnvironment& environment);
// pace_faults.cpp
std::unique_ptr<Fault> makeSyncInGraphRegion(const FaultSpec& spec, FaultEnvironment& environment);
std::unique_ptr<Fault> makeReplayJitter(const FaultSpec& spec, FaultEnvironment& environment);
std::unique_ptr<Fault> makeGraphCacheOverflow(const FaultSpec& spec, FaultEnvironment& environment);

// rank_faults.cpp
std::unique_ptr<Fault> makeEventOutsideCapture(const FaultSpec& spec, FaultEnvironment& environment);
std::unique_ptr<Fault> makeDivergentCapture(const FaultSpec& spec, FaultEnvironment& environment);
/// For faults that act where the trainer is set up: it does nothing more.
std::unique_ptr<Fault> makeSetUpFault(const FaultSpec& spec, FaultEnvironment& environment);

/// Whether a fault is asked for, and not its harmless form.
[[nodiscard]] bool isArmed(const std::vector<FaultSpec>& specs, const char* id);

} // namespace gdt::faults
