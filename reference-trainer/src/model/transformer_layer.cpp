// SPDX-License-Identifier: Apache-2.0
#include "model/transformer_layer.h"

#include "kernels/swiglu.h"

#include <cmath>

namespace gdt::model {

using runtime::Status;

template <class T>
TransformerLayer<T>::TransformerLayer(const ModelConfig& config, const parallel::ModelParallel& parallel,
    const LocalSizes& sizes, const Scratch<T>& scratch, std::int64_t index, ParameterLayout& layout)
    : m_config(config)
    , m_parallel(parallel)
    , m_scratch(scratch)
    , m_sizes(sizes)
    , m_index(index)
    , m_attention(config, parallel, sizes, scratch, index)
    , m_attentionBranch(config, parallel, scratch, index, 0)
    , m_mlpBranch(config, parallel, scratch, index, 1) {
    // Outputs of 2 * layers branches add up in the residual stream; the smaller start keeps its variance
    // at 1.
    const double last = kInitDeviation / std::sqrt(2.0 * static_cast<double>(config.layers));
    const std::string name = "layer" + std::to_string(index) + ".";
    const std::uint64_t id = 1 + static_cast<std::uint64_t>(index) * kIds;
    m_attentionBranch.declare(
        layout, {name, "norm1", "qkv", "project"}, id, {3 * sizes.width(), 3, sizes.width(), last});
    m_mlpBranch.declare(layout, {name, "norm2", "fc1", "fc2"}, id + 6,
        {sizes.fc1, config.mlpBlocks(), sizes.mlpHidden, last});
}

template <class T> void TransformerLayer<T>::plan(BufferPlan& plan, int slots) {
    m_attention.plan(plan, slots);
    m_slots.resize(static_cast<std::size_t>(slots));
    const auto name = [&](const char* buffer) {
        return std::string(m_config.recompute == Recompute::Full ? buffer : "");
    };
    for (Slot& slot : m_slots) {
        plan.inSlot(static_cast<std::size_t>(&slot - m_slots.data()));
        slot.norm1.plan(plan, m_config.norm, m_sizes.shardRows, name("norm1"));
        slot.norm2.plan(plan, m_config.norm, m_sizes.shardRows, name("norm2"));
        plan.want(&slot.normed1, m_sizes.rows * m_sizes.hidden, name("normed1"));
        plan.want(&slot.normed2, m_sizes.rows * m_sizes.hidden, name("normed2"));
        plan.want(&slot.middle, m_sizes.shardRows * m_sizes.hidden, name("middle"));
        plan.want(&slot.output, m_sizes.shardRows * m_sizes.hidden);
        plan.want(&slot.fc1, m_sizes.rows * m_sizes.fc1, name("fc1"));
        plan.want(&slot.active, m_sizes.rows * m_sizes.mlpHidden, name("active"));
    }
}

template <class T>
void TransformerLayer<T>::bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients) {
    m_attentionBranch.bind(layout, values, gradients);
    m_mlpBranch.bind(layout, values, gradients);
}

template <class T>
void TransformerLayer<T>::connect(int slot, const Residual<T>& residual, const std::int64_t* firstSample) {
    m_slots[static_cast<std::size_t>(slot)].residual = residual;
    m_slots[static_cast<std::size_t>(slot)].firstSample = firstSample;
    m_attention.connect(slot, firstSample);
}

template <class T> void TransformerLayer<T>::add(StepList& list, StepKind kind, Piece piece) {
    list.push_back({kind, m_index, -1,
        [this, piece](const Pass& pass, int slot) { return (this->*piece)(pass, at(slot), slot); }});
}

// --- forward ---

// Up to the inputs of the MLP's first linear; `between` goes from one branch to the other.
template <class T> void TransformerLayer<T>::stepsToMlp(StepList& list, Piece between) {
    using Layer = TransformerLayer;
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    add(list, StepKind::Compute, &Layer::beforeAttention);
    if (tensor.shards()) {
        add(list, StepKind::TensorComm, &Layer::gatherNormed1);
    }
    add(list, StepKind::Compute, &Layer::qkv);
    m_attention.forwardSteps(list);
    add(list, StepKind::Compute, &Layer::project);
    if (tensor.parallel()) {
        add(list, StepKind::TensorComm, &Layer::reduceAttention);
    }
    add(list, StepKind::Compute, between);
    if (tensor.shards()) {
        add(list, StepKind::TensorComm, &Layer::gatherNormed2);
    }
}

template <class T> void TransformerLayer<T>::forwardSteps(StepList& list) {
    using Layer = TransformerLayer;
    stepsToMlp(list, &Layer::betweenBranches);
    add(list, StepKind::Compute, &Layer::mlp);
    if (m_parallel.tensor.parallel()) {
        add(list, StepKind::TensorComm, &Layer::reduceMlp);
    }
    add(list, StepKind::Compute, &Layer::afterMlp);
}

