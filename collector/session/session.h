// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/control_page.h"
#include "collector/session/session_state.h"
#include "collector/session/thread_state.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace gd::session {

/// What user threads read first. On a page that is wiped on fork, so that a child finds zeros: "not opened".
struct ProcessPage {
    /// kWordUnknown, kWordOff, or kWordOn + RecordingLevel.
    std::atomic<std::uint32_t> word;
    std::atomic<std::uint32_t> opener; ///< tid of the thread that is opening the session
    std::atomic<SessionState*> session;
};
inline constexpr std::uint32_t kWordUnknown = 0;
inline constexpr std::uint32_t kWordOff = 1;
inline constexpr std::uint32_t kWordOn = 2;

extern std::atomic<ProcessPage*> processPageNow; ///< never null
extern thread_local ThreadState* threadNow;

inline std::int64_t monotonicNs() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// Opens the session and registers the calling thread where that is still to be done; nullptr: nothing to
/// record.
ThreadState* enterSlowly() noexcept;
/// The session of this process, nullptr before its first record. Any thread.
inline SessionState* currentSession() noexcept {
    return processPageNow.load(std::memory_order_acquire)->session.load(std::memory_order_acquire);
}

/// Asks an Entry to open while the level is off, too, on a thread that has recorded before: for what must
/// follow the job even then.
struct AlsoWhenOff { };

/// Brackets every entry into the collector: finds the thread's state, refuses re-entry, keeps errno.
class Entry {
public:
    explicit Entry(AlsoWhenOff) noexcept {
        const ProcessPage* page = processPageNow.load(std::memory_order_acquire);
        if (page->word.load(std::memory_order_acquire) != kWordOff) {
            enter(*page);
            return;
        }
        ThreadState* thread = threadNow;
        const SessionState* session = page->session.load(std::memory_order_acquire);
        if (thread != nullptr && session != nullptr && thread->session == session
            && session->stopped.load(std::memory_order_relaxed) == 0) {
            m_errno = errno;
            take(thread);
        }
    }
    Entry() noexcept {
        const ProcessPage* page = processPageNow.load(std::memory_order_acquire);
        if (page->word.load(std::memory_order_acquire) != kWordOff) {
            enter(*page);
        }
    }
    ~Entry() {
        if (m_thread != nullptr) {
            m_thread->lane.busy.store(0, std::memory_order_release);
            errno = m_errno;
        }
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    explicit operator bool() const noexcept { return m_thread != nullptr; }
    ThreadState& thread() const noexcept { return *m_thread; }
    SessionState& session() const noexcept { return *m_thread->session; }

private:
    void enter(const ProcessPage& page) noexcept {
        m_errno = errno;
        ThreadState* thread = threadNow;
        if (page.word.load(std::memory_order_acquire) == kWordUnknown || thread == nullptr
            || thread->session != page.session.load(std::memory_order_relaxed)) [[unlikely]] {
            thread = enterSlowly();
        }
        take(thread);
    }
    void take(ThreadState* thread) noexcept {
        if (thread != nullptr && thread->lane.busy.load(std::memory_order_relaxed) == 0) {
            thread->lane.busy.store(1, std::memory_order_relaxed);
            // The drainer's membarrier orders this store before what follows; here only the compiler must
            // not.
            std::atomic_signal_fence(std::memory_order_seq_cst);
            m_thread = thread;
        } else {
            errno = m_errno;
        }
    }

    ThreadState* m_thread = nullptr;
    int m_errno = 0;
};

/// Sets the level user threads see. Called by the collector's own thread.
void publishLevel(raw::RecordingLevel level) noexcept;
raw::RecordingLevel publishedLevel() noexcept;
/// Stops collecting for good and says why, once, on stderr.
void stopCollecting(SessionState& session, const char* why) noexcept;

// Records about the record itself: no thread state needed, any thread, also while the level is off.
void writeFact(SessionState& session, std::string_view key, std::string_view value) noexcept;
void writeIssue(SessionState& session, raw::IssueSeverity severity, std::string_view code,
    std::string_view detail) noexcept;
/// `fromNs`: 0 = now.
void writeCoverage(SessionState& session, raw::CoverageSource source, raw::CoverageState state,
    std::string_view reason, std::int64_t fromNs = 0) noexcept;

/// Whether a record of `bytes` that comes at a high rate as long as the job runs (allocations, blocks of a
/// caching allocator, events) may still go into the history. When such records have taken their share of the
/// size limit they are left out, so that steps, captures, graphs and names can be kept to the end; `source`
/// is partial from then on.
bool takesFrequent(SessionState& session, std::size_t bytes, raw::CoverageSource source) noexcept;
template <class Record>
void appendFrequent(SessionState& session, Record& record, raw::CoverageSource source) noexcept {
    if (takesFrequent(session, sizeof record, source)) {
        session.ring.appendHistory(record);
    }
}

/// How stacks are walked, nullptr = not at all.
const StackWalker* stackWalker() noexcept;

/// Hooks of the registered sources, for the collector's own thread.
template <class Call> void forEachSource(Call call) noexcept;
unsigned sourceCount() noexcept;
const SourceHooks* source(unsigned index) noexcept;
template <class Call> void forEachSource(Call call) noexcept {
    for (unsigned i = 0; i < sourceCount(); ++i) {
        call(*source(i));
    }
}

} // namespace gd::session
