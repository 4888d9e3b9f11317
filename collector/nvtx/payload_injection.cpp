// SPDX-License-Identifier: Apache-2.0
// The NVTX payload extension: layouts that the job registers, and events that carry structured payloads.
#include "collector/nccl/nccl_version.h"
#include "collector/nvtx/events.h"

#include <atomic>

namespace gd::nvtx {

namespace {

using Domain = nvtxDomainHandle_t;
using Data = const nvtxPayloadData_t*;

/// Scopes are accepted and not looked at.
std::uint64_t registerScope(Domain, const nvtxScopeAttr_t* attributes) {
    static std::atomic<std::uint64_t> next{NVTX_SCOPE_ID_DYNAMIC_START};
    if (attributes == nullptr) {
        return NVTX_SCOPE_NONE;
    }
    return attributes->scopeId != NVTX_SCOPE_NONE ? attributes->scopeId
                                                  : next.fetch_add(1, std::memory_order_relaxed);
}

template <class Function> void set(nvtxExtModuleSegment_t& slots, std::size_t id, Function function) {
    if (id < slots.slotCount) {
        slots.functionSlots[id] = reinterpret_cast<std::intptr_t>(function);
    }
}

void fill(nvtxExtModuleSegment_t& slots) {
    set(
        slots, NVTX3EXT_CBID_nvtxPayloadSchemaRegister,
        +[](Domain domain, const nvtxPayloadSchemaAttr_t* attributes) {
            if (attributes != nullptr && isNccl(domainOf(domain))) {
                nccl::reportVersion(attributes->entries); // constants of NCCL's own
            }
            return schemas().add(domainOf(domain), attributes);
        });
    set(
        slots, NVTX3EXT_CBID_nvtxPayloadEnumRegister,
        +[](Domain domain, const nvtxPayloadEnumAttr_t* attributes) {
            return schemas().add(domainOf(domain), attributes);
        });
    set(
        slots, NVTX3EXT_CBID_nvtxMarkPayload, +[](Domain domain, Data data, std::size_t count) {
            mark(domainOf(domain), Attributes(domainOf(domain), {data, count}));
        });
    set(
        slots, NVTX3EXT_CBID_nvtxRangePushPayload, +[](Domain domain, Data data, std::size_t count) {
            return push(domainOf(domain), Attributes(domainOf(domain), {data, count}));
        });
    set(
        slots, NVTX3EXT_CBID_nvtxRangePopPayload, +[](Domain domain, Data data, std::size_t count) {
            return pop(domainOf(domain), {data, data != nullptr ? count : 0});
        });
    set(
        slots, NVTX3EXT_CBID_nvtxRangeStartPayload, +[](Domain domain, Data data, std::size_t count) {
            return start(domainOf(domain), Attributes(domainOf(domain), {data, count}));
        });
    set(
        slots, NVTX3EXT_CBID_nvtxRangeEndPayload,
        +[](Domain domain, nvtxRangeId_t id, Data, std::size_t) { end(domainOf(domain), id); });
    set(
        slots, NVTX3EXT_CBID_nvtxDomainIsEnabled, +[](Domain) { return std::uint8_t{1}; });
    set(slots, NVTX3EXT_CBID_nvtxScopeRegister, registerScope);
}

/// The layouts of versions 1.3 (NCCL up to 2.27) and 1.4 are the same.
bool isKnown(const nvtxExtModuleInfo_t& module) {
    return module.structSize >= sizeof module && module.moduleId == NVTX_EXT_PAYLOAD_MODULEID
        && module.compatId >> 8 == NVTX_EXT_PAYLOAD_COMPATID >> 8 && module.compatId >= 0x0103;
}

} // namespace

} // namespace gd::nvtx

/// Called once by every shared object of the job that uses an NVTX extension, after InitializeInjectionNvtx2.
/// 1: the functions of the payload extension were taken. Other extensions are refused: their calls do
/// nothing.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* module) {
    using namespace gd::nvtx;
    if (module == nullptr || !isKnown(*module) || module->segmentsCount == 0 || module->segments == nullptr
        || module->segments[0].functionSlots == nullptr || !registerWithSession()) {
        return 0;
    }
    fill(module->segments[0]);
    return 1;
}
