// SPDX-License-Identifier: Apache-2.0
// Calls: enter, exit, what they do to captures, which stacks they get.
#include "collector/session/api_class.h"
#include "collector/session/session.h"
#include "collector/session/sink.h"
#include "collector/session/stack_taker.h"

#include <algorithm>

namespace gd::session::sink {

namespace {

constexpr std::int32_t kNotReady = 600;
/// The first calls with an error that stays are the ones to ask about, and a job that tries again and again
/// must not fill the history with it.
constexpr std::uint32_t kStickyKept = 64;

/// Work on the device failed and its context with it: every later call of the process returns that, too.
/// Source: cuda.h of CUDA 13.0, errors that leave "the process in an inconsistent state".
bool isSticky(std::int32_t result) noexcept {
    switch (result) {
    case 700: // illegal address
    case 702: // launch timeout
    case 710: // assert
    case 714: // hardware stack error
    case 715: // illegal instruction
    case 716: // misaligned address
    case 717: // invalid address space
    case 718: // invalid program counter
    case 719: // launch failed
    case 721: // tensor memory leak
        return true;
    default:
        return false;
    }
}

std::uint64_t objectOf(const gd_rt_api& call) noexcept {
    switch (apiClass(call.api)) {
    case GD_API_CLASS_EXEC:
    case GD_API_CLASS_REPLAY:
        return call.exec != 0 ? call.exec : call.graph;
    case GD_API_CLASS_CAPTURE:
    case GD_API_CLASS_GRAPH:
        return call.graph;
    case GD_API_CLASS_EDGE:
    case GD_API_CLASS_EVENT:
        return call.event;
    default:
        return call.event != 0 ? call.event : call.ptr;
    }
}

std::uint64_t bytesOf(const gd_rt_api& call) noexcept {
    switch (apiClass(call.api)) {
    case GD_API_CLASS_CAPTURE:
    case GD_API_CLASS_EXEC:
    case GD_API_CLASS_EDGE:
        return call.mode;
    default:
        return call.bytes;
    }
}

/// Notes the stream of a call for those who saw a call without one (NCCL's NVTX ranges).
void noteStream(ThreadState& thread, const gd_rt_api& call) noexcept {
    const bool asks = call.api == GD_API_STREAM_GET_CAPTURE_INFO;
    if (asks) {
        thread.askedStream = call.stream;
    }
    if (thread.followsStream
        && (asks || apiClass(call.api) == GD_API_CLASS_COPY || apiClass(call.api) == GD_API_CLASS_LAUNCH)) {
        thread.followedStream = call.stream;
        thread.followsStream = false;
    }
}

/// Only asks for a capture's state: frameworks do that at every allocation.
bool inspectsCapture(std::uint32_t api) noexcept {
    return api == GD_API_STREAM_IS_CAPTURING || api == GD_API_STREAM_GET_CAPTURE_INFO;
}

/// The process may end inside such a call, so its enter is recorded.
bool mayNotReturn(std::uint32_t api) noexcept {
    switch (apiClass(api)) {
    case GD_API_CLASS_SYNC:
    case GD_API_CLASS_COPY_SYNC:
    case GD_API_CLASS_EXEC:
    case GD_API_CLASS_REPLAY:
    case GD_API_CLASS_ALLOC:
    case GD_API_CLASS_FREE:
    case GD_API_CLASS_COMM:
        return true;
    case GD_API_CLASS_CAPTURE:
        return !inspectsCapture(api);
    default:
        return false;
    }
}

/// A successful call that always carries a stack.
bool alwaysStacked(std::uint32_t api) noexcept {
    switch (api) {
    case GD_API_STREAM_BEGIN_CAPTURE:
    case GD_API_STREAM_BEGIN_CAPTURE_TO_GRAPH:
    case GD_API_STREAM_END_CAPTURE:
    case GD_API_GRAPH_INSTANTIATE:
    case GD_API_GRAPH_INSTANTIATE_WITH_FLAGS:
    case GD_API_GRAPH_INSTANTIATE_WITH_PARAMS:
    case GD_API_GRAPH_EXEC_UPDATE:
    case GD_API_GRAPH_EXEC_DESTROY:
        return true;
    default:
        return false;
    }
}

/// A call that changes where memory comes from, beside the allocations themselves: a stack within their
/// limit.
bool changesBacking(std::uint32_t api) noexcept {
    switch (api) {
    case GD_API_MEM_POOL_CREATE:
    case GD_API_MEM_POOL_DESTROY:
    case GD_API_MEM_POOL_TRIM_TO:
    case GD_API_DEVICE_SET_MEM_POOL:
    case GD_API_DEVICE_GRAPH_MEM_TRIM:
        return true;
    default:
        return apiClass(api) == GD_API_CLASS_VMM;
    }
}

bool blocks(std::uint32_t api) noexcept {
    const gd_api_class klass = apiClass(api);
    return klass == GD_API_CLASS_SYNC || klass == GD_API_CLASS_COPY_SYNC;
}

/// Work that goes to a stream outside every open capture runs once, now, and on no replay: where it was
/// enqueued is what people will ask. The only launches that ever get a stack, and not more than blocking
/// calls do.
bool leavesCapture(SessionState& session, const gd_rt_api& call) noexcept {
    const gd_api_class klass = apiClass(call.api);
    if ((klass != GD_API_CLASS_LAUNCH && klass != GD_API_CLASS_COPY) || call.stream == 0) {
        return false;
    }
    SpinGuard guard(session.captureLock);
    return session.captures.captureOf(call.stream) == 0;
}

bool isKernelLaunch(std::uint32_t api) noexcept {
    return api == GD_API_LAUNCH_KERNEL || api == GD_API_LAUNCH_KERNEL_EX
        || api == GD_API_LAUNCH_COOPERATIVE_KERNEL;
}

/// Their callbacks are switched off when a capture ends, and a launch that another thread is in then never
/// exits. It contains no followed call: when the next one begins it is over.
void forgetLostLaunches(ThreadState& thread) noexcept {
    unsigned count = std::min(thread.openCallCount, ThreadState::kMaxOpenCalls);
    while (count > 0 && isKernelLaunch(thread.openCalls[count - 1].api)) {
        thread.openCallCount = --count;
    }
}

/// Takes the matching enter off the thread's list. False: none was seen (recording began inside the call).
bool popCall(ThreadState& thread, const gd_rt_api& call, OpenCall& found) noexcept {
    if (thread.openCallCount > ThreadState::kMaxOpenCalls) {
        --thread.openCallCount;
        return false;
    }
    for (unsigned i = thread.openCallCount; i-- > 0;) {
        if (thread.openCalls[i].api == call.api && thread.openCalls[i].correlation == call.correlation) {
            found = thread.openCalls[i];
            // Inner calls without an exit (unwound by an exception) go with it.
            thread.openCallCount = i;
            return true;
        }
    }
    return false;
}

void exchangedMode(
    SessionState& session, ThreadState& thread, const gd_rt_api& call, std::int64_t nowNs) noexcept {
    raw::ThreadCaptureMode record{};
    record.timeNs = nowNs;
    record.thread = thread.lane.thread;
    record.mode = static_cast<std::uint16_t>(call.mode);
    record.previous = thread.captureMode;
    thread.captureMode = record.mode;
    session.ring.appendHistory(record);
}

/// The machine's view of a finished call. Returns whether a stack is needed that was not taken at the enter.
void feedMachine(SessionState& session, ThreadState& thread, const gd_rt_api& call, const OpenCall& enter,
    std::int64_t endNs, std::int32_t result) noexcept {
    CaptureCall finished;
    finished.startNs = enter.startNs;
    finished.endNs = endNs;
    finished.stream = call.stream;
    finished.event = call.event;
    finished.object = objectOf(call);
    finished.graph = call.graph;
    finished.bytes = bytesOf(call);
    finished.mode = call.mode;
    finished.thread = thread.lane.thread;
    finished.stack = enter.stack;
    finished.result = result;
    finished.api = static_cast<std::uint16_t>(call.api);
    finished.device = static_cast<std::uint16_t>(call.device);
    SpinGuard guard(session.captureLock);
    session.captures.finished(finished);
    session.openCaptures.store(session.captures.openCount(), std::memory_order_relaxed);
}

/// Calls that change what the machine knows even when no capture is open.
bool concernsCaptures(const gd_rt_api& call) noexcept {
    const gd_api_class klass = apiClass(call.api);
    return klass == GD_API_CLASS_EDGE || (klass == GD_API_CLASS_CAPTURE && !inspectsCapture(call.api));
}

/// From the first such call on, the parameters of an executable are no longer those of its graph. Whoever
/// judges its launches must know that even when the events of that time are gone.
bool isFirstNodeChange(SessionState& session, const gd_rt_api& call) noexcept {
    switch (call.api) {
    case GD_API_GRAPH_EXEC_KERNEL_NODE_SET_PARAMS:
    case GD_API_GRAPH_EXEC_MEMCPY_NODE_SET_PARAMS:
    case GD_API_GRAPH_EXEC_NODE_SET_PARAMS:
        break;
    default:
        return false;
    }
    SpinGuard guard(session.graphLock);
    GraphNote* note = session.execs.find(call.exec);
    const bool isFirst = note != nullptr && !note->nodesChanged;
    if (isFirst) {
        note->nodesChanged = true;
    }
    return isFirst;
}

/// `isOneOfMany`: an error that many calls before have returned, which may be lost to newer events.
void writeCall(SessionState& session, ThreadState& thread, const gd_rt_api& call, const OpenCall& enter,
    std::int64_t endNs, std::int32_t result, bool isOneOfMany) noexcept {
    raw::ApiCall record{};
    record.startNs = enter.startNs;
    record.endNs = endNs;
    record.correlation = call.correlation;
    record.object = objectOf(call);
    record.bytes = bytesOf(call);
    record.stream = static_cast<std::uint32_t>(call.stream);
    record.stack = enter.stack;
    record.result = static_cast<std::int16_t>(result);
    record.api = static_cast<std::uint16_t>(call.api);
    record.device = static_cast<std::uint8_t>(call.device);
    const bool failed = result != 0 && result != kNotReady && !isOneOfMany;
    if (failed || (result == 0 && isFirstNodeChange(session, call))) {
        raw::setThread(record, thread.lane.thread);
        session.ring.appendHistory(record);
    } else {
        session.ring.append(thread.lane, record);
    }
}

/// A communicator's destroy that was reported inside this call has now returned.
void writeCommDestroyed(
    SessionState& session, ThreadState& thread, const OpenCall& enter, std::int64_t endNs) noexcept {
    raw::Comm record{};
    record.startNs = enter.startNs;
    record.endNs = endNs;
    record.hash = enter.commHash;
    record.life = static_cast<std::uint16_t>(raw::Life::Destroyed);
    record.device = raw::kNoDevice; // the record of the enter says it
    record.thread = thread.lane.thread;
    session.ring.appendHistory(record);
}

} // namespace

void apiEnter(const gd_rt_api& call) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    ThreadState& thread = entry.thread();
    SessionState& session = entry.session();
    // Exits that came while the level was off were not seen: those calls are no longer open.
    if (const std::uint32_t offs = session.offCount.load(std::memory_order_relaxed);
        offs != thread.callsSinceOff) {
        thread.callsSinceOff = offs;
        thread.openCallCount = 0;
    }
    if (call.stream != 0) {
        noteStream(thread, call);
    }
    forgetLostLaunches(thread);
    if (thread.openCallCount >= ThreadState::kMaxOpenCalls) {
        ++thread.openCallCount;
        return;
    }
    OpenCall& open = thread.openCalls[thread.openCallCount++];
    open = {monotonicNs(), call.correlation, call.stream, 0, 0, static_cast<std::uint16_t>(call.api), false};
    if (alwaysStacked(call.api)
        || (call.api == GD_API_GRAPH_LAUNCH && isNewSite(session, static_cast<std::uint16_t>(call.api)))
        || (blocks(call.api)
            && wantsBlockingStack(session, static_cast<std::uint16_t>(call.api), open.startNs))) {
        stackOfCall(session, thread);
    } else if (changesBacking(call.api)) {
        stackOfAllocation(session, thread, open.startNs);
    }
    if (mayNotReturn(call.api)) {
        raw::ApiEnter record{};
        record.startNs = open.startNs;
        record.correlation = call.correlation;
        record.stream = call.stream;
        record.object = objectOf(call);
        record.api = open.api;
        record.device = static_cast<std::uint16_t>(call.device);
        record.stack = open.stack;
        session.ring.append(thread.lane, record);
    }
}

