// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/memory_sampler.h"

#include "collector/cupti/driver_api.h"
#include "collector/session/api_class.h"
#include "collector/session/sink.h"

namespace gd::cupti {

namespace {

namespace sink = session::sink;

/// The thread's capture mode is relaxed while in scope.
class RelaxedMode {
public:
    RelaxedMode() noexcept { exchange(); }
    ~RelaxedMode() { exchange(); }
    RelaxedMode(const RelaxedMode&) = delete;
    RelaxedMode& operator=(const RelaxedMode&) = delete;

private:
    void exchange() noexcept {
        if (driverApi().threadExchangeStreamCaptureMode != nullptr) {
            driverApi().threadExchangeStreamCaptureMode(&m_mode);
        }
    }
    CUstreamCaptureMode m_mode = CU_STREAM_CAPTURE_MODE_RELAXED;
};

bool changesMemory(std::uint32_t api) {
    switch (session::apiClass(api)) {
    case GD_API_CLASS_ALLOC:
    case GD_API_CLASS_FREE:
    case GD_API_CLASS_SYNC:
    case GD_API_CLASS_EXEC:
    case GD_API_CLASS_VMM:
        return true;
    default:
        return api == GD_API_MEM_POOL_TRIM_TO || api == GD_API_MEM_POOL_DESTROY
            || api == GD_API_DEVICE_GRAPH_MEM_TRIM;
    }
}

} // namespace

void MemorySampler::afterCall(
    const gd_rt_api& call, std::int32_t result, bool inContext, std::uint32_t device) noexcept {
    const DriverApi& driver = driverApi();
    const bool exhausted = result == CUDA_ERROR_OUT_OF_MEMORY;
    if (!inContext || driver.memGetInfo == nullptr || device >= kMaxDevices || !changesMemory(call.api)
        || (result != CUDA_SUCCESS && !exhausted) || sink::openCaptures() != 0 || !sink::enabled()
        || sink::deviceFailed()) {
        return;
    }
    const std::int64_t nowNs = sink::nowNs();
    std::int64_t beforeNs = m_lookedAtNs[device].load(std::memory_order_relaxed);
    if ((beforeNs != 0 && nowNs - beforeNs < (exhausted ? kFailedPeriodNs : kPeriodNs))
        || !m_lookedAtNs[device].compare_exchange_strong(beforeNs, nowNs)) {
        return;
    }
    const RelaxedMode relaxed;
    std::size_t freeBytes = 0;
    std::size_t totalBytes = 0;
    if (driver.memGetInfo(&freeBytes, &totalBytes) != CUDA_SUCCESS) {
        return;
    }
    sink::DeviceMemory memory;
    memory.device = device;
    memory.freeBytes = freeBytes;
    memory.totalBytes = totalBytes;
    CUdevice handle = 0;
    cuuint64_t reserved = 0;
    if (driver.deviceGet == nullptr || driver.deviceGet(&handle, static_cast<int>(device)) != CUDA_SUCCESS) {
        sink::memorySample(memory);
        return;
    }
    if (driver.deviceGetGraphMemAttribute != nullptr
        && driver.deviceGetGraphMemAttribute(handle, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved)
            == CUDA_SUCCESS) {
        memory.knowsGraphReserved = true;
        memory.graphReservedBytes = reserved;
    }
    sink::memorySample(memory);
}

CUmemoryPool MemorySampler::currentPool(std::uint32_t device) noexcept {
    if (device >= kMaxDevices) {
        return nullptr;
    }
    CUmemoryPool pool = m_currentPools[device].load(std::memory_order_relaxed);
    const DriverApi& driver = driverApi();
    if (pool != nullptr || driver.deviceGet == nullptr || driver.deviceGetMemPool == nullptr
        || sink::deviceFailed()) {
        return pool;
    }
    const RelaxedMode relaxed;
    CUdevice handle = 0;
    if (driver.deviceGet(&handle, static_cast<int>(device)) == CUDA_SUCCESS
        && driver.deviceGetMemPool(&pool, handle) == CUDA_SUCCESS) {
        m_currentPools[device].store(pool, std::memory_order_relaxed);
    }
    return pool;
}

void MemorySampler::currentPoolsChanged() noexcept {
    for (auto& pool : m_currentPools) {
        pool.store(nullptr, std::memory_order_relaxed);
    }
}

void MemorySampler::afterUse(MemoryObjects& objects, CUmemoryPool pool, std::uint32_t device) noexcept {
    const DriverApi& driver = driverApi();
    if (pool == nullptr || driver.memPoolGetAttribute == nullptr || sink::openCaptures() != 0
        || sink::deviceFailed()) {
        return;
    }
    sink::PoolState state;
    const MemoryObjects::Pool known = objects.pool(pool, device);
    state.pool = known.id;
    state.device = known.device;
    if (!objects.wantsLook(pool, sink::nowNs(), kPeriodNs)) {
        return;
    }
    const RelaxedMode relaxed;
    cuuint64_t bytes = 0;
    if (driver.memPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes) == CUDA_SUCCESS) {
        state.reservedBytes = bytes;
        state.known |= raw::kKnowsReserved;
    }
    if (driver.memPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes) == CUDA_SUCCESS) {
        state.usedBytes = bytes;
        state.known |= raw::kKnowsUsed;
    }
    if (state.known != 0) {
        sink::memoryPool(GD_RT_UPDATED, state);
    }
}

} // namespace gd::cupti
