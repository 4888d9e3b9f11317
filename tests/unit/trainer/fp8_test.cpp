// SPDX-License-Identifier: Apache-2.0
// 8-bit factors: rounding, products and delayed scales on the host.
#include "kernels/fp8.h"
#include "kernels/number.h"

#include "test_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gdt::kernels {
namespace {

std::vector<BFloat16> rounded(const std::vector<float>& values) {
    std::vector<BFloat16> narrowed;
    for (const float v : values) {
        narrowed.push_back(narrow<BFloat16>(v));
    }
    return narrowed;
}

TEST(QuantizeFp8, ScalesRoundsSaturatesAndRemembersTheLargest) {
    const std::vector<BFloat16> x = rounded({0.5F, -0.25F, 3.0F, 1e6F, -1e6F, 0.0F});
    std::vector<std::uint8_t> bytes(x.size());
    float amax = 7.0F;
    const float scale = 4.0F;
    QuantizeFp8<BFloat16>::host({x.data(), bytes.data(), &amax, &scale, 2, 3, false, false});
    EXPECT_EQ(bytes, (std::vector<std::uint8_t>{0x40, 0xb8, 0x54, 0x7e, 0xfe, 0x00}));
    EXPECT_EQ(amax, widen(x[3])) << "before scale and saturation";
    QuantizeFp8<BFloat16>::host({x.data(), bytes.data(), nullptr, &scale, 2, 3, true, false});
    EXPECT_EQ(bytes, (std::vector<std::uint8_t>{0x40, 0xbc, 0x4a, 0x7b, 0xfb, 0x00}));
    std::vector<std::uint8_t> turned(x.size());
    QuantizeFp8<BFloat16>::host({x.data(), turned.data(), nullptr, &scale, 2, 3, true, true});
    for (std::size_t r = 0; r < 2; ++r) {
        for (std::size_t c = 0; c < 3; ++c) {
            EXPECT_EQ(turned[c * 2 + r], bytes[r * 3 + c]);
        }
    }
    const std::vector<BFloat16> small = rounded({1.0F});
    QuantizeFp8<BFloat16>::host({small.data(), bytes.data(), &amax, &scale, 1, 1, false, false});
    EXPECT_EQ(amax, widen(x[3])) << "a smaller tensor leaves it";
}

TEST(GemmFp8, MultipliesWhatThePatternsStandFor) {
    constexpr std::int64_t kM = 3, kN = 4, kK = 5;
    std::vector<std::uint8_t> a(kM * kK), b(kN * kK);
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<std::uint8_t>(encode(static_cast<float>(test::normals(20, 1)[i]), kE5M2, true));
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
        b[i] = static_cast<std::uint8_t>(encode(static_cast<float>(test::normals(20, 2)[i]), kE4M3, true));
    }
    const Fp8Inverse inverseA{0.25F};
    const Fp8Inverse inverseB{8.0F};
    std::vector<float> c(kM * kN, 10.0F);
    GemmFp8<float>::host(
        {a.data(), b.data(), c.data(), nullptr, &inverseA, &inverseB, kM, kN, kK, 1.0F, true});
    const std::vector<BFloat16> bias = rounded({1.0F, 2.0F, 3.0F, 4.0F});
    std::vector<BFloat16> narrowed(kM * kN);
    GemmFp8<BFloat16>::host(
        {a.data(), b.data(), narrowed.data(), bias.data(), &inverseA, &inverseB, kM, kN, kK, 0.0F, true});
    for (std::size_t i = 0; i < kM; ++i) {
        for (std::size_t j = 0; j < kN; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < kK; ++k) {
                sum += static_cast<double>(decode(a[i * kK + k], kE5M2) * decode(b[j * kK + k], kE4M3));
            }
            EXPECT_NEAR(c[i * kN + j], 10.0 + 2.0 * sum, 1e-5);
            EXPECT_NEAR(widen(narrowed[i * kN + j]), 2.0 * sum + static_cast<double>(j) + 1.0, 0.05);
        }
    }
}

struct Scales {
    std::vector<float> memory = std::vector<float>(static_cast<std::size_t>(Fp8Scales::floats(3)), 0.0F);
    Fp8Scales at = Fp8Scales::in(memory.data(), 3);
    optim::StepState state{};

    void step(float input, float weights, float gradient) {
        at.amax[0] = input;
        at.amax[1] = weights;
        at.amax[2] = gradient;
        UpdateFp8Scales::host({at.amax, at.scale, at.inverse, at.history, &state, 3});
        ++state.step;
    }
};

// cuBLASLt takes the pointer to an inverse only when it is 16-byte aligned, so those of neighbours lie apart.
TEST(Fp8Scales, FillTheirMemoryWithEveryInverseAligned) {
    constexpr std::int64_t kCount = 7;
    const auto floats = static_cast<std::size_t>(Fp8Scales::floats(kCount));
    std::vector<float> memory(floats);
    const Fp8Scales all = Fp8Scales::in(memory.data(), kCount);
    EXPECT_EQ(all.memory(), memory.data());
    EXPECT_EQ(static_cast<void*>(all.inverse + kCount), all.scale);
    EXPECT_EQ(all.scale + kCount, all.amax);
    EXPECT_EQ(all.amax + kCount, all.history);
    EXPECT_EQ(all.history + kFp8History * kCount, memory.data() + floats);
    const Fp8Scales some = all.from(3);
    EXPECT_EQ(some.inverse, all.inverse + 3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(some.inverse) % 16, 0U);
    EXPECT_EQ(some.scale, all.scale + 3);
    EXPECT_EQ(some.history, all.history + 3);
}

TEST(UpdateFp8Scales, TakesTheLargestPowerOfTwoThatFitsTheHistory) {
    Scales s;
    s.at.scale[1] = 3.0F;
    s.step(1.0F, 0.0F, 1.0F);
    EXPECT_EQ(s.at.scale[0], 256.0F) << "448 / 1 = 448";
    EXPECT_EQ(s.at.inverse[0].value, 1.0F / 256.0F);
    EXPECT_EQ(s.at.scale[1], 3.0F) << "nothing was seen";
    EXPECT_EQ(s.at.scale[2], 32768.0F) << "57344 / 1";
    EXPECT_EQ(s.at.amax[0], 0.0F) << "the next step counts afresh";
    s.step(448.0F, 0.001F, 1e-6F);
    EXPECT_EQ(s.at.scale[0], 1.0F);
    EXPECT_EQ(s.at.scale[2], 32768.0F) << "the first step still counts";
    for (std::int64_t i = 0; i < kFp8History - 1; ++i) {
        s.step(1.0F, 0.001F, 1e-6F);
        EXPECT_EQ(s.at.scale[0], 1.0F) << i;
    }
    s.step(1.0F, 0.001F, 1e-6F);
    EXPECT_EQ(s.at.scale[0], 256.0F) << "the large value is as old as the history is long";
    s.step(std::numeric_limits<float>::infinity(), 0.001F, std::nanf(""));
    EXPECT_EQ(s.at.scale[0], 256.0F);
    EXPECT_TRUE(std::isfinite(s.at.scale[2]));
}

} // namespace
} // namespace gdt::kernels
