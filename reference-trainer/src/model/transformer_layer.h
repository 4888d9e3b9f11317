// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/attention.h"
#include "model/branch.h"

namespace gdt::model {

/// Pre-norm transformer block:
///   middle = x + drop(project(attention(rotary(qkv(norm1(x))))));
///   y = middle + drop(fc2(activation(fc1(norm2(middle))))).
/// Kernels are issued in this order on the pass's stream, nothing waits. Over several tensor-parallel ranks
/// qkv and fc1 are column-parallel, project and fc2 row-parallel. Activations of a slot stay until the
/// backward pass of the same micro-batch, but for those that config.recompute makes it compute again: all
/// layers and slots share their memory. The steps refer to the layer, which must not move.
template <class T> class TransformerLayer {
public:
    TransformerLayer(const ModelConfig& config, const parallel::ModelParallel& parallel,
        const LocalSizes& sizes, const Scratch<T>& scratch, std::int64_t index, ParameterLayout& layout);
    TransformerLayer(const TransformerLayer&) = delete;
    TransformerLayer& operator=(const TransformerLayer&) = delete;

    void plan(BufferPlan& plan, int slots);
    /// Resolves parameters, after ParameterLayout::finish.
    void bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients);
    /// After bind(), with the scales of the first kFp8Tensors tensors.
    void useFp8(const kernels::Fp8Scales& scales) {
        m_attentionBranch.useFp8(scales);
        m_mlpBranch.useFp8(scales.from(2 * kernels::kFp8Tensors));
    }
    /// After BufferPlan::assign: what the layer reads and writes for each slot.
    void connect(int slot, const Residual<T>& residual, const std::int64_t* firstSample);

    void forwardSteps(StepList& list);
    void backwardSteps(StepList& list);

    /// Host-side place for per-layer work between two replays; does nothing unless a fault is armed.
    runtime::Status betweenReplays(LayerHooks& hooks, runtime::Stream& stream);

    [[nodiscard]] T* output(int slot) const { return at(slot).output; }

    /// Parameters a layer declares, for ids.
    static constexpr std::uint64_t kIds = 12;
    /// Tensors that its four linears round to 8 bits.
    static constexpr std::int64_t kFp8Tensors = 4 * kernels::kFp8Tensors;

private:
    struct Slot {
        Residual<T> residual;
        const std::int64_t* firstSample = nullptr;
        NormStatistics<T> norm1, norm2;
        T* normed1 = nullptr; // [rows, hidden]
        T* middle = nullptr; // [shardRows, hidden]
        T* normed2 = nullptr; // [rows, hidden]
        T* fc1 = nullptr; // [rows, fc1]
        T* active = nullptr; // [rows, mlpHidden]
        T* output = nullptr; // [shardRows, hidden]
    };

    [[nodiscard]] const Slot& at(int slot) const { return m_slots[static_cast<std::size_t>(slot)]; }
    using Piece = runtime::Status (TransformerLayer::*)(const Pass&, const Slot&, int);
    void add(StepList& list, StepKind kind, Piece piece);
    void stepsToMlp(StepList& list, Piece between);

    runtime::Status beforeAttention(const Pass& pass, const Slot& s, int);
    runtime::Status gatherNormed1(const Pass& pass, const Slot& s, int);
    runtime::Status qkv(const Pass& pass, const Slot& s, int slot);
    runtime::Status project(const Pass& pass, const Slot& s, int slot);
    runtime::Status reduceAttention(const Pass& pass, const Slot& s, int);
    runtime::Status betweenBranches(const Pass& pass, const Slot& s, int);
    runtime::Status betweenAgain(const Pass& pass, const Slot& s, int);
    runtime::Status addAttention(const Pass& pass, const Slot& s) const;
    runtime::Status beforeMlp(const Pass& pass, const Slot& s) const;
    runtime::Status gatherNormed2(const Pass& pass, const Slot& s, int);
    runtime::Status mlp(const Pass& pass, const Slot& s, int);
    runtime::Status mlpAgain(const Pass& pass, const Slot& s, int);
    runtime::Status activate(const Pass& pass, const Slot& s) const;
    runtime::Status reduceMlp(const Pass& pass, const Slot& s, int);
    runtime::Status afterMlp(const Pass& pass, const Slot& s, int);

    runtime::Status mlpGradient(const Pass& pass, const Slot& s, int);
    runtime::Status gatherMlpGradient(const Pass& pass, const Slot& s, int);
    runtime::Status mlpBackward(const Pass& pass, const Slot& s, int);
    runtime::Status activateBackward(const Pass& pass, const Slot& s, const T* gradient) const;
    runtime::Status reduceMlpGradient(const Pass& pass, const Slot& s, int);
    runtime::Status mlpWeights(const Pass& pass, const Slot& s, int);
    runtime::Status attentionGradient(const Pass& pass, const Slot& s, int);
    runtime::Status gatherAttentionGradient(const Pass& pass, const Slot& s, int);
    runtime::Status projectBackward(const Pass& pass, const Slot& s, int slot);
    runtime::Status qkvBackward(const Pass& pass, const Slot& s, int);
    runtime::Status reduceAttentionGradient(const Pass& pass, const Slot& s, int);
    runtime::Status qkvWeights(const Pass& pass, const Slot& s, int);

    const ModelConfig& m_config;
    const parallel::ModelParallel& m_parallel;
    const Scratch<T>& m_scratch;
    LocalSizes m_sizes;
    std::int64_t m_index;
    Attention<T> m_attention;
    Branch<T> m_attentionBranch, m_mlpBranch;
    std::vector<Slot> m_slots;
};

} // namespace gdt::model
