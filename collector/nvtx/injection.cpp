// SPDX-License-Identifier: Apache-2.0
// The NVTX 3 injection: core and domain functions.
#include "collector/nvtx/events.h"

#include <string_view>

namespace gd::nvtx {

namespace {

constexpr std::size_t kNarrowBytes = 1024;

nvtxStringHandle_t registerString(std::string_view text) {
    return reinterpret_cast<nvtxStringHandle_t>(const_cast<Name*>(strings().intern(text)));
}
nvtxDomainHandle_t createDomain(std::string_view text) {
    return reinterpret_cast<nvtxDomainHandle_t>(const_cast<Name*>(domains().intern(text)));
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
        NVTX_CBID_CORE_MarkEx, +[](Event event) { mark(nullptr, Attributes(event)); });
    table.set(
        NVTX_CBID_CORE_MarkA, +[](Text text) { mark(nullptr, Attributes(text)); });
    table.set(
        NVTX_CBID_CORE_MarkW, +[](Wide text) { mark(nullptr, Attributes(text)); });
    table.set(
        NVTX_CBID_CORE_RangeStartEx, +[](Event event) { return start(nullptr, Attributes(event)); });
    table.set(
        NVTX_CBID_CORE_RangeStartA, +[](Text text) { return start(nullptr, Attributes(text)); });
    table.set(
        NVTX_CBID_CORE_RangeStartW, +[](Wide text) { return start(nullptr, Attributes(text)); });
    table.set(
        NVTX_CBID_CORE_RangeEnd, +[](nvtxRangeId_t id) { end(nullptr, id); });
    table.set(
        NVTX_CBID_CORE_RangePushEx, +[](Event event) { return push(nullptr, Attributes(event)); });
    table.set(
        NVTX_CBID_CORE_RangePushA, +[](Text text) { return push(nullptr, Attributes(text)); });
    table.set(
        NVTX_CBID_CORE_RangePushW, +[](Wide text) { return push(nullptr, Attributes(text)); });
    table.set(
        NVTX_CBID_CORE_RangePop, +[] { return pop(nullptr); });
}

void fillDomains(FunctionTable& table) {
    using Event = const nvtxEventAttributes_t*;
    using Domain = nvtxDomainHandle_t;
    table.set(
        NVTX_CBID_CORE2_DomainMarkEx,
        +[](Domain domain, Event event) { mark(domainOf(domain), Attributes(event)); });
    table.set(
        NVTX_CBID_CORE2_DomainRangeStartEx,
        +[](Domain domain, Event event) { return start(domainOf(domain), Attributes(event)); });
    table.set(
        NVTX_CBID_CORE2_DomainRangeEnd, +[](Domain domain, nvtxRangeId_t id) { end(domainOf(domain), id); });
    table.set(
        NVTX_CBID_CORE2_DomainRangePushEx,
        +[](Domain domain, Event event) { return push(domainOf(domain), Attributes(event)); });
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

} // namespace

} // namespace gd::nvtx

/// Called once by every shared object of the job that uses NVTX (version 3 is header-only: each has its own
/// table), when NVTX_INJECTION64_PATH names this library. 1: the table was taken.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t getTable) {
    using namespace gd::nvtx;
    if (getTable == nullptr || !registerWithSession()) {
        return 0;
    }
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(getTable(NVTX_ETID_CALLBACKS));
    if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) {
        return 0;
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
