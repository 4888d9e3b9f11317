// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace gdt::model {

/// Which part of the model a rank holds: chunk c of stage p is part c * stages + p of the layers, spread as
/// evenly as they go, later parts the smaller ones. The first part has the embedding, the last the head.
struct StagePlan {
    int stage = 0;
    int stages = 1;
    std::vector<int> slots{1}; ///< by chunk: sets of activation buffers

    [[nodiscard]] int chunks() const { return static_cast<int>(slots.size()); }
    [[nodiscard]] int parts() const { return stages * chunks(); }
    [[nodiscard]] int part(int chunk) const { return chunk * stages + stage; }
    [[nodiscard]] bool first(int chunk) const { return part(chunk) == 0; }
    [[nodiscard]] bool last(int chunk) const { return part(chunk) == parts() - 1; }
    /// First layer of a part; that of part parts() is the number of layers.
    [[nodiscard]] std::int64_t firstLayer(int part, std::int64_t layers) const {
        const std::int64_t each = layers / parts();
        const std::int64_t larger = layers % parts();
        return part * each + (part < larger ? part : larger);
    }
};

} // namespace gdt::model
