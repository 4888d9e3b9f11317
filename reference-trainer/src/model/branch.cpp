// SPDX-License-Identifier: Apache-2.0
#include "model/branch.h"

#include "kernels/dropout.h"
#include "model/random_streams.h"

namespace gdt::model {

using runtime::Status;

template <class T>
Branch<T>::Branch(const ModelConfig& config, const parallel::ModelParallel& parallel,
    const Scratch<T>& scratch, std::int64_t layer, int branch)
    : m_config(config)
    , m_parallel(parallel)
    , m_scratch(scratch)
    , m_layer(layer)
    , m_dropoutStream(branchDropoutStream(layer, branch)) { }

template <class T>
void Branch<T>::declare(
    ParameterLayout& layout, const Names& names, std::uint64_t firstId, const Shape& shape) {
    const std::int64_t h = m_config.hidden;
    const int part = m_parallel.tensor.rank;
    const int parts = m_parallel.tensor.size;
    const bool bias = m_config.norm == NormKind::Layer;
    const std::int64_t inner = shape.inner * parts;
    const std::string norm = names.layer + names.norm;
    const std::string first = names.layer + names.first;
    const std::string last = names.layer + names.last;
    m_shape = shape;
    m_indices.gain = layout.addVector(norm + ".gain", firstId, Shard::whole(h), 1.0, true);
    m_indices.bias = bias ? layout.addVector(norm + ".bias", firstId + 1, Shard::whole(h), 0.0, true) : -1;
    m_indices.firstWeight = layout.addMatrix(first + ".weight", firstId + 2,
        Shard::ofRows(inner, h, part, parts, shape.innerBlocks), kInitDeviation);
    m_indices.firstBias = layout.addVector(
        first + ".bias", firstId + 3, Shard::ofRows(inner, 1, part, parts, shape.innerBlocks), 0.0, false);
    m_indices.lastWeight = layout.addMatrix(last + ".weight", firstId + 4,
        Shard::ofColumns(h, shape.middle * parts, part, parts), shape.lastDeviation);
    m_indices.lastBias = layout.addVector(last + ".bias", firstId + 5, Shard::whole(h), 0.0, true);
}

template <class T>
void Branch<T>::bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients) {
    const auto at = [&](int index) { return resolve(layout, index, values, gradients); };
    const std::int64_t h = m_config.hidden;
    m_norm = {m_config.norm, m_config.normEpsilon, h, at(m_indices.gain), at(m_indices.bias), m_layer};
    m_first = {at(m_indices.firstWeight), at(m_indices.firstBias), h, m_shape.inner};
    m_lastBias = at(m_indices.lastBias);
    // With several ranks the bias is added once, after the sum.
    m_last = {
        at(m_indices.lastWeight), m_parallel.tensor.parallel() ? Tensor<T>() : m_lastBias, m_shape.middle, h};
}

template <class T> void Branch<T>::useFp8(const kernels::Fp8Scales& scales) {
    m_first.fp8 = {&m_scratch.fp8, scales, m_first.in, m_first.out};
    m_last.fp8 = {&m_scratch.fp8, scales.from(kernels::kFp8Tensors), m_last.in, m_last.out};
}

template <class T>
Status Branch<T>::norm(const Pass& pass, const T* x, T* normed, const NormStatistics<T>& statistics) const {
    return m_norm.forward(pass, x, m_parallel.tensor.shards() ? m_scratch.shard : normed, statistics);
}

template <class T> Status Branch<T>::gatherNormed(const Pass& pass, T* normed) const {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    GDT_TRY(tensor.gather(pass.stream, m_scratch.shard, normed, pass.shardRows() * m_config.hidden));
    return tensor.join(pass.stream);
}

template <class T> Status Branch<T>::reduceBranch(const Pass& pass) const {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    const std::int64_t count = pass.shardRows() * m_config.hidden;
    GDT_TRY(tensor.shards() ? tensor.scatter(pass.stream, m_scratch.narrow, m_scratch.shard, count)
                            : tensor.allReduce(pass.stream, m_scratch.narrow, count, comm::ReduceOp::Sum));
    return tensor.join(pass.stream);
}

