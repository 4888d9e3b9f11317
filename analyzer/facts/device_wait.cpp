// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/device_wait.h"

#include <algorithm>

namespace gd::facts {
namespace {

// From the end of what a graph waits for to its first node: some microseconds (2.5 us seen on an H200).
constexpr std::int64_t kStartLatencyNs = 10'000;

} // namespace

DeviceWaits::DeviceWaits(const CommPeers& peers, const ProcessData& process)
    : m_peers(peers)
    , m_process(process) {
    for (const ApiCall& call : process.calls) {
        if (call.known == KnownCall::recordEvent && call.result == 0)
            m_records[call.objectId].push_back({call.startNs, call.streamId});
    }
    for (auto& [event, records] : m_records)
        std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) { return a.timeNs < b.timeNs; });
    for (const DeviceOp& op : process.ops) {
        if (!op.inGraph)
            m_ends[op.streamId].push_back(op.endNs);
    }
    for (const Replay& replay : process.replays) {
        if (replay.measured)
            m_ends[replay.streamId].push_back(replay.endNs);
    }
    for (auto& [stream, ends] : m_ends)
        std::sort(ends.begin(), ends.end());
}

DeviceWait DeviceWaits::before(const Replay& replay, std::int64_t idleFromNs, std::int64_t sinceNs) const {
    const ApiCall* wait = lastWait(replay, sinceNs);
    const std::int64_t source = wait == nullptr ? 0 : sourceOf(*wait);
    // With eager work recorded its communication counts as busy time: what is left is not a wait for it.
    const bool recorded = m_process.complete("eager_kernel_activity", idleFromNs, replay.startNs);
    if (!recorded) {
        if (const CommOp* op = lastCommunication(replay.streamId, source, sinceNs, replay.launchStartNs)) {
            const auto last = m_peers.lastOther(m_process, *op);
            const bool peerCameLate
                = last && last->enqueuedNs > std::max(op->timeNs, idleFromNs) + kClockUncertaintyNs;
            if (peerCameLate)
                return {DeviceWait::Cause::peer, "rank " + std::to_string(last->rank), nullptr};
            return {DeviceWait::Cause::communication, op->kind, nullptr};
        }
    }
    if (wait == nullptr || (recorded && source != 0 && !endsAt(source, replay.startNs)))
        return {};
    return {DeviceWait::Cause::event, source == 0 ? std::string() : "stream " + std::to_string(source), wait};
}

const ApiCall* DeviceWaits::lastWait(const Replay& replay, std::int64_t sinceNs) const {
    const ApiCall* wait = nullptr;
    m_process.eachCall(replay.threadId, sinceNs, replay.launchStartNs, [&](const ApiCall& call) {
        if (call.known == KnownCall::waitEvent && call.streamId == replay.streamId && call.startNs >= sinceNs)
            wait = &call;
    });
    return wait;
}

std::int64_t DeviceWaits::sourceOf(const ApiCall& wait) const {
    const auto records = m_records.find(wait.objectId);
    if (wait.objectId == 0 || records == m_records.end())
        return 0;
    const auto after = std::upper_bound(records->second.begin(), records->second.end(), wait.startNs,
        [](std::int64_t time, const Record& record) { return time < record.timeNs; });
    return after == records->second.begin() ? 0 : std::prev(after)->streamId;
}

const CommOp* DeviceWaits::lastCommunication(
    std::int64_t streamId, std::int64_t otherStreamId, std::int64_t sinceNs, std::int64_t untilNs) const {
    const auto from = std::lower_bound(m_process.commOps.begin(), m_process.commOps.end(), sinceNs,
        [](const CommOp& op, std::int64_t time) { return op.timeNs < time; });
    const CommOp* found = nullptr;
    for (auto op = from; op != m_process.commOps.end() && op->timeNs < untilNs; ++op) {
        const bool orders = op->streamId == streamId || (otherStreamId != 0 && op->streamId == otherStreamId);
        if (op->captureId == 0 && orders && op->streamId != 0)
            found = &*op;
    }
    return found;
}

bool DeviceWaits::endsAt(std::int64_t streamId, std::int64_t timeNs) const {
    const auto ends = m_ends.find(streamId);
    if (ends == m_ends.end())
        return false;
    const auto after
        = std::upper_bound(ends->second.begin(), ends->second.end(), timeNs + kClockUncertaintyNs);
    return after != ends->second.begin() && *std::prev(after) >= timeNs - kStartLatencyNs;
}

} // namespace gd::facts
