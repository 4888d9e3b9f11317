// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/linear.h"
#include "model/norm.h"
#include "model/scratch.h"

namespace gdt::model {

inline constexpr double kInitDeviation = 0.02; ///< of the weights at the start

/// What the attention and the MLP of a layer have in common: a norm, a column-parallel linear, something of
/// their own, a row-parallel linear, dropout and the residual sum.
template <class T> class Branch {
public:
    struct Shape {
        std::int64_t inner = 0; ///< outputs of the first linear on this rank
        std::int64_t innerBlocks = 1; ///< 3 for queries, keys and values, 2 for gates and values
        std::int64_t middle = 0; ///< inputs of the second linear on this rank
        double lastDeviation = 0; ///< of the second linear's initial values
    };
    struct Names {
        std::string layer, norm, first, last;
    };

    Branch(const ModelConfig& config, const parallel::ModelParallel& parallel, const Scratch<T>& scratch,
        std::int64_t layer, int branch);

    /// Adds the six tensors, with ids from `firstId`.
    void declare(ParameterLayout& layout, const Names& names, std::uint64_t firstId, const Shape& shape);
    void bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients);

    /// After bind(): both linears multiply 8-bit factors, with the scales of the first six tensors.
    void useFp8(const kernels::Fp8Scales& scales);

    [[nodiscard]] const Linear<T>& first() const { return m_first; }
    [[nodiscard]] const Linear<T>& last() const { return m_last; }

    // Pieces of the forward pass. `normed` [rows, hidden] is what the first linear reads.
    runtime::Status norm(const Pass& pass, const T* x, T* normed, const NormStatistics<T>& statistics) const;
    runtime::Status gatherNormed(const Pass& pass, T* normed) const;
    /// Sums this rank's part of the branch, scratch.narrow, over the ranks.
    runtime::Status reduceBranch(const Pass& pass) const;
    runtime::Status addBranch(const Pass& pass, const T* x, T* y, const std::int64_t* firstSample) const;

    // Pieces of the backward pass.
    /// The gradient of the branch from that of the residual stream, and the gradient of the last bias.
    runtime::Status beginBackward(const Pass& pass, const T* gradient, const std::int64_t* firstSample) const;
    runtime::Status gatherBranchGradient(const Pass& pass, const T* gradient) const;
    /// What the last linear's backward pass reads, [rows, hidden].
    [[nodiscard]] const T* branchGradient(const T* gradient) const;
    /// Starts the sum of scratch.narrow, this rank's part of the gradient of `normed`, over the ranks.
    runtime::Status reduceNormedGradient(const Pass& pass) const;
    /// gradient += that of x through the norm.
    runtime::Status finishBackward(
        const Pass& pass, const T* x, T* gradient, const NormStatistics<T>& statistics) const;

private:
    [[nodiscard]] const T* ownBranchGradient(const T* gradient) const;

    const ModelConfig& m_config;
    const parallel::ModelParallel& m_parallel;
    const Scratch<T>& m_scratch;
    std::int64_t m_layer;
    std::uint64_t m_dropoutStream;
    struct Indices {
        int gain, bias, firstWeight, firstBias, lastWeight, lastBias;
    } m_indices{};
    Shape m_shape;
    Norm<T> m_norm;
    Linear<T> m_first, m_last;
    Tensor<T> m_lastBias;
};

/// The parameter's place in the two blocks; nothing for index -1.
template <class T>
Tensor<T> resolve(const ParameterLayout& layout, int index, T* values, kernels::Wide<T>* gradients) {
    if (index < 0) {
        return {};
    }
    const std::int64_t offset = layout.at(index).offset;
    return {values + offset, gradients + offset};
}

} // namespace gdt::model
