// SPDX-License-Identifier: Apache-2.0
#include "collector/nvtx/events.h"

#include "collector/nccl/nvtx_calls.h"
#include "collector/raw/spool_name.h"
#include "collector/session/hooks.h"
#include "collector/session/sink.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <pthread.h>

namespace gd::nvtx {

namespace {

namespace sink = session::sink;

constinit NameTable g_domains;
constinit NameTable g_strings;
constinit SchemaTable g_schemas;
std::atomic<std::uint64_t> g_nextRange{1};

/// How deep this thread is in each domain: the push and pop functions return it.
class Depths {
public:
    int push(const Name* domain) {
        int* depth = find(domain, true);
        return depth != nullptr ? (*depth)++ : NVTX_NO_PUSH_POP_TRACKING;
    }
    int pop(const Name* domain) {
        int* depth = find(domain, false);
        return depth != nullptr && *depth > 0 ? --*depth : NVTX_NO_PUSH_POP_TRACKING;
    }

private:
    static constexpr unsigned kMaxDomains = 16;

    int* find(const Name* domain, bool add) {
        for (unsigned i = 0; i < m_count; ++i) {
            if (m_domains[i] == domain) {
                return &m_depths[i];
            }
        }
        if (!add || m_count == kMaxDomains) {
            return nullptr;
        }
        m_domains[m_count] = domain;
        return &m_depths[m_count++];
    }

    const Name* m_domains[kMaxDomains] = {};
    int m_depths[kMaxDomains] = {};
    unsigned m_count = 0;
};
thread_local Depths t_depths;

/// Reads the payload of NCCL's own ranges.
class NcclFields final : public FieldVisitor {
public:
    void field(std::string_view name, std::uint64_t value) noexcept override { fields.set(name, value); }

    nccl::CallFields fields;
};

/// Finds the text that is an event's message.
class Message final : public FieldVisitor {
public:
    void field(std::string_view, std::uint64_t) noexcept override { }
    void message(const char* message) noexcept override { text = message; }

