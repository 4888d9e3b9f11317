// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/passes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

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

bool isFirstAbort(const RawData& raw, const ProcessData& process, const Comm& comm) {
    for (const ProcessData& other : raw.processes) {
        if (&other == &process || other.host != process.host)
            continue; // clocks of other hosts are not related
        for (const Comm& theirs : other.comms) {
            if (theirs.commHash == comm.commHash && theirs.aborted
                && *theirs.destroyStartNs < *comm.destroyStartNs)
                return false;
        }
    }
    return true;
}

// What happens once a communicator is gone.
struct Aftermath {
    std::int64_t openCaptures = 0;
    std::int64_t replays = 0;
    const Replay* first = nullptr;
    std::int64_t stackId = 0; // of that launch, or of its graph's capture
    std::int64_t unfinished = 0;
    std::int64_t failed = 0;
    const ApiCall* firstFailed = nullptr;
};

bool holdsCallsOf(const ProcessData& process, const Replay& replay, const std::set<std::int64_t>& captures) {
    const Exec* exec = process.exec(replay.execId);
    const Graph* graph = exec == nullptr ? nullptr : process.templateOf(*exec);
    return graph != nullptr && captures.contains(graph->captureId);
}

// Launches before `goneNs` that the device had not ended by then. One without device times had not if replays
// were measured and none behind it in its stream was; with recording off nobody knows.
std::int64_t unfinishedAt(
    const ProcessData& process, const std::set<std::int64_t>& captures, std::int64_t goneNs) {
    std::map<std::int64_t, std::int64_t> lastMeasured; // by stream: launch
    for (const Replay& replay : process.replays) {
        if (replay.measured)
            lastMeasured[replay.streamId] = replay.launchStartNs;
    }
    return std::count_if(process.replays.begin(), process.replays.end(), [&](const Replay& replay) {
        if (replay.launchStartNs >= goneNs || replay.result != 0 || !holdsCallsOf(process, replay, captures))
            return false;
        if (replay.measured)
            return replay.endNs > goneNs;
        const auto last = lastMeasured.find(replay.streamId);
        return (last == lastMeasured.end() || last->second < replay.launchStartNs)
            && process.complete("graph_trace", replay.launchStartNs, goneNs);
    });
}

Aftermath aftermathOf(const ProcessData& process, const Comm& comm, const std::set<std::int64_t>& captures) {
    Aftermath after;
    if (!comm.destroyStartNs)
        return after;
    const std::int64_t goneNs = *comm.destroyStartNs;
    after.openCaptures
        = std::count_if(process.captures.begin(), process.captures.end(), [&](const Capture& capture) {
              return capture.startNs < goneNs && capture.endNs.value_or(process.endNs) > goneNs;
          });
    for (const Replay& replay : process.replays) {
        if (replay.launchStartNs < goneNs || !holdsCallsOf(process, replay, captures))
            continue;
        ++after.replays;
        if (after.first != nullptr)
            continue;
        after.first = &replay;
        const Exec* exec = process.exec(replay.execId);
        const Capture* capture = process.capture(process.templateOf(*exec)->captureId);
        const std::int64_t launched = replay.stackId != 0 ? replay.stackId : exec->launchStackId;
        after.stackId = launched != 0 ? launched : capture == nullptr ? 0 : capture->beginStackId;
    }
    after.unfinished = unfinishedAt(process, captures, goneNs);
    for (const ApiCall& call : process.calls) {
        constexpr std::int32_t kNotReady = 600;
        if (call.startNs < goneNs || !call.returned || call.result == 0 || call.result == kNotReady)
            continue;
        ++after.failed;
        if (after.firstFailed == nullptr || call.startNs < after.firstFailed->startNs)
            after.firstFailed = &call;
    }
    return after;
}

std::optional<std::string> failureText(const RawData& raw, const ApiCall* call) {
    if (call == nullptr)
        return std::nullopt;
    const auto name = raw.resultNames.find(call->result);
    return raw.apiName(call->apiId) + ": "
        + (name == raw.resultNames.end() ? "error " + std::to_string(call->result) : name->second);
}

std::set<std::int64_t> capturesOf(const ProcessData& process, const Comm& comm) {
    std::set<std::int64_t> captures;
    for (const CommOp& op : process.commOps) {
        // A hash may be used again once its communicator is gone.
        const bool inItsLife = op.timeNs <= comm.destroyStartNs.value_or(op.timeNs);
        if (op.captureId != 0 && op.commHash == comm.commHash && inItsLife)
            captures.insert(op.captureId);
    }
    return captures;
}

class Writer {
public:
    Writer(const RawData& raw, Statement insert)
        : m_raw(raw)
        , m_insert(std::move(insert)) { }

    Result<void> write(
        const ProcessData& process, const Comm& comm, std::optional<std::int64_t> ncclVersion) {
        const std::set<std::int64_t> captures = capturesOf(process, comm);
        const Holders holders = holdersOf(process, comm, captures);
        const Aftermath after = aftermathOf(process, comm, captures);
        const Capture* capture
            = holders.firstGraph == nullptr ? nullptr : process.capture(holders.firstGraph->captureId);
        const std::int64_t waitedNs = comm.destroyStartNs
            ? std::max<std::int64_t>(0, comm.destroyEndNs.value_or(process.endNs) - *comm.destroyStartNs)
            : 0;
        // What was seen to hold it is there, whatever was missed before.
        const bool known = (comm.destroyStartNs && holders.execs + holders.graphs > 0)
            || process.covered("comm_ops", comm.createdNs, comm.destroyStartNs.value_or(process.endNs))
                != CoverageState::absent;
        return m_insert.runWith(process.processId, comm.commHash, comm.nranks, comm.rank, comm.createdNs,
            comm.destroyStartNs, comm.destroyEndNs, waitedNs, holders.execs, holders.graphs,
            holders.first == nullptr ? std::nullopt : std::optional(holders.first->execId),
            holders.first == nullptr
                ? std::nullopt
                : std::optional(process.graphName(holders.firstGraph, holders.first->execId)),
            capture == nullptr ? std::nullopt : orNull(capture->beginStackId), orNull(comm.destroyStackId),
            orNull(comm.destroyThreadId), holders.goneNs, ncclVersion, comm.aborted,
            comm.aborted && isFirstAbort(m_raw, process, comm), after.openCaptures, after.replays,
            after.first == nullptr ? std::nullopt : std::optional(after.first->launchStartNs),
            after.first == nullptr ? std::nullopt : std::optional(after.first->execId), orNull(after.stackId),
            after.unfinished, after.failed, failureText(m_raw, after.firstFailed), known);
    }

private:
    const RawData& m_raw;
    Statement m_insert;
};

} // namespace

Result<void> buildCommLifetime(FactContext& context) {
    GD_TRY_ASSIGN(const auto versions, readNcclVersions(context.db));
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare("INSERT INTO comm_lifetime VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                           "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    Writer writer(context.raw, std::move(insert));
    for (const ProcessData& process : context.raw.processes) {
        const auto version = versions.find(process.processId);
        for (const Comm& comm : process.comms)
            GD_TRY(writer.write(
                process, comm, version == versions.end() ? std::nullopt : std::optional(version->second)));
    }
    return {};
}

} // namespace gd::facts
