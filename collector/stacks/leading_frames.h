// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace gd::stacks {

/// The module that holds `address` is how the collector gets called, not part of the job: frames in it are
/// left out of the innermost end of every stack. At most 4 modules; the executable never becomes one (tests).
/// Any thread.
void hideLeadingFramesOf(const void* address) noexcept;

/// Removes the innermost frames that lie in hidden modules, in place. Returns how many are left.
std::size_t dropHiddenFrames(std::uint64_t* addresses, std::size_t count) noexcept;

} // namespace gd::stacks