template <class T> Status TransformerLayer<T>::beforeAttention(const Pass& pass, const Slot& s, int) {
    return m_attentionBranch.norm(pass, s.residual.x, s.normed1, s.norm1);
}

template <class T> Status TransformerLayer<T>::gatherNormed1(const Pass& pass, const Slot& s, int) {
    return m_attentionBranch.gatherNormed(pass, s.normed1);
}

template <class T> Status TransformerLayer<T>::qkv(const Pass& pass, const Slot& s, int slot) {
    return m_attentionBranch.first().forward(pass, s.normed1, m_attention.slot(slot).qkv);
}

template <class T> Status TransformerLayer<T>::project(const Pass& pass, const Slot&, int slot) {
    return m_attentionBranch.last().forward(pass, m_attention.slot(slot).output, m_scratch.narrow);
}

template <class T> Status TransformerLayer<T>::reduceAttention(const Pass& pass, const Slot&, int) {
    return m_attentionBranch.reduceBranch(pass);
}

template <class T> Status TransformerLayer<T>::betweenBranches(const Pass& pass, const Slot& s, int) {
    GDT_TRY(addAttention(pass, s));
    GDT_TRY(pass.hooks.inForward(m_index, pass.stream));
    return beforeMlp(pass, s);
}

template <class T> Status TransformerLayer<T>::betweenAgain(const Pass& pass, const Slot& s, int) {
    GDT_TRY(addAttention(pass, s));
    return beforeMlp(pass, s);
}

template <class T> Status TransformerLayer<T>::addAttention(const Pass& pass, const Slot& s) const {
    return m_attentionBranch.addBranch(pass, s.residual.x, s.middle, s.firstSample);
}

template <class T> Status TransformerLayer<T>::beforeMlp(const Pass& pass, const Slot& s) const {
    return m_mlpBranch.norm(pass, s.middle, s.normed2, s.norm2);
}

template <class T> Status TransformerLayer<T>::gatherNormed2(const Pass& pass, const Slot& s, int) {
    return m_mlpBranch.gatherNormed(pass, s.normed2);
}

template <class T> Status TransformerLayer<T>::mlpAgain(const Pass& pass, const Slot& s, int) {
    GDT_TRY(m_mlpBranch.first().forward(pass, s.normed2, s.fc1));
    return activate(pass, s);
}

template <class T> Status TransformerLayer<T>::mlp(const Pass& pass, const Slot& s, int slot) {
    GDT_TRY(mlpAgain(pass, s, slot));
    return m_mlpBranch.last().forward(pass, s.active, m_scratch.narrow);
}

template <class T> Status TransformerLayer<T>::activate(const Pass& pass, const Slot& s) const {
    const std::int64_t count = pass.rows() * m_sizes.mlpHidden;
    if (m_config.activation == Activation::Swiglu) {
        return pass.stream.template launch<kernels::SwigluForward<T>>(
            gridFor(count), {s.fc1, s.active, pass.rows(), m_sizes.mlpHidden});
    }
    return pass.stream.template launch<kernels::GeluForward<T>>(gridFor(count), {s.fc1, s.active, count});
}

template <class T> Status TransformerLayer<T>::reduceMlp(const Pass& pass, const Slot&, int) {
    return m_mlpBranch.reduceBranch(pass);
}

template <class T> Status TransformerLayer<T>::afterMlp(const Pass& pass, const Slot& s, int) {
    return m_mlpBranch.addBranch(pass, s.middle, s.residual.y, s.firstSample);
}

// --- backward ---

template <class T> void TransformerLayer<T>::backwardSteps(StepList& list) {
    using Layer = TransformerLayer;
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    if (m_config.recompute == Recompute::Full) {
        stepsToMlp(list, &Layer::betweenAgain);
        add(list, StepKind::Compute, &Layer::mlpAgain);
    }
    add(list, StepKind::Compute, &Layer::mlpGradient);
    if (tensor.shards()) {
        add(list, StepKind::TensorComm, &Layer::gatherMlpGradient);
    }
    add(list, StepKind::Compute, &Layer::mlpBackward);
    if (tensor.parallel()) {
        add(list, StepKind::TensorComm, &Layer::reduceMlpGradient);
    }
    add(list, StepKind::Compute, &Layer::mlpWeights);
    if (m_config.recompute == Recompute::Selective) {
        m_attention.againSteps(list);
    }
    add(list, StepKind::Compute, &Layer::attentionGradient);
    if (tensor.shards()) {
        add(list, StepKind::TensorComm, &Layer::gatherAttentionGradient);
    }
    add(list, StepKind::Compute, &Layer::projectBackward);
    m_attention.backwardSteps(list);
    add(list, StepKind::Compute, &Layer::qkvBackward);
    if (tensor.parallel()) {
        add(list, StepKind::TensorComm, &Layer::reduceAttentionGradient);
    }
    add(list, StepKind::Compute, &Layer::qkvWeights);
}

