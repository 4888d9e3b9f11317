// SPDX-License-Identifier: Apache-2.0
#include "model/model_ends.h"

#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/vocab_parallel.h"
#include "model/random_streams.h"
#include "model/transformer_layer.h"

namespace gdt::model {

using runtime::Status;

namespace {

constexpr double kEmbeddingDeviation = 0.02;
constexpr std::uint64_t kEmbeddingId = 0;

std::uint64_t idAfterLayers(const ModelConfig& config) {
    return 1 + static_cast<std::uint64_t>(config.layers) * TransformerLayer<float>::kIds;
}

Shard vocabShard(const ModelConfig& config, const parallel::ModelParallel& parallel) {
    return Shard::ofRows(config.vocab, config.hidden, parallel.tensor.rank, parallel.tensor.size);
}

} // namespace

// --- embedding ---

template <class T>
EmbeddingEnd<T>::EmbeddingEnd(const ModelConfig& config, const parallel::ModelParallel& parallel,
    const LocalSizes& sizes, const Scratch<T>& scratch, ParameterLayout& layout)
    : m_config(config)
    , m_parallel(parallel)
    , m_scratch(scratch)
    , m_sizes(sizes)
    , m_index(
          layout.addMatrix("embedding", kEmbeddingId, vocabShard(config, parallel), kEmbeddingDeviation)) { }

template <class T>
void EmbeddingEnd<T>::bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients) {
    m_table = resolve(layout, m_index, values, gradients);
}

template <class T>
Status EmbeddingEnd<T>::lookUp(const Pass& pass, const std::int32_t* tokens, T* out) const {
    const std::int64_t rows = pass.rows();
    const std::int64_t h = m_config.hidden;
    if (!m_parallel.tensor.parallel()) {
        return pass.stream.template launch<kernels::EmbeddingForward<T>>(
            gridFor(rows * h), {tokens, m_table.value, out, rows, h});
    }
    T* part = m_parallel.tensor.shards() ? m_scratch.narrow : out;
    return pass.stream.template launch<kernels::VocabEmbeddingForward<T>>(
        gridFor(rows * h), {tokens, m_table.value, part, rows, h, m_sizes.firstToken, m_sizes.vocab});
}

template <class T> Status EmbeddingEnd<T>::reduce(const Pass& pass, T* out) const {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    const std::int64_t count = pass.shardRows() * m_config.hidden;
    GDT_TRY(tensor.shards() ? tensor.scatter(pass.stream, m_scratch.narrow, out, count)
                            : tensor.allReduce(pass.stream, out, count, comm::ReduceOp::Sum));
    return tensor.join(pass.stream);
}

template <class T>
Status EmbeddingEnd<T>::drop(const Pass& pass, T* x, const std::int64_t* firstSample) const {
    const std::int64_t rows = pass.shardRows();
    const kernels::SequenceShard shard = m_parallel.context.shard(pass.seqLen);
    return pass.stream.template launch<kernels::Dropout<T>>(gridFor(rows * m_config.hidden),
        {x, x, firstSample, rows, m_config.hidden, pass.shape.batch,
            m_parallel.tensor.firstShardRow(pass.rows()), pass.seqLen, shard.chunk, shard.first0,
            shard.first1, m_config.dropoutSeed, kEmbeddingDropoutStream, m_config.embeddingDropout});
}

template <class T> Status EmbeddingEnd<T>::gatherGradient(const Pass& pass, const T* gradient) const {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    GDT_TRY(tensor.gather(pass.stream, gradient, m_scratch.full, pass.shardRows() * m_config.hidden));
    return tensor.join(pass.stream);
}

template <class T>
Status EmbeddingEnd<T>::backward(const Pass& pass, const std::int32_t* tokens, const T* gradient) const {
    const std::int64_t rows = pass.rows();
    const std::int64_t h = m_config.hidden;
    if (!m_parallel.tensor.parallel()) {
        return pass.stream.template launch<kernels::EmbeddingBackward<T>>(
            gridFor(rows * h), {tokens, gradient, m_table.gradient, rows, h});
    }
    const T* whole = m_parallel.tensor.shards() ? m_scratch.full : gradient;
    return pass.stream.template launch<kernels::VocabEmbeddingBackward<T>>(
        gridFor(rows * h), {tokens, whole, m_table.gradient, rows, h, m_sizes.firstToken, m_sizes.vocab});
}

