// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/memory_events.h"

#include "collector/cupti/node_params.h"
#include "collector/session/sink.h"

namespace gd::cupti {

namespace {

namespace sink = session::sink;

std::uint32_t memoryKind(gd_api_id api) {
    switch (api) {
    case GD_API_MEM_ALLOC:
    case GD_API_MEM_ALLOC_PITCH:
    case GD_API_MEM_FREE:
        return GD_RT_MEMORY_DEVICE;
    case GD_API_MEM_ALLOC_ASYNC:
    case GD_API_MEM_ALLOC_FROM_POOL_ASYNC:
    case GD_API_MEM_FREE_ASYNC:
        return GD_RT_MEMORY_DEVICE_ASYNC;
    case GD_API_MEM_ALLOC_MANAGED:
        return GD_RT_MEMORY_MANAGED;
    case GD_API_MEM_ALLOC_HOST:
    case GD_API_MEM_HOST_ALLOC:
    case GD_API_MEM_FREE_HOST:
        return GD_RT_MEMORY_HOST_PINNED;
    case GD_API_MEM_HOST_REGISTER:
    case GD_API_MEM_HOST_UNREGISTER:
        return GD_RT_MEMORY_HOST_REGISTERED;
    case GD_API_MEM_MAP:
    case GD_API_MEM_UNMAP:
        return GD_RT_MEMORY_VMM;
    default:
        return 0;
    }
}

bool isFree(gd_api_id api) {
    return api == GD_API_MEM_FREE || api == GD_API_MEM_FREE_ASYNC || api == GD_API_MEM_FREE_HOST
        || api == GD_API_MEM_HOST_UNREGISTER || api == GD_API_MEM_UNMAP;
}

gd_rt_memory describe(const gd_rt_api& call, const CallArguments& arguments) {
    gd_rt_memory memory{};
    memory.size = sizeof memory;
    memory.kind = memoryKind(arguments.api);
    memory.device = call.device;
    memory.ptr = call.ptr;
    memory.bytes = call.bytes;
    memory.stream = call.stream;
    return memory;
}

// Stream-ordered calls on a capturing stream become nodes: the memory belongs to the graph.
bool isCaptured(const gd_rt_api& call) {
    return (call.api == GD_API_MEM_ALLOC_ASYNC || call.api == GD_API_MEM_ALLOC_FROM_POOL_ASYNC
               || call.api == GD_API_MEM_FREE_ASYNC)
        && sink::captureOf(call.stream) != 0;
}

void allocated(Client& client, const CallArguments& arguments, const gd_rt_api& call, std::uint64_t context) {
    gd_rt_memory memory = describe(call, arguments);
    MemoryObjects& objects = client.memoryObjects();
    if (isCaptured(call)) {
        memory.kind = GD_RT_MEMORY_GRAPH;
        sink::alloc(memory);
        return;
    }
    switch (memory.kind) {
    case GD_RT_MEMORY_DEVICE_ASYNC: {
        const CUmemoryPool pool
            = arguments.pool != nullptr ? arguments.pool : client.memorySampler().currentPool(call.device);
        if (pool != nullptr) {
            const MemoryObjects::Pool known = objects.pool(pool, call.device);
            memory.pool = known.id;
            memory.device = known.device;
        }
        sink::alloc(memory);
        client.memorySampler().afterUse(objects, pool, memory.device);
        return;
    }
    case GD_RT_MEMORY_VMM: {
        // It lies where its physical memory was made, whatever context is current.
        std::int32_t device = kNoLocation;
        if (objects.physical(arguments.physical, device) && device >= 0) {
            memory.device = static_cast<std::uint32_t>(device);
        } else if (device == kHostLocation) {
            memory.kind = GD_RT_MEMORY_HOST_PINNED;
        }
        sink::alloc(memory);
        return;
    }
    default:
        memory.context = static_cast<std::uint32_t>(context);
        sink::alloc(memory);
    }
}

void poolCreated(Client& client, const CallArguments& arguments, const gd_rt_api& call) {
    const std::uint32_t device
        = arguments.location >= 0 ? static_cast<std::uint32_t>(arguments.location) : call.device;
    sink::PoolState state;
    state.pool = client.memoryObjects().pool(*arguments.poolResult, device).id;
    state.device = device;
    sink::memoryPool(GD_RT_CREATED, state);
}

void poolDestroyed(Client& client, CUmemoryPool pool) {
    MemoryObjects::Pool known{};
    if (client.memoryObjects().poolDestroyed(pool, known)) {
        sink::PoolState state;
        state.pool = known.id;
        state.device = known.device;
        sink::memoryPool(GD_RT_DESTROYED, state);
    }
}

} // namespace

bool memoryCallBegan(Client& client, const CallArguments& arguments, const gd_rt_api& call) noexcept {
    if (arguments.api == GD_API_MEM_POOL_DESTROY) {
        poolDestroyed(client, arguments.pool);
    } else if (arguments.api == GD_API_MEM_RELEASE) { // what is mapped stays so
        client.memoryObjects().physicalReleased(arguments.physical);
    }
    if (!isFree(arguments.api) || call.ptr == 0 || sink::openCaptures() != 0) {
        return false;
    }
    sink::free(describe(call, arguments));
    return true;
}

void memoryCallSucceeded(Client& client, const CallArguments& arguments, const gd_rt_api& call,
    std::uint64_t context, bool freeReported) noexcept {
    switch (arguments.api) {
    case GD_API_MEM_CREATE:
        if (arguments.physicalResult != nullptr) {
            client.memoryObjects().physicalCreated(*arguments.physicalResult, arguments.location);
        }
        return;
    case GD_API_MEM_POOL_CREATE:
        if (arguments.poolResult != nullptr) {
            poolCreated(client, arguments, call);
        }
        return;
    case GD_API_MEM_POOL_DESTROY: // a current pool falls back to the default one
    case GD_API_DEVICE_SET_MEM_POOL:
        client.memorySampler().currentPoolsChanged();
        return;
    case GD_API_MEM_POOL_TRIM_TO:
        client.memorySampler().afterUse(client.memoryObjects(), arguments.pool, call.device);
        return;
    default:
        break;
    }
    if (memoryKind(arguments.api) == 0 || call.ptr == 0) {
        return;
    }
    if (!isFree(arguments.api)) {
        allocated(client, arguments, call, context);
    } else if (!freeReported && !isCaptured(call)) {
        sink::free(describe(call, arguments));
    }
}

void allocationNodeAdded(const gd_rt_api& call, CUgraphNode node) noexcept {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    if (!allocationOf(node, address, bytes)) {
        return;
    }
    gd_rt_memory memory{};
    memory.size = sizeof memory;
    memory.kind = GD_RT_MEMORY_GRAPH;
    memory.device = call.device;
    memory.ptr = address;
    memory.bytes = bytes;
    sink::alloc(memory);
}

} // namespace gd::cupti
