// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/device_timeline.h"

#include <algorithm>
#include <map>
#include <set>

namespace gd::facts {
namespace {

struct Parts {
    std::vector<Interval> comm;
    std::vector<Interval> compute;
    std::vector<Interval> graphs;
    std::vector<Interval> commInside;
    std::vector<Interval> feeds;
    std::vector<Interval> others; // what is no such copy
};

// Executables whose graph was captured with calls of a communicator, or holds a kernel of one.
std::set<std::int64_t> communicating(const RawData& raw, const ProcessData& process) {
    std::set<std::int64_t> captures;
    for (const CommOp& op : process.commOps)
        captures.insert(op.captureId);
    const auto communicates = [&](std::int32_t index) {
        const Node& node = process.nodes[static_cast<std::size_t>(index)];
        const auto shape = raw.shapes.find(node.shapeId);
        return node.commOpId != 0 || (shape != raw.shapes.end() && shape->second.isComm);
    };
    std::set<std::int64_t> execs;
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph != nullptr
            && ((graph->captureId != 0 && captures.contains(graph->captureId))
                || std::any_of(graph->nodes.begin(), graph->nodes.end(), communicates)))
            execs.insert(exec.execId);
    }
    return execs;
}

} // namespace

std::vector<DeviceTimeline> deviceTimelines(const RawData& raw, const ProcessData& process) {
    const std::set<std::int64_t> withComm = communicating(raw, process);
    std::map<std::int64_t, Parts> parts;
    std::map<std::int64_t, DeviceTimeline> timelines;
    for (const DeviceOp& op : process.ops) {
        Parts& device = parts[op.deviceId];
        (op.isComm ? device.comm : device.compute).push_back({op.startNs, op.endNs});
        (op.fromHost && !op.inGraph ? device.feeds : device.others).push_back({op.startNs, op.endNs});
    }
    for (std::size_t i = 0; i < process.replays.size(); ++i) {
        const Replay& replay = process.replays[i];
        if (!replay.measured)
            continue;
        Parts& device = parts[replay.deviceId];
        DeviceTimeline& timeline = timelines[replay.deviceId];
        (replay.byNodes ? timeline.hasNodeReplays : timeline.hasWholeReplays) = true;
        if (!replay.byNodes)
            device.compute.push_back({replay.startNs, replay.endNs});
        if (!replay.byNodes && withComm.contains(replay.execId))
            device.commInside.push_back({replay.startNs, replay.endNs});
        device.graphs.push_back({replay.startNs, replay.endNs});
        device.others.push_back({replay.startNs, replay.endNs});
        timeline.replays.push_back(static_cast<std::int32_t>(i));
    }
    std::vector<DeviceTimeline> result;
    for (auto& [deviceId, part] : parts) {
        DeviceTimeline& timeline = timelines[deviceId];
        timeline.deviceId = deviceId;
        std::sort(timeline.replays.begin(), timeline.replays.end(), [&](std::int32_t a, std::int32_t b) {
            const Replay& left = process.replays[static_cast<std::size_t>(a)];
            const Replay& right = process.replays[static_cast<std::size_t>(b)];
            return std::pair(left.startNs, left.replayId) < std::pair(right.startNs, right.replayId);
        });
        timeline.comm = unite(std::move(part.comm));
        timeline.compute = unite(std::move(part.compute));
        timeline.graphs = unite(std::move(part.graphs));
        timeline.commInside = unite(std::move(part.commInside));
        timeline.feeds = subtract(unite(std::move(part.feeds)), unite(std::move(part.others)));
        std::vector<Interval> all = timeline.comm;
        all.insert(all.end(), timeline.compute.begin(), timeline.compute.end());
        timeline.busy = unite(std::move(all));
        result.push_back(std::move(timeline));
    }
    return result;
}

} // namespace gd::facts
