// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_stage.h"

#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"

namespace gdt::model {

using runtime::Status;

namespace {
constexpr double kEmbeddingDeviation = 0.02;
} // namespace

template <class T>
GptStage<T>::GptStage(const ModelConfig& config, std::int64_t maxBatch)
    : m_config(config)
    , m_maxRows(maxBatch * config.seqLen) {
    const std::int64_t tableSize = config.vocab * config.hidden;
    m_tableIndex = m_layout.addMatrix("embedding", tableSize, kEmbeddingDeviation);
    for (std::int64_t i = 0; i < config.layers; ++i) {
        m_layers.emplace_back(config, i, m_layout);
    }
    m_gainIndex = m_layout.addVector("final_norm.gain", config.hidden, 1.0);
    if (config.norm == NormKind::Layer) {
        m_biasIndex = m_layout.addVector("final_norm.bias", config.hidden, 0.0);
    }
    if (!config.tiedHead) {
        m_headIndex = m_layout.addMatrix("head", tableSize, kEmbeddingDeviation);
    }
    m_layout.finish();
}

template <class T> std::size_t GptStage<T>::activationBytes() const {
    const std::int64_t h = m_config.hidden;
    // Per row: elements of type T, then of type Wide<T>.
    const std::int64_t perLayer = 6 * h + 3 * h + 2 * m_config.mlpHidden();
    const std::int64_t shared = 4 * h + m_config.mlpHidden() + m_config.vocab;
    const std::int64_t widePerLayer = m_config.heads + 4;
    const std::int64_t wideShared = m_config.heads + 4;
    const std::int64_t elements = m_maxRows * (perLayer * m_config.layers + shared);
    const std::int64_t wide = m_maxRows * (widePerLayer * m_config.layers + wideShared);
    // The pool rounds each buffer up to 256 bytes.
    const std::int64_t buffers = 16 * m_config.layers + 16;
    return static_cast<std::size_t>(elements) * sizeof(T)
        + static_cast<std::size_t>(wide) * sizeof(kernels::Wide<T>) + static_cast<std::size_t>(buffers) * 256;
}

template <class T>
Status GptStage<T>::bind(T* values, kernels::Wide<T>* gradients, runtime::GraphPool& pool) {
    const auto at = [&](int index) -> Tensor<T> {
        if (index < 0) {
            return {};
        }
        return {values + m_layout.at(index).offset, gradients + m_layout.at(index).offset};
    };
    m_values = values;
    m_table = at(m_tableIndex);
    m_finalNorm = {m_config.norm, m_config.normEpsilon, m_config.hidden, at(m_gainIndex), at(m_biasIndex)};
    m_head = {m_config.tiedHead ? m_table : at(m_headIndex), {}, m_config.hidden, m_config.vocab};
    GDT_TRY(m_finalNorm.allocate(pool, m_maxRows));
    GDT_TRY(m_scratch.allocate(pool, m_config, m_maxRows));
    GDT_TRY(take(pool, &m_embedded, m_maxRows * m_config.hidden));
    GDT_TRY(take(pool, &m_normed, m_maxRows * m_config.hidden));
    GDT_TRY(take(pool, &m_gradient, m_maxRows * m_config.hidden));
    GDT_TRY(take(pool, &m_logits, m_maxRows * m_config.vocab));
    GDT_TRY(take(pool, &m_losses, m_maxRows));
    for (TransformerLayer<T>& layer : m_layers) {
        GDT_TRY(layer.bind(m_layout, values, gradients, pool, m_maxRows));
    }
    return Status::Success;
}

template <class T>
Status GptStage<T>::initialise(runtime::Stream& stream, std::uint64_t seed, kernels::Wide<T>* master) {
    for (const Parameter& parameter : m_layout.parameters()) {
        GDT_TRY(stream.template launch<kernels::InitNormal<kernels::Wide<T>>>(gridFor(parameter.count),
            {master + parameter.offset, parameter.count, seed, parameter.id, 0, parameter.mean,
                parameter.deviation}));
    }
    if constexpr (!std::is_same_v<T, kernels::Wide<T>>) {
        return stream.template launch<kernels::RoundValues<T>>(
            gridFor(m_layout.count()), {master, m_values, m_layout.count()});
    }
    return Status::Success;
}

template <class T> const T* GptStage<T>::layerInput(std::size_t layer) const {
    return layer == 0 ? m_embedded : m_layers[layer - 1].output();
}

template <class T>
Status GptStage<T>::forward(const Pass& pass, const Batch& batch, optim::StepState* state, double weight) {
    const std::int64_t rows = pass.shape.rows();
    GDT_TRY(pass.stream.template launch<kernels::EmbeddingForward<T>>(
        gridFor(rows * m_config.hidden), {batch.tokens, m_table.value, m_embedded, rows, m_config.hidden}));
    for (std::size_t i = 0; i < m_layers.size(); ++i) {
        GDT_TRY(m_layers[i].forward(pass, layerInput(i)));
    }
    GDT_TRY(m_finalNorm.forward(pass, layerInput(m_layers.size()), m_normed));
    GDT_TRY(m_head.forward(pass, m_normed, m_logits));
    GDT_TRY(pass.stream.template launch<kernels::SoftmaxCrossEntropy<T>>(
        gridFor(rows), {m_logits, batch.targets, m_losses, state, rows, m_config.vocab, weight}));
    return pass.stream.template launch<kernels::LossAccumulate<T>>(
        gridFor(1), {m_losses, state, rows, weight});
}

template <class T> Status GptStage<T>::backward(const Pass& pass, const Batch& batch) {
    const std::int64_t rows = pass.shape.rows();
    const std::int64_t elements = rows * m_config.hidden;
    GDT_TRY(m_head.backward(pass, m_normed, m_logits, m_scratch.narrow));
    // Every block adds to the gradient of the residual stream, the final norm is the first to do so.
    GDT_TRY(pass.stream.memsetAsync(m_gradient, 0, static_cast<std::size_t>(elements) * sizeof(T)));
    GDT_TRY(m_finalNorm.backward(pass, layerInput(m_layers.size()), m_scratch.narrow, m_gradient));
    for (std::size_t i = m_layers.size(); i-- > 0;) {
        GDT_TRY(m_layers[i].backward(pass, layerInput(i), m_gradient, m_scratch));
    }
    return pass.stream.template launch<kernels::EmbeddingBackward<T>>(
        gridFor(elements), {batch.tokens, m_gradient, m_table.gradient, rows, m_config.hidden});
}

template <class T> Status GptStage<T>::betweenReplays(LayerHooks& hooks, runtime::Stream& stream) {
    for (TransformerLayer<T>& layer : m_layers) {
        GDT_TRY(layer.betweenReplays(hooks, stream));
    }
    return Status::Success;
}

template class GptStage<float>;
template class GptStage<double>;
template class GptStage<kernels::BFloat16>;

} // namespace gdt::model
