// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/compare/comparison.h"

#include <string>
#include <vector>

namespace gd::report {

// One side of a comparison: an open trace and what the rules say of it.
struct CompareSide {
    Db& trace;
    Report report;
};

// Compares two traces: steps aligned, and per step, graph, kernel name, device, communicator and finding what
// differs. A trace without steps, with other ranks or with nothing in it is no failure: what cannot be
// compared becomes a note. Fails when a trace cannot be read.
Result<Comparison> compare(CompareSide base, CompareSide fresh, const CompareOptions& options);

// Steps of both traces side by side.
Result<Alignment> alignSteps(Db& base, Db& fresh);

// What a pipeline asks. A regression: the time of a step or the peak of memory is worse by more than
// `percent`, or an error was found that the base does not have. Inconclusive: the time of a step cannot be
// compared; `why` says so.
struct Verdict {
    enum class What : std::uint8_t { fine, regression, inconclusive };
    What what = What::fine;
    std::vector<std::string> why; // one sentence each
};
Verdict judgeRegression(const Comparison& comparison, double percent);

std::string writeCompareText(const Comparison& comparison, bool color); // 100 columns, for people
std::string writeCompareJson(const Comparison& comparison); // graphdoctor.compare/1, docs/compare.schema.json

} // namespace gd::report
