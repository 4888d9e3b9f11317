// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/stall.h"

#include "analyzer/facts/stats.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace gd::facts {
namespace {

// A job that ended in order had time enough; of one that was killed, the last half second of device records
// is missing.
constexpr std::int64_t kPatienceNs = 30'000'000'000;
constexpr std::int64_t kKilledPatienceNs = 2'000'000'000;
constexpr std::int32_t kLaunchFailed = 719;

struct Stall {
    const ProcessData* process = nullptr;
    std::int64_t deviceId = 0;
    const Exec* exec = nullptr; // null: a single call
    std::string name;
    std::int64_t commHash = 0; // 0 = unknown
    std::int32_t peer = -1;
    const char* outcome = "never";
    std::int32_t result = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t limitNs = 0;
    std::int32_t threadId = 0;
    std::int64_t stackId = 0;
    bool known = true;
    bool wentOn = false; // late, and what follows ran

    bool isSend() const { return name == "Send"; }
    bool isPointToPoint() const { return isSend() || name == "Recv"; }
};

const Comm* commOf(const ProcessData& process, std::int64_t hash) {
    const auto found = std::find_if(
        process.comms.begin(), process.comms.end(), [&](const Comm& comm) { return comm.commHash == hash; });
    return hash == 0 || found == process.comms.end() ? nullptr : &*found;
}

// The communicator whose calls a graph holds; 0 = none, or several.
std::int64_t capturedComm(const ProcessData& process, const Exec& exec) {
    const Graph* graph = process.templateOf(exec);
    std::set<std::int64_t> hashes;
    for (const CommOp& op : process.commOps) {
        if (graph != nullptr && op.captureId != 0 && op.captureId == graph->captureId)
            hashes.insert(op.commHash);
    }
    return hashes.size() == 1 ? *hashes.begin() : 0;
}

std::int64_t launchStack(const ProcessData& process, const Exec& exec, std::int64_t ofLaunch) {
    if (ofLaunch != 0)
        return ofLaunch;
    if (exec.launchStackId != 0)
        return exec.launchStackId;
    const Graph* graph = process.templateOf(exec);
    const Capture* capture = graph == nullptr ? nullptr : process.capture(graph->captureId);
    return capture == nullptr ? 0 : capture->beginStackId;
}

std::int64_t medianReplayNs(const ProcessData& process, const Exec& exec) {
    std::vector<std::int64_t> lengths;
    for (const std::int32_t index : exec.replays) {
        const Replay& replay = process.replays[static_cast<std::size_t>(index)];
        if (replay.measured)
            lengths.push_back(replay.endNs - replay.startNs);
    }
    return medianNs(lengths).value_or(0);
}

// --- replays that do not end ---

class ReplayStalls {
public:
    explicit ReplayStalls(const ProcessData& process)
        : m_process(process) { }

    void addTo(std::vector<Stall>& stalls) const {
        std::map<std::int64_t, const Replay*> lastMeasured; // by stream, by launch
        for (const Replay& replay : m_process.replays) {
            if (replay.measured)
                lastMeasured[replay.streamId] = &replay;
        }
        std::map<const Exec*, std::int64_t> usualNs;
        std::set<std::int64_t> stuck; // streams: what follows only queues behind the first
        std::set<std::int64_t> slow; // streams that went on after one
        for (const Replay& replay : m_process.replays) {
            const Exec* exec = m_process.exec(replay.execId);
            if (exec == nullptr || replay.result != 0 || stuck.contains(replay.streamId))
                continue;
            const auto found = lastMeasured.find(replay.streamId);
            const Replay* last = found == lastMeasured.end() ? nullptr : found->second;
            const std::int64_t least
                = replay.measured || m_process.endedClosed ? kPatienceNs : kKilledPatienceNs;
            const std::int64_t startNs = replay.measured ? replay.startNs : replay.launchStartNs;
            const std::int64_t endNs = replay.measured ? replay.endNs : m_process.endNs;
            if (endNs - startNs < least
                || (!replay.measured && last != nullptr && last->launchStartNs > replay.launchStartNs))
                continue;
            const auto [usual, isNew] = usualNs.try_emplace(exec, 0);
            if (isNew) // of all replays of it: once
                usual->second = medianReplayNs(m_process, *exec);
            const std::int64_t limitNs = std::max(least, 20 * usual->second);
            if (endNs - startNs < limitNs)
                continue;
            const bool wentOn = replay.measured && wentOnAfter(replay, *last);
            if (!(wentOn ? slow : stuck).insert(replay.streamId).second)
                continue;
            const Graph* graph = m_process.templateOf(*exec);
            stalls.push_back({&m_process, replay.deviceId, exec, m_process.graphName(graph, exec->execId),
                capturedComm(m_process, *exec), -1, replay.measured ? "late" : "never", 0, startNs, endNs,
                limitNs, replay.threadId, launchStack(m_process, *exec, replay.stackId),
                replay.measured || m_process.complete("graph_trace", startNs, endNs), wentOn});
        }
    }

private:
    // `last`: the last launched of those of its stream that ended. What had been launched before the late one
    // ended may have run only because an abort set the stream free, and the process was then killed.
    bool wentOnAfter(const Replay& late, const Replay& last) const {
        return last.launchStartNs >= late.endNs
            || (m_process.endedClosed && last.launchStartNs > late.launchStartNs);
    }

