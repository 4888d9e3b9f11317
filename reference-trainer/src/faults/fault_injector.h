// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faults/fault.h"

#include <memory>
#include <string>
#include <vector>

namespace gdt::faults {

/// What decides whether a fault can happen at all.
struct RunShape {
    std::int64_t steps = 0;
    std::int64_t layers = 0;
    int ranks = 1;
    int replicas = 1; ///< ranks that sum their gradients
    std::int64_t seqLen = 0;
    bool passGraphs = true; ///< forward and backward passes are captured
    bool optimizerGraph = true; ///< and the optimizer step, in the same graph with oneGraph
    bool oneGraph = false;
    bool blind = false; ///< --graph-mode auto
    std::int64_t warmupRuns = 3; ///< steps before a capture
    std::int64_t maxGraphs = 16;
    int tensor = 1, context = 1, stages = 1;
    std::int64_t microBatches = 1;
    bool splitsSequences = false; ///< over ranks, so that not every length is possible
    bool dropout = false; ///< of residual branches
    bool fp8 = false; ///< layers multiply 8-bit factors
    bool modelledComm = false; ///< a network model stands for the other ranks
};

/// The armed faults behind the hooks of model and graph manager. Without faults each hook does what the
/// healthy trainer does. One thread.
class FaultInjector final : public model::LayerHooks,
                            public graphs::CaptureHooks,
                            public optim::OptimizerHooks {
public:
    explicit FaultInjector(std::vector<FaultSpec> specs);

    /// Empty when the faults fit the run, else one sentence.
    [[nodiscard]] std::string problem(const RunShape& run) const;
    /// Creates the faults; once, before the first step. `environment` must outlive the injector.
    runtime::Status open(FaultEnvironment& environment);
    /// Destroys them while the device still exists.
    void close() { m_faults.clear(); }

    runtime::Status beginStep(std::int64_t step);
    runtime::Status endStep();
    [[nodiscard]] std::int64_t seqLen(std::int64_t configured);
    runtime::Status reduceGradients(const parallel::GradientReduction& reduction, runtime::Stream& stream);

    runtime::Status afterForwardPass(runtime::Stream& stream);
    runtime::Status afterReceive(runtime::Stream& stream);
    [[nodiscard]] bool forwardsFirst();
    [[nodiscard]] bool turnsRing();

    runtime::Status inForward(std::int64_t layer, runtime::Stream& stream) override;
    runtime::Status inBackward(std::int64_t layer, runtime::Stream& stream) override;
    double normEpsilon(std::int64_t layer, double configured) override;
    model::DropoutSource dropoutSource(std::int64_t layer, const model::DropoutSource& configured) override;
    runtime::Status scoresMemory(std::int64_t layer, std::size_t bytes, void** memory) override;
    bool shortAttention(std::int64_t layer, std::int64_t seqLen) override;
    runtime::Status betweenReplays(std::int64_t layer, runtime::Stream& stream) override;
    std::int64_t warmupRuns(graphs::Scope scope, std::int64_t configured) override;
    runtime::CaptureMode captureMode(graphs::Scope scope, runtime::CaptureMode configured) override;
    runtime::Status beginCapture(
        graphs::Scope scope, runtime::Stream& stream, runtime::CaptureMode mode) override;
    bool endsCapture(graphs::Scope scope, runtime::Status issued) override;
    bool staysEager(graphs::Scope scope) override;
    bool fallsBack(graphs::Scope scope) override;
    bool recaptures(graphs::Scope scope) override;
    bool updates(graphs::Scope scope) override;
    void discard(graphs::Scope scope, runtime::GraphExec& exec) override;
    runtime::Status launch(graphs::Scope scope, runtime::GraphExec& exec, runtime::Stream& stream) override;
    runtime::Status afterSchedule(runtime::Stream& stream) override;
    double clipNorm(double configured) override;
    bool clearsGradients() override;

private:
    /// Calls `place` of each fault that is meant on this rank, of a layer's with `layer`, until one fails.
    template <class... Arguments>
    runtime::Status each(runtime::Status (Fault::*place)(Arguments...), std::optional<std::int64_t> layer,
        Arguments... arguments);

    std::vector<FaultSpec> m_specs;
    std::vector<std::unique_ptr<Fault>> m_faults;
};

} // namespace gdt::faults
