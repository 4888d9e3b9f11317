// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/control_page.h"
#include "collector/raw/record.h"

#include <cstddef>
#include <cstdint>

namespace gd::session {

/// Why going to level History and back for a moment is not safe now, or would not say what recording costs.
struct SwitchBar {
    const char* why = nullptr; ///< static text; null = nothing bars it
    bool isLasting = false; ///< for the rest of the process
};

/// What a source of records (CUPTI, NVTX) wants to be told. All are called by the collector's own thread,
/// never by a user's thread; they may take time but must not throw. Any may be null. Registered sources live
/// for ever.
struct SourceHooks {
    /// The session of this process is open (again in a forked child: fresh state, nothing inherited).
    void (*opened)() noexcept;
    /// The wanted level or window changed; coverage is the source's to write.
    void (*levelChanged)(raw::RecordingLevel level, std::uint32_t window) noexcept;
    /// About every 50 ms.
    void (*tick)(std::int64_t nowNs) noexcept;
    /// Everything held back is wanted now (flush request of the control page, or the session closes).
    void (*flush)() noexcept;
    /// `opened` and `levelChanged` only write records. Then the thread that opens the session waits for them,
    /// so that also a process of a few milliseconds says what was looked at.
    bool isQuick = false;
    /// Another profiler of this process is about to take what this source needs (true), or has given it back.
    /// Called on a thread of the job, outside captures. Returns whether the source let go (or has it again).
    bool (*otherProfiler)(bool active) noexcept = nullptr;
    SwitchBar (*switchBar)() noexcept = nullptr;
};
inline constexpr unsigned kMaxSources = 8;
/// At most kMaxSources; the struct must have static storage. Opens no spool.
void registerSource(const SourceHooks* hooks) noexcept;
/// Asks every source; false when there is none that has to do with it, or one refused.
bool otherProfiler(bool active) noexcept;

/// One Python frame as text, innermost first.
struct PythonFrameText {
    char file[512];
    char function[128];
    std::uint32_t line;
};

/// How stacks are walked; set once by collector/stacks at load. Both are called on the thread whose stack is
/// wanted, take no lock, never allocate and return the number of frames.
struct StackWalker {
    /// Return addresses, innermost first.
    unsigned (*native)(std::uint64_t* addresses, unsigned capacity) noexcept;
    unsigned (*python)(PythonFrameText* frames, unsigned capacity) noexcept;
};
void setStackWalker(const StackWalker* walker) noexcept;

} // namespace gd::session
