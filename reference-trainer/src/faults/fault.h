// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faults/fault_registry.h"
#include "graphs/capture_hooks.h"
#include "graphs/region.h"
#include "model/layer_hooks.h"
#include "optim/adamw.h"
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
    std::function<runtime::Status()> ensureOptimizerState;
    std::function<runtime::Status()> releaseOptimizerState;
    optim::OptimizerConfig optimizer;
    std::int64_t warmupRuns = 0; ///< eager steps before a capture, unless a fault wants others
    void* gradients = nullptr; ///< device memory
    std::size_t gradientBytes = 0;
    comm::Communicator* replicas = nullptr; ///< null for a rank without replicas
    double secondsPerStep = 0; ///< of the fastest interval so far, 0 before the first
    /// Of a layer's 8-bit tensors; memory is null where this rank does not hold the layer.
    std::function<kernels::Fp8Scales(std::int64_t)> fp8Scales;
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
    virtual runtime::Status inBackward(runtime::Stream&) { return runtime::Status::Success; }
    virtual runtime::Status betweenReplays(runtime::Stream&) { return runtime::Status::Success; }
    /// After a forward pass that has a graph of its own, outside it.
    virtual runtime::Status afterForwardPass(runtime::Stream&) { return runtime::Status::Success; }
    /// After messages from another stage were received, outside every graph within a pass.
    virtual runtime::Status afterReceive(runtime::Stream&) { return runtime::Status::Success; }
    virtual runtime::Status endStep() { return runtime::Status::Success; }
    virtual std::optional<std::int64_t> warmupRuns(graphs::Scope) { return std::nullopt; }
    virtual std::optional<runtime::CaptureMode> captureMode(graphs::Scope) { return std::nullopt; }
    virtual std::optional<runtime::Status> beginCapture(
        graphs::Scope, runtime::Stream&, runtime::CaptureMode) {
        return std::nullopt;
    }
    virtual bool endsCapture(graphs::Scope, runtime::Status) { return true; }
    virtual bool staysEager(graphs::Scope) { return false; }
    virtual bool fallsBack(graphs::Scope) { return true; }
    virtual bool recaptures(graphs::Scope) { return false; }
    virtual bool updates(graphs::Scope) { return false; }
    /// True: the fault has taken the executable.
    virtual bool discard(graphs::Scope, runtime::GraphExec&) { return false; }
    virtual std::optional<runtime::Status> launch(graphs::Scope, runtime::GraphExec&, runtime::Stream&) {
        return std::nullopt;
    }
    virtual std::optional<runtime::Status> reduceGradients(
        const parallel::GradientReduction&, runtime::Stream&) {
        return std::nullopt;
    }
    virtual std::optional<std::int64_t> seqLen() { return std::nullopt; }
    /// All forward passes of a cycle before all backward passes, whatever the schedule says.
    virtual bool forwardsFirst() { return false; }
    /// The attention ring runs the other way round in this step.
    virtual bool turnsRing() { return false; }
    virtual runtime::Status afterSchedule(runtime::Stream&) { return runtime::Status::Success; }
    virtual std::optional<double> clipNorm(double) { return std::nullopt; }
    virtual bool clearsGradients() { return true; }
    virtual std::optional<double> normEpsilon(double) { return std::nullopt; }
    virtual std::optional<model::DropoutSource> dropoutSource(const model::DropoutSource&) {
        return std::nullopt;
    }
    /// As in model/layer_hooks.h; leaves `memory` alone where the attention is fused.
    virtual runtime::Status scoresMemory(std::size_t, void**) { return runtime::Status::Success; }
    virtual bool shortAttention(std::int64_t) { return false; }

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
    /// @step=N, or the step of the first capture.
    [[nodiscard]] std::int64_t captureStep() const { return m_spec.step.value_or(m_environment.warmupRuns); }
    /// Warm-up for a fault of a capture of `scope`: the capture takes place at @step=N.
    [[nodiscard]] std::optional<std::int64_t> captureAtStep(graphs::Scope scope) const;

private:
    FaultSpec m_spec;
    FaultEnvironment& m_environment;
    std::int64_t m_step = 0;
};

using FaultFactory = std::unique_ptr<Fault> (*)(const FaultSpec&, FaultEnvironment&);

template <class F> std::unique_ptr<Fault> makeFault(const FaultSpec& spec, FaultEnvironment& environment) {
    return std::make_unique<F>(spec, environment);
}

/// What makes the fault `id`, null where it needs nothing but another set-up (isArmed).
[[nodiscard]] FaultFactory findFactory(std::string_view id);

#define GDT_FAULT(name)                                                                                      \
    std::unique_ptr<Fault> make##name(const FaultSpec& spec, FaultEnvironment& environment)
// capture_faults.cpp
GDT_FAULT(ItemInCapture);
GDT_FAULT(NoFallback);
GDT_FAULT(UnjoinedFork);
GDT_FAULT(AbandonedCapture);
GDT_FAULT(UnjoinedAllReduce);
// capture_call_faults.cpp
GDT_FAULT(DefaultStreamInCapture);
GDT_FAULT(ForeignEnd);
GDT_FAULT(DestroyInCapture);
GDT_FAULT(PageableCopyInCapture);
// lazy_faults.cpp
GDT_FAULT(NoWarmupBuffers);
GDT_FAULT(UnfusedAttention);
GDT_FAULT(OffloadedParameter);
// memory_faults.cpp
GDT_FAULT(NoWarmupOptimizer);
GDT_FAULT(RecordStream);
GDT_FAULT(ActivationRealloc);
GDT_FAULT(RecomputeFree);
GDT_FAULT(GraphLeak);
// pace_faults.cpp
GDT_FAULT(SyncInGraphRegion);
GDT_FAULT(ReplayJitter);
GDT_FAULT(GraphCacheOverflow);
GDT_FAULT(SlowLoader);
GDT_FAULT(BlockingReceive);
// rank_faults.cpp
GDT_FAULT(EventOutsideCapture);
GDT_FAULT(DivergentCapture);
GDT_FAULT(CommunicatorAbort);
GDT_FAULT(TurningRing);
// scalar_faults.cpp
GDT_FAULT(HostLearningRate);
GDT_FAULT(HostBetaPowers);
GDT_FAULT(HostClipNorm);
GDT_FAULT(HostEpsilon);
GDT_FAULT(HostDropoutSeed);
GDT_FAULT(HostFp8Scales);
// replay_faults.cpp
GDT_FAULT(ReplayBeforeZero);
GDT_FAULT(OtherOrder);
GDT_FAULT(ShorterBatch);
GDT_FAULT(HostControlFlow);
GDT_FAULT(DynamicDispatch);
#undef GDT_FAULT

/// Whether a fault is asked for, and not its harmless form.
[[nodiscard]] bool isArmed(const std::vector<FaultSpec>& specs, const char* id);

} // namespace gdt::faults
