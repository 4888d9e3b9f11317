// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/flat_map.h"
#include "collector/session/spin_lock.h"

#include <cuda.h>

#include <cstdint>

namespace gd::cupti {

/// Memory pools and physical memory by handle. Handles are recycled, so pools get numbers of their own,
/// from 1. Any thread; one lock for a few tens of nanoseconds. Makes no driver call.
class MemoryObjects {
public:
    struct Pool {
        std::uint64_t id;
        std::uint32_t device;
        std::int64_t lookedAtNs; ///< when its sizes were last asked for
    };

    /// A pool that was made, or is seen for the first time (default pools are never made by a call).
    Pool pool(CUmemoryPool pool, std::uint32_t device) noexcept;
    /// True, once in `periodNs`: time to look at its sizes.
    bool wantsLook(CUmemoryPool pool, std::int64_t nowNs, std::int64_t periodNs) noexcept;
    /// False: it was not known.
    bool poolDestroyed(CUmemoryPool pool, Pool& out) noexcept;

    /// Physical memory of cuMemCreate(), on `device`, or host memory (-1).
    void physicalCreated(std::uint64_t handle, std::int32_t device) noexcept;
    void physicalReleased(std::uint64_t handle) noexcept;
    /// False: it was not seen when it was made.
    bool physical(std::uint64_t handle, std::int32_t& device) noexcept;

private:
    session::SpinLock m_lock;
    session::FlatMap<Pool> m_pools;
    session::FlatMap<std::int32_t> m_physical;
    std::uint64_t m_nextPool = 1;
};

} // namespace gd::cupti
