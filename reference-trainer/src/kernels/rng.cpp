// SPDX-License-Identifier: Apache-2.0
#include "kernels/rng.h"

#include <cmath>
#include <numbers>

namespace gdt::kernels {

namespace {

constexpr std::uint32_t low(std::uint64_t v) {
    return static_cast<std::uint32_t>(v & 0xffffffffU);
}
constexpr std::uint32_t high(std::uint64_t v) {
    return static_cast<std::uint32_t>(v >> 32U);
}

double unitInterval(std::uint32_t lowBits, std::uint32_t highBits) {
    const std::uint64_t bits = (std::uint64_t{highBits} << 32U | lowBits) >> 11U;
    return (static_cast<double>(bits) + 0.5) * 0x1.0p-53;
}

std::array<std::uint32_t, 4> draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return philox({low(index), high(index), low(stream), high(stream)}, {low(seed), high(seed)});
}

} // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
    constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
    constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = kMultiplier0 * counter[0];
        const std::uint64_t p1 = kMultiplier1 * counter[2];
        counter = {high(p1) ^ counter[1] ^ key[0], low(p1), high(p0) ^ counter[3] ^ key[1], low(p0)};
        key[0] += kWeyl0;
        key[1] += kWeyl1;
    }
    return counter;
}

std::uint64_t randomBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    const auto r = draw(seed, stream, index);
    return std::uint64_t{r[1]} << 32U | r[0];
}

double randomUniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    const auto r = draw(seed, stream, index);
    return unitInterval(r[0], r[1]);
}

double randomNormal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    const auto r = draw(seed, stream, index);
    const double radius = std::sqrt(-2.0 * std::log(unitInterval(r[0], r[1])));
    return radius * std::cos(2.0 * std::numbers::pi * unitInterval(r[2], r[3]));
}

} // namespace gdt::kernels
