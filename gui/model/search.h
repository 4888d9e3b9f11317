// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/name_table.h"
#include "gui/model/track_row.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace gd::gui {

// Which names hold a text, letter case ignored (ASCII): one entry a name id. Looks at thousands of names, not
// at events. Only while nobody adds names.
std::vector<bool> namesWith(const NameTable& names, const std::string& text);

// The first event with a marked name that starts after `from` (direction 1), or the last that starts before
// it (direction -1); at equal starts rows are in the order given. Without `from` it starts at fromNs, whose
// own events count as after it (direction -1: before it). Goes round at the end. For a worker: looks at every
// event where a lane has too many names to count them beforehand, see NameCounts.
struct SearchResult {
    EventKey hit; // none: no event has such a name
    std::int64_t count = 0; // of all rows
    std::int64_t position = 0; // of the hit among them in time, from 1
    struct OfRow {
        RowPtr row;
        std::int64_t count = 0;
    };
    std::vector<OfRow> rows; // those with hits, in the order given
};
SearchResult searchEvents(const std::vector<RowPtr>& rows, const std::vector<bool>& marked,
    const EventKey& from, std::int64_t fromNs, int direction, const std::atomic<bool>& stop);

} // namespace gd::gui