// --- head ---

template <class T>
HeadEnd<T>::HeadEnd(const ModelConfig& config, const parallel::ModelParallel& parallel,
    const LocalSizes& sizes, const Scratch<T>& scratch, ParameterLayout& layout,
    const EmbeddingEnd<T>* embedding)
    : m_config(config)
    , m_parallel(parallel)
    , m_scratch(scratch)
    , m_sizes(sizes)
    , m_embedding(config.tiedHead ? embedding : nullptr) {
    const std::uint64_t id = idAfterLayers(config);
    const Shard whole = Shard::whole(config.hidden);
    m_gainIndex = layout.addVector("final_norm.gain", id, whole, 1.0, true);
    if (config.norm == NormKind::Layer) {
        m_biasIndex = layout.addVector("final_norm.bias", id + 1, whole, 0.0, true);
    }
    if (!config.tiedHead) {
        m_weightIndex = layout.addMatrix("head", id + 2, vocabShard(config, parallel), kEmbeddingDeviation);
    } else if (m_embedding == nullptr) {
        m_weightIndex
            = layout.addCopy("embedding", kEmbeddingId, vocabShard(config, parallel), kEmbeddingDeviation);
    }
}

template <class T> void HeadEnd<T>::plan(BufferPlan& plan, int slots) {
    m_slots.resize(static_cast<std::size_t>(slots));
    m_ends.resize(m_slots.size());
    for (Slot& slot : m_slots) {
        plan.inSlot(static_cast<std::size_t>(&slot - m_slots.data()));
        slot.norm.plan(plan, m_config.norm, m_sizes.shardRows);
        plan.want(&slot.normed, m_sizes.rows * m_sizes.hidden);
        plan.want(&slot.logits, m_sizes.rows * m_sizes.vocab);
        plan.want(&slot.losses, m_sizes.rows);
    }
}

template <class T>
void HeadEnd<T>::bind(
    const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients, optim::StepState* state) {
    const auto at = [&](int index) { return resolve(layout, index, values, gradients); };
    m_norm = {m_config.norm, m_config.normEpsilon, m_config.hidden, at(m_gainIndex), at(m_biasIndex)};
    m_linear = {m_embedding != nullptr ? m_embedding->table() : at(m_weightIndex), {}, m_config.hidden,
        m_sizes.vocab};
    m_state = state;
}

template <class T> void HeadEnd<T>::add(StepList& list, StepKind kind, Piece piece) {
    list.push_back({kind, m_config.layers, -1, [this, piece](const Pass& pass, int slot) {
                        const auto index = static_cast<std::size_t>(slot);
                        return (this->*piece)(pass, m_slots[index], m_ends[index]);
                    }});
}

template <class T> void HeadEnd<T>::forwardSteps(StepList& list) {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    add(list, StepKind::Compute, &HeadEnd::norm);
    if (tensor.shards()) {
        add(list, StepKind::TensorComm, &HeadEnd::gatherNormed);
    }
    add(list, StepKind::Compute, &HeadEnd::logits);
    if (tensor.parallel()) {
        add(list, StepKind::TensorComm, &HeadEnd::reduceMaxima);
        add(list, StepKind::Compute, &HeadEnd::sums);
        add(list, StepKind::TensorComm, &HeadEnd::reduceSums);
    }
    add(list, StepKind::Compute, &HeadEnd::loss);
}

template <class T> Status HeadEnd<T>::norm(const Pass& pass, const Slot& s, const Ends& ends) {
    return m_norm.forward(pass, ends.x, m_parallel.tensor.shards() ? m_scratch.shard : s.normed, s.norm);
}

template <class T> Status HeadEnd<T>::gatherNormed(const Pass& pass, const Slot& s, const Ends&) {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    GDT_TRY(tensor.gather(pass.stream, m_scratch.shard, s.normed, pass.shardRows() * m_config.hidden));
    return tensor.join(pass.stream);
}

template <class T> Status HeadEnd<T>::logits(const Pass& pass, const Slot& s, const Ends&) {
    GDT_TRY(m_linear.forward(pass, s.normed, s.logits));
    if (!m_parallel.tensor.parallel()) {
        return Status::Success;
    }
    return pass.stream.template launch<kernels::VocabMaximum<T>>(
        gridFor(pass.rows()), {s.logits, m_scratch.maxima, pass.rows(), m_sizes.vocab});
}

