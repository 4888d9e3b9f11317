// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/unmeasured_replays.h"

#include <algorithm>

namespace gd::facts {

UnmeasuredReplays::UnmeasuredReplays(const ProcessData& process, std::int64_t deviceId) {
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

} // namespace gd::facts