    const ProcessData& m_process;
};

// --- communication that a host runtime gave up ---

const DeviceOp* lastOp(const ProcessData& process) {
    const auto last = std::max_element(process.ops.begin(), process.ops.end(),
        [](const DeviceOp& a, const DeviceOp& b) { return a.endNs < b.endNs; });
    return last == process.ops.end() ? nullptr : &*last;
}

const CommOp* callOf(const ProcessData& process, std::int64_t correlation) {
    const auto call = std::find_if(process.calls.begin(), process.calls.end(),
        [&](const ApiCall& candidate) { return candidate.correlation == correlation; });
    if (correlation == 0 || call == process.calls.end())
        return nullptr;
    const auto op
        = std::find_if(process.commOps.begin(), process.commOps.end(), [&](const CommOp& candidate) {
              return candidate.threadId == call->threadId && candidate.timeNs >= call->startNs
                  && candidate.timeNs <= call->endNs;
          });
    return op == process.commOps.end() ? nullptr : &*op;
}

// A host runtime ends an operation that cannot go on with an error, and records nothing after it.
void addFailed(const RawData& raw, const ProcessData& process, std::vector<Stall>& stalls) {
    const bool failed = !process.isCuda
        && std::any_of(process.calls.begin(), process.calls.end(),
            [](const ApiCall& call) { return call.returned && call.result == kLaunchFailed; });
    const DeviceOp* op = failed ? lastOp(process) : nullptr;
    if (op == nullptr || !op->isComm)
        return;
    const DeviceOp& last = *op;
    Stall stall{&process, last.deviceId, nullptr, std::string(raw.shapeName(last.shapeId)), 0, -1, "failed",
        kLaunchFailed, last.startNs, last.endNs, 0, 0, 0, true, false};
    if (last.inGraph) {
        const auto replay = std::find_if(process.replays.begin(), process.replays.end(),
            [&](const Replay& candidate) { return candidate.correlation == last.correlation; });
        if (replay != process.replays.end()) {
            stall.exec = process.exec(replay->execId);
            stall.threadId = replay->threadId;
        }
        if (stall.exec != nullptr) {
            stall.commHash = capturedComm(process, *stall.exec);
            stall.stackId = launchStack(process, *stall.exec, replay->stackId);
        }
    } else if (const CommOp* call = callOf(process, last.correlation)) {
        stall.commHash = call->commHash;
        stall.peer = call->kind == "send" || call->kind == "recv" ? call->peer : -1;
        stall.threadId = call->threadId;
        stall.stackId = call->stackId;
    }
    stalls.push_back(std::move(stall));
}

// --- communication on a device that does not end ---

// As a runtime's own kernels are called: all_reduce becomes AllReduce.
std::string titleOf(std::string_view kind) {
    std::string title;
    bool begins = true;
    for (const char letter : kind) {
        if (letter != '_')
            title
                += begins && letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
        begins = letter == '_';
    }
    return title;
}

// Eager calls behind which their stream did nothing more: a stream works in order, and every later call of
// the process has a higher correlation. Of each stream the first; the others only queue behind it.
class PendingCalls {
public:
    explicit PendingCalls(const ProcessData& process)
        : m_process(process) {
        for (const DeviceOp& op : process.ops)
            see(op.streamId, op.deviceId, op.correlation);
        for (const Replay& replay : process.replays) {
            if (replay.measured)
                see(replay.streamId, replay.deviceId, replay.correlation);
        }
        for (const ApiCall& call : process.calls) {
            if (call.streamId != 0)
                see(call.streamId, call.deviceId, 0); // a stream that is known by this number
            if (call.correlation != 0)
                m_calls[call.threadId].emplace_back(call.startNs, call.correlation);
        }
        for (auto& [thread, calls] : m_calls)
            std::sort(calls.begin(), calls.end());
    }

