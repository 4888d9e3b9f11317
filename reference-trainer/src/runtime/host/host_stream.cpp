// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_backend.h"

#include "runtime/host/capture.h"
#include "runtime/host/queue.h"
#include "runtime/host/report_to_tool.h"

#include <cstring>

namespace gdt::runtime::host {

bool copyValid(const DeviceState& device, const void* destination, const void* source, CopyKind kind) {
    const bool toDevice = kind == CopyKind::HostToDevice || kind == CopyKind::DeviceToDevice;
    const bool fromDevice = kind == CopyKind::DeviceToHost || kind == CopyKind::DeviceToDevice;
    return device.arena->contains(destination) == toDevice && device.arena->contains(source) == fromDevice;
}

namespace {

CallInfo about(std::uint32_t api, const StreamState& stream) {
    CallInfo info;
    info.api = api;
    info.device = stream.device.get();
    info.stream = stream.id;
    return info;
}

CallInfo aboutBytes(std::uint32_t api, const StreamState& stream, const void* pointer, std::size_t bytes) {
    CallInfo info = about(api, stream);
    info.pointer = pointer;
    info.bytes = bytes;
    return info;
}

// Captures the operation or queues it.
Status submit(StreamState& stream, NodeType type, Operation operation, const ApiCall& call) {
    const Status status = callAllowed(*stream.device);
    if (!ok(status))
        return status;
    const Routing routing = routeWork(stream, type, operation);
    if (routing.route != Route::Run)
        return routing.status;
    if (const auto* kernel = std::get_if<KernelOperation>(&operation))
        reportLaunch(stream, *kernel);
    enqueue(stream, std::move(operation), call.correlation());
    return routing.status;
}

std::uint32_t copyAsyncApi(CopyKind kind) {
    switch (kind) {
    case CopyKind::HostToDevice:
        return GD_API_MEMCPY_HTOD_ASYNC;
    case CopyKind::DeviceToHost:
        return GD_API_MEMCPY_DTOH_ASYNC;
    case CopyKind::DeviceToDevice:
        return GD_API_MEMCPY_DTOD_ASYNC;
    case CopyKind::HostToHost:
        break;
    }
    return GD_API_MEMCPY_ASYNC;
}

// The call numbers of collectives follow gd_rt_comm_kind.
constexpr std::uint32_t commApi(std::uint32_t kind) {
    return static_cast<std::uint32_t>(GD_API_COMM_ALL_REDUCE) + kind
        - static_cast<std::uint32_t>(GD_RT_COMM_ALL_REDUCE);
}
static_assert(commApi(GD_RT_COMM_ALL_TO_ALL) == GD_API_COMM_ALL_TO_ALL);

} // namespace

Status HostDevice::createStream(StreamFlags flags, std::shared_ptr<backend::Stream>& stream) {
    ApiCall call(
        {.api = GD_API_STREAM_CREATE, .device = m_state.get(), .mode = static_cast<std::uint32_t>(flags)});
    const Status status = callAllowed(*m_state);
    if (!ok(status))
        return call.end(status);
    std::shared_ptr<StreamState> state = makeStream(m_state, flags == StreamFlags::NonBlocking, false);
    call.setObject(state->id, 0);
    reportStream(GD_RT_CREATED, *state);
    const Status result = call.end(Status::Success);
    stream = std::make_shared<HostStream>(std::move(state));
    return result;
}

Status HostStream::destroy() {
    ApiCall call(about(GD_API_STREAM_DESTROY, *m_state));
    leaveCapture(*m_state);
    drain(*m_state);
    reportStream(GD_RT_DESTROYED, *m_state);
    const Status status = call.end(Status::Success);
    m_state.reset();
    return status;
}

Status HostStream::launchKernel(const KernelInfo& kernel, const Grid& grid, const void* arguments) {
    ApiCall call(about(GD_API_LAUNCH_KERNEL, *m_state));
    KernelOperation operation;
    operation.kernel = &kernel;
    operation.grid = grid;
    std::memcpy(operation.arguments.data(), arguments, kernel.argumentBytes);
    return call.end(submit(*m_state, NodeType::Kernel, operation, call));
}

Status HostStream::memcpyAsync(void* destination, const void* source, std::size_t bytes, CopyKind kind) {
    ApiCall call(aboutBytes(copyAsyncApi(kind), *m_state, destination, bytes));
    DeviceState& device = *m_state->device;
    if (!copyValid(device, destination, source, kind))
        return call.end(Status::InvalidValue);
    Status status = callAllowed(device);
    if (!ok(status))
        return call.end(status);
    Operation operation = CopyOperation{destination, source, bytes, kind, nullptr};
    const Routing routing = routeWork(*m_state, NodeType::Memcpy, operation);
    if (routing.route != Route::Run)
        return call.end(routing.status);
    // CUDA stages pageable sources of up to 64 KiB and waits for larger ones (CUDA runtime API, "API
    // synchronization behavior").
    constexpr std::size_t kStagedBytes = std::size_t{64} << 10;
    const bool pageableSource = kind == CopyKind::HostToDevice && !device.isPinned(source);
    const bool pageableTarget = kind == CopyKind::DeviceToHost && !device.isPinned(destination);
    const bool staged = pageableSource && bytes <= kStagedBytes;
    if (staged) {
        auto& copy = std::get<CopyOperation>(operation);
        const auto* first = static_cast<const std::byte*>(source);
        copy.staging = std::make_shared<std::vector<std::byte>>(first, first + bytes);
        copy.source = copy.staging->data();
    }
    enqueue(*m_state, std::move(operation), call.correlation());
    if (pageableTarget || (pageableSource && !staged)) {
        drain(*m_state);
        status = device.sticky();
    }
    return call.end(status);
}

Status HostStream::memsetAsync(void* destination, int value, std::size_t bytes) {
    ApiCall call(aboutBytes(GD_API_MEMSET_ASYNC, *m_state, destination, bytes));
    if (!m_state->device->arena->contains(destination))
        return call.end(Status::InvalidValue);
    return call.end(submit(*m_state, NodeType::Memset, FillOperation{destination, value, bytes}, call));
}

Status HostStream::hostFunction(HostFunction function, void* userData) {
    ApiCall call(about(GD_API_LAUNCH_HOST_FUNC, *m_state));
    if (function == nullptr)
        return call.end(Status::InvalidValue);
    return call.end(submit(*m_state, NodeType::Host, HostOperation{function, userData}, call));
}

Status HostStream::enqueueComm(const CommCall& request) {
    ApiCall call(aboutBytes(commApi(request.arguments.kind), *m_state, request.arguments.receive,
        request.arguments.messageBytes));
    const Status status = callAllowed(*m_state->device);
    if (!ok(status))
        return call.end(status);
    CaptureInfo capture;
    host::captureInfo(*m_state, &capture);
    CommOperation comm{request, nextCommOp(), capture.status != CaptureStatus::None};
    // Told before the node that names it; a refused call is no operation of the communicator.
    if (capture.status != CaptureStatus::Invalidated)
        reportCommOp(*m_state, comm);
    Operation operation = std::move(comm);
    const Routing routing = routeWork(*m_state, NodeType::Comm, operation);
    if (routing.route == Route::Run)
        enqueue(*m_state, std::move(operation), call.correlation());
    return call.end(routing.status);
}

Status HostStream::record(backend::Event& target, RecordFlags flags) {
    auto& event = static_cast<HostEvent&>(target);
    const bool external = flags == RecordFlags::External;
    CallInfo info = about(external ? GD_API_EVENT_RECORD_WITH_FLAGS : GD_API_EVENT_RECORD, *m_state);
    info.event = event.state()->id;
    info.mode = static_cast<std::uint32_t>(flags);
    ApiCall call(info);
    const Status status = callAllowed(*m_state->device);
    if (!ok(status))
        return call.end(status);
    const Routing routing = routeRecord(*m_state, event.state(), external);
    if (routing.route == Route::Run) {
        std::shared_ptr<Marker> marker = enqueueMarker(*m_state, event.state(), call.correlation());
        std::lock_guard lock(event.state()->mutex);
        event.state()->marker = std::move(marker);
        event.state()->captured = false;
    }
    return call.end(routing.status);
}

Status HostStream::wait(backend::Event& target, WaitFlags flags) {
    auto& event = static_cast<HostEvent&>(target);
    CallInfo info = about(GD_API_STREAM_WAIT_EVENT, *m_state);
    info.event = event.state()->id;
    info.mode = static_cast<std::uint32_t>(flags);
    ApiCall call(info);
    const Status status = callAllowed(*m_state->device);
    if (!ok(status))
        return call.end(status);
    const Routing routing = routeWait(m_state, event.state(), flags == WaitFlags::External);
    if (routing.route == Route::Run) {
        std::shared_ptr<Marker> marker;
        {
            std::lock_guard lock(event.state()->mutex);
            marker = event.state()->marker;
        }
        if (marker != nullptr && !marker->done() && marker->timeline() != m_state->timeline)
            enqueue(*m_state, WaitMarkerOperation{nullptr, std::move(marker)}, call.correlation());
    }
    return call.end(routing.status);
}

Status HostStream::query() {
    ApiCall call(about(GD_API_STREAM_QUERY, *m_state));
    Status status = callAllowed(*m_state->device);
    if (ok(status))
        status = checkStreamPoll(*m_state);
    if (ok(status))
        status = idle(*m_state) ? m_state->device->sticky() : Status::NotReady;
    return call.end(status);
}

Status HostStream::synchronize() {
    ApiCall call(about(GD_API_STREAM_SYNCHRONIZE, *m_state));
    Status status = callAllowed(*m_state->device);
    if (ok(status))
        status = checkStreamPoll(*m_state);
    if (!ok(status))
        return call.end(status);
    const std::int64_t startNs = call.correlation() != 0 ? nowNs() : 0;
    drain(*m_state);
    if (call.correlation() != 0)
        reportSync(*m_state->device, m_state->id, call.correlation(), startNs);
    return call.end(m_state->device->sticky());
}

Status HostStream::allocateAsync(void** pointer, std::size_t bytes) {
    ApiCall call(aboutBytes(GD_API_MEM_ALLOC_ASYNC, *m_state, nullptr, bytes));
    DeviceState& device = *m_state->device;
    Status status = callAllowed(device);
    if (!ok(status))
        return call.end(status);
    const std::shared_ptr<GraphMemory> memory = captureMemory(*m_state);
    void* block = nullptr;
    if (memory != nullptr)
        status = device.arena->allocate(&block, bytes);
    if (!ok(status))
        return call.end(status);
    Operation operation = AllocOperation{block, bytes};
    const Routing routing = routeWork(*m_state, NodeType::MemAlloc, operation, Unsafe::Yes);
    const bool captured = routing.route == Route::Captured;
    if (!captured && block != nullptr)
        static_cast<void>(device.arena->release(block));
    status = routing.route == Route::Run ? device.arena->allocate(&block, bytes) : routing.status;
    if (!ok(status))
        return call.end(status);
    if (captured) {
        std::lock_guard lock(device.orderedMutex);
        memory->blocks.emplace(block, bytes);
        device.graphBlocks.emplace(block, false);
    }
    reportAlloc(
        {captured ? GD_RT_MEMORY_GRAPH : GD_RT_MEMORY_DEVICE_ASYNC, device, block, bytes, m_state->id});
    *pointer = block;
    call.setPointer(block);
    return call.end(Status::Success);
}

Status HostStream::releaseAsync(void* pointer) {
    ApiCall call(aboutBytes(GD_API_MEM_FREE_ASYNC, *m_state, pointer, 0));
    DeviceState& device = *m_state->device;
    Status status = callAllowed(device);
    if (ok(status) && device.arena->generationAt(pointer) == 0)
        status = Status::InvalidValue;
    if (!ok(status))
        return call.end(status);
    const std::shared_ptr<GraphMemory> memory = captureMemory(*m_state);
    if (memory != nullptr) {
        std::lock_guard lock(device.orderedMutex);
        if (!memory->blocks.contains(pointer))
            return call.end(Status::InvalidValue);
    }
    Operation operation = ReleaseOperation{pointer};
    const Routing routing = routeWork(*m_state, NodeType::MemFree, operation, Unsafe::Yes);
    if (routing.route != Route::Run)
        return call.end(routing.status);
    {
        std::lock_guard lock(device.orderedMutex);
        if (const auto block = device.graphBlocks.find(pointer); block != device.graphBlocks.end()) {
            block->second = false;
            return call.end(Status::Success);
        }
    }
    reportFree({GD_RT_MEMORY_DEVICE_ASYNC, device, pointer, device.arena->sizeOf(pointer), m_state->id});
    enqueue(*m_state, std::move(operation), call.correlation());
    return call.end(Status::Success);
}

Status HostStream::beginCapture(CaptureMode mode) {
    CallInfo info = about(GD_API_STREAM_BEGIN_CAPTURE, *m_state);
    info.mode = static_cast<std::uint32_t>(mode);
    ApiCall call(info);
    Status status = callAllowed(*m_state->device);
    std::uint64_t graph = 0;
    if (ok(status))
        status = host::beginCapture(m_state, mode, &graph);
    call.setGraph(graph);
    return call.end(status);
}

Status HostStream::endCapture(std::shared_ptr<backend::Graph>& graph) {
    ApiCall call(about(GD_API_STREAM_END_CAPTURE, *m_state));
    Status status = callAllowed(*m_state->device);
    std::shared_ptr<GraphState> state;
    if (ok(status))
        status = host::endCapture(*m_state, &state);
    call.setGraph(state != nullptr ? state->id : 0);
    const Status result = call.end(status);
    if (state != nullptr)
        graph = std::make_shared<HostGraph>(std::move(state));
    return result;
}

Status HostStream::captureInfo(CaptureInfo* info) {
    ApiCall call(about(GD_API_STREAM_GET_CAPTURE_INFO, *m_state));
    host::captureInfo(*m_state, info);
    return call.end(Status::Success);
}

bool HostStream::capturing() {
    CaptureInfo info;
    host::captureInfo(*m_state, &info);
    return info.status != CaptureStatus::None;
}

} // namespace gdt::runtime::host
