// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/compare/comparison.h"

#include <span>
#include <string>
#include <string_view>

namespace gd::report {

// The words in which the text report and the viewer say what differs. Not escaped.

std::span<const std::string_view> comparedSections(); // in the order of a comparison
std::string sectionText(std::string_view section); // "Replay gaps"
std::string changeText(Change change); // "worse", "only in the base"
std::string differenceValue(const Difference& difference, const Spread& side); // "1.25 ms"
std::string absoluteText(const Difference& difference); // "+120 us", "0"; empty when one side is missing
std::string relativeText(const Difference& difference); // "+9.6 %", "444 times"; empty when it says nothing
std::string deltaText(const Difference& difference); // both: "+120 us (+9.6 %)"
std::string alignmentText(const Alignment& alignment); // "95 of rank 0 aligned by their numbers"
std::string stepClockText(const StepClock& clock); // "on the device, from …"
std::string noiseText(const Difference& difference); // "differences up to 24.0 us (2.0 %) are noise"
std::string countsText(const Difference& finding); // "1 / 3" findings in the base and in the new trace
std::string findingText(const Difference& finding); // "GD302 …: costs 3.00 ms, at train.py:7 in step"

} // namespace gd::report
