// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/comm_peers.h"

#include <algorithm>

namespace gd::facts {
namespace {

constexpr char kCollective = 'c';
constexpr char kSend = 's';
constexpr char kReceive = 'r';

} // namespace

CommPeers::CommPeers(const RawData& raw) {
    for (const ProcessData& process : raw.processes) {
        for (const Comm& comm : process.comms) {
            Communicator& entry = m_comms[comm.commHash];
            entry.nranks = std::max(entry.nranks, comm.nranks);
            const bool twice = std::any_of(entry.members.begin(), entry.members.end(),
                [&](const Member& member) { return member.process == &process || member.rank == comm.rank; });
            // Calls before the recording would shift the numbers.
            const bool early = comm.createdNs <= process.startNs;
            entry.isUsable = entry.isUsable && comm.commHash != 0 && comm.nranks > 0 && !twice && !early;
            entry.members.push_back({&process, comm.rank, {}});
        }
    }
    for (auto& [hash, comm] : m_comms) {
        for (Member& member : comm.members) {
            if (!comm.isUsable)
                continue;
            for (const CommOp& op : member.process->commOps) {
                if (op.commHash == hash && op.captureId == 0)
                    member.calls[laneOf(op)].push_back(&op);
            }
        }
    }
}

CommPeers::Lane CommPeers::laneOf(const CommOp& op) {
    if (op.kind == "send")
        return {kSend, op.peer};
    if (op.kind == "recv")
        return {kReceive, op.peer};
    return {kCollective, -1};
}

const CommOp* CommPeers::counterpart(const Member& member, const Lane& lane, std::size_t number) {
    const auto calls = member.calls.find(lane);
    return calls == member.calls.end() || number >= calls->second.size() ? nullptr : calls->second[number];
}

std::optional<CommPeers::Arrival> CommPeers::lastOther(const ProcessData& process, const CommOp& op) const {
    const auto found = m_comms.find(op.commHash);
    if (found == m_comms.end() || !found->second.isUsable)
        return std::nullopt;
    const Communicator& comm = found->second;
    const auto own = std::find_if(comm.members.begin(), comm.members.end(),
        [&](const Member& member) { return member.process == &process; });
    if (own == comm.members.end())
        return std::nullopt;
    const Lane lane = laneOf(op);
    const auto& calls = own->calls.at(lane);
    // In order of time, which is their order in memory.
    const auto number
        = static_cast<std::size_t>(std::lower_bound(calls.begin(), calls.end(), &op) - calls.begin());
    const bool isCollective = lane.first == kCollective;
    if (isCollective && static_cast<std::int64_t>(comm.members.size()) != comm.nranks)
        return std::nullopt;
    std::optional<Arrival> last;
    for (const Member& member : comm.members) {
        if (&member == &*own || (!isCollective && member.rank != lane.second))
            continue;
        if (member.process->host != process.host)
            return std::nullopt; // their clocks are not related
        const Lane theirs = isCollective ? lane : Lane{lane.first == kSend ? kReceive : kSend, own->rank};
        const CommOp* call = counterpart(member, theirs, number);
        if (call == nullptr)
            return std::nullopt;
        if (!last || call->timeNs > last->enqueuedNs)
            last = Arrival{member.rank, call->timeNs};
    }
    return last;
}

} // namespace gd::facts