    void addTo(std::vector<Stall>& stalls) const {
        std::map<std::int64_t, const CommOp*> first; // by stream
        for (const CommOp& op : m_process.commOps) {
            const Comm* comm = commOf(m_process, op.commHash);
            const auto last = m_lastDone.find(op.streamId);
            if (op.captureId != 0 || comm == nullptr || comm->nranks < 2 || op.messageBytes == 0
                || last == m_lastDone.end() || last->second.correlation >= correlationBefore(op))
                continue;
            const CommOp*& kept = first[op.streamId];
            if (kept == nullptr || op.timeNs < kept->timeNs)
                kept = &op;
        }
        const std::int64_t limitNs = m_process.endedClosed ? kPatienceNs : kKilledPatienceNs;
        for (const auto& [stream, op] : first) {
            if (m_process.endNs - op->timeNs < limitNs)
                continue;
            const bool toOne = op->kind == "send" || op->kind == "recv";
            stalls.push_back({&m_process, m_lastDone.at(stream).deviceId, nullptr, titleOf(op->kind),
                op->commHash, toOne ? op->peer : -1, "never", 0, op->timeNs, m_process.endNs, limitNs,
                op->threadId, op->stackId,
                m_process.complete("eager_kernel_activity", op->timeNs, m_process.endNs), false});
        }
    }

private:
    struct Last {
        std::int64_t correlation = 0; // the highest of what ended there, 0 nothing did
        std::int64_t deviceId = 0;
    };

    void see(std::int64_t stream, std::int64_t deviceId, std::int64_t correlation) {
        Last& last = m_lastDone[stream];
        last.correlation = std::max(last.correlation, correlation);
        last.deviceId = deviceId >= 0 ? deviceId : last.deviceId;
    }
    // Of the thread's latest call before the operation; 0 when there is none.
    std::int64_t correlationBefore(const CommOp& op) const {
        const auto calls = m_calls.find(op.threadId);
        if (calls == m_calls.end())
            return 0;
        const auto after = std::upper_bound(
            calls->second.begin(), calls->second.end(), std::pair(op.timeNs, std::int64_t{INT64_MAX}));
        return after == calls->second.begin() ? 0 : std::prev(after)->second;
    }

    const ProcessData& m_process;
    std::map<std::int64_t, Last> m_lastDone; // by stream
    std::map<std::int32_t, std::vector<std::pair<std::int64_t, std::int64_t>>>
        m_calls; // thread -> start, correlation
};

// --- what the ranks of a communicator say together ---

class Ranks {
public:
    Ranks(const RawData& raw, const std::vector<Stall>& stalls) {
        for (const ProcessData& process : raw.processes) {
            for (const Comm& comm : process.comms)
                m_members[comm.commHash].try_emplace(comm.rank, &process);
        }
        for (const Stall& stall : stalls) {
            const Comm* comm = commOf(*stall.process, stall.commHash);
            if (comm != nullptr && !stall.wentOn)
                m_ranks[stall.commHash].try_emplace(comm->rank, &stall);
        }
    }

    // What each other rank in the trace is stalled in, else what it did last while this one waited.
    std::optional<std::string> others(const Stall& stall) const {
        const auto members = m_members.find(stall.commHash);
        if (commOf(*stall.process, stall.commHash) == nullptr || members == m_members.end())
            return std::nullopt;
        const auto ranks = m_ranks.find(stall.commHash);
        std::string text;
        for (const auto& [rank, process] : members->second) {
            if (process == stall.process)
                continue;
            text += (text.empty() ? "rank " : ", rank ") + std::to_string(rank);
            const bool stalls = ranks != m_ranks.end() && ranks->second.contains(rank);
            text += stalls ? " in " + place(*ranks->second.at(rank)) : lastCall(*process, stall);
        }
        return orNull(text);
    }

    // Ranks of the communicator that are not in the trace.
    std::int64_t absent(const Stall& stall) const {
        const Comm* comm = commOf(*stall.process, stall.commHash);
        const auto members = m_members.find(stall.commHash);
        if (comm == nullptr || members == m_members.end())
            return 0;
        return std::max<std::int64_t>(0, comm->nranks - std::ssize(members->second));
    }

