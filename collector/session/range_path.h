// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/session_state.h"
#include "collector/session/thread_state.h"

#include <string_view>

namespace gd::session {

/// "outer/inner" of the ranges now open on this thread, interned; 0 = none.
raw::StringRef rangePath(SessionState& session, ThreadState& thread) noexcept;
/// Opens a range on this thread.
void pushRange(ThreadState& thread, raw::StringRef domain, raw::StringRef name, std::string_view text,
    bool isStep) noexcept;
/// Closes the innermost range of `domain`. Returns whether it was a step.
bool popRange(ThreadState& thread, raw::StringRef domain) noexcept;
/// A step range was popped: counts it unless it lies inside another, and wakes the collector's own thread
/// when that opens or closes the recording window.
void stepEnded(SessionState& session, const ThreadState& thread) noexcept;
/// A range of this name delimits steps (GRAPHDOCTOR_STEP_RANGE, else the usual names). Remembered by name.
bool isStepName(SessionState& session, raw::StringRef name, const char* text) noexcept;

} // namespace gd::session
