// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace gdt::model {

enum class NormKind { Layer, Rms };
enum class Activation { Gelu, Swiglu };
/// What the backward pass computes again instead of keeping it from the forward pass.
enum class Recompute {
    None,
    Selective, ///< the attention core: from queries, keys and values to its output
    Full, ///< each layer, from its input
};

/// Shape of the model. All sizes in elements.
struct ModelConfig {
    std::int64_t layers = 2;
    std::int64_t hidden = 64;
    std::int64_t heads = 4;
    std::int64_t seqLen = 64; ///< longest sequence; buffers are sized for it
    std::int64_t vocab = 8;
    bool tiedHead = true; ///< the output projection is the token embedding
    NormKind norm = NormKind::Layer;
    Activation activation = Activation::Gelu;
    Recompute recompute = Recompute::None;
    bool fp8 = false; ///< the layers' matrices multiply 8-bit factors; elements are bf16
    std::int64_t mlpWidth = 0; ///< inner width of the MLP; 0: as usual for the activation
    double normEpsilon = 1e-5;
    double rotaryBase = 10000.0;
    double dropout = 0; ///< share of the elements of each residual branch that is dropped
    double embeddingDropout = 0; ///< of the embedding's output
    double attentionDropout = 0; ///< of the attention probabilities
    std::uint64_t dropoutSeed = 1;

    [[nodiscard]] std::int64_t headSize() const { return hidden / heads; }
    /// Inputs of the MLP's second matrix. Usually 4 * hidden; SwiGLU has three matrices instead of two, so
    /// 8/3 * hidden, rounded up to a multiple of 64, keeps their size.
    [[nodiscard]] std::int64_t mlpHidden() const {
        if (mlpWidth > 0) {
            return mlpWidth;
        }
        return activation == Activation::Swiglu ? (8 * hidden + 191) / 192 * 64 : 4 * hidden;
    }
    /// Blocks of mlpHidden() outputs of its first matrix: SwiGLU has gates and values.
    [[nodiscard]] std::int64_t mlpBlocks() const { return activation == Activation::Swiglu ? 2 : 1; }

    /// Empty when the shape can be built, else one sentence that names the option to change.
    [[nodiscard]] std::string problem() const;
};

/// One micro-batch.
struct BatchShape {
    std::int64_t seqLen = 0;
    std::int64_t batch = 0;

    [[nodiscard]] std::int64_t rows() const { return seqLen * batch; }
};

} // namespace gdt::model