template <class T>
Status Branch<T>::addBranch(const Pass& pass, const T* x, T* y, const std::int64_t* firstSample) const {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    const std::int64_t rows = pass.shardRows();
    const std::int64_t count = rows * m_config.hidden;
    const T* branch = tensor.shards() ? m_scratch.shard : m_scratch.narrow;
    if (!tensor.parallel() && m_config.dropout <= 0) {
        return pass.stream.template launch<kernels::ResidualAdd<T>>(gridFor(count), {x, branch, y, count});
    }
    const kernels::SequenceShard shard = m_parallel.context.shard(pass.seqLen);
    const DropoutSource source = pass.hooks.dropoutSource(m_layer, {m_config.dropoutSeed, firstSample});
    return pass.stream.template launch<kernels::BiasDropoutAdd<T>>(gridFor(count),
        {x, branch, tensor.parallel() ? m_lastBias.value : nullptr, y, source.firstSample, rows,
            m_config.hidden, pass.shape.batch, tensor.firstShardRow(pass.rows()), pass.seqLen, shard.chunk,
            shard.first0, shard.first1, source.seed, m_dropoutStream, m_config.dropout});
}

template <class T> const T* Branch<T>::ownBranchGradient(const T* gradient) const {
    return m_config.dropout > 0 ? m_scratch.branchGradient : gradient;
}

template <class T> const T* Branch<T>::branchGradient(const T* gradient) const {
    return m_parallel.tensor.shards() ? m_scratch.full : ownBranchGradient(gradient);
}

template <class T>
Status Branch<T>::beginBackward(const Pass& pass, const T* gradient, const std::int64_t* firstSample) const {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    const std::int64_t rows = pass.shardRows();
    if (m_config.dropout > 0) {
        const kernels::SequenceShard shard = m_parallel.context.shard(pass.seqLen);
        const DropoutSource source = pass.hooks.dropoutSource(m_layer, {m_config.dropoutSeed, firstSample});
        GDT_TRY(pass.stream.template launch<kernels::Dropout<T>>(gridFor(rows * m_config.hidden),
            {gradient, m_scratch.branchGradient, source.firstSample, rows, m_config.hidden, pass.shape.batch,
                tensor.firstShardRow(pass.rows()), pass.seqLen, shard.chunk, shard.first0, shard.first1,
                source.seed, m_dropoutStream, m_config.dropout}));
    }
    if (!tensor.parallel()) {
        return Status::Success; // the last linear has its bias
    }
    return pass.stream.template launch<kernels::BiasBackward<T>>(
        gridFor(m_config.hidden), {ownBranchGradient(gradient), m_lastBias.gradient, rows, m_config.hidden});
}

template <class T> Status Branch<T>::gatherBranchGradient(const Pass& pass, const T* gradient) const {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    GDT_TRY(tensor.gather(
        pass.stream, ownBranchGradient(gradient), m_scratch.full, pass.shardRows() * m_config.hidden));
    return tensor.join(pass.stream);
}

template <class T> Status Branch<T>::reduceNormedGradient(const Pass& pass) const {
    const parallel::TensorGroup& tensor = m_parallel.tensor;
    const std::int64_t count = pass.shardRows() * m_config.hidden;
    if (tensor.shards()) {
        return tensor.scatter(pass.stream, m_scratch.narrow, m_scratch.shard, count);
    }
    return tensor.allReduce(pass.stream, m_scratch.narrow, count, comm::ReduceOp::Sum);
}

template <class T>
Status Branch<T>::finishBackward(
    const Pass& pass, const T* x, T* gradient, const NormStatistics<T>& statistics) const {
    GDT_TRY(m_parallel.tensor.join(pass.stream));
    const T* normed = m_parallel.tensor.shards() ? m_scratch.shard : m_scratch.narrow;
    return m_norm.backward(pass, x, normed, gradient, statistics);
}

template class Branch<float>;
template class Branch<double>;
template class Branch<kernels::BFloat16>;
template class Branch<kernels::Float16>;

} // namespace gdt::model
