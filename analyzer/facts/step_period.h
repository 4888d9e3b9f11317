// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gd::facts {

// Smallest p so that symbols[i] == symbols[i + p] for at least 90 % of i, over five repeats or more; nullopt
// when there is none. Looks at no more than the middle 20,000 symbols and periods up to 4,000.
std::optional<std::size_t> smallestPeriod(const std::vector<std::int64_t>& symbols);

// Steps from the launches of a process that has no ranges for them.
struct PeriodicSteps {
    std::vector<Step> steps; // numbered, times and thread set
    std::string method; // "launch_period" | "optimizer_period"
};

// The launch sequence of executables on the thread that replays most, together with bursts of single
// optimizer-like kernels. A step ends with the optimizer's launch where there is one (so that steps without a
// replay are still seen), else it begins with the first executable of the period.
std::optional<PeriodicSteps> stepsFromLaunches(const RawData& raw, const ProcessData& process);

} // namespace gd::facts
