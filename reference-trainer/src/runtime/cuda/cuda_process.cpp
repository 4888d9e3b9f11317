// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_status.h"
#include "runtime/cuda_backend.h"

#include <nvtx3/nvToolsExt.h>

#include <map>
#include <mutex>
#include <string>

namespace gdt::runtime::cuda {

namespace {

Status exchangeMode(CaptureMode* mode) {
    if (mode == nullptr)
        return Status::InvalidValue;
    auto native = static_cast<cudaStreamCaptureMode>(*mode);
    const Status status = statusOf(cudaThreadExchangeStreamCaptureMode(&native));
    if (ok(status))
        *mode = static_cast<CaptureMode>(native);
    return status;
}

// Null is NVTX's own default domain.
nvtxDomainHandle_t domainOf(const char* name) {
    if (name == nullptr)
        return nullptr;
    static std::mutex mutex;
    static std::map<std::string, nvtxDomainHandle_t> domains;
    std::lock_guard lock(mutex);
    auto [entry, isNew] = domains.try_emplace(name, nullptr);
    if (isNew)
        entry->second = nvtxDomainCreateA(name);
    return entry->second;
}

nvtxEventAttributes_t attributes(const char* name, std::uint64_t payload) {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = payload;
    return event;
}

void push(const char* name, std::uint64_t payload, const char* domain) {
    const nvtxEventAttributes_t event = attributes(name, payload);
    nvtxDomainRangePushEx(domainOf(domain), &event);
}

void pop(const char* domain) {
    nvtxDomainRangePop(domainOf(domain));
}

void mark(const char* name, std::uint64_t payload, const char* domain) {
    const nvtxEventAttributes_t event = attributes(name, payload);
    nvtxDomainMarkEx(domainOf(domain), &event);
}

constexpr backend::ProcessCalls kCalls{exchangeMode, push, pop, mark};

} // namespace

const backend::ProcessCalls& processCalls() {
    return kCalls;
}

} // namespace gdt::runtime::cuda
