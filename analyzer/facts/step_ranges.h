// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <regex>
#include <string>
#include <vector>

namespace gd::facts {

// Ranges that are training steps by a well-known name.
const std::regex& knownStepNames();

// Steps = the outermost ranges of one thread whose name matches. Where several threads, or several names that
// differ in more than their numbers, have such ranges, the thread with most launches wins, then the names
// that cover most time. Empty when no group has `atLeast` ranges.
std::vector<Step> stepsFromRanges(const RawData& raw, const ProcessData& process, const std::regex& pattern,
    bool oneGroupPerThread, std::size_t atLeast);

} // namespace gd::facts
