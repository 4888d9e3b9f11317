// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace gdt::kernels {

// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). The value depends only on (seed, stream, index), never on who asks or in which
// order, so that every layout of a model over ranks starts from the same parameters and draws the same
// samples. Checked against the known-answer vectors published with the paper.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// 64 random bits for element `index` of stream `stream`.
std::uint64_t randomBits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// Uniform in (0, 1), 53 bits; neither end is ever returned, so a logarithm of it is finite.
double randomUniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// Standard normal by the Box-Muller transform; one counter per element, the second value is not used.
double randomNormal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

} // namespace gdt::kernels
