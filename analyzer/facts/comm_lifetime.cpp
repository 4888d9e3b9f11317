// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/passes.h"

#include <algorithm>
#include <map>
#include <set>

namespace gd::facts {
namespace {

struct Holders {
    std::int64_t execs = 0;
    std::int64_t graphs = 0;
    const Exec* first = nullptr;
    const Graph* firstGraph = nullptr;
    std::optional<std::int64_t> goneNs = 0; // nullopt: one of them is never destroyed
};

bool aliveAt(std::int64_t createdNs, const std::optional<std::int64_t>& destroyedNs, std::int64_t timeNs) {
    return createdNs <= timeNs && (!destroyedNs || *destroyedNs > timeNs);
}

Holders holdersOf(const ProcessData& process, const Comm& comm, const std::set<std::int64_t>& captures) {
    Holders holders;
    const std::int64_t atNs = comm.destroyStartNs.value_or(process.endNs);
    const auto hold = [&](const std::optional<std::int64_t>& destroyedNs) {
        if (!destroyedNs || !holders.goneNs)
            holders.goneNs.reset();
        else
            holders.goneNs = std::max(*holders.goneNs, *destroyedNs);
    };
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph == nullptr || !captures.contains(graph->captureId) || exec.result != 0
            || !aliveAt(exec.createdNs, exec.destroyedNs, atNs))
            continue;
        ++holders.execs;
        if (holders.first == nullptr) {
            holders.first = &exec;
            holders.firstGraph = graph;
        }
        hold(exec.destroyedNs);
    }
    for (const Graph& graph : process.graphs) {
        if (graph.captureId != 0 && captures.contains(graph.captureId)
            && aliveAt(graph.createdNs, graph.destroyedNs, atNs))
            ++holders.graphs;
    }
    if (holders.execs == 0)
        holders.goneNs.reset();
    return holders;
}

Result<std::map<std::int64_t, std::int64_t>> readNcclVersions(Db& db) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT process_id, CAST(value AS INTEGER) FROM process_fact "
                   "WHERE key IN ('nccl_version', 'nccl.version')"));
    std::map<std::int64_t, std::int64_t> versions;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return versions;
        // NCCL_VERSION_CODE has four digits or more; a text such as "2.28.9" does not.
        if (select.int64(1) >= 1000)
            versions[select.int64(0)] = select.int64(1);
    }
}

} // namespace

Result<void> buildCommLifetime(FactContext& context) {
    GD_TRY_ASSIGN(const auto versions, readNcclVersions(context.db));
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO comm_lifetime VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        const auto version = versions.find(process.processId);
        for (const Comm& comm : process.comms) {
            std::set<std::int64_t> captures;
            for (const CommOp& op : process.commOps) {
                if (op.captureId != 0 && op.commHash == comm.commHash)
                    captures.insert(op.captureId);
            }
            const Holders holders = holdersOf(process, comm, captures);
            const Capture* capture
                = holders.firstGraph == nullptr ? nullptr : process.capture(holders.firstGraph->captureId);
            const std::int64_t waitedNs = comm.destroyStartNs
                ? std::max<std::int64_t>(0, comm.destroyEndNs.value_or(process.endNs) - *comm.destroyStartNs)
                : 0;
            GD_TRY(insert.runWith(process.processId, comm.commHash, comm.nranks, comm.rank, comm.createdNs,
                comm.destroyStartNs, comm.destroyEndNs, waitedNs, holders.execs, holders.graphs,
                holders.first == nullptr ? std::nullopt : std::optional(holders.first->execId),
                holders.first == nullptr
                    ? std::nullopt
                    : std::optional(process.graphName(holders.firstGraph, holders.first->execId)),
                capture == nullptr ? std::nullopt : orNull(capture->beginStackId),
                orNull(comm.destroyStackId), orNull(comm.destroyThreadId), holders.goneNs,
                version == versions.end() ? std::nullopt : std::optional(version->second),
                // What was seen to hold it is there, whatever was missed before.
                (comm.destroyStartNs && holders.execs + holders.graphs > 0)
                    || process.covered(
                           "comm_ops", comm.createdNs, comm.destroyStartNs.value_or(process.endNs))
                        != CoverageState::absent));
        }
    }
    return {};
}

} // namespace gd::facts
