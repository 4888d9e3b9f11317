// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/philox.h"

#include <cstdint>

namespace gdt::kernels {

/// Which positions of a sequence a context-parallel rank holds: `chunk` positions from `first0`, then as many
/// from `first1`; chunk 0 means that it holds all. Kernels carry these three numbers among their arguments.
struct SequenceShard {
    std::int64_t chunk = 0;
    std::int64_t first0 = 0;
    std::int64_t first1 = 0;
};

/// Position in the whole sequence of local position t.
GDT_HOST_DEVICE constexpr std::int64_t globalPosition(
    std::int64_t t, std::int64_t chunk, std::int64_t first0, std::int64_t first1) {
    if (chunk == 0) {
        return t;
    }
    return t < chunk ? first0 + t : first1 + (t - chunk);
}

} // namespace gdt::kernels
