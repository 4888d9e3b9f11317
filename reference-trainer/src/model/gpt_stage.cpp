// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_stage.h"

#include "kernels/elementwise.h"

#include <utility>

namespace gdt::model {

using runtime::Status;

template <class T>
GptStage<T>::GptStage(const ModelConfig& config, std::int64_t maxBatch,
    const parallel::ModelParallel& parallel, StagePlan plan, std::int64_t blockMultiple)
    : m_config(config)
    , m_parallel(parallel)
    , m_plan(std::move(plan))
    , m_sizes(config, parallel, maxBatch * parallel.context.localLength(config.seqLen))
    , m_chunks(static_cast<std::size_t>(m_plan.chunks())) {
    if (m_plan.first(0)) {
        m_embedding = std::make_unique<EmbeddingEnd<T>>(m_config, parallel, m_sizes, m_scratch, m_layout);
    }
    for (int c = 0; c < m_plan.chunks(); ++c) {
        const int part = m_plan.part(c);
        const std::int64_t end = m_plan.firstLayer(part + 1, config.layers);
        for (std::int64_t i = m_plan.firstLayer(part, config.layers); i < end; ++i) {
            m_chunks[static_cast<std::size_t>(c)].layers.push_back(
                std::make_unique<TransformerLayer<T>>(m_config, parallel, m_sizes, m_scratch, i, m_layout));
        }
        if (m_plan.last(c)) {
            m_head = std::make_unique<HeadEnd<T>>(
                m_config, parallel, m_sizes, m_scratch, m_layout, m_embedding.get());
        }
    }
    m_layout.finish(blockMultiple);
    planBuffers();
    for (int c = 0; c < m_plan.chunks(); ++c) {
        listSteps(c);
    }
}

template <class T> void GptStage<T>::planBuffers() {
    m_scratch.plan(m_buffers, m_sizes, m_parallel);
    for (int c = 0; c < m_plan.chunks(); ++c) {
        Chunk& chunk = m_chunks[static_cast<std::size_t>(c)];
        const int slots = m_plan.slots[static_cast<std::size_t>(c)];
        chunk.slots.resize(static_cast<std::size_t>(slots));
        m_buffers.describe(BufferKind::StaticInput, c);
        for (Slot& slot : chunk.slots) {
            m_buffers.inSlot(static_cast<std::size_t>(&slot - chunk.slots.data()));
            m_buffers.want(&slot.tokens, m_sizes.rows);
            m_buffers.want(&slot.targets, m_sizes.rows);
            m_buffers.want(&slot.firstSample, 1);
            m_buffers.want(&slot.input, m_sizes.shardRows * m_sizes.hidden);
            m_buffers.want(&slot.gradient, m_sizes.shardRows * m_sizes.hidden);
        }
        m_buffers.describe(BufferKind::Activation, c);
        for (const auto& layer : chunk.layers) {
            layer->plan(m_buffers, slots);
        }
        if (m_plan.last(c)) {
            m_head->plan(m_buffers, slots);
        }
    }
}

template <class T> void GptStage<T>::bind(T* values, kernels::Wide<T>* gradients, optim::StepState* state) {
    m_values = values;
    if (m_embedding != nullptr) {
        m_embedding->bind(m_layout, values, gradients);
    }
    if (m_head != nullptr) {
        m_head->bind(m_layout, values, gradients, state);
    }
    for (int c = 0; c < m_plan.chunks(); ++c) {
        for (const auto& layer : at(c).layers) {
            layer->bind(m_layout, values, gradients);
        }
        connect(c);
    }
}

template <class T> std::int64_t GptStage<T>::fp8Tensors() const {
    std::int64_t layers = 0;
    for (const Chunk& chunk : m_chunks) {
        layers += static_cast<std::int64_t>(chunk.layers.size());
    }
    return m_config.fp8 ? layers * TransformerLayer<T>::kFp8Tensors : 0;
}

template <class T>
kernels::Fp8Scales GptStage<T>::fp8Scales(const kernels::Fp8Scales& scales, std::int64_t layer) const {
    std::int64_t before = 0;
    for (int c = 0; c < m_plan.chunks(); ++c) {
        const std::int64_t first = m_plan.firstLayer(m_plan.part(c), m_config.layers);
        const auto held = static_cast<std::int64_t>(at(c).layers.size());
        if (layer >= first && layer < first + held) {
            return scales.from((before + layer - first) * TransformerLayer<T>::kFp8Tensors);
        }
        before += held;
    }
    return {};
}

template <class T> void GptStage<T>::useFp8(const kernels::Fp8Scales& scales) {
    std::int64_t first = 0;
    for (const Chunk& chunk : m_chunks) {
        for (const auto& layer : chunk.layers) {
            layer->useFp8(scales.from(first));
            first += TransformerLayer<T>::kFp8Tensors;
        }
    }
}

template <class T> void GptStage<T>::connect(int c) {
    const Chunk& chunk = at(c);
    for (int s = 0; s < m_plan.slots[static_cast<std::size_t>(c)]; ++s) {
        const Slot& slot = chunk.slots[static_cast<std::size_t>(s)];
        const T* x = slot.input;
        for (const auto& layer : chunk.layers) {
            layer->connect(s, {x, layer->output(s), slot.gradient}, slot.firstSample);
            x = layer->output(s);
        }
        if (m_plan.last(c)) {
            m_head->connect(s, {slot.targets, x, slot.gradient});
        }
    }
}

template <class T> void GptStage<T>::embed(int c, StepList& list, StepKind kind, EmbeddingPiece piece) {
    list.push_back({kind, -1, -1,
        [this, c, piece](const Pass& pass, int s) { return piece(*m_embedding, pass, this->slot(c, s)); }});
}

template <class T> void GptStage<T>::listEmbedding(int c, StepList& list) {
    using Embedding = EmbeddingEnd<T>;
    embed(c, list, StepKind::Compute, [](const Embedding& e, const Pass& pass, const Slot& slot) {
        return e.lookUp(pass, slot.tokens, slot.input);
    });
    if (m_parallel.tensor.parallel()) {
        embed(c, list, StepKind::TensorComm, [](const Embedding& e, const Pass& pass, const Slot& slot) {
            return e.reduce(pass, slot.input);
        });
    }
    if (m_config.embeddingDropout > 0) {
        embed(c, list, StepKind::Compute, [](const Embedding& e, const Pass& pass, const Slot& slot) {
            return e.drop(pass, slot.input, slot.firstSample);
        });
    }
}

template <class T> void GptStage<T>::listEmbeddingBackward(int c, StepList& list) {
    using Embedding = EmbeddingEnd<T>;
    if (m_config.embeddingDropout > 0) {
        embed(c, list, StepKind::Compute, [](const Embedding& e, const Pass& pass, const Slot& slot) {
            return e.drop(pass, slot.gradient, slot.firstSample);
        });
    }
    if (m_parallel.tensor.shards()) {
        embed(c, list, StepKind::TensorComm, [](const Embedding& e, const Pass& pass, const Slot& slot) {
            return e.gatherGradient(pass, slot.gradient);
        });
    }
    embed(c, list, StepKind::Compute, [](const Embedding& e, const Pass& pass, const Slot& slot) {
        return e.backward(pass, slot.tokens, slot.gradient);
    });
}

template <class T> void GptStage<T>::listSteps(int c) {
    Chunk& chunk = m_chunks[static_cast<std::size_t>(c)];
    if (m_plan.first(c)) {
        listEmbedding(c, chunk.forward);
    }
    for (const auto& layer : chunk.layers) {
        layer->forwardSteps(chunk.forward);
    }
    if (m_plan.last(c)) {
        m_head->forwardSteps(chunk.forward);
        m_head->backwardSteps(chunk.backward);
    }
    for (std::size_t i = chunk.layers.size(); i-- > 0;) {
        chunk.layers[i]->backwardSteps(chunk.backward);
    }
    if (m_plan.first(c)) {
        listEmbeddingBackward(c, chunk.backward);
    }
}

template <class T>
Status GptStage<T>::initialise(runtime::Stream& stream, std::uint64_t seed, kernels::Wide<T>* master) {
    using Wide = kernels::Wide<T>;
    for (const Parameter& parameter : m_layout.parameters()) {
        const Shard& shard = parameter.shard;
        const std::int64_t blockCount = shard.rows * shard.columns;
        for (std::int64_t block = 0; block < shard.blocks; ++block) {
            const std::int64_t first = block * blockCount;
            GDT_TRY(stream.template launch<kernels::InitNormal<Wide>>(gridFor(blockCount),
                {master + parameter.offset + first, blockCount, seed, parameter.id,
                    static_cast<std::uint64_t>(shard.globalIndex(first)), parameter.mean, parameter.deviation,
                    shard.columns, shard.wholeColumns}));
        }
    }
    if (const std::int64_t rest = m_layout.count() - m_layout.usedCount(); rest > 0) {
        GDT_TRY(stream.memsetAsync(
            master + m_layout.usedCount(), 0, static_cast<std::size_t>(rest) * sizeof(Wide)));
    }
    if constexpr (!std::is_same_v<T, Wide>) {
        return stream.template launch<kernels::RoundValues<T>>(
            gridFor(m_layout.count()), {master, m_values, m_layout.count()});
    }
    return Status::Success;
}

template <class T> const typename GptStage<T>::Slot& GptStage<T>::slot(int chunk, int slot) const {
    return at(chunk).slots[static_cast<std::size_t>(slot)];
}

template <class T> const T* GptStage<T>::output(int chunk, int slot) const {
    const Chunk& c = at(chunk);
    return c.layers.empty() ? this->slot(chunk, slot).input : c.layers.back()->output(slot);
}

template <class T> Status GptStage<T>::betweenReplays(LayerHooks& hooks, runtime::Stream& stream) {
    for (const Chunk& chunk : m_chunks) {
        for (const auto& layer : chunk.layers) {
            GDT_TRY(layer->betweenReplays(hooks, stream));
        }
    }
    return Status::Success;
}

template class GptStage<float>;
template class GptStage<double>;
template class GptStage<kernels::BFloat16>;
template class GptStage<kernels::Float16>;

} // namespace gdt::model
