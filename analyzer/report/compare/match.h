// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/compare/comparison.h"

#include <vector>

namespace gd::report {

// The figures of two traces side by side. Graphs belong together by name and signature, else by signature
// (another name for the same nodes), else by name (the same region with other nodes); all else by name.
std::vector<Difference> matchFigures(
    std::vector<Figure> base, std::vector<Figure> fresh, const CompareOptions& options);

// Heads of findings, which belong together by rule, function and graph signature: no lines, times or
// addresses, which differ from run to run. One line for all that belong together, whose value is the sum of
// their costs; more of them or a higher cost is `different`, as a longer run has both.
std::vector<Difference> matchFindings(const Report& base, const Report& fresh, const CompareOptions& options);

// What a difference amounts to; sets Difference::change and, where unknown, the reason.
void judgeDifference(Difference& difference, Polarity polarity, const CompareOptions& options);

} // namespace gd::report
