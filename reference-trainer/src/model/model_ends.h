// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/branch.h"
#include "optim/step_state.h"

namespace gdt::model {

/// The token embedding, [vocab, hidden]; over tensor-parallel ranks each holds part of the vocabulary.
template <class T> class EmbeddingEnd {
public:
    EmbeddingEnd(const ModelConfig& config, const parallel::ModelParallel& parallel, const LocalSizes& sizes,
        const Scratch<T>& scratch, ParameterLayout& layout);

    void bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients);
    [[nodiscard]] const Tensor<T>& table() const { return m_table; }

    /// From tokens to `out` [shardRows, hidden], in one or two pieces.
    runtime::Status lookUp(const Pass& pass, const std::int32_t* tokens, T* out) const;
    runtime::Status reduce(const Pass& pass, T* out) const;
    /// Drops elements of `x` [shardRows, hidden], of the output or of its gradient, in place.
    runtime::Status drop(const Pass& pass, T* x, const std::int64_t* firstSample) const;
    /// With sequence parallel, before backward(): gathers the gradient.
    runtime::Status gatherGradient(const Pass& pass, const T* gradient) const;
    runtime::Status backward(const Pass& pass, const std::int32_t* tokens, const T* gradient) const;

private:
    const ModelConfig& m_config;
    const parallel::ModelParallel& m_parallel;
    const Scratch<T>& m_scratch;
    LocalSizes m_sizes;
    int m_index;
    Tensor<T> m_table;
};

/// Final norm, output projection (tied to the embedding or not) and loss; over tensor-parallel ranks each
/// holds the logits of part of the vocabulary, and the loss needs the maximum and the sums over all.
template <class T> class HeadEnd {
public:
    struct Slot {
        NormStatistics<T> norm;
        T* normed = nullptr; ///< [rows, hidden]
        T* logits = nullptr; ///< [rows, vocab / ranks], then their gradient
        kernels::Wide<T>* losses = nullptr; ///< [rows]
    };
    /// What the head reads and writes of a slot's residual stream.
    struct Ends {
        const std::int32_t* targets = nullptr;
        const T* x = nullptr;
        T* gradient = nullptr;
    };

    /// `embedding` is null when the head is not tied to a table of this rank: it has a matrix of its own
    /// then, with config.tiedHead a copy of the first stage's table.
    HeadEnd(const ModelConfig& config, const parallel::ModelParallel& parallel, const LocalSizes& sizes,
        const Scratch<T>& scratch, ParameterLayout& layout, const EmbeddingEnd<T>* embedding);

    void plan(BufferPlan& plan, int slots);
    void bind(const ParameterLayout& layout, T* values, kernels::Wide<T>* gradients, optim::StepState* state);
    void connect(int slot, const Ends& ends) { m_ends[static_cast<std::size_t>(slot)] = ends; }

    void forwardSteps(StepList& list);
    void backwardSteps(StepList& list);

private:
    using Piece = runtime::Status (HeadEnd::*)(const Pass&, const Slot&, const Ends&);
    void add(StepList& list, StepKind kind, Piece piece);

    runtime::Status norm(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status gatherNormed(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status logits(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status reduceMaxima(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status sums(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status reduceSums(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status loss(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status inputGradient(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status reduceGradient(const Pass& pass, const Slot& s, const Ends& ends);
    runtime::Status weightGradient(const Pass& pass, const Slot& s, const Ends& ends);

    const ModelConfig& m_config;
    const parallel::ModelParallel& m_parallel;
    const Scratch<T>& m_scratch;
    LocalSizes m_sizes;
    const EmbeddingEnd<T>* m_embedding;
    int m_gainIndex = -1, m_biasIndex = -1, m_weightIndex = -1;
    Norm<T> m_norm;
    Linear<T> m_linear;
    optim::StepState* m_state = nullptr;
    std::vector<Slot> m_slots;
    std::vector<Ends> m_ends;
};

} // namespace gdt::model