    // Every rank from here on waits in a send to the next one (or a receive from it), and the last of them
    // for the first.
    bool isCycle(const Stall& stall) const {
        const auto ranks = m_ranks.find(stall.commHash);
        const Stall* at = &stall;
        for (std::size_t hops = 0; ranks != m_ranks.end() && hops <= ranks->second.size(); ++hops) {
            const auto next = at->isPointToPoint() ? ranks->second.find(at->peer) : ranks->second.end();
            if (next == ranks->second.end() || next->second->name != stall.name)
                return false;
            if (next->second->process == stall.process)
                return true;
            at = next->second;
        }
        return false;
    }

private:
    static std::string place(const Stall& stall) {
        const bool replays = stall.exec != nullptr && !stall.isPointToPoint();
        std::string text = (replays ? "a replay of " : "") + stall.name;
        if (stall.peer >= 0)
            text += (stall.isSend() ? " to rank " : " from rank ") + std::to_string(stall.peer);
        return text;
    }

    // The last launch of a graph with the communicator, or eager call of it, before the wait was over.
    static std::string lastCall(const ProcessData& process, const Stall& stall) {
        if (process.host != stall.process->host)
            return " runs on another host";
        std::int64_t atNs = 0;
        std::string what;
        for (const Exec& exec : process.execs) {
            if (exec.replays.empty() || capturedComm(process, exec) != stall.commHash)
                continue;
            for (const std::int32_t index : exec.replays) {
                const Replay& replay = process.replays[static_cast<std::size_t>(index)];
                if (replay.launchStartNs < atNs || replay.launchStartNs > stall.endNs || replay.result != 0)
                    continue;
                atNs = replay.launchStartNs;
                what = "launched " + process.graphName(process.templateOf(exec), exec.execId);
            }
        }
        for (const CommOp& op : process.commOps) {
            if (op.captureId != 0 || op.commHash != stall.commHash || op.timeNs < atNs
                || op.timeNs > stall.endNs)
                continue;
            atNs = op.timeNs;
            what = "called " + titleOf(op.kind);
        }
        if (what.empty())
            return " did not use the communicator until then";
        const std::int64_t tenths = (std::abs(atNs - stall.startNs) + 50'000'000) / 100'000'000;
        return " last " + what + ' ' + std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10)
            + (atNs < stall.startNs ? " s before this began" : " s after this began");
    }

    std::map<std::int64_t, std::map<std::int64_t, const Stall*>> m_ranks; // by communicator and rank
    std::map<std::int64_t, std::map<std::int64_t, const ProcessData*>> m_members; // likewise
};

Result<void> write(Statement& insert, const RawData& raw, const Ranks& ranks, const Stall& stall) {
    const ProcessData& process = *stall.process;
    const Comm* comm = commOf(process, stall.commHash);
    const auto error = raw.resultNames.find(stall.result);
    return insert.runWith(process.processId, stall.deviceId, stall.exec == nullptr ? "comm" : "replay",
        stall.exec == nullptr ? std::nullopt : std::optional(stall.exec->execId), stall.name,
        comm == nullptr ? std::nullopt : std::optional(stall.commHash),
        comm == nullptr ? std::nullopt : orNull(comm->nranks),
        comm == nullptr ? std::nullopt : std::optional(comm->rank),
        stall.peer < 0 ? std::nullopt : std::optional(std::int64_t{stall.peer}), stall.outcome,
        stall.result == 0 || error == raw.resultNames.end() ? std::nullopt : std::optional(error->second),
        stall.startNs, stall.endNs, stall.limitNs, ranks.others(stall), ranks.absent(stall),
        ranks.isCycle(stall), process.stepNumberAt(stall.startNs), orNull(std::int64_t{stall.threadId}),
        orNull(stall.stackId), stall.known, stall.wentOn);
}

} // namespace

Result<void> buildStall(FactContext& context) {
    std::vector<Stall> stalls;
    for (const ProcessData& process : context.raw.processes) {
        const std::size_t before = stalls.size();
        ReplayStalls(process).addTo(stalls);
        addFailed(context.raw, process, stalls);
        if (stalls.size() == before) // else they may only queue behind that
            PendingCalls(process).addTo(stalls);
    }
    const Ranks ranks(context.raw, stalls);
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO stall VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?)"));
    for (const Stall& stall : stalls)
        GD_TRY(write(insert, context.raw, ranks, stall));
    return {};
}

} // namespace gd::facts
