// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace gd::stacks {

inline constexpr std::size_t kMaxFrames = 64;

/// Return addresses of the calling thread, innermost first: `out[0]` lies in the function that called this
/// one. Returns how many were written (≤ maxFrames, ≤ kMaxFrames). Subtract 1 from an address to get into the
/// calling instruction.
///
/// Follows .eh_frame tables, and frame pointers where code has none (JIT-compiled code). Takes no lock and
/// calls no allocator, except that the first walk of a thread asks for the bounds of its stack. Never faults:
/// memory outside the thread's own stack is read through a checked system call. A walk inside a walk of the
/// same thread (a signal handler) returns 0. errno is kept.
std::size_t captureStack(std::uint64_t* out, std::size_t maxFrames) noexcept;

/// Forgets remembered unwind rules. To be called (by the collector's own thread) after modules were unloaded:
/// another module may lie at the same addresses.
void forgetUnwindRules() noexcept;

} // namespace gd::stacks
