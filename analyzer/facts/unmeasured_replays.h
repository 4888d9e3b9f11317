// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <vector>

namespace gd::facts {

// Replays of one device that ran some time, nobody knows when: where they may lie, idle may not be idle.
class UnmeasuredReplays {
public:
    UnmeasuredReplays(const ProcessData& process, std::int64_t deviceId);

    // Whether there is one that was launched in [fromNs, toNs).
    bool launchedIn(std::int64_t fromNs, std::int64_t toNs) const;

private:
    std::vector<std::int64_t> m_launches; // sorted
};

} // namespace gd::facts
