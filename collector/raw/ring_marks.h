// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gd::raw {

/// What a thread of the collector's own is doing.
enum class Doing : std::uint32_t {
    Unknown = 0, ///< it has not begun, or the collector is one from before these marks
    Rest = 1,
    Begin = 2, ///< prepares its work
    Modules = 3, ///< lists the loaded libraries
    Facts = 4, ///< writes facts of the process
    Sources = 5, ///< calls CUPTI and the driver: greets them, switches what is recorded, fetches records
    Chunks = 6, ///< writes full chunks to the segment
};

/// A thread of the job, on a cache line of its own.
struct ThreadMark {
    std::uint32_t thread; ///< ThreadRef, 0 = not in use
    /// 0: outside CUPTI's callbacks. Else kMarkCall with a gd_api_id, and kMarkExit at the exit of the call;
    /// or kMarkResource with CUPTI's number of the resource callback.
    std::uint32_t callback;
    std::uint32_t takesStack; ///< 1: a stack is being walked
    std::uint32_t reserved[13];
};
inline constexpr std::uint32_t kMarkCall = 0x10000;
inline constexpr std::uint32_t kMarkExit = 0x20000;
inline constexpr std::uint32_t kMarkResource = 0x40000;
inline constexpr std::uint32_t kMarkNumber = 0xffff; ///< mask of the number
inline constexpr unsigned kMarkedThreads = 63; ///< later ones have no mark

/// Where code of the collector runs at this moment. The ring outlives the process: when that is ended by a
/// fault, the marks say whether the collector was at work. Every word is atomic, stored relaxed, one store at
/// each change.
struct RingMarks {
    std::uint32_t keeper; ///< Doing
    std::uint32_t drainer; ///< Doing
    std::uint32_t reserved[14];
    ThreadMark threads[kMarkedThreads];
};
static_assert(sizeof(ThreadMark) == 64 && sizeof(RingMarks) == 4096);

} // namespace gd::raw
