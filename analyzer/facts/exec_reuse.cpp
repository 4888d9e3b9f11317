// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/launch_intervals.h"
#include "analyzer/facts/optimizer_graph.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/repeated_launches.h"
#include "analyzer/facts/stats.h"

#include <map>
#include <unordered_map>

namespace gd::facts {
namespace {

struct Updates {
    std::int64_t done = 0;
    std::int64_t failed = 0;
};
using UpdatesByExec = std::map<std::pair<std::int64_t, std::int64_t>, Updates>;

Result<UpdatesByExec> readUpdates(Db& db) {
    GD_TRY_ASSIGN(auto select,
        db.prepare(
            "SELECT process_id, exec_id, SUM(result = 0), SUM(result <> 0) FROM exec_update GROUP BY 1, 2"));
    UpdatesByExec updates;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return updates;
        updates[{select.int64(0), select.int64(1)}] = {select.int64(2), select.int64(3)};
    }
}

// Idle time before each replay that is nobody's doing: it had been launched, and waited for no other work.
Result<std::unordered_map<std::int64_t, std::int64_t>> queuedNs(Db& db, std::int64_t processId) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT replay_id, unknown_ns FROM replay_gap WHERE process_id = ? AND unknown_ns > 0"));
    select.bind(1, processId);
    std::unordered_map<std::int64_t, std::int64_t> queued;
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return queued;
        queued[select.int64(0)] = select.int64(1);
    }
}

} // namespace

Result<void> buildExecReuse(FactContext& context) {
    GD_TRY_ASSIGN(auto updates, readUpdates(context.db));
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO exec_reuse VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        GD_TRY_ASSIGN(const auto queued, queuedNs(context.db, process.processId));
        const LaunchIntervals intervals(process, context.timelinesOf(process), queued);
        const RepeatedLaunches repeated(process);
        for (const Exec& exec : process.execs) {
            if (exec.result != 0)
                continue;
            const Graph* graph = process.templateOf(exec);
            std::vector<std::int64_t> durations;
            std::vector<std::int64_t> launches;
            std::int64_t launched = 0;
            std::int64_t steady = 0;
            std::int64_t endNs = exec.destroyedNs.value_or(exec.createdNs);
            const Device* device = nullptr;
            for (const std::int32_t index : exec.replays) {
                const Replay& replay = process.replays[static_cast<std::size_t>(index)];
                if (replay.result != 0)
                    continue;
                ++launched;
                steady += replay.steady ? 1 : 0;
                launches.push_back(replay.launchEndNs - replay.launchStartNs);
                if (replay.measured)
                    durations.push_back(replay.endNs - replay.startNs);
                if (!exec.destroyedNs)
                    endNs = std::max({endNs, replay.launchEndNs, replay.measured ? replay.endNs : 0});
                device = process.device(replay.deviceId);
            }
            const IntervalFigures figures = intervals.of(exec);
            const Repeats repeats = repeated.of(exec);
            // On a host device the same work takes longer when others use the cores: the host thread of the
            // job is held up by them as well.
            std::int64_t noiseNs = device == nullptr ? 0 : device->unevenNs();
            if (device != nullptr && device->workers > 0)
                noiseNs = std::max(noiseNs, figures.busySpreadNs);
            const Updates update = updates[{process.processId, exec.execId}];
            std::optional<std::int64_t> nodes = exec.nodeCount;
            if (!nodes && graph != nullptr && !graph->nodes.empty())
                nodes = static_cast<std::int64_t>(graph->nodes.size());
            const std::int64_t stack = exec.stackId != 0 ? exec.stackId
                : graph != nullptr                       ? graph->stackId
                                                         : 0;
            GD_TRY(insert.runWith(process.processId, exec.execId, orNull(exec.graphId),
                graph == nullptr ? std::nullopt : orNull(graph->captureId),
                process.graphName(graph, exec.execId), graph == nullptr ? std::nullopt : graph->signature,
                exec.createdNs, endNs, nodes, launched, steady, update.done, update.failed,
                exec.createdNs - exec.createdStartNs, medianNs(durations), medianNs(launches), repeats.count,
                repeats.first == nullptr ? std::nullopt : process.stepNumberAt(repeats.first->launchStartNs),
                repeats.first == nullptr ? std::nullopt : std::optional(repeats.first->launchStartNs),
                repeats.first == nullptr ? std::nullopt : orNull(repeats.first->stackId),
                graph != nullptr && isOptimizerGraph(process, *graph), figures.medianNs, figures.cv,
                figures.p99Ns, figures.spread, figures.idleSpreadNs, figures.lateNs, figures.count, noiseNs,
                orNull(stack), orNull(exec.launchStackId)));
        }
    }
    return {};
}

} // namespace gd::facts
