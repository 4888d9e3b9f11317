// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace gd::facts {

// Percentile p (0 … 100) by linear interpolation between the closest ranks; nullopt of nothing.
template <class T> std::optional<double> percentile(std::vector<T> values, double p) {
    if (values.empty())
        return std::nullopt;
    std::sort(values.begin(), values.end());
    const double rank = p / 100.0 * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(rank);
    const std::size_t high = std::min(low + 1, values.size() - 1);
    const double part = rank - static_cast<double>(low);
    return static_cast<double>(values[low]) * (1 - part) + static_cast<double>(values[high]) * part;
}

template <class T> std::optional<std::int64_t> medianNs(const std::vector<T>& values) {
    if (const auto median = percentile(values, 50.0))
        return std::llround(*median);
    return std::nullopt;
}

// Standard deviation (of the sample) over mean; 0 for fewer than two values or a mean of 0.
template <class T> double coefficientOfVariation(const std::vector<T>& values) {
    if (values.size() < 2)
        return 0;
    double sum = 0;
    for (const T value : values)
        sum += static_cast<double>(value);
    const double mean = sum / static_cast<double>(values.size());
    double squares = 0;
    for (const T value : values)
        squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
    return mean == 0 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean;
}

} // namespace gd::facts
