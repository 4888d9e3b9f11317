// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/call_index.h"
#include "analyzer/facts/device_timeline.h"
#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gd::facts {

// How the kernels of a graph ran when they were launched singly, before the graph existed.
struct EagerBaseline {
    std::int64_t runs = 0; // without the first, in which libraries load and choose
    double busy = 0; // least share of a run in which the device was busy
    std::int64_t kernelNs = 0; // device time of these runs
    std::optional<std::int64_t> launchNs; // host time inside their launch calls, where all were recorded
};

// Runs of graphs' kernels among the single launches of one device: as many kernels one after another as the
// graph has, beginning with its first, at least 95 % of them by name.
class EagerBaselines {
public:
    EagerBaselines(const RawData& raw, const ProcessData& process, const DeviceTimeline& timeline);
    // nullopt: fewer than two runs after the first, fewer than four kernels (too short to show whether the
    // host keeps up), or runs so much longer than a replay that they are other work.
    std::optional<EagerBaseline> of(const Exec& exec) const;

private:
    struct Run {
        std::size_t first = 0;
        Interval time;
    };
    std::vector<Run> runsOf(const std::vector<std::int64_t>& names, std::int64_t untilNs) const;

    const RawData& m_raw;
    const ProcessData& m_process;
    const DeviceTimeline& m_timeline;
    CallByCorrelation m_callOf;
    std::vector<const DeviceOp*> m_kernels; // single launches, by start
    std::vector<std::int64_t> m_names; // of these
};

} // namespace gd::facts
