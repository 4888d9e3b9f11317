// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace gdt::test {

/// Compares `gradient` with central differences of fourth order of `loss` in each entry of `values` (in fp64,
/// step 5e-4 * max(1, |x|): both the truncation and the rounding of the differences stay near 1e-12; those of
/// second order round by 4e-11 at their best step, which is the bound below for the smallest entries). The
/// error is relative to the larger of the two or to 1e-3 of the largest entry: entries that are zero in exact
/// arithmetic carry only rounding noise.
inline void expectGradient(std::vector<double>& values, const std::vector<double>& gradient,
    const std::function<double()>& loss, const char* what, std::size_t stride = 1) {
    ASSERT_EQ(values.size(), gradient.size());
    double largest = 0;
    for (const double g : gradient) {
        largest = std::max(largest, std::abs(g));
    }
    ASSERT_GT(largest, 0.0) << what << ": the gradient is zero everywhere, nothing would be tested";
    for (std::size_t i = 0; i < values.size(); i += stride) {
        const double x = values[i];
        const double h = 5e-4 * std::max(1.0, std::abs(x));
        const auto at = [&](double steps) {
            values[i] = x + steps * h;
            return loss();
        };
        const double near = at(1) - at(-1);
        const double far = at(2) - at(-2);
        values[i] = x;
        const double numeric = (8 * near - far) / (12 * h);
        const double scale = std::max({std::abs(numeric), std::abs(gradient[i]), 1e-3 * largest});
        ASSERT_LT(std::abs(numeric - gradient[i]) / scale, 1e-6)
            << what << "[" << i << "]: numeric " << numeric << ", analytic " << gradient[i];
    }
}

} // namespace gdt::test
