// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/optimizer_graph.h"
#include "analyzer/facts/passes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace gd::facts {
namespace {

struct Bytes {
    std::int64_t ops = 0;
    std::int64_t messageBytes = 0;
    double wireBytes = 0; // meaningful when the number of ranks is known
    bool ranksKnown = true;

    std::optional<std::int64_t> wire() const {
        return ranksKnown ? std::optional<std::int64_t>(std::llround(wireBytes)) : std::nullopt;
    }
};

using BytesByComm = std::map<std::int64_t, Bytes>;

// What crosses the busiest link, as nccl-tests computes bus bandwidth (doc/PERFORMANCE.md there), from the
// bytes of the call on this rank.
double wireFactor(const std::string& kind, std::int64_t ranks) {
    const auto n = static_cast<double>(std::max<std::int64_t>(1, ranks));
    if (kind == "all_reduce")
        return 2 * (n - 1) / n;
    if (kind == "all_gather" || kind == "reduce_scatter")
        return n - 1;
    if (kind == "all_to_all")
        return (n - 1) / n;
    return 1;
}

std::int64_t ranksOf(const ProcessData& process, std::int64_t commHash) {
    for (const Comm& comm : process.comms) {
        if (comm.commHash == commHash)
            return comm.nranks;
    }
    return 0;
}

void add(const ProcessData& process, const CommOp& op, Bytes& bytes) {
    const std::int64_t ranks = ranksOf(process, op.commHash);
    ++bytes.ops;
    bytes.messageBytes += op.messageBytes;
    bytes.ranksKnown = bytes.ranksKnown && ranks != 0;
    bytes.wireBytes += static_cast<double>(op.messageBytes) * wireFactor(op.kind, ranks);
}

// Bytes of one replay, by capture.
std::map<std::int64_t, BytesByComm> capturedBytes(const ProcessData& process) {
    std::map<std::int64_t, BytesByComm> result;
    for (const CommOp& op : process.commOps) {
        if (op.captureId != 0)
            add(process, op, result[op.captureId][op.commHash]);
    }
    return result;
}

struct StepBytes {
    std::int64_t graphBytes = 0;
    std::int64_t eagerBytes = 0;
    std::int64_t graphOps = 0;
    std::int64_t eagerOps = 0;
    std::int64_t eagerCollectives = 0;
    std::int64_t eagerBetween = 0; // collectives before the last launch of a graph in the step
    const CommOp* largest = nullptr;

    const char* eagerKind() const {
        return eagerOps == 0        ? "none"
            : eagerCollectives == 0 ? "point_to_point"
            : eagerBetween == 0     ? "after_graphs"
                                    : "between_graphs";
    }
};

// When the last graph of each step was launched, an optimizer's aside, which follows the reduction of
// gradients by design; the smallest time where none was.
std::vector<std::int64_t> lastLaunches(const ProcessData& process) {
    std::vector<std::int64_t> result(process.steps.size(), std::numeric_limits<std::int64_t>::min());
    std::set<std::int64_t> optimizers;
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph != nullptr && isOptimizerGraph(process, *graph))
            optimizers.insert(exec.execId);
    }
    for (const Replay& replay : process.replays) {
        if (replay.step >= 0 && !optimizers.contains(replay.execId))
            result[static_cast<std::size_t>(replay.step)]
                = std::max(result[static_cast<std::size_t>(replay.step)], replay.launchStartNs);
    }
    return result;
}

// Time per step in which only single-launch communication ran on a device.
std::vector<std::optional<std::int64_t>> exposedEager(
    const ProcessData& process, const std::vector<DeviceTimeline>& timelines) {
    std::vector<std::optional<std::int64_t>> result(process.steps.size());
    for (const DeviceTimeline& timeline : timelines) {
        std::vector<Interval> eager;
        for (const DeviceOp& op : process.ops) {
            if (op.isComm && !op.inGraph && op.deviceId == timeline.deviceId)
                eager.push_back({op.startNs, op.endNs});
        }
        if (eager.empty())
            continue;
        const IntervalSet exposed = subtract(unite(std::move(eager)), timeline.compute);
        for (std::size_t i = 0; i < process.steps.size(); ++i)
            result[i] = result[i].value_or(0)
                + coveredNs(exposed, process.steps[i].startNs, process.steps[i].endNs);
    }
    return result;
}

