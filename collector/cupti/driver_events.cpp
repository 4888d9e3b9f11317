// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/client.h"

#include "collector/cupti/activity.h"
#include "collector/session/sink.h"

namespace gd::cupti {

namespace {

namespace sink = session::sink;

gd_rt_api describe(Client& client, const CallArguments& arguments, const CUpti_CallbackData& data) {
    gd_rt_api call{};
    call.size = sizeof call;
    call.api = static_cast<std::uint32_t>(arguments.api);
    call.correlation = data.correlationId;
    std::uint64_t context = 0;
    call.device = client.deviceOf(data.context, context);
    call.mode = arguments.mode;
    call.stream = client.objects().stream(arguments);
    call.event = client.objects().event(arguments.event);
    call.graph = client.objects().graphId(arguments.graph);
    call.exec = client.objects().execId(arguments.exec);
    call.ptr = arguments.address;
    call.bytes = arguments.bytes;
    return call;
}

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

gd_rt_memory describeMemory(const gd_rt_api& call, const CallArguments& arguments) {
    gd_rt_memory memory{};
    memory.size = sizeof memory;
    memory.kind = memoryKind(arguments.api);
    memory.device = call.device;
    memory.ptr = call.ptr;
    memory.bytes = call.bytes;
    memory.pool = reinterpret_cast<std::uint64_t>(arguments.pool);
    memory.stream = call.stream;
    return memory;
}

// Stream-ordered calls on a capturing stream become nodes: the memory belongs to the graph.
bool capturedMemoryCall(const gd_rt_api& call) {
    return (call.api == GD_API_MEM_ALLOC_ASYNC || call.api == GD_API_MEM_ALLOC_FROM_POOL_ASYNC
               || call.api == GD_API_MEM_FREE_ASYNC)
        && sink::captureOf(call.stream) != 0;
}

// From its enter on a freed address may be handed to another thread, so a free is reported there. While a
// capture is open it may well be refused: then it is reported at exit.
bool reportFreeAtEnter() {
    return sink::openCaptures() == 0;
}

void reportMemory(const gd_rt_api& call, const CallArguments& arguments, bool freeReported) {
    if (memoryKind(arguments.api) == 0 || call.ptr == 0) {
        return;
    }
    gd_rt_memory memory = describeMemory(call, arguments);
    if (!isFree(arguments.api)) {
        if (capturedMemoryCall(call)) {
            memory.kind = GD_RT_MEMORY_GRAPH;
        }
        sink::alloc(memory);
    } else if (!freeReported && !capturedMemoryCall(call)) {
        sink::free(memory);
    }
}

// The call succeeded: what it created is now known.
void readResults(Client& client, const CallArguments& arguments, gd_rt_api& call) {
    if (arguments.addressResult != nullptr) {
        call.ptr = *arguments.addressResult;
    }
    if (arguments.graphResult != nullptr) {
        call.graph = client.objects().graphId(*arguments.graphResult);
    }
    if (arguments.execResult != nullptr) {
        call.exec = client.objects().execId(*arguments.execResult);
    }
    if (arguments.eventResult != nullptr) {
        call.event = client.objects().eventCreated(*arguments.eventResult);
    }
}

void reportEvent(const gd_rt_api& call, gd_rt_life life, std::uint64_t context) {
    gd_rt_object object{};
    object.size = sizeof object;
    object.device = call.device;
    object.id = call.event;
    object.context = context;
    object.flags = call.mode;
    sink::event(life, object);
}

void reportUpdate(const gd_rt_api& call, const CallArguments& arguments, std::int32_t result) {
    gd_rt_exec exec{};
    exec.size = sizeof exec;
    exec.exec = call.exec;
    exec.graph = call.graph;
    exec.result = result;
    if (arguments.updateInfo != nullptr) {
        exec.update_result = static_cast<std::uint32_t>(arguments.updateInfo->result);
    } else if (arguments.updateResult != nullptr) {
        exec.update_result = static_cast<std::uint32_t>(*arguments.updateResult);
    }
    sink::exec(GD_RT_UPDATED, exec);
}

void onEnter(Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_CallbackData& data) {
    ThreadCalls::Open& open = calls.enter();
    open.arguments = decodeArguments(id, data.functionParams);
    open.call = describe(client, open.arguments, data);
    open.execStarted = false;
    open.execGraph = 0;
    open.freeReported = false;
    if (isInstantiate(open.arguments.api)) {
        Activity::instance().instantiateBegan();
    } else if (open.arguments.api == GD_API_GRAPH_LAUNCH) {
        Activity::instance().launching(open.call.exec);
    }
    sink::apiEnter(open.call);
    if (isFree(open.arguments.api) && open.call.ptr != 0 && reportFreeAtEnter()) {
        open.freeReported = true;
        sink::free(describeMemory(open.call, open.arguments));
    }
}

void onExit(Client& client, ThreadCalls& calls, const CUpti_CallbackData& data) {
    // The entry stays in place and is the innermost one until the sink has been told.
    ThreadCalls::Open* open = calls.exit(data.correlationId);
    if (open == nullptr) {
        return;
    }
    const CallArguments& arguments = open->arguments;
    gd_rt_api& call = open->call;
    const auto result = data.functionReturnValue != nullptr
        ? static_cast<std::int32_t>(*static_cast<const CUresult*>(data.functionReturnValue))
        : 0;
    std::uint64_t context = 0;
    call.device = client.deviceOf(data.context, context); // the call may have made the context
    if (result == CUDA_SUCCESS) {
        readResults(client, arguments, call);
        reportMemory(call, arguments, open->freeReported);
        if (arguments.api == GD_API_EVENT_CREATE && call.event != 0) {
            reportEvent(call, GD_RT_CREATED, context);
        } else if (arguments.api == GD_API_EVENT_DESTROY) {
            reportEvent(call, GD_RT_DESTROYED, context);
            client.objects().eventDestroyed(arguments.event);
        }
    }
    if (arguments.api == GD_API_GRAPH_EXEC_UPDATE) {
        reportUpdate(call, arguments, result);
    }
    if (arguments.api == GD_API_STREAM_END_CAPTURE && result == CUDA_SUCCESS && call.graph != 0) {
        // Known since the capture began, but only while it is still open can it be said whose it is.
        gd_rt_graph graph{};
        graph.size = sizeof graph;
        graph.graph = call.graph;
        sink::graph(GD_RT_CREATED, graph);
    }
    sink::apiExit(call, result);
    if (isInstantiate(arguments.api)) {
        Activity::instance().instantiateEnded();
    } else if (arguments.api == GD_API_GRAPH_LAUNCH) {
        Activity::instance().launched(call.exec);
    }
    if (arguments.api == GD_API_STREAM_BEGIN_CAPTURE || arguments.api == GD_API_STREAM_BEGIN_CAPTURE_TO_GRAPH
        || arguments.api == GD_API_STREAM_END_CAPTURE) {
        client.followCaptures();
    }
}

} // namespace

void onDriverCall(
    Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
    if (followedCall(id) == GD_API_NONE) {
        return;
    }
    if (data.callbackSite == CUPTI_API_ENTER) {
        // Executables are followed while recording is off too: one that is made unseen could never be traced.
        if (session::sink::enabled() || isInstantiate(followedCall(id))) {
            onEnter(client, calls, id, data);
        }
    } else {
        onExit(client, calls, data);
    }
}

} // namespace gd::cupti
