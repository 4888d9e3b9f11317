// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_runtime.h"
#include "collector/cupti/memory_objects.h"

#include <atomic>
#include <cstdint>

namespace gd::cupti {

/// Looks at device memory and at pools, after calls that change memory or have waited anyway, on the thread
/// that made the call: only there is it sure that the context (and a pool the call names) is alive, which a
/// thread of the collector's own could not know. Never while a capture is open, and with the thread's capture
/// mode set to relaxed meanwhile, so that a capture which another thread begins at this very moment is not
/// disturbed either.
class MemorySampler {
public:
    /// A call returned. `inContext`: the thread has a current context, of `device` (the call's own may be
    /// another one: its stream's).
    void afterCall(const gd_rt_api& call, std::int32_t result, bool inContext, std::uint32_t device) noexcept;
    /// A call that names `pool` (it may be gone after cuMemPoolDestroy) succeeded.
    void afterUse(MemoryObjects& objects, CUmemoryPool pool, std::uint32_t device) noexcept;

    /// The pool that stream-ordered allocations of a device come from when they name none; null: unknown.
    CUmemoryPool currentPool(std::uint32_t device) noexcept;
    void currentPoolsChanged() noexcept;

private:
    static constexpr std::int64_t kPeriodNs = 250'000'000; ///< between two looks at one device or pool
    static constexpr std::int64_t kFailedPeriodNs = 20'000'000; ///< the same when an allocation failed
    static constexpr unsigned kMaxDevices = 64;

    std::atomic<std::int64_t> m_lookedAtNs[kMaxDevices] = {};
    std::atomic<CUmemoryPool> m_currentPools[kMaxDevices] = {};
};

} // namespace gd::cupti
