// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.h"

#include <cstdint>

namespace gdt::train {

/// Floating-point operations that training needs a token, forward and backward: 6 for each parameter and, for
/// the two products of causal attention, 6 * layers * hidden * seqLen. What a program computes again does not
/// count.
[[nodiscard]] constexpr double operationsPerToken(const model::ModelConfig& config, std::int64_t parameters) {
    return 6.0 * static_cast<double>(parameters)
        + 6.0 * static_cast<double>(config.layers * config.hidden) * static_cast<double>(config.seqLen);
}

} // namespace gdt::train
