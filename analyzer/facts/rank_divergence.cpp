// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/rank_divergence.h"

#include <algorithm>
#include <map>
#include <set>

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

// Captures into graphs that never ran: the capture failed, or its executables were thrown away without a
// launch, as when another rank could not capture. Nobody communicated then.
std::set<std::int64_t> capturesThatNeverRan(const ProcessData& process) {
    std::map<std::int64_t, bool> ran; // by graph that was instantiated
    for (const Exec& exec : process.execs) {
        bool& once = ran[exec.graphId];
        once = once || !exec.replays.empty();
    }
    std::set<std::int64_t> result;
    for (const Capture& capture : process.captures) {
        const auto graph = ran.find(capture.graphId);
        if (capture.graphId == 0 || (graph != ran.end() && !graph->second))
            result.insert(capture.captureId);
    }
    return result;
}

// Communicators of which several ranks are in the trace, each from its creation on.
std::map<std::int64_t, Communicator> communicators(const RawData& raw) {
    std::map<std::int64_t, Communicator> result;
    std::map<const ProcessData*, std::set<std::int64_t>> neverRan;
    for (const ProcessData& process : raw.processes) {
        neverRan[&process] = capturesThatNeverRan(process);
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
            const std::set<std::int64_t>& unused = neverRan[member.process];
            for (const CommOp& op : member.process->commOps) {
                if (op.commHash == hash && isCollective(op) && !unused.contains(op.captureId))
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
    // One may just have been cut off; after both destroyed the communicator nothing can follow. An abort
    // comes at any time.
    const bool over = first.comm->destroyStartNs && other.comm->destroyStartNs && !first.comm->aborted
        && !other.comm->aborted;
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
