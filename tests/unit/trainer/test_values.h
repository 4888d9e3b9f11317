// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rng.h"

#include <vector>

namespace gdt::test {

/// Normal numbers of mean 0, the same for the same (stream, count).
template <class T = double>
std::vector<T> normals(std::size_t count, std::uint64_t stream, double deviation = 1) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<T>(deviation * kernels::randomNormal(7, stream, i));
    }
    return values;
}

inline std::vector<std::int32_t> tokens(std::size_t count, std::int32_t vocab, std::uint64_t stream) {
    std::vector<std::int32_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t bits = kernels::randomBits(7, stream, i);
        values[i] = static_cast<std::int32_t>(bits % static_cast<std::uint64_t>(vocab));
    }
    return values;
}

/// A scalar function of `out` with a known gradient: the weighted sum, whose gradient is `weights`.
inline double weightedSum(const std::vector<double>& out, const std::vector<double>& weights) {
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        sum += out[i] * weights[i];
    }
    return sum;
}

} // namespace gdt::test
