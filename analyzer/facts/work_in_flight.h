// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"
#include "analyzer/facts/stream_kinds.h"

#include <cstdint>
#include <vector>

namespace gd::facts {

// Launches of graphs of which nothing shows that they had ended when a call began to fail.
struct WorkInFlight {
    std::vector<const Replay*> replays; // by launch
    // All of them have device times, so that they did end, if times of a device with an error can be trusted.
    bool haveDeviceTimes = false;
};

// On the device of `failed`. Ended is what a successful call waited for (a synchronise, a query that found
// its stream or event ready, a copy to or from the host), and what later work of the same stream began after.
WorkInFlight workInFlight(
    const ProcessData& process, const RawData& raw, const StreamKinds& streams, const ApiCall& failed);

} // namespace gd::facts
