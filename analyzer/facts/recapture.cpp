// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/recapture.h"

#include "analyzer/facts/captured_nodes.h"

#include <algorithm>
#include <map>

namespace gd::facts {
namespace {

// Bytes that the driver has handed out on one device over time.
class DeviceBytes {
public:
    DeviceBytes(const ProcessData& process, std::int64_t deviceId) {
        std::vector<std::pair<std::int64_t, std::int64_t>> changes;
        for (const Allocation& allocation : process.allocations) {
            if (allocation.deviceId != deviceId || !allocation.fromDriver())
                continue;
            changes.emplace_back(allocation.allocNs, allocation.bytes);
            if (allocation.freeNs)
                changes.emplace_back(*allocation.freeNs, -allocation.bytes);
        }
        std::sort(changes.begin(), changes.end());
        std::int64_t sum = 0;
        for (const auto& [timeNs, bytes] : changes) {
            sum += bytes;
            m_sums.emplace_back(timeNs, sum);
        }
    }
    std::int64_t at(std::int64_t timeNs) const {
        const auto after = std::upper_bound(m_sums.begin(), m_sums.end(), timeNs,
            [](std::int64_t time, const auto& sum) { return time < sum.first; });
        return after == m_sums.begin() ? 0 : std::prev(after)->second;
    }

private:
    std::vector<std::pair<std::int64_t, std::int64_t>> m_sums;
};

struct Region {
    std::string name;
    std::vector<const Capture*> captures; // by start
    std::multimap<std::int64_t, const Exec*> execs; // by the capture they came from
    std::vector<std::int64_t> createdNs; // of the executables, sorted
    std::vector<std::int64_t> destroyedNs; // likewise, of those that were destroyed
    std::int64_t steadyReplays = 0;

    std::int64_t aliveAt(std::int64_t timeNs) const {
        const auto until = [timeNs](const std::vector<std::int64_t>& times) {
            return std::upper_bound(times.begin(), times.end(), timeNs) - times.begin();
        };
        return until(createdNs) - until(destroyedNs);
    }
};

// What tells regions apart that have no ranges: where the capture began, else its thread and first kernel.
std::string keyOf(const ProcessData& process, const Capture& capture, const Graph& graph) {
    if (!graph.rangePath.empty())
        return "path " + graph.rangePath;
    if (capture.beginStackId != 0)
        return "stack " + std::to_string(capture.beginStackId);
    for (const std::int32_t index : graph.nodes) {
        if (const Node& node = process.nodes[static_cast<std::size_t>(index)]; !node.name.empty())
            return "thread " + std::to_string(capture.beginThreadId) + " " + node.name;
    }
    return "thread " + std::to_string(capture.beginThreadId);
}

std::vector<Region> regionsOf(const ProcessData& process) {
    std::map<std::string, Region> regions;
    std::map<std::int64_t, Region*> ofCapture;
    for (const Capture& capture : process.captures) { // by id, the order in which they began
        const Graph* graph = process.graph(capture.graphId);
        if (graph == nullptr || capture.endResult.value_or(1) != 0)
            continue;
        Region& region = regions[keyOf(process, capture, *graph)];
        if (region.captures.empty())
            region.name = process.graphName(graph, 0);
        region.captures.push_back(&capture);
        ofCapture[capture.captureId] = &region;
    }
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        const auto found = ofCapture.find(graph == nullptr ? 0 : graph->captureId);
        if (found == ofCapture.end() || exec.result != 0)
            continue;
        Region& region = *found->second;
        region.execs.emplace(graph->captureId, &exec);
        region.createdNs.push_back(exec.createdNs);
        if (exec.destroyedNs)
            region.destroyedNs.push_back(*exec.destroyedNs);
        for (const std::int32_t index : exec.replays) {
            const Replay& replay = process.replays[static_cast<std::size_t>(index)];
            region.steadyReplays += replay.steady && replay.result == 0 ? 1 : 0;
        }
    }
    std::vector<Region> result;
    for (auto& [key, region] : regions) {
        std::sort(region.createdNs.begin(), region.createdNs.end());
        std::sort(region.destroyedNs.begin(), region.destroyedNs.end());
        result.push_back(std::move(region));
    }
    return result;
}

class RecaptureWriter {
public:
    RecaptureWriter(FactContext& context, Statement insert)
        : m_context(context)
        , m_insert(std::move(insert)) { }

    Result<void> write(const ProcessData& process) {
        const std::vector<Region> regions = regionsOf(process);
        if (regions.empty())
            return {};
        GD_TRY_ASSIGN(const auto nodes, CapturedNodes::read(m_context.db, process.processId));
        m_bytes.clear();
        for (const Region& region : regions) {
            for (std::size_t i = 0; i < region.captures.size(); ++i)
                GD_TRY(writeOne(process, region, i, nodes));
        }
        return {};
    }

private:
    Result<void> writeOne(
        const ProcessData& process, const Region& region, std::size_t index, const CapturedNodes& nodes) {
        const Capture& capture = *region.captures[index];
        const Capture* before = index == 0 ? nullptr : region.captures[index - 1];
        const GraphChange change
            = before == nullptr ? GraphChange{} : nodes.compare(before->captureId, capture.captureId);
        std::int64_t endNs = capture.endNs.value_or(capture.startNs);
        std::int64_t costNs = endNs - capture.startNs;
        const auto [first, last] = region.execs.equal_range(capture.captureId);
        for (auto made = first; made != last; ++made) {
            const Exec* exec = made->second;
            costNs += exec->createdNs - exec->createdStartNs;
            endNs = std::max(endNs, exec->createdNs);
        }
        const std::int32_t step = process.stepAt(capture.startNs);
        const bool steady = step >= 0 && process.steps[static_cast<std::size_t>(step)].steady();
        std::optional<std::int64_t> bytes;
        if (process.complete("memory", process.startNs, endNs))
            bytes = bytesOf(process, capture.deviceId).at(endNs);
        return m_insert.runWith(process.processId, capture.captureId, region.name,
            static_cast<std::int64_t>(index + 1),
            before == nullptr ? std::nullopt : orNull(before->captureId),
            before == nullptr ? "first" : changeName(change.kind), orNull(change.detail), change.nodes,
            change.changed, capture.startNs, endNs, costNs, process.stepNumberAt(capture.startNs), steady,
            region.aliveAt(endNs), region.steadyReplays, capture.deviceId, bytes,
            orNull(capture.beginStackId), orNull(std::int64_t{capture.beginThreadId}),
            process.complete("callbacks", capture.startNs, endNs), first == last);
    }

    const DeviceBytes& bytesOf(const ProcessData& process, std::int64_t deviceId) {
        return m_bytes.try_emplace(deviceId, process, deviceId).first->second;
    }

    FactContext& m_context;
    Statement m_insert;
    std::map<std::int64_t, DeviceBytes> m_bytes; // of the process at hand
};

} // namespace

Result<void> buildRecapture(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO recapture VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?)"));
    RecaptureWriter writer(context, std::move(insert));
    for (const ProcessData& process : context.raw.processes)
        GD_TRY(writer.write(process));
    return {};
}

} // namespace gd::facts
