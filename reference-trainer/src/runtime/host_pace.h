// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace gdt::runtime {

/// What each call that queues work costs the host in addition: emulates a framework above this program, and
/// a host that is sometimes busy otherwise.
struct HostPace {
    double overheadUs = 0; ///< of every call, spent awake
    double stallProbability = 0; ///< of a call
    double stallMs = 0; ///< mean of a stall's length, which is exponentially distributed
};

/// For all streams of the process; before other threads queue work.
void setHostPace(const HostPace& pace);

namespace detail {
extern std::atomic<bool> g_paced;
void payHostPace();
} // namespace detail

/// Called by streams and graphs when they queue something.
inline void payHostPace() {
    if (detail::g_paced.load(std::memory_order_relaxed)) [[unlikely]]
        detail::payHostPace();
}

} // namespace gdt::runtime
