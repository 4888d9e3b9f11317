// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace gdt::kernels {

/// A binary number format of at most 16 bits: sign, `exponentBits`, `mantissaBits`, subnormals. With
/// `infinities` as IEEE 754 lays it out; without (OCP's E4M3) only the largest pattern is not a number.
struct SmallFormat {
    int exponentBits;
    int mantissaBits;
    bool infinities;

    [[nodiscard]] constexpr int bias() const { return (1 << (exponentBits - 1)) - 1; }
    /// Pattern of the not-a-number that conversions make, without the sign.
    [[nodiscard]] constexpr std::uint32_t notANumber() const {
        return (1U << (exponentBits + mantissaBits)) - 1;
    }
    [[nodiscard]] constexpr std::uint32_t infinity() const {
        return ((1U << exponentBits) - 1) << mantissaBits;
    }
    /// Pattern of the largest finite number.
    [[nodiscard]] constexpr std::uint32_t largest() const {
        return infinities ? infinity() - 1 : notANumber() - 1;
    }
};

inline constexpr SmallFormat kBinary16{5, 10, true};
inline constexpr SmallFormat kE4M3{4, 3, false};
inline constexpr SmallFormat kE5M2{5, 2, true};

/// The pattern of v in `format`, to nearest with ties to even. What is too large becomes the largest finite
/// number with `saturate`, else infinity, or not a number where there is none.
constexpr std::uint32_t encode(float v, const SmallFormat& format, bool saturate) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    const int width = format.exponentBits + format.mantissaBits;
    const std::uint32_t sign = (bits >> 31U) << width;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
        return sign | format.notANumber();
    }
    const int exponent = static_cast<int>(magnitude >> 23U) - 127;
    const int least = 1 - format.bias();
    const int target = exponent > least ? exponent : least;
    const int dropped = 23 - format.mantissaBits + (target - exponent);
    std::uint32_t pattern = 0;
    if (dropped <= 24) { // else less than half of the smallest subnormal
        const std::uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
        const std::uint32_t half = 1U << (dropped - 1);
        const std::uint32_t rest = mantissa & (2 * half - 1);
        pattern = mantissa >> dropped;
        pattern += rest > half || (rest == half && (pattern & 1U) != 0) ? 1U : 0U;
        // A subnormal has no implicit bit; adding it as if there were one carries into the exponent.
        pattern += static_cast<std::uint32_t>(target - least) << format.mantissaBits;
    }
    if (pattern > format.largest()) {
        const std::uint32_t over = format.infinities ? format.infinity() : format.notANumber();
        pattern = saturate ? format.largest() : over;
    }
    return sign | pattern;
}

/// The number that a pattern stands for.
constexpr float decode(std::uint32_t pattern, const SmallFormat& format) {
    const int width = format.exponentBits + format.mantissaBits;
    const std::uint32_t sign = (pattern >> width & 1U) << 31U;
    const std::uint32_t magnitude = pattern & format.notANumber();
    if (magnitude > format.largest()) {
        const bool infinite = format.infinities && magnitude == format.infinity();
        return std::bit_cast<float>(sign | (infinite ? 0x7f800000U : 0x7fc00000U));
    }
    const std::uint32_t shifted = magnitude << (23 - format.mantissaBits);
    const std::uint32_t rebias = static_cast<std::uint32_t>(127 - format.bias()) << 23U;
    if (magnitude >> format.mantissaBits != 0) {
        return std::bit_cast<float>(sign | (shifted + rebias));
    }
    // Subnormal: with an implicit bit it would be larger by exactly the smallest normal number.
    const std::uint32_t leastNormal = rebias + (1U << 23U);
    const float value = std::bit_cast<float>(shifted | leastNormal) - std::bit_cast<float>(leastNormal);
    return (sign != 0) ? -value : value;
}

} // namespace gdt::kernels
