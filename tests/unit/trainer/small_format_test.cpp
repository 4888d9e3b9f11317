// SPDX-License-Identifier: Apache-2.0
// Rounding to bf16, f16, E4M3 and E5M2: known values, and every pattern against a search for the nearest
// number.
#include "kernels/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace gdt::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Known {
    float value;
    std::uint32_t pattern;
};

void expectKnown(const SmallFormat& format, bool saturate, const std::vector<Known>& table) {
    for (const Known& known : table) {
        EXPECT_EQ(encode(known.value, format, saturate), known.pattern) << known.value;
        const std::uint32_t sign = 1U << (format.exponentBits + format.mantissaBits);
        EXPECT_EQ(encode(-known.value, format, saturate), known.pattern | sign) << -known.value;
    }
}

TEST(SmallFormat, Binary16KnownValues) {
    expectKnown(kBinary16, false,
        {{0.0F, 0x0000}, {1.0F, 0x3c00}, {2.0F, 0x4000}, {0.333251953125F, 0x3555}, {65504.0F, 0x7bff},
            {65519.996F, 0x7bff}, {65520.0F, 0x7c00}, {kInfinity, 0x7c00}, // the tie at the top goes to even
            {0x1p-14F, 0x0400}, {0x1p-24F, 0x0001}, {0x1p-25F, 0x0000}, // half of the least: to even, zero
            {0x1.000002p-25F, 0x0001}, {0x1.8p-24F, 0x0002}, // a tie between subnormals 1 and 2
            {0x1.ff8p-15F, 0x03ff}, {0x1.ffcp-15F, 0x0400}, // the largest subnormal, and a tie above it
            {1.00048828125F, 0x3c00}, {1.00146484375F, 0x3c02}, {0x1p-149F, 0x0000}});
    EXPECT_EQ(encode(65520.0F, kBinary16, true), 0x7bffU);
    EXPECT_EQ(encode(std::nanf(""), kBinary16, false) & 0x7fffU, 0x7fffU);
}

TEST(SmallFormat, E4M3KnownValues) {
    expectKnown(kE4M3, true,
        {{0.0F, 0x00}, {1.0F, 0x38}, {448.0F, 0x7e}, {464.0F, 0x7e}, {1e30F, 0x7e}, {kInfinity, 0x7e},
            {0x1p-6F, 0x08}, {0x1p-9F, 0x01}, {0x1p-10F, 0x00}, {0x1.8p-9F, 0x02}, {0x1.cp-7F, 0x07},
            {1.0625F, 0x38}, {1.1875F, 0x3a}, {240.0F, 0x77}});
    EXPECT_EQ(encode(465.0F, kE4M3, false), 0x7fU) << "no infinity: not a number";
    EXPECT_EQ(encode(std::nanf(""), kE4M3, true) & 0x7fU, 0x7fU);
}

TEST(SmallFormat, E5M2KnownValues) {
    expectKnown(kE5M2, true,
        {{0.0F, 0x00}, {1.0F, 0x3c}, {57344.0F, 0x7b}, {61440.0F, 0x7b}, {kInfinity, 0x7b}, {0x1p-14F, 0x04},
            {0x1p-16F, 0x01}, {0x1p-17F, 0x00}, {0x1.8p-16F, 0x02}, {1.125F, 0x3c}, {1.375F, 0x3e}});
    EXPECT_EQ(encode(57344.0F, kE5M2, false), 0x7bU);
    EXPECT_EQ(encode(61440.0F, kE5M2, false), 0x7cU) << "the tie above the largest number goes to even";
}

TEST(SmallFormat, BFloat16KnownValues) {
    const std::vector<Known> table{{0.0F, 0x0000}, {1.0F, 0x3f80}, {1.00390625F, 0x3f80},
        {1.01171875F, 0x3f82}, {0x1p-133F, 0x0001}, {0x1p-134F, 0x0000}, {0x1.8p-133F, 0x0002},
        {std::numeric_limits<float>::max(), 0x7f80}, {kInfinity, 0x7f80}};
    for (const Known& known : table) {
        EXPECT_EQ(narrow<BFloat16>(known.value).bits, known.pattern) << known.value;
        EXPECT_EQ(narrow<BFloat16>(-known.value).bits, known.pattern | 0x8000U);
    }
    EXPECT_TRUE(std::isnan(widen(narrow<BFloat16>(std::bit_cast<float>(0x7f800001U)))));
}

class EverySmallFormat : public ::testing::TestWithParam<SmallFormat> { };

TEST_P(EverySmallFormat, DecodesEncodesAndRoundsToTheNearest) {
    const SmallFormat format = GetParam();
    for (std::uint32_t pattern = 0; pattern <= format.largest(); ++pattern) {
        const float value = decode(pattern, format);
        ASSERT_EQ(encode(value, format, false), pattern);
        if (pattern == format.largest()) {
            break;
        }
        const float next = decode(pattern + 1, format);
        ASSERT_LT(value, next);
        const float middle = value + (next - value) / 2; // exact: one bit more than the format has
        const std::uint32_t even = pattern % 2 == 0 ? pattern : pattern + 1;
        ASSERT_EQ(encode(middle, format, false), even) << value;
        ASSERT_EQ(encode(std::nextafter(middle, 0.0F), format, false), pattern) << value;
        ASSERT_EQ(encode(std::nextafter(middle, kInfinity), format, false), pattern + 1) << value;
    }
    EXPECT_EQ(std::isinf(decode(format.largest() + 1, format)), format.infinities);
    EXPECT_TRUE(std::isnan(decode(format.notANumber(), format)));
}

INSTANTIATE_TEST_SUITE_P(
    Formats, EverySmallFormat, ::testing::Values(kBinary16, kE4M3, kE5M2), [](const auto& one) {
        return one.index == 0 ? "Binary16" : one.index == 1 ? "E4M3" : "E5M2";
    });

} // namespace
} // namespace gdt::kernels
