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
    const char* why = nullptr; // why its calls cannot be compared, whoever has recorded them
    bool isUsable() const { return why == nullptr && members.size() >= 2; }
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

// By hash; with the calls of each member where they can be compared.
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
            if (comm.commHash == 0 || twice)
                entry.why = "communicators could not be told apart";
            else if (comm.createdNs <= process.startNs)
                entry.why = "its first calls were not recorded";
            entry.members.push_back({&process, &comm, {}});
        }
    }
    for (auto& [hash, communicator] : result) {
        if (!communicator.isUsable())
            continue;
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

// A communicator of several ranks about which nothing can be said.
Result<void> writeUnknown(Statement& insert, std::int64_t hash, const Communicator& communicator) {
    const Member& member = communicator.members.front();
    const std::string why = communicator.why != nullptr
        ? communicator.why
        : "1 of " + std::to_string(member.comm->nranks) + " ranks of a communicator is in this trace";
    return insert.runWith(member.process->processId, hash, member.comm->nranks, member.comm->rank, nullptr,
        nullptr, 0, "none", 0, "no further call", "no further call", member.comm->createdNs,
        member.process->stepNumberAt(member.comm->createdNs), nullptr, nullptr, nullptr, 0, why);
}

} // namespace

Result<void> buildRankDivergence(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO rank_divergence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const auto& [hash, communicator] : communicators(context.raw)) {
        const Member& first = communicator.members.front();
        if (!communicator.isUsable()) {
            if (first.comm->nranks > 1)
                GD_TRY(writeUnknown(insert, hash, communicator));
            continue;
        }
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
                there == nullptr ? std::nullopt : orNull(there->stackId), recorded(first) && recorded(other),
                nullptr));
        }
    }
    return {};
}

} // namespace gd::facts
