// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gd::importer {

// Sums and differences of times that come from a file: a damaged one gives a nonsensical time, never
// undefined behaviour.
inline std::int64_t wrapAdd(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapSubtract(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

} // namespace gd::importer
