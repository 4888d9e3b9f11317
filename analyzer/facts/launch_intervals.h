// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/device_timeline.h"
#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace gd::facts {

// How regularly an executable is launched. All NULL below ten intervals.
struct IntervalFigures {
    std::int64_t count = 0;
    std::optional<std::int64_t> medianNs;
    std::optional<double> cv;
    std::optional<std::int64_t> p99Ns;
    std::optional<double> spread; // (p90 - p10) / median
    std::int64_t busySpreadNs = 0; // the same of its busy time
    std::optional<std::int64_t> lateNs; // idle time before its replays beyond that of the 10th percentile
    std::optional<std::int64_t>
        idleSpreadNs; // p90 - p10 of the device's idle time between the replay before and this one
};

// Intervals between starts (launches, where the device was not measured) of one executable at the same
// position of two steady steps that follow each other. Intervals with other launches in between are another
// population: only deviations inside one count.
class LaunchIntervals {
public:
    // `queuedNs`, by replay: how long the device idled though the replay had been launched and waited for no
    // other work, such as for its turn beside other processes. It is nobody's irregularity.
    LaunchIntervals(const ProcessData& process, const std::vector<DeviceTimeline>& timelines,
        const std::unordered_map<std::int64_t, std::int64_t>& queuedNs);
    IntervalFigures of(const Exec& exec) const;

private:
    struct Interval {
        std::int64_t lengthNs = 0;
        std::int64_t busyNs = 0; // of the device, in all of it
        std::int64_t idleNs = 0; // since the replay before, whichever it was, without what it was queued
        std::uint64_t population = 0;
    };
    std::vector<Interval> intervalsOf(const Exec& exec) const;
    std::int64_t idleNs(std::int64_t deviceId, std::int64_t fromNs, std::int64_t toNs) const;
    std::int64_t queuedNs(const Replay& replay) const;

    const ProcessData& m_process;
    const std::vector<DeviceTimeline>& m_timelines;
    const std::unordered_map<std::int64_t, std::int64_t>& m_queuedNs;
    std::vector<std::int64_t> m_replayedNs; // [i] = when the replays that started before replay i had ended
    std::vector<std::uint64_t> m_prefix; // [i] = hash of the first i executables launched
};

} // namespace gd::facts
