// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/execute.h"

#include "runtime/host/queue.h"
#include "runtime/host/report_to_tool.h"

#include <cstring>

namespace gdt::runtime::host {

namespace {

thread_local bool t_insideHostFunction = false;

struct Work {
    StreamState& stream;

    Status operator()(const KernelOperation& kernel) const {
        kernel.kernel->host(kernel.arguments.data());
        return Status::Success;
    }
    Status operator()(const CopyOperation& copy) const {
        std::memmove(copy.destination, copy.source, copy.bytes);
        return Status::Success;
    }
    Status operator()(const FillOperation& fill) const {
        std::memset(fill.destination, fill.value, fill.bytes);
        return Status::Success;
    }
    Status operator()(const HostOperation& host) const {
        t_insideHostFunction = true;
        host.function(host.userData);
        t_insideHostFunction = false;
        return Status::Success;
    }
    Status operator()(const CommOperation& comm) const {
        return comm.call.endpoint->execute(comm.call.arguments, comm.captured);
    }
    Status operator()(const AllocOperation&) const { return Status::Success; }
    Status operator()(const ReleaseOperation& release) const {
        return stream.device->arena->release(release.pointer);
    }
    Status operator()(const RecordOperation& record) const {
        record.marker->reach(nowNs());
        return Status::Success;
    }
    Status operator()(const WaitMarkerOperation& wait) const {
        waitForMarker(*wait.marker);
        return Status::Success;
    }
    Status operator()(const WaitPointOperation& wait) const {
        waitFor(*wait.timeline, wait.sequence);
        return Status::Success;
    }
    Status operator()(const ReplayOperation&) const { return Status::Success; }
};

// After a sticky error only these run: others wait for them.
bool runsAfterFailure(const Operation& operation) {
    return std::holds_alternative<RecordOperation>(operation)
        || std::holds_alternative<WaitMarkerOperation>(operation)
        || std::holds_alternative<WaitPointOperation>(operation)
        || std::holds_alternative<ReleaseOperation>(operation);
}

bool isTimed(const Operation& operation) {
    return std::holds_alternative<KernelOperation>(operation)
        || std::holds_alternative<CopyOperation>(operation)
        || std::holds_alternative<FillOperation>(operation)
        || std::holds_alternative<HostOperation>(operation)
        || std::holds_alternative<CommOperation>(operation);
}

Status checkReferences(const DeviceState& device, const std::vector<Reference>& references) {
    for (const Reference& reference : references) {
        if (reference.generation == 0
            || device.arena->generationAt(reference.pointer) != reference.generation)
            return Status::IllegalAddress;
    }
    return Status::Success;
}

// False: an error of the device kept it from running.
bool runOne(StreamState& stream, const Operation& operation, const std::vector<Reference>& references) {
    DeviceState& device = *stream.device;
    if (device.sticky() != Status::Success && !runsAfterFailure(operation))
        return false;
    Status status = checkReferences(device, references);
    if (status == Status::Success)
        status = std::visit(Work{stream}, operation);
    if (status != Status::Success)
        device.raise(status);
    return true;
}

// Collectives are few and long, so they are always timed; other nodes only while node times are wanted,
// because a replay's time is told as a whole.
bool nodeTimed(const Operation& operation, bool everyNode) {
    return std::holds_alternative<CommOperation>(operation) || (everyNode && isTimed(operation));
}

void runReplay(StreamState& stream, const ReplayOperation& replay, std::uint64_t correlation) {
    // After an error of the device nothing runs, so there is nothing to record.
    const bool timed = activityWanted() && stream.device->sticky() == Status::Success;
    const bool everyNode = timed && nodeActivityWanted();
    const std::int64_t startNs = timed ? nowNs() : 0;
    std::size_t nextMarker = 0;
    std::uint32_t index = 0;
    for (const Node& node : replay.body->nodes) {
        const std::uint64_t nodeId = replay.execId << 32 | index++;
        if (node.type == NodeType::EventRecord) {
            runOne(stream, RecordOperation{nullptr, replay.markers[nextMarker++]}, {});
            continue;
        }
        if (node.type == NodeType::WaitEvent) {
            if (const std::shared_ptr<Marker>& marker = replay.markers[nextMarker++]; marker != nullptr)
                runOne(stream, WaitMarkerOperation{nullptr, marker}, {});
            continue;
        }
        if (node.type == NodeType::MemFree)
            continue;
        if (timed && nodeTimed(node.operation, everyNode)) {
            const std::int64_t nodeStartNs = nowNs();
            if (runOne(stream, node.operation, node.references)) {
                reportActivity(
                    stream, node.operation, correlation, nodeStartNs, nowNs(), replay.execId, nodeId);
            }
        } else {
            runOne(stream, node.operation, node.references);
        }
    }
    if (timed)
        reportReplay(stream, replay.execId, correlation, startNs, nowNs());
}

} // namespace

bool insideHostFunction() {
    return t_insideHostFunction;
}

void runEntry(StreamState& stream, Entry& entry) {
    if (const auto* replay = std::get_if<ReplayOperation>(&entry.operation)) {
        runReplay(stream, *replay, entry.correlation);
        return;
    }
    if (isTimed(entry.operation) && activityWanted()) {
        const std::int64_t startNs = nowNs();
        if (runOne(stream, entry.operation, entry.references))
            reportActivity(stream, entry.operation, entry.correlation, startNs, nowNs(), 0, 0);
        return;
    }
    runOne(stream, entry.operation, entry.references);
}

} // namespace gdt::runtime::host
