// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "faults/fault_injector.h"
#include "graphs/region.h"
#include "kernels/fetch_tokens.h"
#include "model/gpt_stage.h"
#include "optim/adamw.h"
#include "pipeline/schedule.h"

namespace gdt::train {

/// Forward and backward passes of all micro-batches of one global batch on this rank, then the gradient
/// reduction.
template <class T> class CycleRegion final : public graphs::Region {
public:
    struct Parts {
        model::GptStage<T>& stage;
        faults::FaultInjector& faults;
        parallel::GradientReduction reduction;
        optim::StepState* state;
        kernels::FetchTokens::Args fetch; ///< seqLen and microBatch are filled in per launch
    };

    CycleRegion(const Parts& parts, std::int64_t microBatches);

    /// Length of the sequences of the next issue(); at most what the stage was built for.
    void setSeqLen(std::int64_t seqLen) { m_seqLen = seqLen; }

    runtime::Status issue(runtime::Stream& stream) override;

private:
    runtime::Status fetch(runtime::Stream& stream, std::int64_t microBatch);
    runtime::Status run(const pipeline::Instruction& instruction, const model::Pass& pass);

    Parts m_parts;
    std::int64_t m_seqLen;
    std::vector<pipeline::Instruction> m_schedule;
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

private:
    CycleRegion<T>& m_cycle;
    OptimizerRegion<T>& m_optimizer;
};

} // namespace gdt::train