template <class T> Status HeadEnd<T>::reduceMaxima(const Pass& pass, const Slot&, const Ends&) {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    GDT_TRY(tensor.allReduce(pass.stream, m_scratch.maxima, pass.rows(), comm::ReduceOp::Max));
    return tensor.join(pass.stream);
}

template <class T> Status HeadEnd<T>::sums(const Pass& pass, const Slot& s, const Ends& ends) {
    return pass.stream.template launch<kernels::VocabSums<T>>(gridFor(pass.rows()),
        {s.logits, ends.targets, m_scratch.maxima, m_scratch.sums, pass.rows(), m_sizes.vocab,
            m_sizes.firstToken});
}

template <class T> Status HeadEnd<T>::reduceSums(const Pass& pass, const Slot&, const Ends&) {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    GDT_TRY(tensor.allReduce(pass.stream, m_scratch.sums, 2 * pass.rows(), comm::ReduceOp::Sum));
    return tensor.join(pass.stream);
}

template <class T> Status HeadEnd<T>::loss(const Pass& pass, const Slot& s, const Ends& ends) {
    const std::int64_t rows = pass.rows();
    if (m_parallel.tensor.parallel()) {
        GDT_TRY(pass.stream.template launch<kernels::VocabCrossEntropy<T>>(gridFor(rows),
            {s.logits, ends.targets, m_scratch.maxima, m_scratch.sums, s.losses, m_state, rows, m_sizes.vocab,
                m_sizes.firstToken, pass.weight}));
    } else {
        GDT_TRY(pass.stream.template launch<kernels::SoftmaxCrossEntropy<T>>(
            gridFor(rows), {s.logits, ends.targets, s.losses, m_state, rows, m_sizes.vocab, pass.weight}));
    }
    return pass.stream.template launch<kernels::LossAccumulate<T>>(
        gridFor(1), {s.losses, m_state, rows, pass.weight});
}

template <class T> void HeadEnd<T>::backwardSteps(StepList& list) {
    add(list, StepKind::Compute, &HeadEnd::inputGradient);
    if (m_parallel.tensor.parallel()) {
        add(list, StepKind::TensorComm, &HeadEnd::reduceGradient);
    }
    add(list, StepKind::Compute, &HeadEnd::weightGradient);
}

template <class T> Status HeadEnd<T>::inputGradient(const Pass& pass, const Slot& s, const Ends&) {
    return m_linear.backwardInput(pass, s.logits, m_scratch.narrow);
}

template <class T> Status HeadEnd<T>::reduceGradient(const Pass& pass, const Slot&, const Ends&) {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    const std::int64_t count = pass.shardRows() * m_config.hidden;
    return tensor.shards() ? tensor.scatter(pass.stream, m_scratch.narrow, m_scratch.shard, count)
                           : tensor.allReduce(pass.stream, m_scratch.narrow, count, comm::ReduceOp::Sum);
}

template <class T> Status HeadEnd<T>::weightGradient(const Pass& pass, const Slot& s, const Ends& ends) {
    const auto bytes = static_cast<std::size_t>(pass.shardRows() * m_config.hidden) * sizeof(T);
    GDT_TRY(m_linear.backwardWeight(pass, s.normed, s.logits));
    // Every block adds to the gradient of the residual stream, the final norm is the first to do so.
    GDT_TRY(pass.stream.memsetAsync(ends.gradient, 0, bytes));
    GDT_TRY(m_parallel.tensor.join(pass.stream));
    const T* gradient = m_parallel.tensor.shards() ? m_scratch.shard : m_scratch.narrow;
    return m_norm.backward(pass, ends.x, gradient, ends.gradient, s.norm);
}

template class EmbeddingEnd<float>;
template class EmbeddingEnd<double>;
template class EmbeddingEnd<kernels::BFloat16>;
template class EmbeddingEnd<kernels::Float16>;
template class HeadEnd<float>;
template class HeadEnd<double>;
template class HeadEnd<kernels::BFloat16>;
template class HeadEnd<kernels::Float16>;

} // namespace gdt::model
