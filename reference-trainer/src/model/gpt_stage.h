// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/model_ends.h"
#include "model/stage_plan.h"
#include "model/transformer_layer.h"

#include <memory>
#include <vector>

namespace gdt::model {

/// The part of a GPT that one rank holds; with one rank, all of it: token embedding, transformer blocks,
/// final norm, output projection (tied or not) and loss. Forward and backward are written out by hand and
/// only issue kernels and collectives; the caller owns parameters and gradients (two blocks of
/// layout().count() elements) and the buffers. Everything else is by chunk of the stage and slot (StagePlan).
template <class T> class GptStage {
public:
    /// Buffers of one chunk and slot that others fill or read. Messages have messageCount() elements.
    struct Slot {
        std::int32_t* tokens = nullptr; ///< [local positions, batch]
        std::int32_t* targets = nullptr;
        std::int64_t* firstSample = nullptr; ///< number of the micro-batch's first sample
        T* input = nullptr; ///< of the first layer: from the embedding or the stage before
        T* gradient = nullptr; ///< of the residual stream: of the output, then of the input
    };

    /// `maxBatch` is the largest micro-batch; activations are sized for maxBatch * config.seqLen tokens. The
    /// parameter block is filled up to a multiple of `blockMultiple`. `parallel` must outlive the stage.
    GptStage(const ModelConfig& config, std::int64_t maxBatch,
        const parallel::ModelParallel& parallel = parallel::alone(), StagePlan plan = {},
        std::int64_t blockMultiple = 1);
    GptStage(const GptStage&) = delete;
    GptStage& operator=(const GptStage&) = delete;

    [[nodiscard]] const ParameterLayout& layout() const { return m_layout; }
    [[nodiscard]] const ModelConfig& config() const { return m_config; }
    [[nodiscard]] const StagePlan& plan() const { return m_plan; }
    /// Everything that passes work in; to be assigned before bind().
    [[nodiscard]] const BufferPlan& buffers() const { return m_buffers; }

    /// `state` is where the loss goes.
    void bind(T* values, kernels::Wide<T>* gradients, optim::StepState* state);
    /// How many tensors are rounded to 8 bits; 0 unless config.fp8.
    [[nodiscard]] std::int64_t fp8Tensors() const;
    /// Of `scales`, those of a layer's tensors; memory is null where this rank does not hold the layer.
    [[nodiscard]] kernels::Fp8Scales fp8Scales(const kernels::Fp8Scales& scales, std::int64_t layer) const;
    /// After bind(), with config.fp8.
    void useFp8(const kernels::Fp8Scales& scales);
    /// Starting values from counter-based random numbers: the same for every layout over ranks. `master` is
    /// the block of wide parameters, the same as the values unless T is narrow.
    runtime::Status initialise(runtime::Stream& stream, std::uint64_t seed, kernels::Wide<T>* master);

    [[nodiscard]] const Slot& slot(int chunk, int slot) const;
    /// What the chunk's forward pass leaves for the next stage.
    [[nodiscard]] const T* output(int chunk, int slot) const;
    [[nodiscard]] std::int64_t messageCount(const Pass& pass) const {
        return pass.shardRows() * m_config.hidden;
    }

    /// The forward pass of a chunk. The last part of the model adds pass.weight * (sum of token losses) to
    /// state->loss and leaves the gradient of the logits, times state->lossScale.
    [[nodiscard]] const StepList& forwardSteps(int chunk) const { return at(chunk).forward; }
    /// Adds to all gradients; must follow the forward pass of the same micro-batch.
    [[nodiscard]] const StepList& backwardSteps(int chunk) const { return at(chunk).backward; }

    runtime::Status betweenReplays(LayerHooks& hooks, runtime::Stream& stream);

private:
    struct Chunk {
        std::vector<std::unique_ptr<TransformerLayer<T>>> layers;
        std::vector<Slot> slots;
        StepList forward, backward;
    };

    [[nodiscard]] const Chunk& at(int chunk) const { return m_chunks[static_cast<std::size_t>(chunk)]; }
    void planBuffers();
    void connect(int chunk);
    void listSteps(int chunk);
    using EmbeddingPiece = runtime::Status (*)(const EmbeddingEnd<T>&, const Pass&, const Slot&);
    void embed(int chunk, StepList& list, StepKind kind, EmbeddingPiece piece);
    void listEmbedding(int chunk, StepList& list);
    void listEmbeddingBackward(int chunk, StepList& list);

    ModelConfig m_config;
    const parallel::ModelParallel& m_parallel;
    StagePlan m_plan;
    LocalSizes m_sizes;
    Scratch<T> m_scratch;
    ParameterLayout m_layout;
    std::vector<Chunk> m_chunks;
    std::unique_ptr<EmbeddingEnd<T>> m_embedding; ///< with the first part only
    std::unique_ptr<HeadEnd<T>> m_head; ///< with the last part only
    BufferPlan m_buffers;
    T* m_values = nullptr;
};

/// Issues all steps of a list.
inline runtime::Status issueAll(const StepList& list, const Pass& pass, int slot) {
    for (const Step& step : list) {
        GDT_TRY(step.issue(pass, slot));
    }
    return runtime::Status::Success;
}

} // namespace gdt::model
