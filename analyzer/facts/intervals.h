// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gd::facts {

// Half-open [startNs, endNs).
struct Interval {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t lengthNs() const { return endNs - startNs; }
    bool operator==(const Interval&) const = default;
};

// A set of time: sorted by start, disjoint, neither empty nor touching. Built by unite().
using IntervalSet = std::vector<Interval>;

// The union of any intervals, in any order; empty and reversed ones count for nothing.
IntervalSet unite(std::vector<Interval> intervals);
// `a` without `b`.
IntervalSet subtract(const IntervalSet& a, const IntervalSet& b);
IntervalSet intersect(const IntervalSet& a, const IntervalSet& b);
std::int64_t totalNs(const IntervalSet& set);
// Time of `set` inside [fromNs, toNs).
std::int64_t coveredNs(const IntervalSet& set, std::int64_t fromNs, std::int64_t toNs);
// The part of `set` inside [fromNs, toNs).
IntervalSet clip(const IntervalSet& set, std::int64_t fromNs, std::int64_t toNs);

} // namespace gd::facts
