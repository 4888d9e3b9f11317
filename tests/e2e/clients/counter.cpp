// SPDX-License-Identifier: Apache-2.0
// A second pair of eyes: a CUPTI client that knows nothing of the collector and only counts. Loaded with
// CUDA_INJECTION64_PATH in a run of its own; at exit it writes one line a count into the file GD_COUNTER
// names: `call NAME N`, `exec N` (executables created), `kernel N`, `memcpy N`, `memset N`. What the
// collector's trace of the same client lacks against these is lost. Replays are recorded node by node (kernel
// activity, no graph activity).
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cupti.h>

namespace {

constexpr unsigned kMaxCalls = 2048;
std::atomic<long> g_calls[kMaxCalls];
std::atomic<long> g_execs{0};
std::atomic<long> g_kernels{0};
std::atomic<long> g_copies{0};
std::atomic<long> g_fills{0};

void CUPTIAPI onCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < kMaxCalls) {
        const auto* call = static_cast<const CUpti_CallbackData*>(data);
        g_calls[id].fetch_add(call->callbackSite == CUPTI_API_EXIT ? 1 : 0);
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED) {
        g_execs.fetch_add(1);
    }
}

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
    *bytes = 1 << 20;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
    *records = 0;
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        g_kernels.fetch_add(record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? 1 : 0);
        g_copies.fetch_add(record->kind == CUPTI_ACTIVITY_KIND_MEMCPY ? 1 : 0);
        g_fills.fetch_add(record->kind == CUPTI_ACTIVITY_KIND_MEMSET ? 1 : 0);
    }
    std::free(buffer);
}

void write() {
    const char* path = std::getenv("GD_COUNTER");
    std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
    if (file == nullptr) {
        return;
    }
    cuptiActivityFlushAll(1);
    for (unsigned id = 0; id < kMaxCalls; ++id) {
        const char* name = nullptr;
        if (g_calls[id].load() > 0
            && cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS) {
            std::fprintf(file, "call %s %ld\n", name, g_calls[id].load());
        }
    }
    std::fprintf(file, "exec %ld\nkernel %ld\nmemcpy %ld\nmemset %ld\n", g_execs.load(), g_kernels.load(),
        g_copies.load(), g_fills.load());
    std::fclose(file);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    CUpti_SubscriberHandle subscriber = nullptr;
    if (std::getenv("GD_COUNTER") == nullptr
        || cuptiSubscribe(&subscriber, onCallback, nullptr) != CUPTI_SUCCESS) {
        return 1;
    }
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
    cuptiActivityRegisterCallbacks(requested, completed);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
    std::atexit(write);
    return 1;
}
