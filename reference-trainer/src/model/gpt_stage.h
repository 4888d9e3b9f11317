// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/transformer_layer.h"
#include "optim/step_state.h"

#include <vector>

namespace gdt::model {

/// Tokens of one micro-batch in device memory, [seqLen, batch].
struct Batch {
    const std::int32_t* tokens = nullptr;
    const std::int32_t* targets = nullptr;
};

/// The part of a GPT that one pipeline stage holds; with one stage, all of it: token embedding, `layers`
/// transformer blocks, final norm, output projection (tied or not) and loss. Forward and backward are written
/// out by hand and only issue kernels; the caller owns parameters and gradients (two blocks of
/// layout().count() elements) and the pool.
template <class T> class GptStage {
public:
    /// `maxBatch` is the largest micro-batch; activations are sized for maxBatch * config.seqLen tokens.
    GptStage(const ModelConfig& config, std::int64_t maxBatch);

    [[nodiscard]] const ParameterLayout& layout() const { return m_layout; }
    [[nodiscard]] const ModelConfig& config() const { return m_config; }
    /// Upper bound of what bind() takes from the pool.
    [[nodiscard]] std::size_t activationBytes() const;

    runtime::Status bind(T* values, kernels::Wide<T>* gradients, runtime::GraphPool& pool);
    /// Starting values from counter-based random numbers: the same for every layout over ranks.
    /// `master` is the block of wide parameters, the same as the values unless T is narrow.
    runtime::Status initialise(runtime::Stream& stream, std::uint64_t seed, kernels::Wide<T>* master);

    /// Adds weight * (sum of token losses) to state->loss and leaves the gradient of the logits, times
    /// state->lossScale, for backward(). weight = 1 / (tokens of the global batch).
    runtime::Status forward(const Pass& pass, const Batch& batch, optim::StepState* state, double weight);
    /// Adds to all gradients; must follow the forward pass of the same micro-batch.
    runtime::Status backward(const Pass& pass, const Batch& batch);

    runtime::Status betweenReplays(LayerHooks& hooks, runtime::Stream& stream);

private:
    [[nodiscard]] const T* layerInput(std::size_t layer) const;

    ModelConfig m_config;
    std::int64_t m_maxRows;
    ParameterLayout m_layout;
    int m_tableIndex = -1, m_gainIndex = -1, m_biasIndex = -1, m_headIndex = -1;
    std::vector<TransformerLayer<T>> m_layers;
    Tensor<T> m_table; // [vocab, hidden]
    Norm<T> m_finalNorm;
    Linear<T> m_head;
    T* m_values = nullptr;
    BackwardScratch<T> m_scratch;
    T* m_embedded = nullptr; // [rows, hidden]
    T* m_normed = nullptr; // [rows, hidden]
    T* m_logits = nullptr; // [rows, vocab], then their gradient
    kernels::Wide<T>* m_losses = nullptr; // [rows]
    T* m_gradient = nullptr; // [rows, hidden], of the residual stream
};

} // namespace gdt::model
