// SPDX-License-Identifier: Apache-2.0
#include "collector/nvtx/name_table.h"

#include "collector/raw/spool_name.h"
#include "collector/session/hooks.h"
#include "collector/session/sink.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#define NVTX_NO_IMPL // types only
#include <nvtx3/nvToolsExt.h>

namespace gd::nvtx {

namespace {

namespace sink = session::sink;

constinit NameTable g_domains;
constinit NameTable g_strings;
std::atomic<std::uint64_t> g_nextRange{1};

constexpr std::size_t kNarrowBytes = 1024;

const Name* domainOf(nvtxDomainHandle_t domain) {
    return reinterpret_cast<const Name*>(domain);
}

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

/// What an event's attributes say, as text and numbers.
struct Attributes {
    char room[kNarrowBytes];
    const char* name = "";
    std::uint64_t payload = 0;
    std::uint32_t color = 0;

    explicit Attributes(const char* text)
        : name(text != nullptr ? text : "") { }
    explicit Attributes(const wchar_t* text) { setWide(text); }
    explicit Attributes(const nvtxEventAttributes_t* event) {
        // Version 1 of the struct; a job built against a later one has the same fields first.
        if (event == nullptr || event->size < NVTX_EVENT_ATTRIB_STRUCT_SIZE) {
            return;
        }
        setMessage(*event);
        setPayload(*event);
        color = event->colorType == NVTX_COLOR_ARGB ? event->color : 0;
    }
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;

private:
    void setWide(const wchar_t* text) {
        const auto used = narrow(text, room, sizeof room - 1);
        room[used.size()] = '\0';
        name = room;
    }
    void setMessage(const nvtxEventAttributes_t& event) {
        if (event.messageType == NVTX_MESSAGE_TYPE_ASCII && event.message.ascii != nullptr) {
            name = event.message.ascii;
        } else if (event.messageType == NVTX_MESSAGE_TYPE_UNICODE) {
            setWide(event.message.unicode);
        } else if (event.messageType == NVTX_MESSAGE_TYPE_REGISTERED && event.message.registered != nullptr) {
            name = reinterpret_cast<const Name*>(event.message.registered)->text;
        }
    }
    void setPayload(const nvtxEventAttributes_t& event) {
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
        default: // floating point and extended payloads have no 64-bit integer
            break;
        }
    }
};

void report(gd_rt_range_op op, const Name* domain, const Attributes* attributes, std::uint64_t id) noexcept {
    const int savedErrno = errno;
    gd_rt_range range{};
    range.size = sizeof range;
    range.op = static_cast<std::uint32_t>(op);
    range.domain = domain != nullptr ? domain->text : nullptr;
    range.name = attributes != nullptr ? attributes->name : nullptr;
    range.u64 = attributes != nullptr && id == 0 ? attributes->payload : id;
    sink::range(range, attributes != nullptr ? attributes->color : 0);
    errno = savedErrno;
}

template <class Message> void mark(const Name* domain, Message message) {
    if (sink::enabled()) {
        const Attributes attributes(message);
        report(GD_RT_RANGE_MARK, domain, &attributes, 0);
    }
}
template <class Message> int push(const Name* domain, Message message) {
    if (sink::rangesWanted()) {
        const Attributes attributes(message);
        report(GD_RT_RANGE_PUSH, domain, &attributes, 0);
    }
    return t_depths.push(domain);
}
int pop(const Name* domain) {
    if (sink::rangesWanted()) {
        report(GD_RT_RANGE_POP, domain, nullptr, 0);
    }
    return t_depths.pop(domain);
}
template <class Message> nvtxRangeId_t start(const Name* domain, Message message) {
    const std::uint64_t id = g_nextRange.fetch_add(1, std::memory_order_relaxed);
    if (sink::enabled()) {
        const Attributes attributes(message);
        report(GD_RT_RANGE_START, domain, &attributes, id);
    }
    return id;
}
void end(const Name* domain, nvtxRangeId_t id) {
    if (sink::enabled()) {
        report(GD_RT_RANGE_END, domain, nullptr, id);
    }
}

nvtxStringHandle_t registerString(std::string_view text) {
    return reinterpret_cast<nvtxStringHandle_t>(const_cast<Name*>(g_strings.intern(text)));
}
nvtxDomainHandle_t createDomain(std::string_view text) {
    return reinterpret_cast<nvtxDomainHandle_t>(const_cast<Name*>(g_domains.intern(text)));
}

/// One NVTX module's table: an array of places that hold function pointers.
class FunctionTable {
public:
    FunctionTable(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
        if (callbacks.GetModuleFunctionTable(module, &m_table, &m_size) == 0) {
            m_table = nullptr;
        }
    }
    explicit operator bool() const { return m_table != nullptr; }
    template <class Function> void set(unsigned id, Function function) {
        if (id < m_size && m_table[id] != nullptr) {
            *m_table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
        }
    }

private:
    NvtxFunctionTable m_table = nullptr;
    unsigned m_size = 0;
};

void fillCore(FunctionTable& table) {
    using Event = const nvtxEventAttributes_t*;
    using Text = const char*;
    using Wide = const wchar_t*;
    table.set(
        NVTX_CBID_CORE_MarkEx, +[](Event event) { mark(nullptr, event); });
    table.set(
        NVTX_CBID_CORE_MarkA, +[](Text text) { mark(nullptr, text); });
    table.set(
        NVTX_CBID_CORE_MarkW, +[](Wide text) { mark(nullptr, text); });
    table.set(
        NVTX_CBID_CORE_RangeStartEx, +[](Event event) { return start(nullptr, event); });
    table.set(
        NVTX_CBID_CORE_RangeStartA, +[](Text text) { return start(nullptr, text); });
    table.set(
        NVTX_CBID_CORE_RangeStartW, +[](Wide text) { return start(nullptr, text); });
    table.set(
        NVTX_CBID_CORE_RangeEnd, +[](nvtxRangeId_t id) { end(nullptr, id); });
    table.set(
        NVTX_CBID_CORE_RangePushEx, +[](Event event) { return push(nullptr, event); });
    table.set(
        NVTX_CBID_CORE_RangePushA, +[](Text text) { return push(nullptr, text); });
    table.set(
        NVTX_CBID_CORE_RangePushW, +[](Wide text) { return push(nullptr, text); });
    table.set(
        NVTX_CBID_CORE_RangePop, +[] { return pop(nullptr); });
}

void fillDomains(FunctionTable& table) {
    using Event = const nvtxEventAttributes_t*;
    using Domain = nvtxDomainHandle_t;
    table.set(
        NVTX_CBID_CORE2_DomainMarkEx, +[](Domain domain, Event event) { mark(domainOf(domain), event); });
    table.set(
        NVTX_CBID_CORE2_DomainRangeStartEx,
        +[](Domain domain, Event event) { return start(domainOf(domain), event); });
    table.set(
        NVTX_CBID_CORE2_DomainRangeEnd, +[](Domain domain, nvtxRangeId_t id) { end(domainOf(domain), id); });
    table.set(
        NVTX_CBID_CORE2_DomainRangePushEx,
        +[](Domain domain, Event event) { return push(domainOf(domain), event); });
    table.set(
        NVTX_CBID_CORE2_DomainRangePop, +[](Domain domain) { return pop(domainOf(domain)); });
    table.set(
        NVTX_CBID_CORE2_DomainRegisterStringA,
        +[](Domain, const char* text) { return registerString(text != nullptr ? text : ""); });
    table.set(
        NVTX_CBID_CORE2_DomainRegisterStringW, +[](Domain, const wchar_t* text) {
            char room[kNarrowBytes];
            return registerString(narrow(text, room, sizeof room));
        });
    table.set(
        NVTX_CBID_CORE2_DomainCreateA,
        +[](const char* text) { return createDomain(text != nullptr ? text : ""); });
    table.set(
        NVTX_CBID_CORE2_DomainCreateW, +[](const wchar_t* text) {
            char room[kNarrowBytes];
            return createDomain(narrow(text, room, sizeof room));
        });
}

void opened() noexcept {
    using raw::CoverageSource;
    using raw::CoverageState;
    sink::coverage(CoverageSource::nvtx, CoverageState::Complete, "");
}

constexpr session::SourceHooks kHooks{opened, nullptr, nullptr, nullptr, true};

} // namespace

} // namespace gd::nvtx

/// Called once by every shared object of the job that uses NVTX (version 3 is header-only: each has its own
/// table), when NVTX_INJECTION64_PATH names this library. 1: the table was taken.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t getTable) {
    using namespace gd::nvtx;
    const char* spool = std::getenv(gd::raw::kEnvSpool);
    if (getTable == nullptr || spool == nullptr || spool[0] == '\0') {
        return 0;
    }
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(getTable(NVTX_ETID_CALLBACKS));
    if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) {
        return 0;
    }
    static std::atomic<bool> registered{false};
    if (!registered.exchange(true)) {
        gd::session::registerSource(&kHooks);
    }
    FunctionTable core(*callbacks, NVTX_CB_MODULE_CORE);
    FunctionTable domains(*callbacks, NVTX_CB_MODULE_CORE2);
    if (!core || !domains) {
        return 0;
    }
    fillCore(core);
    fillDomains(domains);
    return 1;
}
