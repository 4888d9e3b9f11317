// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/memory_objects.h"

namespace gd::cupti {

namespace {

using session::SpinGuard;

std::uint64_t key(CUmemoryPool pool) {
    return reinterpret_cast<std::uint64_t>(pool);
}

} // namespace

MemoryObjects::Pool MemoryObjects::pool(CUmemoryPool pool, std::uint32_t device) noexcept {
    const SpinGuard guard(m_lock);
    Pool* entry = m_pools.insert(key(pool));
    if (entry == nullptr) {
        return {};
    }
    if (entry->id == 0) {
        *entry = {m_nextPool++, device, 0};
    }
    return *entry;
}

bool MemoryObjects::wantsLook(CUmemoryPool pool, std::int64_t nowNs, std::int64_t periodNs) noexcept {
    const SpinGuard guard(m_lock);
    Pool* entry = m_pools.find(key(pool));
    if (entry == nullptr || (entry->lookedAtNs != 0 && nowNs - entry->lookedAtNs < periodNs)) {
        return false;
    }
    entry->lookedAtNs = nowNs;
    return true;
}

bool MemoryObjects::poolDestroyed(CUmemoryPool pool, Pool& out) noexcept {
    const SpinGuard guard(m_lock);
    const Pool* entry = m_pools.find(key(pool));
    if (entry == nullptr) {
        return false;
    }
    out = *entry;
    m_pools.erase(key(pool));
    return true;
}

void MemoryObjects::physicalCreated(std::uint64_t handle, std::int32_t device) noexcept {
    const SpinGuard guard(m_lock);
    if (std::int32_t* entry = m_physical.insert(handle)) {
        *entry = device;
    }
}

void MemoryObjects::physicalReleased(std::uint64_t handle) noexcept {
    const SpinGuard guard(m_lock);
    m_physical.erase(handle);
}

bool MemoryObjects::physical(std::uint64_t handle, std::int32_t& device) noexcept {
    const SpinGuard guard(m_lock);
    const std::int32_t* entry = m_physical.find(handle);
    if (entry != nullptr) {
        device = *entry;
    }
    return entry != nullptr;
}

} // namespace gd::cupti