    const char* text = "";
};

nccl::CallFields ncclFields(const Name* domain, Payloads payloads) {
    NcclFields reader;
    for (std::size_t i = 0; i < payloads.count; ++i) {
        if (!readPayload(g_schemas, domain, payloads.data[i], reader)) {
            reader.fields.isReadable = false;
        }
    }
    return reader.fields;
}

void report(gd_rt_range_op op, const Name* domain, const Attributes* attributes, std::uint64_t id) noexcept {
    gd_rt_range range{};
    range.size = sizeof range;
    range.op = static_cast<std::uint32_t>(op);
    range.domain = domain != nullptr ? domain->text : nullptr;
    range.name = attributes != nullptr ? attributes->name : nullptr;
    range.u64 = attributes != nullptr && id == 0 ? attributes->payload : id;
    sink::range(range, attributes != nullptr ? attributes->color : 0);
}

/// The collector's work must not change what the job sees in errno.
class KeepErrno {
public:
    KeepErrno() = default;
    ~KeepErrno() { errno = m_saved; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

private:
    int m_saved = errno;
};

void opened() noexcept {
    sink::coverage(raw::CoverageSource::nvtx, raw::CoverageState::Complete, "");
    nccl::restartNvtx();
}

constexpr session::SourceHooks kHooks{opened, nullptr, nullptr, nullptr, true};

void inForkedChild() noexcept {
    g_domains.afterFork();
    g_strings.afterFork();
    g_schemas.afterFork();
}

} // namespace

NameTable& domains() noexcept {
    return g_domains;
}
NameTable& strings() noexcept {
    return g_strings;
}
SchemaTable& schemas() noexcept {
    return g_schemas;
}

bool isNccl(const Name* domain) noexcept {
    return domain != nullptr && std::string_view(domain->text, domain->length) == nccl::kNvtxDomain;
}

bool registerWithSession() noexcept {
    const char* spool = std::getenv(raw::kEnvSpool);
    if (spool == nullptr || spool[0] == '\0') {
        return false;
    }
    static std::atomic<bool> registered{false};
    if (!registered.exchange(true)) {
        pthread_atfork(nullptr, nullptr, inForkedChild);
        session::registerSource(&kHooks);
    }
    return true;
}

Attributes::Attributes(const nvtxEventAttributes_t* event) {
    // Version 1 of the struct; a job built against a later one has the same fields first.
    if (event == nullptr || event->size < NVTX_EVENT_ATTRIB_STRUCT_SIZE) {
        return;
    }
    setMessage(*event);
    setPayload(*event);
    color = event->colorType == NVTX_COLOR_ARGB ? event->color : 0;
}

Attributes::Attributes(const Name* domain, Payloads structured)
    : payloads(structured) {
    Message reader;
    for (std::size_t i = 0; i < structured.count; ++i) {
        readPayload(g_schemas, domain, structured.data[i], reader);
    }
    name = reader.text;
}

void Attributes::setWide(const wchar_t* text) {
    const auto used = narrow(text, m_room, sizeof m_room - 1);
    m_room[used.size()] = '\0';
    name = m_room;
}

void Attributes::setMessage(const nvtxEventAttributes_t& event) {
    if (event.messageType == NVTX_MESSAGE_TYPE_ASCII && event.message.ascii != nullptr) {
        name = event.message.ascii;
    } else if (event.messageType == NVTX_MESSAGE_TYPE_UNICODE) {
        setWide(event.message.unicode);
    } else if (event.messageType == NVTX_MESSAGE_TYPE_REGISTERED && event.message.registered != nullptr) {
        name = reinterpret_cast<const Name*>(event.message.registered)->text;
    }
}

void Attributes::setPayload(const nvtxEventAttributes_t& event) {
    switch (event.payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        payload = event.payload.ullValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT64:
        payload = static_cast<std::uint64_t>(event.payload.llValue);
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        payload = event.payload.uiValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT32:
        payload = static_cast<std::uint64_t>(std::int64_t{event.payload.iValue});
        break;
    case NVTX_PAYLOAD_TYPE_EXT:
        payloads.data
            = reinterpret_cast<const nvtxPayloadData_t*>(static_cast<std::uintptr_t>(event.payload.ullValue));
        payloads.count
            = payloads.data != nullptr && event.reserved0 > 0 ? static_cast<std::size_t>(event.reserved0) : 0;
        break;
    default: // floating point payloads have no 64-bit integer
        break;
    }
}

void mark(const Name* domain, const Attributes& attributes) noexcept {
    if (sink::enabled()) {
        const KeepErrno keep;
        report(GD_RT_RANGE_MARK, domain, &attributes, 0);
    }
}

int push(const Name* domain, const Attributes& attributes) noexcept {
    const KeepErrno keep;
    if (sink::mayRecord()) {
        report(GD_RT_RANGE_PUSH, domain, &attributes, 0);
    }
    if (isNccl(domain)) {
        if (sink::enabled()) {
            nccl::rangePushed(attributes.name, ncclFields(domain, attributes.payloads));
        } else {
            nccl::rangePushed("", {}); // nesting goes on
        }
    }
    return t_depths.push(domain);
}

int pop(const Name* domain, Payloads added) noexcept {
    const KeepErrno keep;
    if (isNccl(domain)) {
        nccl::rangePopped(ncclFields(domain, added));
    }
    if (sink::mayRecord()) {
        report(GD_RT_RANGE_POP, domain, nullptr, 0);
    }
    return t_depths.pop(domain);
}

nvtxRangeId_t start(const Name* domain, const Attributes& attributes) noexcept {
    const std::uint64_t id = g_nextRange.fetch_add(1, std::memory_order_relaxed);
    if (sink::enabled()) {
        const KeepErrno keep;
        report(GD_RT_RANGE_START, domain, &attributes, id);
    }
    return id;
}

void end(const Name* domain, nvtxRangeId_t id) noexcept {
    if (sink::enabled()) {
        const KeepErrno keep;
        report(GD_RT_RANGE_END, domain, nullptr, id);
    }
}

} // namespace gd::nvtx
