// SPDX-License-Identifier: Apache-2.0
#include "collector/session/session.h"

#include "collector/raw/spool_name.h"
#include "collector/session/drainer.h"
#include "collector/session/keeper.h"
#include "collector/session/open_spool.h"
#include "collector/session/range_path.h"
#include "collector/session/system.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gd::session {

namespace {

constinit ProcessPage pageBeforeFirstUse{};
/// Not wiped on fork: the child's record names its parent by it.
std::atomic<std::uint64_t> lastProcessKey{0};
std::atomic<const SourceHooks*> registeredSources[kMaxSources] = {};
std::atomic<unsigned> registeredCount{0};
std::atomic<const StackWalker*> installedWalker{nullptr};
pthread_key_t threadKey;
std::atomic<int> threadKeyState{0}; ///< 0 none, 1 being made, 2 made

std::uint32_t ownTid() noexcept {
    return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

void wipePage() noexcept {
    ProcessPage* page = processPageNow.load(std::memory_order_relaxed);
    page->word.store(kWordUnknown, std::memory_order_relaxed);
    page->opener.store(0, std::memory_order_relaxed);
    page->session.store(nullptr, std::memory_order_relaxed);
}

/// The page that a forked child finds zeroed.
ProcessPage* processPage() noexcept {
    ProcessPage* page = processPageNow.load(std::memory_order_acquire);
    if (page != &pageBeforeFirstUse) {
        return page;
    }
    void* memory = mapMemory(4096);
    if (memory == nullptr) {
        pageBeforeFirstUse.word.store(kWordOff, std::memory_order_release);
        return nullptr;
    }
    // Kernels and sandboxes without MADV_WIPEONFORK: fork() itself runs a handler in the child; only raw
    // clone() calls go unnoticed then.
    if (madvise(memory, 4096, MADV_WIPEONFORK) != 0) {
        pthread_atfork(nullptr, nullptr, &wipePage);
    }
    auto* fresh = new (memory) ProcessPage{};
    if (processPageNow.compare_exchange_strong(page, fresh, std::memory_order_acq_rel)) {
        return fresh;
    }
    munmap(memory, 4096);
    return page;
}

void threadEnded(void* value) noexcept {
    auto* thread = static_cast<ThreadState*>(value);
    SessionState* session = currentSession();
    if (session == nullptr || thread->session != session) {
        return; // a forked child: the parent's thread
    }
    thread->lane.busy.store(1, std::memory_order_relaxed);
    dropRanges(*session, *thread);
    session->ring.release(thread->lane);
    thread->lane.busy.store(0, std::memory_order_release);
    threadNow = nullptr;
    std::atomic_ref(thread->mark->thread).store(0, std::memory_order_relaxed);
    thread->inUse.store(0, std::memory_order_release);
}

void watchThreadEnd(ThreadState* thread) noexcept {
    int none = 0;
    if (threadKeyState.compare_exchange_strong(none, 1)) {
        threadKeyState.store(pthread_key_create(&threadKey, &threadEnded) == 0 ? 2 : 3);
    }
    if (threadKeyState.load() == 2) {
        pthread_setspecific(threadKey, thread);
    }
}

ThreadState* newThreadState(SessionState& session) noexcept {
    for (ThreadState* thread = session.threads.load(std::memory_order_acquire); thread != nullptr;
         thread = thread->next.load(std::memory_order_acquire)) {
        std::uint32_t unused = 0;
        if (thread->inUse.load(std::memory_order_relaxed) == 0
            && thread->inUse.compare_exchange_strong(unused, 1, std::memory_order_acq_rel)) {
            thread->tid.store(0, std::memory_order_relaxed);
            thread->lane.sequence = 0;
            thread->openCallCount = 0;
            thread->openRangeCount = 0;
            thread->captureMode = 0;
            return thread;
        }
    }
    void* memory = mapMemory(sizeof(ThreadState));
    if (memory == nullptr) {
        return nullptr;
    }
    auto* thread = new (memory) ThreadState;
    thread->session = &session;
    const std::uint32_t mark = session.nextMark.fetch_add(1, std::memory_order_relaxed);
    if (mark < raw::kMarkedThreads) {
        thread->mark = &session.ring.marks().threads[mark];
    }
    thread->inUse.store(1, std::memory_order_relaxed);
    ThreadState* head = session.threads.load(std::memory_order_relaxed);
    do {
        thread->next.store(head, std::memory_order_relaxed);
    } while (!session.threads.compare_exchange_weak(head, thread, std::memory_order_acq_rel));
    return thread;
}

ThreadState* registerThread(SessionState& session) noexcept {
    ThreadState* thread = newThreadState(session);
    if (thread == nullptr) {
        return nullptr;
    }
    std::atomic_ref(thread->lane.thread)
        .store(session.nextThread.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    thread->tid.store(ownTid(), std::memory_order_release);
    std::atomic_ref(thread->mark->thread).store(thread->lane.thread, std::memory_order_relaxed);
    threadNow = thread;
    watchThreadEnd(thread);

    char name[17] = {};
    prctl(PR_GET_NAME, name);
    raw::Thread record{};
    record.timeNs = monotonicNs();
    record.thread = thread->lane.thread;
    record.tid = thread->tid.load(std::memory_order_relaxed);
    record.name = session.strings.string(name);
    thread->name.store(record.name, std::memory_order_relaxed);
    session.ring.appendHistory(record);
    return thread;
}

/// nullptr: recording is impossible here, for good.
SessionState* openSession() noexcept {
    SessionState* session = openSpool(lastProcessKey.load());
    if (session == nullptr) {
        return nullptr;
    }
    lastProcessKey.store(session->identity.processKey);
    session->environment.take();
    const raw::ControlPage* control = mapControlPage(session->identity.spool);
    session->control.store(control, std::memory_order_relaxed);
    if (control != nullptr) {
        auto& generation = const_cast<std::uint32_t&>(control->generation);
        session->firstGeneration = std::atomic_ref(generation).load(std::memory_order_acquire);
        // There is nothing yet that an earlier request could want.
        auto& request = const_cast<std::uint32_t&>(control->flushRequest);
        const std::uint32_t flushed = std::atomic_ref(request).load(std::memory_order_relaxed);
        session->flushWanted.store(flushed, std::memory_order_relaxed);
        std::atomic_ref(session->ring.header().flushed).store(flushed, std::memory_order_release);
    }
    const std::int64_t runStartNs = control != nullptr ? control->startNs : 0;
    session->window.open(getenv(raw::kEnvWindow), runStartNs != 0 ? runStartNs : session->identity.startNs);
    openRangePatterns(*session);
    session->wantedLevel = initialLevel(control);
    session->firstLevel = windowedLevel(*session, session->wantedLevel, session->identity.startNs);
    void* drainerMemory = mapMemory(sizeof(Drainer));
    void* keeperMemory = mapLastingObject(sizeof(Keeper));
    if (drainerMemory == nullptr || keeperMemory == nullptr) {
        return nullptr;
    }
    auto* keeper = new (keeperMemory) Keeper(*session);
    if (!(new (drainerMemory) Drainer(*session))->start() || !keeper->start()) {
        complain("cannot start the collector's threads: nothing is recorded in this process");
        return nullptr;
    }
    return session;
}

/// Waits for the keeper to record the loaded modules and what is looked at. Without them a process that ends
/// within milliseconds could not be judged, and its stacks would have no names.
void awaitIntroduction(SessionState& session) noexcept {
    constexpr std::int64_t kLongestNs = 200'000'000;
    awaitThread(session.introduced, session.keeperTid, kLongestNs);
}

/// The session of this process, opened now when this is the first record.
SessionState* sessionOrOpen(ProcessPage& page) noexcept {
    if (SessionState* session = page.session.load(std::memory_order_acquire); session != nullptr) {
        return session;
    }
    const std::uint32_t self = ownTid();
    std::uint32_t opener = 0;
    if (page.opener.compare_exchange_strong(opener, self, std::memory_order_acq_rel)) {
        // Read here only: a thread of ours that waits below may not (see EnvironmentCopy).
        const char* spool = getenv(raw::kEnvSpool);
        SessionState* session = spool != nullptr && spool[0] != '\0' ? openSession() : nullptr;
        if (session == nullptr) {
            page.word.store(kWordOff, std::memory_order_release);
            return nullptr;
        }
        page.session.store(session, std::memory_order_release);
        publishLevel(session->firstLevel);
        awaitIntroduction(*session);
        return session;
    }
    if (opener == self) {
        return nullptr; // a signal handler inside the opening
    }
    // Another thread opens: that takes a millisecond or two, and a first record lost here could be a
    // capture's begin.
    constexpr int kMaxWaits = 2000;
    constexpr int kMaxWaitsWhileBusy = 20'000;
    for (int i = 0; page.word.load(std::memory_order_acquire) == kWordUnknown
         && (i < kMaxWaits || (i < kMaxWaitsWhileBusy && isRunnable(opener)));
         ++i) {
        const timespec pause{0, 500'000};
        nanosleep(&pause, nullptr);
    }
    return page.session.load(std::memory_order_acquire);
}

} // namespace

std::atomic<ProcessPage*> processPageNow{&pageBeforeFirstUse};
thread_local ThreadState* threadNow = nullptr;

namespace {

/// A signal handler that enters here again could wait for a lock of the code it interrupted.
thread_local bool isEntering = false;

ThreadState* enterOnce() noexcept {
    ProcessPage* page = processPage();
    if (page == nullptr) {
        return nullptr;
    }
    SessionState* session = sessionOrOpen(*page);
    if (session == nullptr || page->word.load(std::memory_order_acquire) < kWordOn) {
        return nullptr;
    }
    if (threadNow != nullptr && threadNow->session == session) {
        return threadNow;
    }
    return registerThread(*session);
}

} // namespace

ThreadState* enterSlowly() noexcept {
    if (isEntering) {
        return nullptr;
    }
    isEntering = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const NoCancellation whole;
    ThreadState* thread = enterOnce();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    isEntering = false;
    return thread;
}

void publishLevel(raw::RecordingLevel level) noexcept {
    ProcessPage* page = processPageNow.load(std::memory_order_acquire);
    const SessionState* session = page->session.load(std::memory_order_acquire);
    const bool off = level == raw::RecordingLevel::Off || session == nullptr;
    page->word.store(off ? kWordOff : kWordOn + static_cast<std::uint32_t>(level));
    // Asked afterwards: of this and stopCollecting() at once, the one that comes second must say off.
    if (!off && session->stopped.load() != 0) {
        page->word.store(kWordOff);
    }
}

raw::RecordingLevel publishedLevel() noexcept {
    const std::uint32_t word
        = processPageNow.load(std::memory_order_acquire)->word.load(std::memory_order_acquire);
    return word < kWordOn ? raw::RecordingLevel::Off : static_cast<raw::RecordingLevel>(word - kWordOn);
}

void stopCollecting(SessionState& session, const char* why) noexcept {
    if (session.stopped.exchange(1) != 0) {
        return;
    }
    char text[PATH_MAX + 128];
    formatInto(
        text, why, "; recording of process ", decimal(session.identity.pid), " stops here, the job goes on");
    complain(text);
    processPageNow.load(std::memory_order_acquire)->word.store(kWordOff);
}

void writeFact(SessionState& session, std::string_view key, std::string_view value) noexcept {
    raw::ProcessFact record{};
    record.timeNs = monotonicNs();
    record.key = session.strings.string(key);
    record.value = session.strings.string(value);
    session.ring.appendHistory(record);
}

void writeIssue(SessionState& session, raw::IssueSeverity severity, std::string_view code,
    std::string_view detail) noexcept {
    raw::Issue record{};
    record.timeNs = monotonicNs();
    record.severity = static_cast<std::uint32_t>(severity);
    record.code = session.strings.string(code);
    record.detail = session.strings.string(detail);
    session.ring.appendHistory(record);
}

namespace {

constexpr std::string_view kShareTaken = "its records took their share of the size limit (--max-size)";

std::uint32_t bitOf(raw::CoverageSource source) noexcept {
    return 1U << static_cast<std::uint32_t>(source);
}

} // namespace

void writeCoverage(SessionState& session, raw::CoverageSource source, raw::CoverageState state,
    std::string_view reason, std::int64_t fromNs) noexcept {
    if (state == raw::CoverageState::Complete
        && (session.saidNotFrequent.load(std::memory_order_relaxed) & bitOf(source)) != 0) {
        state = raw::CoverageState::Partial;
        reason = kShareTaken;
    }
    raw::Coverage record{};
    record.timeNs = fromNs != 0 ? fromNs : monotonicNs();
    record.source = static_cast<std::uint32_t>(source);
    record.state = static_cast<std::uint32_t>(state);
    record.reason = session.strings.string(reason);
    session.ring.appendHistory(record);
}

bool takesFrequent(SessionState& session, std::size_t bytes, raw::CoverageSource source) noexcept {
    const std::uint64_t limit = session.events.limits().frequentHistoryBytes();
    if (limit == 0) {
        return true;
    }
    if (session.frequentHistoryBytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit) {
        return true;
    }
    const std::uint32_t bit = bitOf(source);
    if ((session.saidNotFrequent.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) {
        writeCoverage(session, source, raw::CoverageState::Partial, kShareTaken);
    }
    return false;
}

void registerSource(const SourceHooks* hooks) noexcept {
    // CUPTI's injection and NVTX's may come at once, on two threads.
    unsigned index = 0;
    for (; index < kMaxSources; ++index) {
        const SourceHooks* known = nullptr;
        if (registeredSources[index].compare_exchange_strong(known, hooks)) {
            break;
        }
        if (known == hooks) {
            return;
        }
    }
    unsigned count = registeredCount.load();
    while (index < kMaxSources && count <= index
        && !registeredCount.compare_exchange_weak(count, index + 1, std::memory_order_acq_rel)) { }
}

bool otherProfiler(bool active) noexcept {
    bool all = false;
    for (unsigned i = 0; i < sourceCount(); ++i) {
        if (source(i)->otherProfiler != nullptr) {
            all = source(i)->otherProfiler(active);
        }
    }
    return all;
}

unsigned sourceCount() noexcept {
    return registeredCount.load(std::memory_order_acquire);
}
const SourceHooks* source(unsigned index) noexcept {
    return registeredSources[index].load();
}

void setStackWalker(const StackWalker* walker) noexcept {
    installedWalker.store(walker, std::memory_order_release);
}
const StackWalker* stackWalker() noexcept {
    return installedWalker.load(std::memory_order_acquire);
}

} // namespace gd::session
