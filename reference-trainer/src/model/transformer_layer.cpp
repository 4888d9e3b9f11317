// SPDX-License-Identifier: Apache-2.0
#include "model/transformer_layer.h"

#include "kernels/attention.h"
#include "kernels/embedding.h"

#include <cmath>

namespace gdt::model {

using runtime::Status;

namespace {

constexpr double kInitDeviation = 0.02;

template <class T>
Tensor<T> resolve(const ParameterLayout& layout, int index, T* values, kernels::Wide<T>* gradients) {
    if (index < 0) {
        return {};
    }
    const std::int64_t offset = layout.at(index).offset;
    return {values + offset, gradients + offset};
}

} // namespace

template <class T>
Status BackwardScratch<T>::allocate(runtime::GraphPool& pool, const ModelConfig& config, std::int64_t rows) {
    GDT_TRY(take(pool, &narrow, rows * config.hidden));
    GDT_TRY(take(pool, &wide, rows * config.mlpHidden()));
    return take(pool, &rowSums, rows * config.heads);
}

template <class T>
TransformerLayer<T>::TransformerLayer(const ModelConfig& config, std::int64_t index, ParameterLayout& layout)
    : m_config(config)
    , m_index(index) {
    const std::int64_t h = config.hidden;
    const std::int64_t wide = config.mlpHidden();
    const bool bias = config.norm == NormKind::Layer;
    // Outputs of 2 * layers branches add up in the residual stream; the smaller start keeps its variance
    // at 1.
    const double last = kInitDeviation / std::sqrt(2.0 * static_cast<double>(config.layers));
    const std::string name = "layer" + std::to_string(index) + ".";
    m_indices.gain1 = layout.addVector(name + "norm1.gain", h, 1.0);
    m_indices.bias1 = bias ? layout.addVector(name + "norm1.bias", h, 0.0) : -1;
    m_indices.qkvWeight = layout.addMatrix(name + "qkv.weight", 3 * h * h, kInitDeviation);
    m_indices.qkvBias = layout.addVector(name + "qkv.bias", 3 * h, 0.0);
    m_indices.projectWeight = layout.addMatrix(name + "project.weight", h * h, last);
    m_indices.projectBias = layout.addVector(name + "project.bias", h, 0.0);
    m_indices.gain2 = layout.addVector(name + "norm2.gain", h, 1.0);
    m_indices.bias2 = bias ? layout.addVector(name + "norm2.bias", h, 0.0) : -1;
    m_indices.fc1Weight = layout.addMatrix(name + "fc1.weight", wide * h, kInitDeviation);
    m_indices.fc1Bias = layout.addVector(name + "fc1.bias", wide, 0.0);
    m_indices.fc2Weight = layout.addMatrix(name + "fc2.weight", h * wide, last);
    m_indices.fc2Bias = layout.addVector(name + "fc2.bias", h, 0.0);
}

template <class T>
Status TransformerLayer<T>::bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients,
    runtime::GraphPool& pool, std::int64_t rows) {
    const auto at = [&](int index) { return resolve(layout, index, values, gradients); };
    const std::int64_t h = m_config.hidden;
    const std::int64_t wide = m_config.mlpHidden();
    m_norm1 = {m_config.norm, m_config.normEpsilon, h, at(m_indices.gain1), at(m_indices.bias1)};
    m_norm2 = {m_config.norm, m_config.normEpsilon, h, at(m_indices.gain2), at(m_indices.bias2)};
    m_qkvLinear = {at(m_indices.qkvWeight), at(m_indices.qkvBias), h, 3 * h};
    m_projectLinear = {at(m_indices.projectWeight), at(m_indices.projectBias), h, h};
    m_fc1Linear = {at(m_indices.fc1Weight), at(m_indices.fc1Bias), h, wide};
    m_fc2Linear = {at(m_indices.fc2Weight), at(m_indices.fc2Bias), wide, h};
    GDT_TRY(m_norm1.allocate(pool, rows));
    GDT_TRY(m_norm2.allocate(pool, rows));
    for (T** narrow : {&m_normed1, &m_attention, &m_branch, &m_middle, &m_normed2, &m_output}) {
        GDT_TRY(take(pool, narrow, rows * h));
    }
    GDT_TRY(take(pool, &m_qkv, rows * 3 * h));
    GDT_TRY(take(pool, &m_logSums, rows * m_config.heads));
    GDT_TRY(take(pool, &m_fc1, rows * wide));
    return take(pool, &m_gelu, rows * wide);
}

