// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace gd::gui {

// What a bar stands for; decides its colour. Few on purpose: see gui/timeline/theme.h.
enum class Category : std::uint8_t {
    gemm, // matrix products
    attention, // attention and other named compute
    compute, // every other kernel
    comm, // NCCL and other communication
    copy, // copies
    fill, // fills
    replay, // a whole replay of a graph
    host, // calls, ranges and steps
    gap, // a replay gap: idle time, drawn hatched
    memory, // a quantity over time, not work
};
inline constexpr int kCategories = 10;

// The category of a kernel by its demangled name: words that libraries put into their kernels' names
// (cuBLAS, CUTLASS, FlashAttention, NCCL). A name without such a word is `compute`.
Category kernelCategory(std::string_view name);

} // namespace gd::gui
