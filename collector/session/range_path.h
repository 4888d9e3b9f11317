// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/session_state.h"
#include "collector/session/thread_state.h"

#include <string_view>

namespace gd::session {

/// A name that the job made up (Interner::name); the first one that is left out makes an issue.
raw::StringRef nameOfTheJob(SessionState& session, std::string_view text) noexcept;
/// "outer/inner" of the ranges now open on this thread, interned; 0 = none.
raw::StringRef rangePath(SessionState& session, ThreadState& thread) noexcept;
/// What a range means besides its name.
struct RangeRole {
    bool isStep = false; ///< it goes to the history lane
    bool opensWindow = false; ///< --window
};
RangeRole roleOf(SessionState& session, raw::StringRef name, const char* text) noexcept;
/// Opens a range on this thread.
void pushRange(SessionState& session, ThreadState& thread, raw::StringRef domain, raw::StringRef name,
    std::string_view text, RangeRole role) noexcept;
/// Closes the innermost range of `domain`. Returns whether it was a step.
bool popRange(SessionState& session, ThreadState& thread, raw::StringRef domain) noexcept;
/// A range that is bound to no thread begins or ends; its name counts where it begins.
void beginUnbound(SessionState& session, std::uint64_t id, RangeRole role) noexcept;
void endUnbound(SessionState& session, std::uint64_t id) noexcept;
/// The thread ends: nobody can pop its ranges any more.
void dropRanges(SessionState& session, ThreadState& thread) noexcept;
/// A step range was popped: counts it unless it lies inside another, and wakes the collector's own thread
/// when that opens or closes the recording window.
void stepEnded(SessionState& session, const ThreadState& thread) noexcept;
/// Reads the patterns of the environment; before the first range.
void openRangePatterns(SessionState& session) noexcept;

} // namespace gd::session
