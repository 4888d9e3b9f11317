// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gdt::model {

// Streams of the random numbers of dropout, kept apart from each other and from every parameter's.

inline constexpr std::uint64_t kEmbeddingDropoutStream = 0x656d6264000000;

[[nodiscard]] constexpr std::uint64_t branchDropoutStream(std::int64_t layer, int branch) {
    return 0x64726f70000000 + static_cast<std::uint64_t>(2 * layer + branch);
}
[[nodiscard]] constexpr std::uint64_t attentionDropoutStream(std::int64_t layer) {
    return 0x6174746e000000 + static_cast<std::uint64_t>(layer);
}

} // namespace gdt::model
