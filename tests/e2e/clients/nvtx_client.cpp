// SPDX-License-Identifier: Apache-2.0
// Uses NVTX 3 the ways jobs do: default and named domains, registered and wide strings, payloads, nesting.
// Exits 0 when the return values are those of a tool that tracks nesting (or, without one, of none).
#include <cstdio>

#include <nvtx3/nvToolsExt.h>

int main() {
    bool right = true;
    const bool traced = nvtxRangePushA("outer") == 0;
    right = right && nvtxRangePushW(L"inn\u00e9r") == (traced ? 1 : NVTX_NO_PUSH_POP_TRACKING);
    nvtxMarkA("here");
    right = right && nvtxRangePop() == (traced ? 1 : NVTX_NO_PUSH_POP_TRACKING);
    right = right && nvtxRangePop() == (traced ? 0 : NVTX_NO_PUSH_POP_TRACKING);
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("client.domain");
    right = right && nvtxDomainCreateA("client.domain") == domain;
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff00ff00;
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = 0x1234567890;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    right = right && nvtxDomainRangePushEx(domain, &event) == (traced ? 0 : NVTX_NO_PUSH_POP_TRACKING);
    const nvtxRangeId_t first = nvtxDomainRangeStartEx(domain, &event);
    const nvtxRangeId_t second = nvtxRangeStartA("started");
    right = right && (!traced || first != second);
    nvtxRangeEnd(second);
    nvtxDomainRangeEnd(domain, first);
    right = right && nvtxDomainRangePop(domain) == (traced ? 0 : NVTX_NO_PUSH_POP_TRACKING);
    nvtxDomainDestroy(domain);
    std::printf("%s\n", traced ? "traced" : "not traced");
    return right ? 0 : 1;
}
