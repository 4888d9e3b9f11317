// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/rank_divergence.h"

#include <algorithm>
#include <map>

namespace gd::facts {
namespace {

struct Member {
    const ProcessData* process = nullptr;
    const Comm* comm = nullptr;
    std::vector<const CommOp*> calls; // collectives, by time
};

struct Communicator {
    std::vector<Member> members; // by process
    bool isUsable = true;
};

// Sends and receives belong to pairs, not to all ranks.
bool isCollective(const CommOp& op) {
    return op.kind != "send" && op.kind != "recv";
}

// Whether the call was captured into a graph that never ran: the capture failed, or its executables were
// thrown away without a launch, as when another rank could not capture. Nobody communicated then.
bool neverRan(const ProcessData& process, const CommOp& op) {
    const auto capture = std::find_if(process.captures.begin(), process.captures.end(),
        [&](const Capture& candidate) { return candidate.captureId == op.captureId; });
    if (op.captureId == 0 || capture == process.captures.end())
        return false;
    if (capture->graphId == 0)
        return true;
    bool instantiated = false;
    for (const Exec& exec : process.execs) {
        if (exec.graphId != capture->graphId)
            continue;
        if (!exec.replays.empty())
            return false;
        instantiated = true;
    }
    return instantiated;
}

// Communicators of which several ranks are in the trace, each from its creation on.
std::map<std::int64_t, Communicator> communicators(const RawData& raw) {
    std::map<std::int64_t, Communicator> result;
    for (const ProcessData& process : raw.processes) {
        for (const Comm& comm : process.comms) {
            Communicator& entry = result[comm.commHash];
            // Calls do not say which of several lives of one process they belong to.
            const bool twice = std::any_of(entry.members.begin(), entry.members.end(),
                [&](const Member& member) { return member.process == &process; });
            entry.isUsable
                = entry.isUsable && comm.commHash != 0 && !twice && comm.createdNs > process.startNs;
            entry.members.push_back({&process, &comm, {}});
        }
    }
    std::erase_if(
        result, [](const auto& entry) { return !entry.second.isUsable || entry.second.members.size() < 2; });
    for (auto& [hash, communicator] : result) {
        for (Member& member : communicator.members) {
            for (const CommOp& op : member.process->commOps) {
                if (op.commHash == hash && isCollective(op) && !neverRan(*member.process, op))
                    member.calls.push_back(&op);
            }
        }
    }
    return result;
}

std::string describe(const CommOp& op) {
    return op.kind + " of " + std::to_string(op.messageBytes) + " bytes, "
        + (op.captureId != 0 ? "captured" : "eager");
}

struct Divergence {
    std::size_t position = 0;
    const char* what = nullptr; // nullptr = none
};

Divergence compare(const Member& first, const Member& other) {
    const std::size_t both = std::min(first.calls.size(), other.calls.size());
    for (std::size_t i = 0; i < both; ++i) {
        const CommOp& a = *first.calls[i];
        const CommOp& b = *other.calls[i];
        if ((a.captureId != 0) != (b.captureId != 0))
            return {i, "captured"};
        if (a.kind != b.kind)
            return {i, "kind"};
        if (a.messageBytes != b.messageBytes)
            return {i, "bytes"};
    }
    // One may just have been cut off; after both destroyed the communicator nothing can follow.
    const bool over = first.comm->destroyStartNs && other.comm->destroyStartNs;
    if (over && first.calls.size() != other.calls.size())
        return {both, "count"};
    return {};
}

bool recorded(const Member& member) {
    return member.process->complete(
        "comm_ops", member.comm->createdNs, member.comm->destroyStartNs.value_or(member.process->endNs));
}

} // namespace

Result<void> buildRankDivergence(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO rank_divergence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const auto& [hash, communicator] : communicators(context.raw)) {
        const Member& first = communicator.members.front();
        for (std::size_t i = 1; i < communicator.members.size(); ++i) {
            const Member& other = communicator.members[i];
            const Divergence divergence = compare(first, other);
            const auto callOf = [&](const Member& member) -> const CommOp* {
                return divergence.what == nullptr || divergence.position >= member.calls.size()
                    ? nullptr
                    : member.calls[divergence.position];
            };
            const CommOp* here = callOf(other);
            const CommOp* there = callOf(first);
            const CommOp* timed = here != nullptr ? here : there;
            const std::int64_t startNs = timed == nullptr ? other.comm->createdNs : timed->timeNs;
            const auto text = [](const CommOp* op) {
                return op == nullptr ? std::string("no further call") : describe(*op);
            };
            GD_TRY(insert.runWith(other.process->processId, hash, other.comm->nranks, other.comm->rank,
                first.process->processId, first.comm->rank,
                static_cast<std::int64_t>(std::min(first.calls.size(), other.calls.size())),
                divergence.what == nullptr ? "none" : divergence.what,
                static_cast<std::int64_t>(divergence.position), text(here), text(there), startNs,
                other.process->stepNumberAt(startNs),
                here == nullptr ? std::nullopt : orNull(std::int64_t{here->threadId}),
                here == nullptr ? std::nullopt : orNull(here->stackId),
                there == nullptr ? std::nullopt : orNull(there->stackId),
                recorded(first) && recorded(other)));
        }
    }
    return {};
}

} // namespace gd::facts
