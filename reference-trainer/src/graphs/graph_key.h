// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gdt::graphs {

/// What one graph contains.
enum class Scope {
    Cycle, ///< forward and backward passes of a global batch with the gradient reduction
    Optimizer, ///< the optimizer step
    Full, ///< both
    Microbatch, ///< one forward or backward pass of a model chunk
    Layer, ///< the part of a pass that belongs to one layer
    Segment, ///< the part of a pass between two tensor-parallel collectives
    Hop, ///< one step of the attention ring: attention and the message beside it
};
inline constexpr std::size_t kScopes = 7;

[[nodiscard]] const char* scopeName(Scope scope);

/// Whether graphs of the scope are parts of a pass: several in a cycle, that only the ranks of one stage and
/// replica run together.
[[nodiscard]] constexpr bool withinPass(Scope scope) {
    return scope != Scope::Cycle && scope != Scope::Optimizer && scope != Scope::Full;
}

/// Everything that a captured graph has frozen and that may differ between calls. Two calls with equal keys
/// may use the same graph.
struct GraphKey {
    Scope scope = Scope::Cycle;
    std::int64_t seqLen = 0; ///< 0 where the mode keeps it apart from the key
    std::int64_t microBatch = 0;
    std::int64_t microBatches = 0;
    int elementBytes = 0;
    // Within a pass only:
    int chunk = 0;
    bool backward = false;
    int unit = 0; ///< number of the part
    std::int64_t slot = 0; ///< set of buffers, or number of the micro-batch

    friend auto operator<=>(const GraphKey&, const GraphKey&) = default; // NOLINT(modernize-use-nullptr)

    /// For example "cycle seq=64 mb=4x2 f32" or "layer forward chunk=0 unit=3 slot=1 seq=64 mb=4x2 f32".
    [[nodiscard]] std::string text() const;
};

} // namespace gdt::graphs
