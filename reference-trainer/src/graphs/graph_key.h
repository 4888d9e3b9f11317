// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace gdt::graphs {

/// What one graph contains: the forward and backward passes of a global batch with the gradient reduction,
/// the optimizer step, or both.
enum class Scope { Cycle, Optimizer, Full };

[[nodiscard]] const char* scopeName(Scope scope);

/// Everything that a captured graph has frozen and that may differ between calls. Two calls with equal keys
/// may use the same graph.
struct GraphKey {
    Scope scope = Scope::Cycle;
    std::int64_t seqLen = 0;
    std::int64_t microBatch = 0;
    std::int64_t microBatches = 0;
    int elementBytes = 0;

    friend auto operator<=>(const GraphKey&, const GraphKey&) = default; // NOLINT(modernize-use-nullptr)

    /// For example "cycle seq=64 mb=4x2 f32".
    [[nodiscard]] std::string text() const;
};

} // namespace gdt::graphs