template <class T> Status TransformerLayer<T>::mlpGradient(const Pass& pass, const Slot& s, int) {
    GDT_TRY(pass.hooks.inBackward(m_index, pass.stream));
    return m_mlpBranch.beginBackward(pass, s.residual.gradient, s.firstSample);
}

template <class T> Status TransformerLayer<T>::gatherMlpGradient(const Pass& pass, const Slot& s, int) {
    return m_mlpBranch.gatherBranchGradient(pass, s.residual.gradient);
}

template <class T> Status TransformerLayer<T>::mlpBackward(const Pass& pass, const Slot& s, int) {
    const T* gradient = m_mlpBranch.branchGradient(s.residual.gradient);
    GDT_TRY(m_mlpBranch.last().backwardWeight(pass, s.active, gradient));
    GDT_TRY(activateBackward(pass, s, gradient));
    return m_mlpBranch.first().backwardInput(pass, m_scratch.wide, m_scratch.narrow);
}

// From the gradient of the branch to that of the first linear's outputs, scratch.wide.
template <class T>
Status TransformerLayer<T>::activateBackward(const Pass& pass, const Slot& s, const T* gradient) const {
    const std::int64_t count = pass.rows() * m_sizes.mlpHidden;
    if (m_config.activation == Activation::Swiglu) {
        GDT_TRY(m_mlpBranch.last().backwardInput(pass, gradient, m_scratch.gated));
        return pass.stream.template launch<kernels::SwigluBackward<T>>(
            gridFor(count), {s.fc1, m_scratch.gated, m_scratch.wide, pass.rows(), m_sizes.mlpHidden});
    }
    GDT_TRY(m_mlpBranch.last().backwardInput(pass, gradient, m_scratch.wide));
    return pass.stream.template launch<kernels::GeluBackward<T>>(
        gridFor(count), {s.fc1, m_scratch.wide, m_scratch.wide, count});
}

template <class T> Status TransformerLayer<T>::reduceMlpGradient(const Pass& pass, const Slot&, int) {
    return m_mlpBranch.reduceNormedGradient(pass);
}

// Beside the sum over ranks where that has a stream of its own.
template <class T> Status TransformerLayer<T>::mlpWeights(const Pass& pass, const Slot& s, int) {
    GDT_TRY(m_mlpBranch.first().backwardWeight(pass, s.normed2, m_scratch.wide));
    return m_mlpBranch.finishBackward(pass, s.middle, s.residual.gradient, s.norm2);
}

template <class T> Status TransformerLayer<T>::attentionGradient(const Pass& pass, const Slot& s, int) {
    return m_attentionBranch.beginBackward(pass, s.residual.gradient, s.firstSample);
}

template <class T> Status TransformerLayer<T>::gatherAttentionGradient(const Pass& pass, const Slot& s, int) {
    return m_attentionBranch.gatherBranchGradient(pass, s.residual.gradient);
}

template <class T> Status TransformerLayer<T>::projectBackward(const Pass& pass, const Slot& s, int slot) {
    const T* gradient = m_attentionBranch.branchGradient(s.residual.gradient);
    GDT_TRY(m_attentionBranch.last().backwardWeight(pass, m_attention.slot(slot).output, gradient));
    return m_attentionBranch.last().backwardInput(pass, gradient, m_scratch.heads);
}

template <class T> Status TransformerLayer<T>::qkvBackward(const Pass& pass, const Slot&, int) {
    return m_attentionBranch.first().backwardInput(pass, m_scratch.wide, m_scratch.narrow);
}

template <class T> Status TransformerLayer<T>::reduceAttentionGradient(const Pass& pass, const Slot&, int) {
    return m_attentionBranch.reduceNormedGradient(pass);
}

template <class T> Status TransformerLayer<T>::qkvWeights(const Pass& pass, const Slot& s, int) {
    GDT_TRY(m_attentionBranch.first().backwardWeight(pass, s.normed1, m_scratch.wide));
    return m_attentionBranch.finishBackward(pass, s.residual.x, s.residual.gradient, s.norm1);
}

template <class T> Status TransformerLayer<T>::betweenReplays(LayerHooks& hooks, runtime::Stream& stream) {
    GDT_TRY(hooks.betweenReplays(m_index, stream));
    return Status::Success;
}

template class TransformerLayer<float>;
template class TransformerLayer<double>;
template class TransformerLayer<kernels::BFloat16>;
template class TransformerLayer<kernels::Float16>;

} // namespace gdt::model
