// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/intervals.h"
#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <vector>

namespace gd::facts {

// When one device of one process was busy, and with what. A replay that was recorded as a whole counts as a
// whole, whichever of its nodes were recorded besides; any other by its nodes.
struct DeviceTimeline {
    std::int64_t deviceId = 0;
    IntervalSet busy; // everything
    IntervalSet comm; // communication kernels that were recorded one by one
    IntervalSet compute; // everything else; a replay as a whole counts here
    IntervalSet graphs; // replays
    IntervalSet
        commInside; // of these, recorded as a whole and with communication, which has no times of its own
    IntervalSet feeds; // copies from the host outside graphs, while nothing else runs
    std::vector<std::int32_t> replays; // measured, indices into ProcessData::replays, sorted by device start
    bool hasNodeReplays = false;
    bool hasWholeReplays = false;
};

// One per device that has work, by device id.
std::vector<DeviceTimeline> deviceTimelines(const RawData& raw, const ProcessData& process);

} // namespace gd::facts
