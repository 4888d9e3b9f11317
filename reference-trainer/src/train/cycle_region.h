// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faults/fault_injector.h"
#include "graphs/region.h"
#include "kernels/fetch_tokens.h"
#include "model/gpt_stage.h"
#include "optim/adamw.h"
#include "pipeline/schedule.h"
#include "train/pass_runner.h"

namespace gdt::train {

/// What this rank's stage does for one global batch: the instructions of its schedule, from the forward pass
/// of the first micro-batch to the gradient reduction.
template <class T> class CycleRegion final : public graphs::Region {
public:
    struct Parts {
        model::GptStage<T>& stage;
        const parallel::ModelParallel& parallel;
        faults::FaultInjector& faults;
        parallel::GradientReduction reduction;
        comm::Communicator* pipeline = nullptr; ///< null with one stage
        pipeline::Schedule::Stage schedule;
        kernels::FetchTokens::Args fetch; ///< buffers, micro-batch and sequence are filled in per launch
        PassRunner passes;
        bool grouped = true; ///< false: the fault pp-unfused-p2p
    };

    explicit CycleRegion(const Parts& parts);

    /// Length of the sequences of the next issue(); at most what the stage was built for.
    void setSeqLen(std::int64_t seqLen) { m_seqLen = seqLen; }

    runtime::Status issue(runtime::Stream& stream) override;
    [[nodiscard]] std::uint64_t guard() const override { return static_cast<std::uint64_t>(m_seqLen); }
    /// Whether the passes are captured one by one, so that the region as a whole is not.
    [[nodiscard]] bool capturesPasses() const { return m_parts.passes.captures(); }

private:
    using Instruction = pipeline::Instruction;

    runtime::Status fetch(const Instruction& instruction, const model::Pass& pass);
    runtime::Status runPass(const Instruction& instruction, const model::Pass& pass);
    /// The messages from `first` on that form one group; moves `first` behind them.
    runtime::Status runMessages(std::size_t& first, const model::Pass& pass);
    runtime::Status runUngrouped(std::size_t& first, std::size_t end, const model::Pass& pass);
    runtime::Status message(const Instruction& instruction, const model::Pass& pass);

    Parts m_parts;
    std::vector<Instruction> m_forwardsFirst; ///< the schedule of the fault capture-order
    std::int64_t m_seqLen;
};

/// The optimizer step.
template <class T> class OptimizerRegion final : public graphs::Region {
public:
    explicit OptimizerRegion(optim::AdamWOptimizer<T>& optimizer)
        : m_optimizer(optimizer) { }

    runtime::Status issue(runtime::Stream& stream) override { return m_optimizer.issue(stream); }

private:
    optim::AdamWOptimizer<T>& m_optimizer;
};

/// Both in one graph.
template <class T> class FullRegion final : public graphs::Region {
public:
    FullRegion(CycleRegion<T>& cycle, OptimizerRegion<T>& optimizer)
        : m_cycle(cycle)
        , m_optimizer(optimizer) { }

    runtime::Status issue(runtime::Stream& stream) override {
        GDT_TRY(m_cycle.issue(stream));
        return m_optimizer.issue(stream);
    }
    [[nodiscard]] std::uint64_t guard() const override { return m_cycle.guard(); }

private:
    CycleRegion<T>& m_cycle;
    OptimizerRegion<T>& m_optimizer;
};

} // namespace gdt::train
