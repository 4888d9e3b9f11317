// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/pass.h"
#include "model/scratch.h"

namespace gdt::model {

/// Causal self-attention of this rank's heads with rotary positions. Over several context-parallel ranks it
/// is a ring: keys and values travel from rank to rank while each rank attends to those it holds, and in the
/// backward pass their gradients travel along and come home with the last hop.
template <class T> class Attention {
public:
    using Wide = kernels::Wide<T>;

    /// Buffers of one slot.
    struct Slot {
        T* qkv = nullptr; ///< [rows, 3 * width]
        T* output = nullptr; ///< [rows, width]
        Wide* logSums = nullptr; ///< [batch, heads, seqLen]
        const std::int64_t* firstSample = nullptr; ///< number of the micro-batch's first sample
    };

    Attention(const ModelConfig& config, const parallel::ModelParallel& parallel, const LocalSizes& sizes,
        const Scratch<T>& scratch, std::int64_t layer);

    void plan(BufferPlan& plan, int slots);
    void connect(int slot, const std::int64_t* firstSample) {
        m_slots[static_cast<std::size_t>(slot)].firstSample = firstSample;
    }
    [[nodiscard]] const Slot& slot(int index) const { return m_slots[static_cast<std::size_t>(index)]; }

    /// From slot.qkv to slot.output.
    void forwardSteps(StepList& list);
    /// The same in a backward pass, when qkv is there and was turned already.
    void againSteps(StepList& list);
    /// From scratch.heads, the gradient of the output, to scratch.wide, that of qkv.
    void backwardSteps(StepList& list);

private:
    void coreSteps(StepList& list);
    runtime::Status start(const Pass& pass, const Slot& slot) const;
    runtime::Status rotate(const Pass& pass, T* qkv, double direction) const;
    runtime::Status attend(const Pass& pass, const Slot& slot) const;
    runtime::Status writeScores(const Pass& pass, const Slot& slot) const;
    runtime::Status attendBackward(const Pass& pass, const Slot& slot) const;
    runtime::Status pack(const Pass& pass, const Slot& slot) const;
    runtime::Status sendKeyValues(const Pass& pass, int hop) const;
    runtime::Status attendHop(const Pass& pass, const Slot& slot, int hop) const;
    runtime::Status finishRing(const Pass& pass, const Slot& slot) const;
    runtime::Status packBackward(const Pass& pass, const Slot& slot) const;
    runtime::Status attendHopBackward(const Pass& pass, const Slot& slot, int hop) const;
    runtime::Status sendGradients(const Pass& pass, int hop) const;
    runtime::Status unpackGradients(const Pass& pass) const;
    runtime::Status join(const Pass& pass) const;

    /// The parts of queries and keys that meet at a hop, in positions.
    struct Block {
        std::int64_t firstQuery = 0, queries = 0, keys = 0;
        bool causal = false;
    };
    /// Fills in the dropout of a kernel's arguments.
    template <class Args> void drop(Args& args, const Pass& pass, const Slot& slot) const;
    template <class Args>
    void dropHop(Args& args, const Pass& pass, const Slot& slot, const Block& block, int hop) const;
    [[nodiscard]] Block blockOf(const Pass& pass, int hop) const;

    const ModelConfig& m_config;
    const parallel::ModelParallel& m_parallel;
    const Scratch<T>& m_scratch;
    LocalSizes m_sizes;
    std::int64_t m_layer;
    std::vector<Slot> m_slots;
};

} // namespace gdt::model
