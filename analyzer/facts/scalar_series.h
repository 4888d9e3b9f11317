// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gd::facts {

// A parameter word that is no pointer: up to 8 bytes, zero-extended.
struct Word {
    int bytes = 0;
    std::uint64_t value = 0;
};

// The values that one word took in eager runs, against the one that a graph repeats.
struct Series {
    std::int64_t offset = 0; // of what changes inside the word: 0, or 4 when only its upper half does
    std::int64_t bytes = 0; // width of what changes
    std::uint64_t frozenValue = 0;
    std::string frozenText; // as a number, float or integer, by what the values look like
    std::string text; // the eager values, likewise, in order
    std::size_t distinct = 0;
    bool isMonotone = false; // only rises or only falls
    bool hasTrend = false; // and in steps of a like size, which the frozen value continues
};

// The series of `eager` (in the order of the runs, at least 2), or nothing when it says nothing: one value
// all along, a value that had settled before the capture (equal in the last three runs), what looks like
// addresses, what no program would count or measure with (padding), a graph's value that has nothing to do
// with the others, a word of one byte, of none or of more than 8.
std::optional<Series> changingSeries(const Word& frozen, const std::vector<std::uint64_t>& eager);

} // namespace gd::facts
