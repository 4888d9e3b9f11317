// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/rank_graph.h"

#include "analyzer/facts/eager_work.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace gd::facts {
namespace {

// Fewer kernels than this say nothing: a fill here and a copy there look like any small graph.
constexpr std::int64_t kMinKernels = 3;

struct Holder {
    const ProcessData* process = nullptr;
    const Capture* capture = nullptr; // the first of it there
    std::int64_t replays = 0;
};

// One graph, whoever captured it.
struct SharedGraph {
    Histogram names; // of its kernels
    std::vector<Holder> holders; // by process
};

bool isSame(const Histogram& a, const Histogram& b) {
    return total(a) * 100 >= total(b) * 95 && total(b) * 100 >= total(a) * 95 && copiesIn(a, b) >= 1
        && copiesIn(b, a) >= 1;
}

// Kernels of a capture that ended well, by name.
Histogram kernelsOf(const RawData& raw, const ProcessData& process, const Capture& capture) {
    Histogram names;
    for (const std::int32_t index : capture.nodes) {
        const Node& node = process.nodes[static_cast<std::size_t>(index)];
        const auto shape = raw.shapes.find(node.shapeId);
        if (node.type == "kernel" && shape != raw.shapes.end())
            ++names[shape->second.nameId];
    }
    return names;
}

// Launches that succeeded, by capture.
std::map<std::int64_t, std::int64_t> replaysByCapture(const ProcessData& process) {
    std::map<std::int64_t, std::int64_t> result;
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph == nullptr || graph->captureId == 0)
            continue;
        result[graph->captureId] += std::count_if(exec.replays.begin(), exec.replays.end(),
            [&](std::int32_t index) { return process.replays[static_cast<std::size_t>(index)].result == 0; });
    }
    return result;
}

void addGraphsOf(const RawData& raw, const ProcessData& process, std::vector<SharedGraph>& graphs) {
    const auto replays = replaysByCapture(process);
    for (const Capture& capture : process.captures) {
        if (!capture.endResult || *capture.endResult != 0)
            continue;
        Histogram names = kernelsOf(raw, process, capture);
        if (total(names) < kMinKernels)
            continue;
        auto graph = std::find_if(graphs.begin(), graphs.end(),
            [&](const SharedGraph& known) { return isSame(known.names, names); });
        if (graph == graphs.end())
            graph = graphs.insert(graph, SharedGraph{std::move(names), {}});
        if (graph->holders.empty() || graph->holders.back().process != &process)
            graph->holders.push_back({&process, &capture, 0});
        const auto launched = replays.find(capture.captureId);
        graph->holders.back().replays += launched == replays.end() ? 0 : launched->second;
    }
}

// A capture that failed or was left open has findings of its own: that process did try.
bool hasFailedCapture(const ProcessData& process) {
    return std::any_of(process.captures.begin(), process.captures.end(),
        [](const Capture& capture) { return !capture.endResult || *capture.endResult != 0; });
}

std::int64_t eagerRuns(
    const ProcessData& process, const std::vector<EagerStep>& work, const Histogram& names) {
    std::int64_t runs = 0;
    for (std::size_t i = 0; i < work.size(); ++i)
        runs += process.steps[i].steady() ? copiesIn(work[i].names, names) : 0;
    return runs;
}

// Which processes belong to one job: they share a communicator, or, where not both have any, the launcher
// gave them different ranks of as many; and they ran at the same time. Clocks of different hosts are not
// related.
class Jobs {
public:
    static Result<Jobs> read(Db& db) {
        Jobs jobs;
        GD_TRY_ASSIGN(auto pairs,
            db.prepare(
                "WITH member AS (SELECT process_id FROM nccl_comm WHERE nranks > 1) "
                "SELECT a.process_id, b.process_id FROM process AS a "
                "JOIN process AS b ON a.process_id < b.process_id "
                "WHERE (a.host <> b.host OR (a.start_ns < b.end_ns AND b.start_ns < a.end_ns)) "
                "AND ((a.world_size > 1 AND a.world_size = b.world_size AND a.rank <> b.rank "
                "AND NOT (a.process_id IN member AND b.process_id IN member)) "
                "OR EXISTS (SELECT * FROM nccl_comm AS c JOIN nccl_comm AS d USING (comm_hash) "
                "WHERE c.process_id = a.process_id AND d.process_id = b.process_id AND c.comm_hash <> 0))"));
        for (;;) {
            GD_TRY_ASSIGN(const bool row, pairs.step());
            if (!row)
                return jobs;
            jobs.m_parent[jobs.jobOf(pairs.int64(1))] = jobs.jobOf(pairs.int64(0));
        }
    }
    bool same(std::int64_t processId, std::int64_t otherId) const {
        return jobOf(processId) == jobOf(otherId);
    }

private:
    // One process of the job stands for it.
    std::int64_t jobOf(std::int64_t processId) const {
        const auto parent = m_parent.find(processId);
        return parent == m_parent.end() || parent->second == processId ? processId : jobOf(parent->second);
    }
    std::map<std::int64_t, std::int64_t> m_parent;
};

// The same graph in the other process's job only.
SharedGraph inJobOf(const SharedGraph& graph, const Jobs& jobs, const ProcessData& other) {
    SharedGraph result{graph.names, {}};
    std::copy_if(graph.holders.begin(), graph.holders.end(), std::back_inserter(result.holders),
        [&](const Holder& holder) { return jobs.same(holder.process->processId, other.processId); });
    return result;
}

Result<void> write(Statement& insert, const SharedGraph& graph, const ProcessData& other, std::int64_t runs) {
    const Holder& first = graph.holders.front();
    const ProcessData& process = *first.process;
    std::int64_t replays = 0;
    for (const Holder& holder : graph.holders)
        replays += holder.replays;
    const Step& from = *std::find_if(
        other.steps.begin(), other.steps.end(), [](const Step& step) { return step.steady(); });
    return insert.runWith(process.processId, first.capture->captureId,
        process.graphName(process.graph(first.capture->graphId), 0), total(graph.names), graph.holders.size(),
        replays, other.processId, runs, first.capture->startNs,
        first.capture->endNs.value_or(first.capture->startNs), process.stepNumberAt(first.capture->startNs),
        orNull(std::int64_t{first.capture->beginThreadId}), orNull(first.capture->beginStackId),
        other.completeShare("eager_kernel_activity", from.startNs, other.steps.back().endNs) >= 0.5);
}

} // namespace

Result<void> buildRankGraph(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare("INSERT INTO rank_graph VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    if (context.raw.processes.size() < 2)
        return {};
    GD_TRY_ASSIGN(const Jobs jobs, Jobs::read(context.db));
    std::vector<SharedGraph> graphs;
    for (const ProcessData& process : context.raw.processes)
        addGraphsOf(context.raw, process, graphs);
    for (const ProcessData& process : context.raw.processes) {
        if (hasFailedCapture(process))
            continue;
        const std::vector<EagerStep> work = eagerSteps(context.raw, process);
        for (const SharedGraph& everywhere : graphs) {
            const SharedGraph graph = inJobOf(everywhere, jobs, process);
            const bool holds = std::any_of(graph.holders.begin(), graph.holders.end(),
                [&](const Holder& holder) { return holder.process == &process; });
            const std::int64_t runs
                = holds || graph.holders.empty() ? 0 : eagerRuns(process, work, graph.names);
            if (runs > 0)
                GD_TRY(write(insert, graph, process, runs));
        }
    }
    return {};
}

} // namespace gd::facts
