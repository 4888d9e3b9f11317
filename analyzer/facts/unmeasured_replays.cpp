// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/unmeasured_replays.h"

#include <algorithm>

namespace gd::facts {

UnmeasuredReplays::UnmeasuredReplays(const ProcessData& process, std::int64_t deviceId)
    : m_process(process) {
    for (const Replay& replay : process.replays) {
        if (!replay.measured && replay.result == 0 && replay.deviceId == deviceId)
            m_launches.push_back(replay.launchStartNs);
    }
    std::sort(m_launches.begin(), m_launches.end());
}

bool UnmeasuredReplays::launchedIn(std::int64_t fromNs, std::int64_t toNs) const {
    const auto next = std::lower_bound(m_launches.begin(), m_launches.end(), fromNs);
    return next != m_launches.end() && *next < toNs;
}

bool replaysAreMeasured(const ProcessData& process, std::int64_t fromNs, std::int64_t toNs) {
    return process.complete("graph_trace", fromNs, toNs) || process.complete("node_activity", fromNs, toNs);
}

std::optional<std::string> UnmeasuredReplays::why(std::int64_t fromNs, std::int64_t toNs) const {
    const bool fromDevice
        = std::any_of(m_process.execs.begin(), m_process.execs.end(), [&](const Exec& exec) {
              return exec.fromDevice && exec.result == 0 && exec.createdNs < toNs
                  && exec.destroyedNs.value_or(m_process.endNs) > fromNs;
          });
    if (fromDevice)
        return "graphs are made to be launched from the device, and such launches leave no records";
    if (launchedIn(fromNs, toNs))
        return "device times of replays are missing";
    return std::nullopt;
}

} // namespace gd::facts
