// SPDX-License-Identifier: Apache-2.0
// Question: what does each kind of CUPTI callback cost a replay of many short kernels?
// Loaded with CUDA_INJECTION64_PATH; GD_PROBE names what is enabled, joined by "+": subscribe, subscribe2
// (the newer function), launches (always), windowed (launch callbacks only between begin and end of a
// capture), graph, sync, memory, captures, nodes (node and edge resources), graphs, streams. The callback
// does nothing. See README.md for what was seen.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <cupti.h>

namespace {

CUpti_SubscriberHandle g_subscriber;
bool g_windowed = false;

bool wants(const char* word) {
    const char* list = std::getenv("GD_PROBE");
    const std::size_t length = std::strlen(word);
    for (const char* at = list; at != nullptr && *at != '\0';) {
        const char* end = std::strchr(at, '+');
        const std::size_t size = end != nullptr ? static_cast<std::size_t>(end - at) : std::strlen(at);
        if (size == length && std::strncmp(at, word, size) == 0) {
            return true;
        }
        at = end != nullptr ? end + 1 : at + size;
    }
    return false;
}

void call(CUpti_CallbackId id, bool on = true) {
    cuptiEnableCallback(on ? 1 : 0, g_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

void resource(CUpti_CallbackId id) {
    cuptiEnableCallback(1, g_subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
}

void launches(bool on) {
    call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, on);
    call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, on);
}

void CUPTIAPI onCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    if (!g_windowed || domain != CUPTI_CB_DOMAIN_DRIVER_API
        || static_cast<const CUpti_CallbackData*>(data)->callbackSite != CUPTI_API_EXIT) {
        return;
    }
    if (id == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2) {
        launches(true);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture) {
        launches(false);
    }
}

} // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    if (wants("subscribe2")) {
        CUpti_SubscriberParams params{};
        params.structSize = sizeof params;
        params.subscriberName = "probe";
        cuptiSubscribe_v2(&g_subscriber, onCallback, nullptr, &params);
    } else {
        cuptiSubscribe(&g_subscriber, onCallback, nullptr);
    }
    g_windowed = wants("windowed");
    if (g_windowed || wants("captures")) {
        call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2);
        call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
    }
    if (wants("launches")) {
        launches(true);
    }
    if (wants("graph")) {
        call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
        call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags);
    }
    if (wants("sync")) {
        call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
    }
    if (wants("memory")) {
        call(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
        call(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
    }
    if (wants("nodes")) {
        for (std::uint32_t id = CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING;
             id <= CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING; ++id) {
            resource(id);
        }
        resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
        resource(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED);
    }
    if (wants("graphs")) {
        resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED);
        resource(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
        resource(CUPTI_CBID_RESOURCE_GRAPH_CLONED);
        resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
        resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
        resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
    }
    if (wants("streams")) {
        resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
        resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
        resource(CUPTI_CBID_RESOURCE_STREAM_CREATED);
        resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
    }
    return 1;
}
