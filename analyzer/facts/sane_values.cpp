// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/sane_values.h"

#include <algorithm>

namespace gd::facts {
namespace {

constexpr std::int64_t kFarthestNs = std::int64_t{400} * 24 * 3600 * 1'000'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

void time(std::int64_t& ns) {
    ns = std::clamp(ns, -kFarthestNs, kFarthestNs);
}

void time(std::optional<std::int64_t>& ns) {
    if (ns)
        time(*ns);
}

void size(std::int64_t& bytes) {
    bytes = std::clamp<std::int64_t>(bytes, 0, kMostBytes);
}

template <class... Times> void times(Times&... ns) {
    (time(ns), ...);
}

} // namespace

void makeSane(ProcessData& process) {
    times(process.startNs, process.endNs);
    for (ApiCall& call : process.calls) {
        times(call.startNs, call.endNs);
        size(call.bytes);
    }
    for (DeviceOp& op : process.ops) {
        times(op.startNs, op.endNs);
        size(op.bytes);
    }
    for (Replay& replay : process.replays)
        times(replay.launchStartNs, replay.launchEndNs, replay.startNs, replay.endNs);
    for (Range& range : process.ranges)
        times(range.startNs, range.endNs);
    for (Node& node : process.nodes)
        time(node.createdNs);
    for (Graph& graph : process.graphs)
        times(graph.createdNs, graph.destroyedNs);
    for (Exec& exec : process.execs)
        times(exec.createdStartNs, exec.createdNs, exec.destroyedNs);
    for (Capture& capture : process.captures)
        times(capture.startNs, capture.endStartNs, capture.endNs);
    for (Allocation& allocation : process.allocations) {
        times(allocation.allocNs, allocation.freeNs);
        size(allocation.bytes);
    }
    for (CommOp& op : process.commOps) {
        time(op.timeNs);
        size(op.messageBytes);
    }
    for (Comm& comm : process.comms)
        times(comm.createdNs, comm.destroyStartNs, comm.destroyEndNs);
    for (auto& [source, spans] : process.coverage) {
        for (CoverageSpan& span : spans)
            times(span.fromNs, span.toNs);
    }
}

} // namespace gd::facts
