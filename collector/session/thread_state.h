// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/hooks.h"
#include "collector/session/ring.h"

#include <cstdint>

namespace gd::session {

struct SessionState;

/// A call this thread is in.
struct OpenCall {
    std::int64_t startNs;
    std::uint64_t correlation;
    std::uint64_t stream;
    std::uint64_t commHash; ///< COMM_DESTROY: the communicator reported as destroyed inside
    raw::StackRef stack;
    std::uint16_t api;
    bool stackTried;
};

/// An open range of this thread.
struct OpenRange {
    raw::StringRef domain;
    raw::StringRef name;
    raw::StringRef path; ///< "outer/inner", 0 = not asked for yet
    std::uint16_t pathBytes; ///< length of the path in ThreadState::pathText
    bool isStep; ///< went to the history lane, so its end must too
    bool opensWindow; ///< the recording window is open as long as this range is
};

/// Everything the collector knows about one user thread, reached through one thread-local pointer. Mapped
/// memory; reused after the thread ended, never given back.
struct ThreadState {
    static constexpr unsigned kMaxOpenCalls = 16;
    static constexpr unsigned kMaxOpenRanges = 64;

    ThreadLane lane;
    SessionState* session
        = nullptr; ///< of another process (a forked child) when it differs from the current one
    std::atomic<ThreadState*> next{nullptr}; ///< list of all threads
    std::atomic<std::uint32_t> inUse{0};
    std::atomic<std::uint32_t> tid{0}; ///< stored last: 0 = the numbers of this thread are being written
    raw::ThreadMark* mark = &unseenMark; ///< in the ring, as long as one is left there
    raw::ThreadMark unseenMark{};
    std::atomic<raw::StringRef> name{0};
    std::uint16_t captureMode = 0; ///< CaptureMode in force for this thread
    bool followsStream = false; ///< sink::followStream
    std::uint64_t followedStream = 0;
    std::uint64_t askedStream = 0; ///< of the last query of a capture state
    std::uint32_t callsSinceOff = 0; ///< SessionState::offCount when the open calls were entered
    unsigned openCallCount = 0; ///< may pass kMaxOpenCalls: deeper ones are counted, not kept
    unsigned openRangeCount = 0;
    OpenCall openCalls[kMaxOpenCalls];
    OpenRange openRanges[kMaxOpenRanges];
    char pathText[1024];
    PythonFrameText pythonFrames[64]; ///< scratch of one stack walk: too large for a user's stack
};

} // namespace gd::session