void apiExit(const gd_rt_api& call, std::int32_t result) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    ThreadState& thread = entry.thread();
    SessionState& session = entry.session();
    const std::int64_t endNs = monotonicNs();
    OpenCall enter{};
    if (!popCall(thread, call, enter)) {
        enter.startNs = endNs;
    }
    if (call.api == GD_API_GRAPH_LAUNCH) {
        session.framework.replays.fetch_add(1, std::memory_order_relaxed);
    }
    const bool failed = CaptureMachine::isFailure(result);
    const bool capturing = session.openCaptures.load(std::memory_order_relaxed) != 0;
    const bool joins = capturing && call.api == GD_API_STREAM_WAIT_EVENT;
    const bool leaks = capturing && leavesCapture(session, call)
        && wantsBlockingStack(session, static_cast<std::uint16_t>(call.api), enter.startNs);
    const bool isOneOfMany
        = isSticky(result) && session.stickyErrors.fetch_add(1, std::memory_order_relaxed) >= kStickyKept;
    if (!enter.stackTried && ((failed && !isOneOfMany) || joins || leaks)) {
        enter.stack = takeStack(session, thread);
    }
    if (capturing || concernsCaptures(call)) {
        feedMachine(session, thread, call, enter, endNs, result);
    }
    if (call.api == GD_API_THREAD_EXCHANGE_STREAM_CAPTURE_MODE && result == 0) {
        exchangedMode(session, thread, call, endNs);
    }
    if (enter.commHash != 0) {
        writeCommDestroyed(session, thread, enter, endNs);
    }
    const bool poll = (apiClass(call.api) == GD_API_CLASS_QUERY || inspectsCapture(call.api)) && !failed;
    if (poll && !session.queries.take(endNs)) {
        session.queriesLeftOut.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    writeCall(session, thread, call, enter, endNs, result, isOneOfMany);
}

void followStream() noexcept {
    if (const Entry entry; entry) {
        entry.thread().followedStream = 0;
        entry.thread().followsStream = true;
    }
}

std::uint64_t followedStream() noexcept {
    const Entry entry;
    if (!entry) {
        return 0;
    }
    entry.thread().followsStream = false;
    return entry.thread().followedStream;
}

std::uint64_t askedStream() noexcept {
    const Entry entry;
    return entry ? entry.thread().askedStream : 0;
}

} // namespace gd::session::sink
