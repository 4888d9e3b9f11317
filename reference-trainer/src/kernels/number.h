// SPDX-License-Identifier: Apache-2.0
// Conversions for host kernels: they compute in the wide type and round when they store, as on a GPU.
#pragma once

#include "kernels/kernel.h"
#include "kernels/small_format.h"

namespace gdt::kernels {

inline float widen(float v) {
    return v;
}
inline double widen(double v) {
    return v;
}
inline float widen(BFloat16 v) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(v.bits) << 16U);
}
inline float widen(Float16 v) {
    return decode(v.bits, kBinary16);
}

/// To nearest, ties to even; too large a number becomes infinite.
template <class T> T narrow(Wide<T> v) {
    if constexpr (std::is_same_v<T, BFloat16>) {
        const auto bits = std::bit_cast<std::uint32_t>(v);
        if ((bits & 0x7fffffffU) > 0x7f800000U) {
            return {static_cast<std::uint16_t>((bits >> 16U) | 0x40U)};
        }
        return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U)};
    } else if constexpr (std::is_same_v<T, Float16>) {
        return {static_cast<std::uint16_t>(encode(v, kBinary16, false))};
    } else {
        return v;
    }
}

} // namespace gdt::kernels
