// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/session_state.h"
#include "collector/session/thread_state.h"

namespace gd::session {

/// The calling thread's stack, native and Python, interned. 0 when nobody can walk it.
raw::StackRef takeStack(SessionState& session, ThreadState& thread) noexcept;

/// The stack of the call the thread is in: taken once, shared by all records of that call. Outside of a call
/// a new one.
raw::StackRef stackOfCall(SessionState& session, ThreadState& thread) noexcept;

/// Same, within the limit for allocations; what is over it is counted.
raw::StackRef stackOfAllocation(SessionState& session, ThreadState& thread, std::int64_t nowNs) noexcept;

/// Same, for a node that becomes part of a graph and for the graph itself. Kernels have a limit of their own:
/// copies, fills and allocations among thousands of them keep their stacks.
raw::StackRef stackOfNode(
    SessionState& session, ThreadState& thread, bool isKernel, std::int64_t nowNs) noexcept;

/// For frequent calls: the first one of each call site.
bool isNewSite(SessionState& session, std::uint16_t api) noexcept;

/// For calls that block the host: the first one of each call site and up to a number a second.
bool wantsBlockingStack(SessionState& session, std::uint16_t api, std::int64_t nowNs) noexcept;

/// The innermost open call of the thread, nullptr = none.
inline OpenCall* openCall(ThreadState& thread) noexcept {
    return thread.openCallCount == 0 || thread.openCallCount > ThreadState::kMaxOpenCalls
        ? nullptr
        : &thread.openCalls[thread.openCallCount - 1];
}

} // namespace gd::session
