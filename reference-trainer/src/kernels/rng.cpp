// SPDX-License-Identifier: Apache-2.0
#include "kernels/rng.h"

#include "kernels/philox.h"

#include <cmath>
#include <numbers>

namespace gdt::kernels {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    const PhiloxBlock r = philoxBlock({counter[0], counter[1], counter[2], counter[3]}, key[0], key[1]);
    return {r.v0, r.v1, r.v2, r.v3};
}

std::uint64_t randomBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    const PhiloxBlock r = randomBlock(seed, stream, index);
    return std::uint64_t{r.v1} << 32U | r.v0;
}

double randomUniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    const PhiloxBlock r = randomBlock(seed, stream, index);
    return unitInterval(r.v0, r.v1);
}

double randomNormal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    const PhiloxBlock r = randomBlock(seed, stream, index);
    const double radius = std::sqrt(-2.0 * std::log(unitInterval(r.v0, r.v1)));
    return radius * std::cos(2.0 * std::numbers::pi * unitInterval(r.v2, r.v3));
}

} // namespace gdt::kernels