class NcclPass {
public:
    NcclPass(FactContext& context, Statement replay, Statement step)
        : m_context(context)
        , m_replay(std::move(replay))
        , m_step(std::move(step)) { }

    Result<void> write(const ProcessData& process) {
        const auto captured = capturedBytes(process);
        std::vector<std::map<std::int64_t, StepBytes>> steps(process.steps.size());
        for (const Exec& exec : process.execs) {
            const Graph* graph = process.templateOf(exec);
            const auto bytes = graph == nullptr || graph->captureId == 0 ? captured.end()
                                                                         : captured.find(graph->captureId);
            if (bytes == captured.end())
                continue;
            for (const auto& [comm, sum] : bytes->second) {
                GD_TRY(m_replay.runWith(process.processId, exec.execId, comm, sum.ops, sum.messageBytes,
                    sum.wire(), exec.replays.size()));
                for (const std::int32_t index : exec.replays) {
                    const Replay& replay = process.replays[static_cast<std::size_t>(index)];
                    if (replay.step < 0 || replay.result != 0)
                        continue;
                    StepBytes& step = steps[static_cast<std::size_t>(replay.step)][comm];
                    step.graphBytes += sum.messageBytes;
                    step.graphOps += sum.ops;
                }
            }
        }
        const std::vector<std::int64_t> lastLaunch = lastLaunches(process);
        for (const CommOp& op : process.commOps) {
            const std::int32_t index = op.captureId == 0 ? process.stepAt(op.timeNs) : -1;
            if (index < 0)
                continue;
            StepBytes& step = steps[static_cast<std::size_t>(index)][op.commHash];
            step.eagerBytes += op.messageBytes;
            ++step.eagerOps;
            if (op.kind != "send" && op.kind != "recv") {
                ++step.eagerCollectives;
                step.eagerBetween += op.timeNs < lastLaunch[static_cast<std::size_t>(index)] ? 1 : 0;
            }
            if (step.largest == nullptr || op.messageBytes > step.largest->messageBytes)
                step.largest = &op;
        }
        return writeSteps(process, steps);
    }

private:
    Result<void> writeSteps(
        const ProcessData& process, const std::vector<std::map<std::int64_t, StepBytes>>& steps) {
        const auto exposed = exposedEager(process, m_context.timelinesOf(process));
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const Step& step = process.steps[i];
            std::int64_t eagerBytes = 0;
            for (const auto& [comm, bytes] : steps[i])
                eagerBytes += bytes.eagerBytes;
            for (const auto& [comm, bytes] : steps[i]) {
                // Kernels do not say which communicator they serve: their time is shared out by bytes.
                std::optional<std::int64_t> share;
                if (exposed[i])
                    share = eagerBytes == 0
                        ? 0
                        : std::llround(static_cast<double>(*exposed[i])
                            * static_cast<double>(bytes.eagerBytes) / static_cast<double>(eagerBytes));
                const CommOp* largest = bytes.largest;
                GD_TRY(m_step.runWith(process.processId, comm, orNull(ranksOf(process, comm)), step.step,
                    step.steady(), step.startNs, step.endNs, bytes.graphBytes, bytes.eagerBytes,
                    bytes.graphOps, bytes.eagerOps, bytes.eagerKind(), share,
                    largest == nullptr ? std::nullopt : orNull(largest->stackId),
                    largest == nullptr ? std::nullopt : orNull(std::int64_t{largest->threadId}),
                    process.complete("comm_ops", step.startNs, step.endNs)));
            }
        }
        return {};
    }

    FactContext& m_context;
    Statement m_replay;
    Statement m_step;
};

} // namespace

Result<void> buildNccl(FactContext& context) {
    GD_TRY_ASSIGN(auto replay, context.db.prepare("INSERT INTO nccl_replay VALUES (?, ?, ?, ?, ?, ?, ?)"));
    GD_TRY_ASSIGN(auto step,
        context.db.prepare("INSERT INTO nccl_step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    NcclPass pass(context, std::move(replay), std::move(step));
    for (const ProcessData& process : context.raw.processes)
        GD_TRY(pass.write(process));
    return {};
}

} // namespace gd::facts
