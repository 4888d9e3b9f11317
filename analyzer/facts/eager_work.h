// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gd::facts {

// How often each of some things occurs, such as kernel names of a graph.
using Histogram = std::unordered_map<std::int64_t, std::int64_t>;

// Largest n such that `work` holds at least 95 % of n copies of `pattern`, and no more than the kernels of
// the pattern that are there make up, rounded to whole copies.
std::int64_t copiesIn(const Histogram& work, const Histogram& pattern);
// Takes n copies of `pattern` out of `work`, as far as they are there.
void takeCopies(Histogram& work, const Histogram& pattern, std::int64_t copies);
std::int64_t total(const Histogram& histogram);

// Kernels that were launched one by one in one step.
struct EagerStep {
    Histogram names; // by RawData::Shape::nameId
    Histogram shapes; // by RawData::Shape::launchId: name and launch shape
    std::int64_t firstNs = 0; // first kernel starts
    std::int64_t lastNs = 0; // last kernel ends
    std::int64_t busyNs = 0; // sum of durations
    Histogram timeNs; // by nameId: time in which they ran or the device waited for the next single launch
    const ApiCall* launch = nullptr; // of the first kernel, NULL when its call was not recorded
};

// By index into ProcessData::steps. A kernel belongs to the step in which it was launched, where the launch
// was recorded, else to the one in which it started.
std::vector<EagerStep> eagerSteps(const RawData& raw, const ProcessData& process);

} // namespace gd::facts
