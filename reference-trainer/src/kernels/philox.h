// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The generator behind kernels/rng.h, written so that host and device compile the same lines.
#ifdef __CUDACC__
#define GDT_HOST_DEVICE __host__ __device__
#else
#define GDT_HOST_DEVICE
#endif

namespace gdt::kernels {

struct PhiloxBlock {
    std::uint32_t v0, v1, v2, v3;
};

// Philox4x32-10 of the counter under the key (k0, k1).
GDT_HOST_DEVICE constexpr PhiloxBlock philoxBlock(PhiloxBlock c, std::uint32_t k0, std::uint32_t k1) {
    constexpr std::uint64_t kMultiplier0 = 0xD2511F53U;
    constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57U;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
    constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = kMultiplier0 * c.v0;
        const std::uint64_t p1 = kMultiplier1 * c.v2;
        c = {static_cast<std::uint32_t>(p1 >> 32U) ^ c.v1 ^ k0, static_cast<std::uint32_t>(p1),
            static_cast<std::uint32_t>(p0 >> 32U) ^ c.v3 ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += kWeyl0;
        k1 += kWeyl1;
    }
    return c;
}

// The block of element `index` of stream `stream`.
GDT_HOST_DEVICE constexpr PhiloxBlock randomBlock(
    std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
    return philoxBlock({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32U),
                           static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32U)},
        static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U));
}

// 53 of 64 bits as a number in (0, 1).
GDT_HOST_DEVICE constexpr double unitInterval(std::uint32_t lowBits, std::uint32_t highBits) {
    const std::uint64_t bits = (static_cast<std::uint64_t>(highBits) << 32U | lowBits) >> 11U;
    return (static_cast<double>(bits) + 0.5) * 0x1.0p-53;
}

} // namespace gdt::kernels
