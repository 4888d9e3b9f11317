// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/ring_peers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace gd::facts {
namespace {

// The sends and receives of one communicator in one capture, or while they keep their direction.
struct Hops {
    std::set<std::int32_t> to;
    std::set<std::int32_t> from;
    const CommOp* firstSend = nullptr;

    void add(const CommOp& op) {
        if (op.kind == "send") {
            to.insert(op.peer);
            firstSend = firstSend == nullptr ? &op : firstSend;
        } else if (op.kind == "recv") {
            from.insert(op.peer);
        }
    }
    // Everything goes to one neighbour and comes from the other: neither a pipeline, which sends both ways,
    // nor a pair.
    bool isRing() const { return to.size() == 1 && from.size() == 1 && *to.begin() != *from.begin(); }
    std::int32_t peer() const { return *to.begin(); }
};

struct Ring {
    std::vector<Hops> eager; // a new one wherever the sends turn
    std::map<std::int64_t, Hops> captures; // by capture
};

std::map<std::int64_t, Ring> ringsOf(const ProcessData& process) {
    std::map<std::int64_t, Ring> rings;
    for (const CommOp& op : process.commOps) {
        if (op.peer < 0 || (op.kind != "send" && op.kind != "recv"))
            continue;
        Ring& ring = rings[op.commHash];
        if (op.captureId != 0) {
            ring.captures[op.captureId].add(op);
            continue;
        }
        const bool turns = op.kind == "send" && !ring.eager.empty() && !ring.eager.back().to.empty()
            && !ring.eager.back().to.contains(op.peer);
        if (ring.eager.empty() || turns)
            ring.eager.emplace_back();
        ring.eager.back().add(op);
    }
    return rings;
}

struct Eager {
    std::vector<std::int32_t> peers; // in the order of the calls
    std::set<std::int32_t> different;
};

Eager eagerOf(const Ring& ring) {
    Eager eager;
    for (const Hops& hops : ring.eager) {
        if (!hops.isRing())
            continue;
        eager.peers.push_back(hops.peer());
        eager.different.insert(hops.peer());
    }
    return eager;
}

std::string textOf(const std::vector<std::int32_t>& peers) {
    constexpr std::size_t kShown = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(peers.size(), kShown); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(peers[i]);
    return peers.size() > kShown ? text + ", ..." : text;
}

// The one neighbour of all captured rings that ran; nullopt where there are several: then there is a graph
// for each direction.
std::optional<std::int32_t> capturedPeer(const ProcessData& process, const Ring& ring) {
    std::optional<std::int32_t> peer;
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        const auto hops = graph == nullptr ? ring.captures.end() : ring.captures.find(graph->captureId);
        if (hops == ring.captures.end() || exec.replays.empty())
            continue;
        if (!hops->second.isRing() || (peer && *peer != hops->second.peer()))
            return std::nullopt;
        peer = hops->second.peer();
    }
    return peer;
}

Result<void> writeRing(
    Statement& insert, const ProcessData& process, std::int64_t commHash, const Ring& ring) {
    const Eager eager = eagerOf(ring);
    const std::optional<std::int32_t> captured = capturedPeer(process, ring);
    const auto comm = std::find_if(process.comms.begin(), process.comms.end(),
        [&](const Comm& candidate) { return candidate.commHash == commHash; });
    if (!captured || eager.different.size() < 2 || comm == process.comms.end())
        return {};
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        const auto hops = graph == nullptr ? ring.captures.end() : ring.captures.find(graph->captureId);
        if (hops == ring.captures.end() || exec.replays.empty())
            continue;
        const Replay& first = process.replays[static_cast<std::size_t>(exec.replays.front())];
        const Replay& last = process.replays[static_cast<std::size_t>(exec.replays.back())];
        const auto launches = std::count_if(exec.replays.begin(), exec.replays.end(),
            [&](std::int32_t index) { return process.replays[static_cast<std::size_t>(index)].result == 0; });
        const CommOp& send = *hops->second.firstSend;
        GD_TRY(insert.runWith(process.processId, commHash, comm->nranks, comm->rank, exec.execId,
            process.graphName(graph, exec.execId), *captured, textOf(eager.peers), eager.different.size(),
            eager.peers.size(), launches, first.launchStartNs, last.launchEndNs,
            process.stepNumberAt(first.launchStartNs), orNull(std::int64_t{send.threadId}),
            orNull(send.stackId),
            process.covered("comm_ops", comm->createdNs, last.launchEndNs) != CoverageState::absent));
    }
    return {};
}

} // namespace

Result<void> buildRingPeers(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO ring_peers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        for (const auto& [commHash, ring] : ringsOf(process))
            GD_TRY(writeRing(insert, process, commHash, ring));
    }
    return {};
}

} // namespace gd::facts
