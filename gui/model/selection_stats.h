// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/name_table.h"
#include "gui/model/track_row.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace gd::gui {

// Events of one name that lie in an area. Times are ns.
struct NameStats {
    std::uint32_t name = 0;
    RowKind kind = RowKind::host;
    std::int64_t count = 0;
    std::int64_t sumNs = 0; // of whole events, also where the area cuts them
    std::int64_t medianNs = 0;
    std::int64_t p99Ns = 0; // smallest duration that 99 % do not exceed
    std::int64_t movedBytes = -1; // of copies and fills, -1: not known, or they move nothing
};

struct SelectionStats {
    std::int64_t fromNs = 0;
    std::int64_t toNs = 0;
    // Time in which at least one kernel, copy, fill or measured replay of the rows runs, cut to the area; the
    // rest is idle. -1: none of the rows shows device work.
    std::int64_t busyNs = -1;
    std::vector<NameStats> names; // largest sum first
    bool complete = true; // false: stopped
};

// Of all events of these rows that touch [fromNs, toNs). For a worker: takes time of the events in the area.
SelectionStats selectionStats(
    const std::vector<RowPtr>& rows, std::int64_t fromNs, std::int64_t toNs, const std::atomic<bool>& stop);

// The same as comma-separated values with a header line; names quoted.
std::string statsCsv(const SelectionStats& stats, const NameTable& names);
std::string rowKindName(RowKind kind);

} // namespace gd::gui
