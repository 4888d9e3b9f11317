// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gd::facts {

// Replays of one device that ran some time, nobody knows when: where they may lie, idle may not be idle.
class UnmeasuredReplays {
public:
    UnmeasuredReplays(const ProcessData& process, std::int64_t deviceId);

    // Whether there is one that was launched in [fromNs, toNs).
    bool launchedIn(std::int64_t fromNs, std::int64_t toNs) const;
    // Why the device's idle time in [fromNs, toNs) may be none: launchedIn(), or executables that are made to
    // be launched from the device exist then. nullopt = it is.
    std::optional<std::string> why(std::int64_t fromNs, std::int64_t toNs) const;

private:
    const ProcessData& m_process;
    std::vector<std::int64_t> m_launches; // sorted
};

// What was recorded says that replays in [fromNs, toNs) have device times.
bool replaysAreMeasured(const ProcessData& process, std::int64_t fromNs, std::int64_t toNs);

} // namespace gd::facts
