// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/capture.h"

#include "runtime/host/report_to_tool.h"

#include <algorithm>

namespace gdt::runtime::host {

namespace {

thread_local CaptureMode t_threadMode = CaptureMode::Global;

constexpr Routing refused(Status status) {
    return {Route::Refused, status};
}
constexpr Routing kRun{};
constexpr Routing kCaptured{Route::Captured, Status::Success};

bool capturing(const DeviceState& device) {
    return device.captureCount.load(std::memory_order_acquire) != 0;
}

Status unsafeLocked(DeviceState& device) {
    if (t_threadMode == CaptureMode::Relaxed)
        return Status::Success;
    const std::thread::id self = std::this_thread::get_id();
    bool forbidden = false;
    for (const std::shared_ptr<Capture>& capture : device.captures) {
        const bool own = capture->thread == self && capture->mode != CaptureMode::Relaxed;
        const bool global = t_threadMode == CaptureMode::Global && capture->mode == CaptureMode::Global;
        if (own || global) {
            capture->invalidated = true;
            forbidden = true;
        }
    }
    return forbidden ? Status::CaptureUnsupported : Status::Success;
}

// The legacy stream would wait for every blocking stream, hence also for captured work that has not run.
Status legacyLocked(DeviceState& device) {
    Status status = Status::Success;
    for (const std::shared_ptr<Capture>& capture : device.captures) {
        const bool blocking = std::any_of(capture->members.begin(), capture->members.end(),
            [](const StreamState* member) { return !member->nonBlocking; });
        if (blocking) {
            capture->invalidated = true;
            status = Status::CaptureImplicit;
        }
    }
    return status;
}

void endLocked(DeviceState& device, const std::shared_ptr<Capture>& capture) {
    for (StreamState* member : capture->members) {
        member->capture.reset();
        member->frontier.clear();
    }
    capture->members.clear();
    std::erase(device.captures, capture);
    device.captureCount.store(static_cast<std::uint32_t>(device.captures.size()), std::memory_order_release);
}

std::vector<Reference> referencesOf(const DeviceState& device, const Operation& operation) {
    std::vector<Reference> references;
    if (device.checked())
        collectReferences(device, operation, references);
    return references;
}

void appendNode(StreamState& stream, NodeType type, Operation operation) {
    GraphState& graph = *stream.capture->graph;
    Node node;
    node.type = type;
    node.id = graph.id << 32 | graph.nodes.size();
    node.dependencies = stream.frontier;
    node.stream = stream.id;
    node.references = referencesOf(*stream.device, operation);
    node.operation = std::move(operation);
    graph.nodes.push_back(std::move(node));
    stream.frontier = {static_cast<std::uint32_t>(graph.nodes.size() - 1)};
    reportNode(graph, graph.nodes.back());
}

// What the stream's own capture says to work that can be captured.
Routing ownCapture(StreamState& stream) {
    if (stream.legacy) {
        const Status status = legacyLocked(*stream.device);
        return status == Status::Success ? kRun : refused(status);
    }
    if (stream.capture == nullptr)
        return kRun;
    return stream.capture->invalidated ? refused(Status::CaptureInvalidated) : kCaptured;
}

std::vector<std::uint32_t> unionOf(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
    std::vector<std::uint32_t> result;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
    return result;
}

bool allLeavesIn(const GraphState& graph, const std::vector<std::uint32_t>& frontier) {
    std::vector<bool> covered(graph.nodes.size(), false);
    for (const std::uint32_t index : frontier)
        covered[index] = true;
    for (const Node& node : graph.nodes) {
        for (const std::uint32_t dependency : node.dependencies)
            covered[dependency] = true;
    }
    return std::find(covered.begin(), covered.end(), false) == covered.end();
}

} // namespace

Status checkUnsafeCall(DeviceState& device) {
    if (!capturing(device))
        return Status::Success;
    std::lock_guard lock(device.captureMutex);
    return unsafeLocked(device);
}

Status checkStreamPoll(StreamState& stream) {
    DeviceState& device = *stream.device;
    if (!capturing(device))
        return Status::Success;
    std::lock_guard lock(device.captureMutex);
    if (stream.legacy) {
        const Status status = legacyLocked(device);
        return status != Status::Success ? status : unsafeLocked(device);
    }
    if (stream.capture != nullptr) {
        stream.capture->invalidated = true;
        return Status::CaptureUnsupported;
    }
    return unsafeLocked(device);
}

Status checkDeviceSynchronize(DeviceState& device) {
    if (!capturing(device))
        return Status::Success;
    std::lock_guard lock(device.captureMutex);
    for (const std::shared_ptr<Capture>& capture : device.captures)
        capture->invalidated = true;
    return device.captures.empty() ? Status::Success : Status::CaptureUnsupported;
}

Status checkEventPoll(EventState& event) {
    DeviceState& device = *event.device;
    std::lock_guard lock(device.captureMutex);
    {
        std::lock_guard eventLock(event.mutex);
        if (event.captured) {
            const std::shared_ptr<Capture> capture = event.capture.lock();
            if (capture == nullptr || capture->invalidated || capture->members.empty())
                return Status::InvalidValue;
            capture->invalidated = true;
            return Status::CapturedEvent;
        }
    }
    return unsafeLocked(device);
}

Status checkLegacyUse(DeviceState& device) {
    if (!capturing(device))
        return Status::Success;
    std::lock_guard lock(device.captureMutex);
    return legacyLocked(device);
}

Routing routeWork(StreamState& stream, NodeType type, Operation& operation, Unsafe unsafe) {
    DeviceState& device = *stream.device;
    if (!capturing(device))
        return kRun;
    std::lock_guard lock(device.captureMutex);
    const Routing routing = ownCapture(stream);
    if (routing.route == Route::Captured)
        appendNode(stream, type, std::move(operation));
    if (routing.route == Route::Run && unsafe == Unsafe::Yes) {
        const Status status = unsafeLocked(device);
        if (status != Status::Success)
            return refused(status);
    }
    return routing;
}

Routing routeUncapturable(StreamState& stream) {
    if (!capturing(*stream.device))
        return kRun;
    std::lock_guard lock(stream.device->captureMutex);
    const Routing routing = ownCapture(stream);
    if (routing.route != Route::Captured)
        return routing;
    stream.capture->invalidated = true;
    return refused(Status::CaptureUnsupported);
}

Routing routeRecord(StreamState& stream, const std::shared_ptr<EventState>& event, bool external) {
    std::unique_lock lock(stream.device->captureMutex, std::defer_lock);
    Routing routing = kRun;
    if (capturing(*stream.device)) {
        lock.lock();
        routing = ownCapture(stream);
    }
    if (routing.route == Route::Run && external)
        return refused(Status::IllegalState);
    if (routing.route != Route::Captured)
        return routing;
    if (external) {
        appendNode(stream, NodeType::EventRecord, RecordOperation{event, nullptr});
        return routing;
    }
    std::lock_guard eventLock(event->mutex);
    event->captured = true;
    event->capture = stream.capture;
    event->captureNodes = stream.frontier;
    return routing;
}

Routing routeWait(
    const std::shared_ptr<StreamState>& stream, const std::shared_ptr<EventState>& event, bool external) {
    DeviceState& device = *stream->device;
    std::lock_guard lock(device.captureMutex);
    const Routing own = ownCapture(*stream);
    if (own.route == Route::Refused)
        return own;
    const bool inCapture = own.route == Route::Captured;
    std::lock_guard eventLock(event->mutex);
    if (external) {
        if (!inCapture)
            return refused(Status::IllegalState);
        appendNode(*stream, NodeType::WaitEvent, WaitMarkerOperation{event, nullptr});
        return kCaptured;
    }
    if (!event->captured) {
        if (!inCapture || event->marker == nullptr)
            return own;
        stream->capture->invalidated = true;
        return refused(Status::CaptureIsolation);
    }
    const std::shared_ptr<Capture> other = event->capture.lock();
    if (other == nullptr || other->invalidated || other->members.empty()) {
        if (inCapture)
            stream->capture->invalidated = true;
        return refused(Status::InvalidValue);
    }
    if (stream->legacy) {
        other->invalidated = true;
        return refused(Status::CaptureImplicit);
    }
    if (!inCapture) {
        stream->capture = other;
        stream->frontier = event->captureNodes;
        other->members.push_back(stream.get());
        return kCaptured;
    }
    if (other != stream->capture) {
        other->invalidated = true;
        stream->capture->invalidated = true;
        return refused(Status::CaptureMerge);
    }
    stream->frontier = unionOf(stream->frontier, event->captureNodes);
    return kCaptured;
}

Status beginCapture(const std::shared_ptr<StreamState>& stream, CaptureMode mode, std::uint64_t* graphId) {
    DeviceState& device = *stream->device;
    if (static_cast<std::uint32_t>(mode) > static_cast<std::uint32_t>(CaptureMode::Relaxed))
        return Status::InvalidValue;
    if (stream->legacy)
        return Status::CaptureUnsupported;
    std::lock_guard lock(device.captureMutex);
    if (stream->capture != nullptr)
        return Status::IllegalState;
    auto capture = std::make_shared<Capture>();
    capture->id = nextObjectId();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = stream.get();
    capture->members = {stream.get()};
    capture->graph = std::make_shared<GraphState>();
    capture->graph->id = nextObjectId();
    capture->graph->device = stream->device;
    capture->graph->memory = std::make_shared<GraphMemory>(stream->device);
    reportGraph(GD_RT_CREATED, capture->graph->id);
    *graphId = capture->graph->id;
    stream->capture = capture;
    stream->frontier.clear();
    device.captures.push_back(std::move(capture));
    device.captureCount.store(static_cast<std::uint32_t>(device.captures.size()), std::memory_order_release);
    return Status::Success;
}

Status endCapture(StreamState& stream, std::shared_ptr<GraphState>* graph) {
    DeviceState& device = *stream.device;
    std::lock_guard lock(device.captureMutex);
    const std::shared_ptr<Capture> capture = stream.capture;
    if (capture == nullptr)
        return Status::IllegalState;
    Status status = Status::Success;
    if (capture->mode != CaptureMode::Relaxed && capture->thread != std::this_thread::get_id()) {
        status = Status::CaptureWrongThread;
    } else if (capture->origin != &stream) {
        capture->invalidated = true;
        return Status::CaptureUnmatched;
    } else if (capture->invalidated) {
        status = Status::CaptureInvalidated;
    } else if (!allLeavesIn(*capture->graph, stream.frontier)) {
        status = Status::CaptureUnjoined;
    }
    endLocked(device, capture);
    if (status == Status::Success)
        *graph = capture->graph;
    else
        reportGraph(GD_RT_DESTROYED, capture->graph->id);
    return status;
}

void captureInfo(StreamState& stream, CaptureInfo* info) {
    *info = {};
    if (!capturing(*stream.device))
        return;
    std::lock_guard lock(stream.device->captureMutex);
    if (stream.capture == nullptr)
        return;
    info->status = stream.capture->invalidated ? CaptureStatus::Invalidated : CaptureStatus::Active;
    info->id = stream.capture->id;
    info->nodeCount = stream.capture->graph->nodes.size();
}

void leaveCapture(StreamState& stream) {
    if (!capturing(*stream.device))
        return;
    std::lock_guard lock(stream.device->captureMutex);
    const std::shared_ptr<Capture> capture = stream.capture;
    if (capture == nullptr)
        return;
    if (capture->origin == &stream) {
        endLocked(*stream.device, capture);
        reportGraph(GD_RT_DESTROYED, capture->graph->id);
        return;
    }
    std::erase(capture->members, &stream);
    stream.capture.reset();
}

std::shared_ptr<GraphMemory> captureMemory(StreamState& stream) {
    if (!capturing(*stream.device))
        return nullptr;
    std::lock_guard lock(stream.device->captureMutex);
    if (stream.capture == nullptr || stream.capture->invalidated)
        return nullptr;
    return stream.capture->graph->memory;
}

CaptureMode exchangeThreadMode(CaptureMode mode) {
    const CaptureMode old = t_threadMode;
    t_threadMode = mode;
    return old;
}

} // namespace gdt::runtime::host
