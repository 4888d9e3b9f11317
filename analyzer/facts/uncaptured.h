// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/device_idle.h"
#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gd::facts {

// Single launches of one device that belong together.
struct UncapturedRegion {
    std::string name;
    bool isRange = false;
    std::int64_t launches = 0;
    std::int64_t busyNs = 0;
    std::int64_t idleNs = 0; // IdleParts::singleNs before them
    Interval time;
    std::int64_t stackId = 0; // of a launch, else of the replay before
    std::map<std::int64_t, std::int64_t> kernels; // idle and busy time by name
};

// Sorts single launches into regions: by the two outermost ranges of a thread that are open when they start
// on the device, without the range that is the step. Of work that a host had launched long before it started
// that is a guess; of work that the device waited for it is none, and that is what the regions are asked for.
class UncapturedRegions {
public:
    UncapturedRegions(const RawData& raw, const ProcessData& process, const DeviceTimeline& timeline,
        std::int32_t threadId);
    // In order of start. `idleNs`: time that the device waited for its launch. `call`: that launch, nullptr
    // not recorded.
    void add(const DeviceOp& op, std::int64_t idleNs, const ApiCall* call);
    // Most idle time first, at most `limit`.
    std::vector<UncapturedRegion> largest(std::size_t limit) const;
    // Names of its kernels with most time, for people.
    std::string kernelsOf(const UncapturedRegion& region) const;

private:
    bool isStep(const Range& range) const;
    bool moveTo(std::int64_t timeNs); // whether that opened or closed a range, or passed a replay
    std::string pathNow() const;
    UncapturedRegion& regionNow(const Exec* before);

    const RawData& m_raw;
    const ProcessData& m_process;
    std::vector<const Range*> m_ranges; // of the thread, by start
    std::size_t m_nextRange = 0;
    std::vector<const Range*> m_open; // outermost first
    std::vector<const Replay*> m_replays; // of the device, by start
    std::size_t m_nextReplay = 0;
    std::map<std::string, UncapturedRegion> m_regions;
    UncapturedRegion* m_current = nullptr; // of the last launch
};

} // namespace gd::facts
