// SPDX-License-Identifier: Apache-2.0
// Uses NVTX 3 the ways jobs do: default and named domains, registered and wide strings, payloads, nesting,
// and structured payloads as NCCL does. Exits 0 when the return values are those of a tool that tracks
// nesting (or, without one, of none).
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExtPayload.h>

namespace {

/// One call of NCCL's: the payload comes with the push, or (what is known only afterwards) with the pop.
struct Call {
    std::uint32_t unrelated;
    std::int32_t root;
    std::uint64_t comm;
    std::size_t bytes;
};
struct Communicator {
    std::uint64_t comm;
    std::int32_t ranks;
    std::int32_t rank;
};

std::uint64_t registerLayout(
    nvtxDomainHandle_t domain, const nvtxPayloadSchemaEntry_t* entries, std::size_t count, std::uint64_t id) {
    nvtxPayloadSchemaAttr_t layout{};
    layout.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES
        | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    layout.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    layout.entries = entries;
    layout.numEntries = count;
    layout.schemaId = id;
    return nvtxPayloadSchemaRegister(domain, &layout);
}

nvtxEventAttributes_t named(nvtxDomainHandle_t domain, const char* name) {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, name);
    return event;
}

bool structuredPayloads(bool traced) {
    const int none = NVTX_NO_PUSH_POP_TRACKING;
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
    const std::uint64_t callId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 1;
    const nvtxPayloadSchemaEntry_t call[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]",
                                                 nullptr, 0, offsetof(Call, bytes), nullptr, nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", nullptr, 0, offsetof(Call, comm), nullptr,
            nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Root", nullptr, 0, offsetof(Call, root), nullptr, nullptr}};
    const nvtxPayloadSchemaEntry_t communicator[]
        = {{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr},
            {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", nullptr, 0, 0, nullptr, nullptr},
            {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", nullptr, 0, 0, nullptr, nullptr}};
    bool right = registerLayout(domain, call, 3, callId) == (traced ? callId : 0);
    const std::uint64_t communicatorId = registerLayout(domain, communicator, 3, 0);
    right = right && (communicatorId != 0) == traced;
    right = right && nvtxDomainIsEnabled(domain) == (traced ? 1 : 0);

    const nvtxEventAttributes_t init = named(domain, "ncclCommInitRank");
    right = right && nvtxDomainRangePushEx(domain, &init) == (traced ? 0 : none);
    const Communicator made{0xfeed, 4, 1};
    const nvtxPayloadData_t added{communicatorId, sizeof made, &made};
    right = right && nvtxRangePopPayload(domain, &added, 1) == (traced ? 0 : none);

    const Call broadcast{7, 3, 0xfeed, 8192};
    nvtxPayloadData_t data{callId, sizeof broadcast, &broadcast};
    nvtxEventAttributes_t event = named(domain, "ncclBroadcast");
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;
    event.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
    right = right && nvtxDomainRangePushEx(domain, &event) == (traced ? 0 : none);
    return right && nvtxDomainRangePop(domain) == (traced ? 0 : none);
}

/// Children that are forked while another thread registers names register some of their own.
bool forks() {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("client.forks"); // NVTX itself has begun
    std::atomic<bool> stop{false};
    std::thread registering([&] {
        for (unsigned i = 0; !stop; ++i) {
            char name[32];
            std::snprintf(name, sizeof name, "name %u", i % 4096);
            nvtxDomainRegisterStringA(domain, name);
        }
    });
    int status = 0;
    for (int i = 0; i < 100 && status == 0; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(30); // a lock that stays held for ever
            nvtxDomainRegisterStringA(nvtxDomainCreateA("client.child"), "of a child");
            _exit(0);
        }
        waitpid(child, &status, 0);
    }
    stop = true;
    registering.join();
    return status == 0;
}

} // namespace

int main(int argc, char**) {
    if (argc > 1) {
        return forks() ? 0 : 1;
    }
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
    right = right && structuredPayloads(traced);
    std::printf("%s\n", traced ? "traced" : "not traced");
    return right ? 0 : 1;
}
