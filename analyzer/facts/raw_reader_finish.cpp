// SPDX-License-Identifier: Apache-2.0
// The part of RawReader that only all tables together tell.
#include "analyzer/facts/raw_reader.h"

#include "analyzer/facts/sane_values.h"

#include <algorithm>

namespace gd::facts {
namespace {

// An abort ends a communicator as any other call does, but by another call.
bool endedByAbort(const ProcessData& process, const Comm& comm) {
    bool found = false;
    if (comm.destroyStartNs) {
        const std::int64_t atNs = *comm.destroyStartNs;
        process.eachCall(static_cast<std::int32_t>(comm.destroyThreadId), atNs, atNs,
            [&](const ApiCall& call) { found = found || call.known == KnownCall::commAbort; });
    }
    return found;
}

// Only the ranges that enclose a whole capture name its graph.
std::string commonPath(const ProcessData& process, const Graph& graph) {
    std::string common;
    bool first = true;
    for (const std::int32_t index : graph.nodes) {
        const std::string& path = process.nodes[static_cast<std::size_t>(index)].rangePath;
        if (first)
            common = path;
        first = false;
        while (!common.empty() && path != common && !path.starts_with(common + "/")) {
            const std::size_t slash = common.rfind('/');
            common.resize(slash == std::string::npos ? 0 : slash);
        }
    }
    return common;
}

} // namespace

// Sorts what the tables do not hold in the order the passes need, and links rows to each other.
void RawReader::finish() {
    const auto sortUnlessSorted = [](auto& rows, auto before) {
        if (!std::is_sorted(rows.begin(), rows.end(), before))
            std::sort(rows.begin(), rows.end(), before);
    };
    for (ProcessData& data : m_data.processes) {
        makeSane(data);
        sortUnlessSorted(data.calls, [](const ApiCall& a, const ApiCall& b) {
            return std::pair(a.threadId, a.startNs) < std::pair(b.threadId, b.startNs);
        });
        for (std::size_t i = 0; i < data.calls.size(); ++i) {
            const auto at = static_cast<std::int32_t>(i);
            data.callsOfThread.try_emplace(data.calls[i].threadId, at, at).first->second.second = at + 1;
        }
        sortUnlessSorted(
            data.ops, [](const DeviceOp& a, const DeviceOp& b) { return a.startNs < b.startNs; });
        sortUnlessSorted(data.replays, [](const Replay& a, const Replay& b) {
            return std::pair(a.launchStartNs, a.replayId) < std::pair(b.launchStartNs, b.replayId);
        });
        sortUnlessSorted(data.ranges, [](const Range& a, const Range& b) {
            return std::pair(a.threadId, a.startNs) < std::pair(b.threadId, b.startNs);
        });
        // Graphs name the capture that they came from, or the capture names its graph.
        for (const Capture& capture : data.captures) {
            const auto found = data.graphIndex.find(capture.graphId);
            if (capture.graphId != 0 && found != data.graphIndex.end())
                data.graphs[static_cast<std::size_t>(found->second)].captureId = capture.captureId;
        }
        for (std::size_t i = 0; i < data.nodes.size(); ++i) {
            const Node& node = data.nodes[i];
            const auto at = static_cast<std::int32_t>(i);
            if (const auto found = data.graphIndex.find(node.graphId); found != data.graphIndex.end())
                data.graphs[static_cast<std::size_t>(found->second)].nodes.push_back(at);
            if (const auto found = data.captureIndex.find(node.captureId); found != data.captureIndex.end())
                data.captures[static_cast<std::size_t>(found->second)].nodes.push_back(at);
        }
        for (Graph& graph : data.graphs)
            graph.rangePath = commonPath(data, graph);
        for (Comm& comm : data.comms)
            comm.aborted = endedByAbort(data, comm);
        for (std::size_t i = 0; i < data.replays.size(); ++i) {
            const auto found = data.execIndex.find(data.replays[i].execId);
            if (found == data.execIndex.end())
                continue;
            Exec& exec = data.execs[static_cast<std::size_t>(found->second)];
            exec.replays.push_back(static_cast<std::int32_t>(i));
            if (data.replays[i].stackId != 0)
                exec.launchStackId = data.replays[i].stackId;
        }
    }
}

} // namespace gd::facts
