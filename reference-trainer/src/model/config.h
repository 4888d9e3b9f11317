// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace gdt::model {

enum class NormKind { Layer, Rms };

/// Shape of the model. All sizes in elements.
struct ModelConfig {
    std::int64_t layers = 2;
    std::int64_t hidden = 64;
    std::int64_t heads = 4;
    std::int64_t seqLen = 64; ///< longest sequence; buffers are sized for it
    std::int64_t vocab = 8;
    bool tiedHead = true; ///< the output projection is the token embedding
    NormKind norm = NormKind::Layer;
    double normEpsilon = 1e-5;
    double rotaryBase = 10000.0;
    double dropout = 0; ///< share of the elements of each residual branch that is dropped
    std::uint64_t dropoutSeed = 1;

    [[nodiscard]] std::int64_t headSize() const { return hidden / heads; }
    [[nodiscard]] std::int64_t mlpHidden() const { return 4 * hidden; }

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
