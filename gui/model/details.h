// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/rules/finding.h"
#include "analyzer/rules/frames.h"
#include "gui/model/track_row.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gd::gui {

// One line of the details panel.
struct DetailRow {
    std::string key; // "" continues the line above
    std::string value;
    std::string file; // source place to open, empty: none
    std::int64_t line = 0;
    std::int64_t startNs = -1; // evidence that lies at a time, -1: none
    std::int64_t endNs = -1;
    std::string rule = {}; // whose page can be shown, empty: none
};

// "1.25 ms (1250000 ns)": adaptive unit and the exact number.
std::string exactDuration(std::int64_t ns);
// A time of the trace, "2.013 s" with as many digits as `resolutionNs` needs.
std::string formatTime(std::int64_t ns, std::int64_t resolutionNs);

// Every column of the row with units from the columns' names, references to calls, strings, kernels and
// stacks resolved. `locations` may be null.
Result<std::vector<DetailRow>> eventDetails(
    Db& db, const TrackRow::Place& place, rules::LocationFinder* locations);

// Times of trace rows, by table and id: where evidence lies on the timeline.
using RowTimes = std::map<std::pair<std::string, std::int64_t>, std::pair<std::int64_t, std::int64_t>>;
// Of every row that a finding names as evidence and that has a start and an end.
RowTimes evidenceTimes(Db& db, const std::vector<rules::Finding>& findings);

// What happened, where, when, what it cost, why and what to do.
std::vector<DetailRow> findingDetails(const rules::Finding& finding, const RowTimes& times);

} // namespace gd::gui
