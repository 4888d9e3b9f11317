// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/comm_peers.h"
#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gd::facts {

// Host and device clocks of one machine agree this well unless something else was measured.
inline constexpr std::int64_t kClockUncertaintyNs = 2'000;

// What a device waited for that had the launch of a replay in time.
struct DeviceWait {
    enum class Cause : std::uint8_t { event, peer, communication, unknown };
    Cause cause = Cause::unknown;
    std::string detail; // "stream 7", "rank 3", "all_reduce"; empty = none
    const ApiCall* call = nullptr; // the wait for an event
};

// Looks at one process; the peers of its communication may be in others.
class DeviceWaits {
public:
    DeviceWaits(const CommPeers& peers, const ProcessData& process);

    // `replay` was launched in time and yet began only at its start; `idleFromNs`: when the device had
    // nothing more to do; `sinceNs`: the launch before it returned.
    DeviceWait before(const Replay& replay, std::int64_t idleFromNs, std::int64_t sinceNs) const;

private:
    struct Record {
        std::int64_t timeNs = 0;
        std::int64_t streamId = 0;
    };

    const ApiCall* lastWait(const Replay& replay, std::int64_t sinceNs) const;
    // Where the event of a wait had been recorded; 0 = never seen.
    std::int64_t sourceOf(const ApiCall& wait) const;
    const CommOp* lastCommunication(
        std::int64_t streamId, std::int64_t otherStreamId, std::int64_t sinceNs, std::int64_t untilNs) const;
    bool endsAt(std::int64_t streamId, std::int64_t timeNs) const;

    const CommPeers& m_peers;
    const ProcessData& m_process;
    std::map<std::int64_t, std::vector<Record>> m_records; // by event, in order of time
    std::map<std::int64_t, std::vector<std::int64_t>> m_ends; // ends of work by stream, sorted
};

} // namespace gd::facts