template <class T> Status TransformerLayer<T>::attentionForward(const Pass& pass, const T* x) {
    const auto [seqLen, batch] = pass.shape;
    const std::int64_t elements = pass.shape.rows() * m_config.hidden;
    const std::int64_t heads = m_config.heads;
    const std::int64_t headSize = m_config.headSize();
    GDT_TRY(m_norm1.forward(pass, x, m_normed1));
    GDT_TRY(m_qkvLinear.forward(pass, m_normed1, m_qkv));
    GDT_TRY(pass.stream.template launch<kernels::Rotary<T>>(
        gridFor(elements), {m_qkv, seqLen, batch, heads, headSize, m_config.rotaryBase, 1.0}));
    GDT_TRY(pass.stream.template launch<kernels::AttentionForward<T>>(
        gridFor(elements), {m_qkv, m_attention, m_logSums, seqLen, batch, heads, headSize}));
    GDT_TRY(m_projectLinear.forward(pass, m_attention, m_branch));
    return pass.stream.template launch<kernels::ResidualAdd<T>>(
        gridFor(elements), {x, m_branch, m_middle, elements});
}

template <class T> Status TransformerLayer<T>::mlpForward(const Pass& pass) {
    const std::int64_t elements = pass.shape.rows() * m_config.hidden;
    const std::int64_t wide = pass.shape.rows() * m_config.mlpHidden();
    GDT_TRY(m_norm2.forward(pass, m_middle, m_normed2));
    GDT_TRY(m_fc1Linear.forward(pass, m_normed2, m_fc1));
    GDT_TRY(pass.stream.template launch<kernels::GeluForward<T>>(gridFor(wide), {m_fc1, m_gelu, wide}));
    GDT_TRY(m_fc2Linear.forward(pass, m_gelu, m_branch));
    return pass.stream.template launch<kernels::ResidualAdd<T>>(
        gridFor(elements), {m_middle, m_branch, m_output, elements});
}

template <class T> Status TransformerLayer<T>::forward(const Pass& pass, const T* x) {
    GDT_TRY(attentionForward(pass, x));
    GDT_TRY(pass.hooks.inForward(m_index, pass.stream));
    return mlpForward(pass);
}

template <class T>
Status TransformerLayer<T>::mlpBackward(const Pass& pass, T* dx, const BackwardScratch<T>& scratch) {
    const std::int64_t wide = pass.shape.rows() * m_config.mlpHidden();
    GDT_TRY(m_fc2Linear.backward(pass, m_gelu, dx, scratch.wide));
    GDT_TRY(pass.stream.template launch<kernels::GeluBackward<T>>(
        gridFor(wide), {m_fc1, scratch.wide, scratch.wide, wide}));
    GDT_TRY(m_fc1Linear.backward(pass, m_normed2, scratch.wide, scratch.narrow));
    return m_norm2.backward(pass, m_middle, scratch.narrow, dx);
}

template <class T>
Status TransformerLayer<T>::attentionBackward(
    const Pass& pass, const T* x, T* dx, const BackwardScratch<T>& scratch) {
    const auto [seqLen, batch] = pass.shape;
    const std::int64_t elements = pass.shape.rows() * m_config.hidden;
    const std::int64_t heads = m_config.heads;
    const std::int64_t headSize = m_config.headSize();
    T* dqkv = scratch.wide;
    GDT_TRY(m_projectLinear.backward(pass, m_attention, dx, scratch.narrow));
    GDT_TRY(pass.stream.template launch<kernels::AttentionBackward<T>>(gridFor(elements),
        {m_qkv, m_attention, m_logSums, scratch.narrow, dqkv, scratch.rowSums, seqLen, batch, heads,
            headSize}));
    GDT_TRY(pass.stream.template launch<kernels::Rotary<T>>(
        gridFor(elements), {dqkv, seqLen, batch, heads, headSize, m_config.rotaryBase, -1.0}));
    GDT_TRY(m_qkvLinear.backward(pass, m_normed1, dqkv, scratch.narrow));
    return m_norm1.backward(pass, x, scratch.narrow, dx);
}

template <class T>
Status TransformerLayer<T>::backward(const Pass& pass, const T* x, T* dx, const BackwardScratch<T>& scratch) {
    GDT_TRY(mlpBackward(pass, dx, scratch));
    return attentionBackward(pass, x, dx, scratch);
}

template <class T> Status TransformerLayer<T>::betweenReplays(LayerHooks& hooks, runtime::Stream& stream) {
    GDT_TRY(hooks.betweenReplays(m_index, stream));
    return Status::Success;
}

template struct BackwardScratch<float>;
template struct BackwardScratch<double>;
template struct BackwardScratch<kernels::BFloat16>;
template class TransformerLayer<float>;
template class TransformerLayer<double>;
template class TransformerLayer<kernels::BFloat16>;

} // namespace gdt::model
