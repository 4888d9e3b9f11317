// SPDX-License-Identifier: Apache-2.0
// Question: which step of a CUPTI client makes a replay of many short kernels slower, and when does it have
// to happen? A library for subscriber_cost.cu. GD_PROBE is a list STAGE:ACTION+ACTION,STAGE:ACTION,... The
// stage `inject` runs in InitializeInjection (CUDA_INJECTION64_PATH); the others when the client calls
// gd_probe_stage() by name. libcupti (GD_PROBE_CUPTI or libcupti.so.13) is loaded by the first action that
// needs it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <cupti.h>
#include <dlfcn.h>

namespace {

void* g_library = nullptr;
CUpti_SubscriberHandle g_subscriber = nullptr;

template <class Function> Function* look(const char* name) {
    if (g_library == nullptr) {
        const char* path = std::getenv("GD_PROBE_CUPTI");
        g_library = dlopen(path != nullptr ? path : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
        if (g_library == nullptr) {
            std::fprintf(stderr, "probe: %s\n", dlerror());
            std::exit(3);
        }
    }
    return reinterpret_cast<Function*>(dlsym(g_library, name));
}

#define CUPTI(name, ...) check(#name, look<decltype(name)>(#name)(__VA_ARGS__))

void check(const char* what, CUptiResult result) {
    if (result != CUPTI_SUCCESS) {
        std::fprintf(stderr, "probe: %s gives %d\n", what, static_cast<int>(result));
    }
}

void CUPTIAPI onCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { }

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
    *bytes = 1 << 20;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
    *records = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
    std::free(buffer);
}

void call(CUpti_CallbackId id, std::uint32_t on) {
    CUPTI(cuptiEnableCallback, on, g_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

template <class Value> void setAttribute(CUpti_ActivityAttribute attribute, Value value) {
    std::size_t size = sizeof value;
    CUPTI(cuptiActivitySetAttribute, attribute, &size, &value);
}

void act(const std::string& action) {
    if (action == "load") {
        std::uint32_t version = 0;
        CUPTI(cuptiGetVersion, &version);
        std::fprintf(stderr, "version %u\n", version);
    } else if (action == "subscribe") {
        CUPTI(cuptiSubscribe, &g_subscriber, onCallback, nullptr);
    } else if (action == "subscribe2") {
        CUpti_SubscriberParams params{};
        params.structSize = sizeof params;
        params.subscriberName = "probe";
        CUPTI(cuptiSubscribe_v2, &g_subscriber, onCallback, nullptr, &params);
    } else if (action == "unsubscribe") {
        CUPTI(cuptiUnsubscribe, g_subscriber);
    } else if (action == "finalize") {
        CUPTI(cuptiFinalize);
    } else if (action == "graphs") {
        for (std::uint32_t id = 1; id < CUPTI_CBID_RESOURCE_SIZE; ++id) {
            CUPTI(cuptiEnableCallback, 1, g_subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
        }
    } else if (action == "calls" || action == "nocalls") {
        const std::uint32_t on = action == "calls" ? 1 : 0;
        call(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, on);
        call(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, on);
        call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, on);
        call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, on);
        call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, on);
    } else if (action == "nodevicegraph") {
        CUPTI(cuptiActivityEnableDeviceGraph, 0);
    } else if (action == "noapi") {
        CUPTI(cuptiActivityEnableDriverApi, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, 0);
    } else if (action == "nosync") {
        CUPTI(cuptiActivityEnableAllSyncRecords, 0);
    } else if (action == "small") {
        setAttribute<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, 256 * 1024);
        setAttribute<std::size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 1);
    } else if (action == "pinned") {
        setAttribute<std::uint8_t>(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 1);
    } else if (action == "hes") {
        CUPTI(cuptiActivityEnableHWTrace, 1);
    } else if (action == "trace" || action == "kernel" || action == "driver") {
        CUPTI(cuptiActivityRegisterCallbacks, requested, completed);
        CUPTI(cuptiActivityEnable,
            action == "trace"        ? CUPTI_ACTIVITY_KIND_GRAPH_TRACE
                : action == "kernel" ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                     : CUPTI_ACTIVITY_KIND_DRIVER);
    } else if (action == "notrace") {
        CUPTI(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    } else if (action == "nokernel") {
        CUPTI(cuptiActivityDisable, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    } else if (action != "nothing") {
        std::fprintf(stderr, "probe: unknown action %s\n", action.c_str());
        std::exit(2);
    }
}

} // namespace

extern "C" __attribute__((visibility("default"))) void gd_probe_stage(const char* stage) {
    const char* list = std::getenv("GD_PROBE");
    const std::string prefix = std::string(stage) + ":";
    std::string rest = list != nullptr ? list : "";
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        std::string item = rest.substr(0, comma);
        rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
        if (item.rfind(prefix, 0) != 0) {
            continue;
        }
        item = item.substr(prefix.size());
        while (!item.empty()) {
            const auto plus = item.find('+');
            act(item.substr(0, plus));
            item = plus == std::string::npos ? "" : item.substr(plus + 1);
        }
    }
}

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    gd_probe_stage("inject");
    return 1;
}
