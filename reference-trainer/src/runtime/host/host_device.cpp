// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/host_backend.h"

#include "runtime/host/capture.h"
#include "runtime/host/execute.h"
#include "runtime/host/queue.h"
#include "runtime/host/report_to_tool.h"

#include <cstdlib>
#include <cstring>

namespace gdt::runtime::host {

std::uint64_t nextObjectId() {
    // Smaller numbers are left to fixed ids such as GD_RT_LEGACY_STREAM.
    static std::atomic<std::uint64_t> last{15};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

Status callAllowed(const DeviceState& device) {
    return insideHostFunction() ? Status::NotPermitted : device.sticky();
}

DeviceState::~DeviceState() {
    for (const auto& [start, bytes] : pinned)
        std::free(reinterpret_cast<void*>(start));
    reportContext(GD_RT_DESTROYED, *this);
}

bool DeviceState::isPinned(const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    std::lock_guard lock(pinnedMutex);
    auto range = pinned.upper_bound(address);
    if (range == pinned.begin())
        return false;
    --range;
    return address < range->first + range->second;
}

void DeviceState::raise(Status status) {
    std::int32_t none = 0;
    stickyError.compare_exchange_strong(none, static_cast<std::int32_t>(status));
}

std::vector<std::shared_ptr<StreamState>> DeviceState::liveStreams() {
    std::vector<std::shared_ptr<StreamState>> live;
    std::lock_guard lock(streamsMutex);
    for (const std::weak_ptr<StreamState>& entry : streams) {
        if (std::shared_ptr<StreamState> stream = entry.lock())
            live.push_back(std::move(stream));
    }
    return live;
}

Status releaseDeviceMemory(DeviceState& device, void* pointer) {
    ApiCall call({.api = GD_API_MEM_FREE, .device = &device, .pointer = pointer});
    Status status = callAllowed(device);
    if (ok(status))
        status = checkUnsafeCall(device);
    if (!ok(status) || pointer == nullptr)
        return call.end(status);
    const std::size_t bytes = device.arena->sizeOf(pointer);
    if (bytes == 0)
        return call.end(Status::InvalidValue);
    drainDevice(device);
    // Told before the address can be handed out again, else another thread's allocation could be reported
    // first.
    reportFree({GD_RT_MEMORY_DEVICE, device, pointer, bytes});
    return call.end(device.arena->release(pointer));
}

namespace {

void addReference(const DeviceState& device, const void* pointer, std::vector<Reference>& references) {
    if (device.arena->contains(pointer))
        references.push_back({pointer, device.arena->generationAt(pointer)});
}

} // namespace

void collectReferences(
    const DeviceState& device, const Operation& operation, std::vector<Reference>& references) {
    if (const auto* kernel = std::get_if<KernelOperation>(&operation)) {
        for (std::uint32_t i = 0; i < kernel->kernel->fieldCount; ++i) {
            const ParameterField& field = kernel->kernel->fields[i];
            if (field.sizeBytes != sizeof(void*))
                continue;
            const void* word = nullptr;
            std::memcpy(&word, kernel->arguments.data() + field.offset, sizeof(word));
            addReference(device, word, references);
        }
    } else if (const auto* copy = std::get_if<CopyOperation>(&operation)) {
        addReference(device, copy->destination, references);
        addReference(device, copy->source, references);
    } else if (const auto* fill = std::get_if<FillOperation>(&operation)) {
        addReference(device, fill->destination, references);
    } else if (const auto* comm = std::get_if<CommOperation>(&operation)) {
        addReference(device, comm->call.arguments.send, references);
        addReference(device, comm->call.arguments.receive, references);
    }
}

std::shared_ptr<backend::Device> makeDevice(const DeviceOptions& options) {
    return std::make_shared<HostDevice>(options);
}

HostDevice::HostDevice(const DeviceOptions& options)
    : m_state(std::make_shared<DeviceState>()) {
    attachTool();
    m_state->options = options;
    m_state->contextId = nextObjectId();
    m_state->arena = std::make_unique<Arena>(options.memoryBytes, m_state->checked());
    reportDevice(*m_state, tool() != nullptr ? measureWakeupP99Ns() : 0);
    reportContext(GD_RT_CREATED, *m_state);
    m_legacy = makeStream(m_state, false, true);
    reportStream(GD_RT_CREATED, *m_legacy);
}

void HostDevice::close() {
    drainDevice(*m_state);
    // A capture that was never ended holds the device through its graph.
    std::lock_guard lock(m_state->captureMutex);
    for (const std::shared_ptr<Capture>& capture : m_state->captures) {
        for (StreamState* member : capture->members)
            member->capture.reset();
        capture->members.clear();
    }
    m_state->captures.clear();
    m_state->captureCount.store(0);
}

Status HostDevice::allocate(void** pointer, std::size_t bytes) {
    ApiCall call({.api = GD_API_MEM_ALLOC, .device = m_state.get(), .bytes = bytes});
    Status status = callAllowed(*m_state);
    if (ok(status))
        status = checkUnsafeCall(*m_state);
    if (ok(status))
        status = m_state->arena->allocate(pointer, bytes);
    if (ok(status)) {
        call.setPointer(*pointer);
        reportAlloc({GD_RT_MEMORY_DEVICE, *m_state, *pointer, bytes});
    }
    return call.end(status);
}

Status HostDevice::release(void* pointer) {
    return releaseDeviceMemory(*m_state, pointer);
}

Status HostDevice::allocateHost(void** pointer, std::size_t bytes) {
    ApiCall call({.api = GD_API_MEM_HOST_ALLOC, .device = m_state.get(), .bytes = bytes});
    Status status = callAllowed(*m_state);
    if (ok(status))
        status = checkUnsafeCall(*m_state);
    if (ok(status) && (pointer == nullptr || bytes == 0))
        status = Status::InvalidValue;
    if (!ok(status))
        return call.end(status);
    constexpr std::size_t kPageBytes = 4096;
    const std::size_t reserved = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    void* memory = std::aligned_alloc(kPageBytes, reserved);
    if (memory == nullptr)
        return call.end(Status::OutOfMemory);
    {
        std::lock_guard lock(m_state->pinnedMutex);
        m_state->pinned.emplace(reinterpret_cast<std::uintptr_t>(memory), bytes);
    }
    *pointer = memory;
    call.setPointer(memory);
    reportAlloc({GD_RT_MEMORY_HOST_PINNED, *m_state, memory, bytes});
    return call.end(Status::Success);
}

Status HostDevice::releaseHost(void* pointer) {
    ApiCall call({.api = GD_API_MEM_FREE_HOST, .device = m_state.get(), .pointer = pointer});
    Status status = callAllowed(*m_state);
    if (ok(status))
        status = checkUnsafeCall(*m_state);
    if (!ok(status) || pointer == nullptr)
        return call.end(status);
    drainDevice(*m_state);
    std::size_t bytes = 0;
    {
        std::lock_guard lock(m_state->pinnedMutex);
        const auto range = m_state->pinned.find(reinterpret_cast<std::uintptr_t>(pointer));
        if (range == m_state->pinned.end())
            return call.end(Status::InvalidValue);
        bytes = range->second;
        m_state->pinned.erase(range);
    }
    reportFree({GD_RT_MEMORY_HOST_PINNED, *m_state, pointer, bytes});
    std::free(pointer);
    return call.end(Status::Success);
}

namespace {

std::uint32_t copyApi(CopyKind kind) {
    switch (kind) {
    case CopyKind::HostToDevice:
        return GD_API_MEMCPY_HTOD;
    case CopyKind::DeviceToHost:
        return GD_API_MEMCPY_DTOH;
    case CopyKind::DeviceToDevice:
        return GD_API_MEMCPY_DTOD;
    case CopyKind::HostToHost:
        break;
    }
    return GD_API_MEMCPY;
}

Status runOnLegacy(DeviceState& device, StreamState& legacy, Operation operation, const ApiCall& call) {
    const Status status = checkLegacyUse(device);
    if (!ok(status))
        return status;
    const std::int64_t startNs = call.correlation() != 0 ? nowNs() : 0;
    enqueue(legacy, std::move(operation), call.correlation());
    drain(legacy);
    if (call.correlation() != 0)
        reportSync(device, GD_RT_LEGACY_STREAM, call.correlation(), startNs);
    return device.sticky();
}

} // namespace

Status HostDevice::copy(void* destination, const void* source, std::size_t bytes, CopyKind kind) {
    ApiCall call({.api = copyApi(kind),
        .device = m_state.get(),
        .stream = GD_RT_LEGACY_STREAM,
        .pointer = destination,
        .bytes = bytes});
    Status status = callAllowed(*m_state);
    if (ok(status) && !copyValid(*m_state, destination, source, kind))
        status = Status::InvalidValue;
    if (ok(status))
        status = runOnLegacy(
            *m_state, *m_legacy, CopyOperation{destination, source, bytes, kind, nullptr}, call);
    return call.end(status);
}

Status HostDevice::fill(void* destination, int value, std::size_t bytes) {
    ApiCall call({.api = GD_API_MEMSET,
        .device = m_state.get(),
        .stream = GD_RT_LEGACY_STREAM,
        .pointer = destination,
        .bytes = bytes});
    Status status = callAllowed(*m_state);
    if (ok(status) && !m_state->arena->contains(destination))
        status = Status::InvalidValue;
    if (ok(status))
        status = runOnLegacy(*m_state, *m_legacy, FillOperation{destination, value, bytes}, call);
    return call.end(status);
}

Status HostDevice::synchronize() {
    ApiCall call({.api = GD_API_DEVICE_SYNCHRONIZE, .device = m_state.get()});
    Status status = callAllowed(*m_state);
    if (ok(status))
        status = checkDeviceSynchronize(*m_state);
    if (!ok(status))
        return call.end(status);
    const std::int64_t startNs = call.correlation() != 0 ? nowNs() : 0;
    drainDevice(*m_state);
    if (call.correlation() != 0)
        reportSync(*m_state, 0, call.correlation(), startNs);
    return call.end(m_state->sticky());
}

Status HostDevice::memoryInfo(std::size_t* freeBytes, std::size_t* totalBytes) {
    ApiCall call({.api = GD_API_MEM_GET_INFO, .device = m_state.get()});
    const Status status = callAllowed(*m_state);
    if (ok(status)) {
        *freeBytes = m_state->arena->freeBytes();
        *totalBytes = m_state->arena->totalBytes();
    }
    return call.end(status);
}

void HostDevice::notePoolBlock(const backend::PoolBlock& block) {
    const auto pool = reinterpret_cast<std::uint64_t>(block.pool);
    reportMemory({GD_RT_MEMORY_FRAMEWORK, *m_state, block.block, block.bytes, 0, pool}, block.freed);
}

} // namespace gdt::runtime::host
