// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/cupti/call_arguments.h"
#include "collector/cupti/thread_calls.h"
#include "collector/session/flat_map.h"
#include "collector/session/spin_lock.h"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace gd::cupti {

/// The streams on which graphs were launched, to find a moment at which no replay is under way (see
/// GraphTracePolicy). Any thread.
class ReplayStreams {
public:
    /// At enter of a launch, at every level. Tens of nanoseconds; next to nothing on the same stream again.
    void launching(ThreadCalls& calls, const CallArguments& arguments, CUcontext context) noexcept;
    /// At exit of a launch.
    void launchEnded(ThreadCalls& calls) noexcept;
    /// At enter of cuStreamDestroy and of the calls that begin a capture, before the driver does anything:
    /// waits while isIdle() looks at streams, a few microseconds.
    void streamEnds(CUstream stream, CUcontext current) noexcept;
    /// At enter of a call that ends a context with its streams.
    void contextEnds() noexcept;
    void captureBegins() noexcept { const std::lock_guard looking(m_looking); }
    /// Inside the driver, which holds locks: these wait for nothing.
    void streamDestroyed(CUstream stream) noexcept;
    void contextDestroyed() noexcept;

    /// Launches begun so far.
    std::uint64_t launches() const noexcept { return m_launches.load(std::memory_order_acquire); }
    /// Launches between enter and exit.
    int underWay() const noexcept { return m_underWay.load(std::memory_order_acquire); }
    /// Whether each stream had nothing to do when it was asked. Asks no stream that is being captured. False
    /// when one cannot be asked: a default stream of another context or thread, or one that ended a short
    /// time ago with work left. Makes driver calls; the caller holds the callback guard and no lock, and
    /// knows of no open capture.
    bool isIdle(CUcontext current) noexcept;
    /// After isIdle(), when nothing was launched since.
    void clear() noexcept;

private:
    static constexpr unsigned kMost = 64; ///< a job with more is never found idle
    static constexpr std::int64_t kStreamEndsNs = 10'000'000'000; ///< what it may still have to do
    static constexpr std::int64_t kContextEndsNs = 1'000'000'000;

    struct Entry {
        CUstream stream = nullptr;
        CUcontext context = nullptr; ///< in which it was used
        pid_t thread = 0; ///< of a per-thread default stream
        bool operator==(const Entry&) const = default;
    };
    static Entry entryOf(const CallArguments& arguments, CUcontext context) noexcept;
    static bool isIdle(const Entry& entry, CUcontext current) noexcept;

    std::mutex m_looking;
    session::SpinLock m_lock; ///< of the entries; never held around a driver call
    Entry m_entries[kMost];
    unsigned m_count = 0;
    bool m_tooMany = false;
    std::atomic<std::int64_t> m_busyUntilNs{0}; ///< streams that ended may have work left until then
    std::atomic<std::uint32_t> m_generation{1}; ///< changes when entries go
    std::atomic<std::uint64_t> m_launches{0};
    std::atomic<int> m_underWay{0};
};

} // namespace gd::cupti
