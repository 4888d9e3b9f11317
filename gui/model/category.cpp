// SPDX-License-Identifier: Apache-2.0
#include "gui/model/category.h"

#include "analyzer/facts/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace gd::gui {
namespace {

template <std::size_t N>
bool holdsOneOf(std::string_view text, const std::array<std::string_view, N>& words) {
    return std::any_of(words.begin(), words.end(),
        [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

constexpr std::array<std::string_view, 4> kAttention = {"flash", "fmha", "attention", "softmax"};
constexpr std::array<std::string_view, 6> kGemm = {"gemm", "gemv", "cutlass", "nvjet", "matmul", "xmma"};

} // namespace

Category kernelCategory(std::string_view name) {
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
        [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (facts::isCommKernel(name))
        return Category::comm;
    if (holdsOneOf(lower, kAttention))
        return Category::attention;
    if (holdsOneOf(lower, kGemm))
        return Category::gemm;
    return Category::compute;
}

} // namespace gd::gui
