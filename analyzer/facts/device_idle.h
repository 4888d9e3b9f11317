// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/facts/call_index.h"
#include "analyzer/facts/device_timeline.h"
#include "analyzer/facts/raw_data.h"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace gd::facts {

// What the host did while a device had nothing to run, in ns.
struct IdleParts {
    std::int64_t singleNs = 0; // had not yet launched the single kernel, copy or fill that ends it
    std::int64_t replayHostNs = 0; // had not yet called for the replay that ends it, and was outside of calls
    std::int64_t replayCallNs = 0; // was inside the call that launches this replay
    std::int64_t replayStartNs = 0; // had launched this replay, which waits for no other work
    std::int64_t syncNs = 0; // had waited until the device ran dry
    std::int64_t dataNs = 0; // prepared or copied input
    std::int64_t callNs = 0; // captured, instantiated, updated, allocated
    std::int64_t otherNs = 0; // long host work, communication, events, time inside a replay

    void operator+=(const IdleParts& other);
};

struct IdleTime {
    Interval time;
    IdleParts parts; // add up to its length
    const Replay* replay = nullptr; // what ends it; both nullptr: a node of a replay under way
    const DeviceOp* op = nullptr;
};

// Idle times of one device, each with what the host did. Longer ones than this are no launch that comes a
// little late but work of the host, which a graph does not take away.
inline constexpr std::int64_t kLongestLateLaunchNs = 500'000;

// Replays before which the device waited for other work: an event, a peer, communication. From replay_gap.
Result<std::unordered_set<std::int64_t>> waitingReplays(Db& db, std::int64_t processId);

class DeviceIdle {
public:
    // `waiting`: waitingReplays().
    DeviceIdle(const RawData& raw, const ProcessData& process, const DeviceTimeline& timeline,
        const std::unordered_set<std::int64_t>& waiting);

    // In order; what reaches over an edge of [fromNs, toNs) counts as far as it lies inside.
    std::vector<IdleTime> in(std::int64_t fromNs, std::int64_t toNs) const;

private:
    struct Start {
        std::int64_t timeNs = 0;
        const Replay* replay = nullptr;
        const DeviceOp* op = nullptr;
    };
    void readStarts(const DeviceTimeline& timeline);
    void readCalls(const RawData& raw);
    void classify(IdleTime& idle) const;
    void classifyReplay(IdleTime& idle, std::int64_t restNs) const;
    bool ranDryInCall(const Interval& idle) const;
    bool launchedInTime(const DeviceOp& op, std::int64_t idleFromNs) const;

    const ProcessData& m_process;
    const DeviceTimeline& m_timeline;
    const std::unordered_set<std::int64_t>& m_waiting;
    CallByCorrelation m_callOf;
    std::vector<Start> m_starts; // by time
    std::vector<const ApiCall*> m_blocking; // by end
    std::vector<std::pair<std::int64_t, std::int64_t>> m_order; // correlation and start of every call
    IntervalSet m_preparing;
    IntervalSet m_dataRanges;
};

} // namespace gd::facts
