// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/linear.h"
#include "model/norm.h"

namespace gdt::model {

/// Buffers of the backward pass that all layers share, sized for the largest micro-batch.
template <class T> struct BackwardScratch {
    T* narrow = nullptr; ///< [rows, hidden]
    T* wide = nullptr; ///< [rows, 4 * hidden], also holds the gradient of queries, keys and values
    kernels::Wide<T>* rowSums = nullptr; ///< [batch, heads, seqLen]

    runtime::Status allocate(runtime::GraphPool& pool, const ModelConfig& config, std::int64_t rows);
};

/// Pre-norm transformer block:
///   middle = x + project(attention(rotary(qkv(norm1(x)))));  y = middle + fc2(gelu(fc1(norm2(middle)))).
/// Kernels are issued in this order on the pass's stream, nothing waits. Activations stay until the backward
/// pass of the same micro-batch; x must stay too.
template <class T> class TransformerLayer {
public:
    TransformerLayer(const ModelConfig& config, std::int64_t index, ParameterLayout& layout);

    /// Resolves parameters (after ParameterLayout::finish) and takes the activation buffers from `pool`.
    runtime::Status bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients,
        runtime::GraphPool& pool, std::int64_t rows);

    runtime::Status forward(const Pass& pass, const T* x);
    /// `dx` comes in as the gradient of the output and leaves as the gradient of x.
    runtime::Status backward(const Pass& pass, const T* x, T* dx, const BackwardScratch<T>& scratch);

    /// Host-side place for per-layer work between two replays; does nothing unless a fault is armed.
    runtime::Status betweenReplays(LayerHooks& hooks, runtime::Stream& stream);

    [[nodiscard]] T* output() const { return m_output; }

private:
    struct Indices {
        int gain1, bias1, qkvWeight, qkvBias, projectWeight, projectBias;
        int gain2, bias2, fc1Weight, fc1Bias, fc2Weight, fc2Bias;
    };

    runtime::Status attentionForward(const Pass& pass, const T* x);
    runtime::Status mlpForward(const Pass& pass);
    runtime::Status mlpBackward(const Pass& pass, T* dx, const BackwardScratch<T>& scratch);
    runtime::Status attentionBackward(const Pass& pass, const T* x, T* dx, const BackwardScratch<T>& scratch);

    ModelConfig m_config;
    std::int64_t m_index;
    Indices m_indices{};
    Norm<T> m_norm1, m_norm2;
    Linear<T> m_qkvLinear, m_projectLinear, m_fc1Linear, m_fc2Linear;

    T* m_normed1 = nullptr; // [rows, hidden]
    T* m_qkv = nullptr; // [rows, 3 * hidden]
    kernels::Wide<T>* m_logSums = nullptr; // [batch, heads, seqLen]
    T* m_attention = nullptr; // [rows, hidden]
    T* m_branch = nullptr; // [rows, hidden], output of either branch before it is added
    T* m_middle = nullptr; // [rows, hidden]
    T* m_normed2 = nullptr;
    T* m_fc1 = nullptr; // [rows, 4 * hidden]
    T* m_gelu = nullptr; // [rows, 4 * hidden]
    T* m_output = nullptr; // [rows, hidden]
};

} // namespace gdt::model
