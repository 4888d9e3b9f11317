// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/records_coverage.h"

#include <atomic>
#include <cstdint>
#include <string_view>

namespace gd::session {

struct SessionState;

/// The framework whose caching allocator a loaded library holds, nullptr when it holds none that is known.
/// Blocks that such an allocator keeps to itself are freed and handed out again without any call that CUPTI
/// shows.
const char* cachingAllocatorIn(std::string_view libraryPath) noexcept;

/// What is known of a framework in this process, and what its hook asks for.
struct FrameworkNote {
    std::atomic<std::uint64_t> execs{0}; ///< instantiated so far
    std::atomic<std::uint64_t> replays{0}; ///< launched so far
    std::atomic<std::uint32_t> window{
        0}; ///< number of the open window, 0 = none was asked for or it is closed
    std::atomic<std::uint32_t> flushes{0};
    std::atomic<std::uint32_t> hooked{0}; ///< 1: a hook says itself how well it looks
};

/// Says that no caching allocator hides anything. With the first records of a process.
void sayNoCachingAllocator(SessionState& session) noexcept;
/// A library was loaded; says so where it holds a caching allocator that no hook follows (yet).
void noteFrameworkLibrary(SessionState& session, std::string_view path) noexcept;

} // namespace gd::session
