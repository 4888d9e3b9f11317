// SPDX-License-Identifier: Apache-2.0
#include "collector/session/stack_taker.h"

#include "collector/session/session.h"

namespace gd::session {

namespace {

/// Says in the ring that a stack is being walked (raw::ThreadMark).
class StackMark {
public:
    explicit StackMark(raw::ThreadMark* mark) noexcept
        : m_mark(mark) {
        store(1);
    }
    ~StackMark() { store(0); }
    StackMark(const StackMark&) = delete;
    StackMark& operator=(const StackMark&) = delete;

private:
    void store(std::uint32_t value) noexcept {
        std::atomic_ref(m_mark->takesStack).store(value, std::memory_order_relaxed);
    }

    raw::ThreadMark* m_mark;
};

} // namespace

raw::StackRef takeStack(SessionState& session, ThreadState& thread) noexcept {
    const StackWalker* walker = stackWalker();
    if (walker == nullptr) {
        return 0;
    }
    const StackMark mark(thread.mark);
    constexpr unsigned kDepth = 64;
    std::uint64_t addresses[kDepth];
    raw::PythonFrame python[kDepth];
    const unsigned nativeCount = walker->native != nullptr ? walker->native(addresses, kDepth) : 0;
    const unsigned pythonCount = walker->python != nullptr ? walker->python(thread.pythonFrames, kDepth) : 0;
    for (unsigned i = 0; i < pythonCount; ++i) {
        python[i] = {session.strings.string(thread.pythonFrames[i].file),
            session.strings.string(thread.pythonFrames[i].function), thread.pythonFrames[i].line, 0};
    }
    return session.strings.stack(addresses, nativeCount, python, pythonCount);
}

raw::StackRef stackOfCall(SessionState& session, ThreadState& thread) noexcept {
    OpenCall* call = openCall(thread);
    if (call == nullptr) {
        return takeStack(session, thread);
    }
    if (!call->stackTried) {
        call->stackTried = true;
        call->stack = takeStack(session, thread);
    }
    return call->stack;
}

namespace {

raw::StackRef stackWithin(
    RateLimit& limit, SessionState& session, ThreadState& thread, std::int64_t nowNs) noexcept {
    if (const OpenCall* call = openCall(thread); call != nullptr && call->stackTried) {
        return call->stack;
    }
    if (!limit.take(nowNs)) {
        session.stacksLeftOut.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    return stackOfCall(session, thread);
}

} // namespace

raw::StackRef stackOfAllocation(SessionState& session, ThreadState& thread, std::int64_t nowNs) noexcept {
    return stackWithin(session.allocationStacks, session, thread, nowNs);
}

raw::StackRef stackOfNode(
    SessionState& session, ThreadState& thread, bool isKernel, std::int64_t nowNs) noexcept {
    return stackWithin(isKernel ? session.kernelNodeStacks : session.otherNodeStacks, session, thread, nowNs);
}

bool isNewSite(SessionState& session, std::uint16_t api) noexcept {
    // A call site without walking the stack: the stack pointer here differs with the chain of callers. Two
    // sites in one function share it; then only the first of them is sure to have a stack.
    const auto depth = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    const std::uint64_t site = (depth / 16 ^ std::uint64_t{api} << 40) * 0x9e3779b97f4a7c15 >> 52;
    std::atomic<std::uint8_t>& seen = session.stackSites[site];
    return seen.load(std::memory_order_relaxed) == 0 && seen.exchange(1, std::memory_order_relaxed) == 0;
}

bool wantsBlockingStack(SessionState& session, std::uint16_t api, std::int64_t nowNs) noexcept {
    if (isNewSite(session, api) || session.blockingStacks.take(nowNs)) {
        return true;
    }
    session.stacksLeftOut.fetch_add(1, std::memory_order_relaxed);
    return false;
}

} // namespace gd::session
