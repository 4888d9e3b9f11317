// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/client.h"

#include "collector/cupti/activity.h"
#include "collector/cupti/memory_events.h"
#include "collector/session/api_class.h"
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
    call.stream = client.objects().stream(arguments, &call.device);
    call.event = client.objects().event(arguments.event);
    call.graph = client.objects().graphId(arguments.graph);
    call.exec = client.objects().execId(arguments.exec);
    call.ptr = arguments.address;
    call.bytes = arguments.bytes;
    return call;
}

// The call succeeded: what it created is now known.
void readResults(Client& client, const CallArguments& arguments, gd_rt_api& call) {
    if (arguments.addressResult != nullptr) {
        call.ptr = *arguments.addressResult;
    }
    if (arguments.pitchResult != nullptr) {
        call.bytes = *arguments.pitchResult * arguments.rows;
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

// What says on which streams no replay may be looked for, at every level.
void noteForReplays(const CallArguments& arguments, CUcontext context) {
    ReplayStreams& streams = Activity::instance().replayStreams();
    if (arguments.api == GD_API_STREAM_DESTROY) {
        streams.streamEnds(arguments.stream, context);
    } else if (endsContext(arguments.api)) {
        streams.contextEnds();
    } else if (beginsCapture(arguments.api)) {
        streams.captureBegins();
    }
}

void launching(ThreadCalls& calls, const CallArguments& arguments, CUcontext context) {
    calls.launchedExec = arguments.exec;
    Activity::instance().launching(calls, arguments, context);
}

void onEnter(Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_CallbackData& data) {
    ThreadCalls::Open& open = calls.enter();
    open.arguments = decodeArguments(id, data.functionParams);
    open.call = describe(client, open.arguments, data);
    open.hadContext = data.context != nullptr;
    open.execStarted = false;
    open.execGraph = 0;
    if (isInstantiate(open.arguments.api)) {
        Activity::instance().instantiateBegan();
    } else if (open.arguments.api == GD_API_GRAPH_LAUNCH) {
        if (open.call.exec == 0) {
            Activity::instance().unknownExec();
        }
        launching(calls, open.arguments, data.context);
    } else {
        noteForReplays(open.arguments, data.context);
    }
    sink::apiEnter(open.call);
    open.freeReported = memoryCallBegan(client, open.arguments, open.call);
}

// A launch that became no node: what it passed by value is what a graph would freeze.
void reportLaunch(
    Client& client, CUpti_CallbackId id, const CUpti_CallbackData& data, const gd_rt_api& call) {
    KernelLaunch launch{};
    if (client.followsEagerLaunches() && sink::captureOf(call.stream) == 0
        && decodeLaunch(id, data.functionParams, launch)) {
        reportEagerLaunch(launch, call.stream);
        client.eagerLaunchSeen();
    }
}

void onExit(Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_CallbackData& data) {
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
    const std::uint32_t device = client.deviceOf(data.context, context);
    if (!open->hadContext) {
        call.device = device; // the call may have made the context
    }
    if (session::apiClass(static_cast<std::uint32_t>(arguments.api)) != GD_API_CLASS_CONTEXT) {
        client.contextUsed(data.context, context);
    }
    if (result == CUDA_SUCCESS) {
        readResults(client, arguments, call);
        memoryCallSucceeded(client, arguments, call, context, open->freeReported);
        if (arguments.api == GD_API_EVENT_CREATE && call.event != 0) {
            reportEvent(call, GD_RT_CREATED, context);
        } else if (arguments.api == GD_API_EVENT_DESTROY) {
            reportEvent(call, GD_RT_DESTROYED, context);
            client.objects().eventDestroyed(arguments.event);
        } else if (isLaunch(arguments.api)) {
            reportLaunch(client, id, data, call);
        } else if (arguments.api == GD_API_GRAPH_LAUNCH) {
            client.replayed();
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
        Activity::instance().launched();
    }
    if (beginsCapture(arguments.api) || arguments.api == GD_API_STREAM_END_CAPTURE) {
        client.followCaptures();
    }
    client.memorySampler().afterCall(call, result, context != 0, device);
}

} // namespace

void onDriverCall(
    Client& client, ThreadCalls& calls, CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
    if (followedCall(id) == GD_API_NONE) {
        return;
    }
    const gd_api_id api = followedCall(id);
    if (data.callbackSite == CUPTI_API_ENTER) {
        // Executables are followed while recording is off too: one that is made unseen could never be traced.
        // So are the streams on which replays may be under way when it is switched on again.
        if (session::sink::enabled() || isInstantiate(api)) {
            onEnter(client, calls, id, data);
        } else if (api == GD_API_GRAPH_LAUNCH) {
            launching(calls, decodeArguments(id, data.functionParams), data.context);
        } else {
            noteForReplays(decodeArguments(id, data.functionParams), data.context);
        }
        return;
    }
    const bool launch = api == GD_API_GRAPH_LAUNCH;
    if (launch) {
        Activity& activity = Activity::instance();
        const bool first = activity.awaitsFirstLaunch() && client.objects().execLaunched(calls.launchedExec);
        activity.launchEnded(calls, first);
        calls.launchedExec = nullptr;
    }
    onExit(client, calls, id, data);
    Activity::instance().callEnded(launch, data.context);
}

} // namespace gd::cupti
