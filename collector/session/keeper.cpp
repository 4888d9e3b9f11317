// SPDX-License-Identifier: Apache-2.0
#include "collector/session/keeper.h"

#include "collector/raw/records_activity.h"
#include "collector/raw/records_process.h"
#include "collector/raw/spool_name.h"
#include "collector/session/open_spool.h"
#include "collector/session/process_facts.h"
#include "collector/session/session.h"
#include "collector/session/sink.h"
#include "collector/session/system.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gd::session {

namespace {

constexpr std::int64_t kTickNs = 50'000'000;
constexpr unsigned kTicksPerRename = 40;

std::int64_t tickNs(const char* text) noexcept {
    const long ms = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
    return ms >= 1 && ms <= 1000 ? ms * 1'000'000 : kTickNs;
}

std::uint32_t load(const std::uint32_t& word) noexcept {
    return std::atomic_ref(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}

} // namespace

bool Keeper::start() noexcept {
    return startThread("gd-keeper", &Keeper::run, this);
}

void* Keeper::run(void* self) noexcept {
    static_cast<Keeper*>(self)->loop();
    return nullptr;
}

// For whoever looks at the ring of a process that is no more.
void Keeper::does(raw::Doing what) noexcept {
    std::atomic_ref(m_session.ring.marks().keeper)
        .store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
}

void Keeper::loop() noexcept {
    does(raw::Doing::Begin);
    m_session.keeperTid.store(static_cast<std::uint32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
    m_tickNs = tickNs(m_session.environment.variable(raw::kEnvPollMs));
    m_level = m_session.firstLevel;
    m_generation = m_session.firstGeneration;
    m_flush = m_session.flushWanted.load(std::memory_order_relaxed);
    m_wanted = m_session.wantedLevel;
    m_session.levelWithoutPause.store(m_level, std::memory_order_relaxed);
    m_overhead.open(m_session.environment.variable(raw::kEnvOverhead));
    if (const raw::ControlPage* page = m_session.control.load(); page != nullptr) {
        m_pageWindow = load(page->window);
    }
    m_opened = m_session.window.isSet() && m_level > raw::RecordingLevel::History ? 1 : 0;
    m_window = m_pageWindow + m_opened;
    writeControlState();
    sayNoCachingAllocator(m_session);
    does(raw::Doing::Modules);
    pollModules(true);
    sayPython();
    does(raw::Doing::Facts);
    if (stackWalker() == nullptr) {
        writeCoverage(
            m_session, raw::CoverageSource::stacks_native, raw::CoverageState::Absent, "no stack walker");
    }
    writeProcessFacts(m_session);
    if (m_session.identity.ringNote[0] != '\0') {
        writeIssue(m_session, raw::IssueSeverity::Info, "ring_place", m_session.identity.ringNote);
    }
    does(raw::Doing::Sources);
    greetSources(true);
    m_session.introduced.store(1, std::memory_order_release);
    wakeAll(m_session.introduced);
    for (unsigned tick = 1;; ++tick) {
        does(raw::Doing::Sources);
        greetSources(false);
        if (tick == 1) {
            m_session.greeted.store(1, std::memory_order_release);
            wakeAll(m_session.greeted);
        }
        does(raw::Doing::Rest);
        rest();
        const std::int64_t nowNs = monotonicNs();
        if (m_session.stopped.load(std::memory_order_relaxed) != 0) {
            // Nothing is written any more: the sources stop costing the job anything. A switch of theirs may
            // take several ticks.
            does(raw::Doing::Sources);
            if (m_level != raw::RecordingLevel::Off) {
                setLevel(raw::RecordingLevel::Off, m_window);
            }
            tickSources(nowNs);
            continue;
        }
        does(raw::Doing::Sources);
        pollControlPage();
        followLevel(nowNs);
        does(raw::Doing::Modules);
        pollModules(false);
        sayPython();
        does(raw::Doing::Sources);
        tickSources(nowNs);
        if (tick % kTicksPerRename == 0) {
            does(raw::Doing::Facts);
            renameThreads();
            writeCounters(nowNs);
        }
    }
}

void Keeper::greetSources(bool onlyQuick) noexcept {
    for (unsigned i = 0; i < sourceCount(); ++i) {
        const SourceHooks& hooks = *source(i);
        if (m_isGreeted[i] || (onlyQuick && !hooks.isQuick)) {
            continue;
        }
        m_isGreeted[i] = true;
        if (hooks.opened != nullptr) {
            hooks.opened();
        }
        if (hooks.levelChanged != nullptr) {
            hooks.levelChanged(m_level, m_window);
        }
    }
}

void Keeper::rest() noexcept {
    const timespec pause{m_tickNs / 1'000'000'000, m_tickNs % 1'000'000'000};
    syscall(SYS_futex, &m_session.keeperWake, FUTEX_WAIT_PRIVATE, 0, &pause, nullptr, 0);
    m_session.keeperWake.store(0, std::memory_order_relaxed);
}

// A window of ranges closes only when none was open at this look and none began since the last one: ranges
// that follow each other quickly make one window, and it turns no more often than this thread looks.
bool Keeper::anyWindowRange() noexcept {
    if (!m_session.window.isByRange()) {
        return false;
    }
    const auto isAny = [this] {
        const std::uint64_t ended = m_session.windowRangesEnded.load(std::memory_order_acquire);
        const std::uint64_t begun = m_session.windowRangesBegun.load(std::memory_order_acquire);
        const bool any = begun != ended || begun != m_windowRanges;
        m_windowRanges = begun;
        return any;
    };
    if (isAny()) {
        return true;
    }
    // The next range that begins wakes this thread again; one that began just now counts.
    m_session.windowIsOpen.store(0, std::memory_order_seq_cst);
    if (!isAny()) {
        return false;
    }
    m_session.windowIsOpen.store(1, std::memory_order_seq_cst);
    return true;
}

bool Keeper::pausesForOverhead(std::int64_t nowNs) noexcept {
    OverheadWindows::Job job{m_session.framework.execs.load(std::memory_order_relaxed),
        m_session.framework.replays.load(std::memory_order_relaxed),
        m_session.openCaptures.load(std::memory_order_relaxed) != 0, {}};
    if (m_session.commSeen.load(std::memory_order_relaxed)) {
        job.bar = {"no kind of activity is switched beside communicators", true};
    }
    for (unsigned i = 0; i < sourceCount() && job.bar.why == nullptr; ++i) {
        job.bar = source(i)->switchBar != nullptr ? source(i)->switchBar() : SwitchBar{};
    }
    const bool pauses = m_overhead.pauses(nowNs, job);
    if (const char* why = m_overhead.barredBy();
        why != nullptr && (m_saidBarredBy == nullptr || (job.bar.isLasting && why != m_saidBarredBy))) {
        m_saidBarredBy = why;
        writeFact(m_session, "overhead_not_measured", why);
    }
    return pauses;
}

void Keeper::followLevel(std::int64_t nowNs) noexcept {
    constexpr auto kHistory = raw::RecordingLevel::History;
    raw::RecordingLevel level = windowedLevel(m_session, m_wanted, nowNs, anyWindowRange());
    m_session.levelWithoutPause.store(level, std::memory_order_relaxed);
    if (level > kHistory && !m_session.window.isSet() && pausesForOverhead(nowNs)) {
        level = kHistory;
    }
    m_opened += m_session.window.isSet() && level > kHistory && m_level <= kHistory ? 1 : 0;
    const std::uint32_t window = m_pageWindow + m_opened;
    if (level != m_level || window != m_window) {
        setLevel(level, window);
    }
}

void Keeper::tickSources(std::int64_t nowNs) noexcept {
    forEachSource([nowNs](const SourceHooks& hooks) {
        if (hooks.tick != nullptr) {
            hooks.tick(nowNs);
        }
    });
}

void Keeper::setLevel(raw::RecordingLevel level, std::uint32_t window) noexcept {
    changeLevel(level, window);
    for (unsigned i = 0; i < sourceCount(); ++i) {
        if (m_isGreeted[i] && source(i)->levelChanged != nullptr) {
            source(i)->levelChanged(level, window);
        }
    }
}

void Keeper::pollControlPage() noexcept {
    const raw::ControlPage* mapped = m_session.control.load(std::memory_order_relaxed);
    if (mapped == nullptr) {
        m_session.control.store(mapControlPage(m_session.identity.spool), std::memory_order_release);
        return;
    }
    const raw::ControlPage& page = *mapped;
    const std::uint32_t generation = load(page.generation);
    if (generation == m_generation) {
        return;
    }
    m_generation = generation;
    m_wanted = initialLevel(&page);
    m_pageWindow = load(page.window);
    const std::uint32_t flush = load(page.flushRequest);
    if (flush != m_flush) {
        m_flush = flush;
        for (unsigned i = 0; i < sourceCount(); ++i) {
            if (m_isGreeted[i] && source(i)->flush != nullptr) {
                source(i)->flush();
            }
        }
        m_session.framework.flushes.fetch_add(1, std::memory_order_relaxed);
        m_session.flushWanted.store(flush, std::memory_order_release);
    }
}

void Keeper::changeLevel(raw::RecordingLevel level, std::uint32_t window) noexcept {
    m_level = level;
    m_window = window;
    if (level == raw::RecordingLevel::Off) {
        publishLevel(level);
        sink::forgetOpenCaptures();
    }
    writeControlState();
    if (level != raw::RecordingLevel::Off) {
        publishLevel(level);
    }
}

void Keeper::writeControlState() noexcept {
    m_session.framework.window.store(
        m_level > raw::RecordingLevel::History ? m_window : 0, std::memory_order_relaxed);
    raw::ControlState record{};
    record.timeNs = monotonicNs();
    record.level = static_cast<std::uint32_t>(m_level);
    record.window = m_window;
    m_session.ring.appendHistory(record);
}

void Keeper::pollModules(bool first) noexcept {
    try {
        for (const stacks::LoadedModule& module : m_modules.poll()) {
            raw::Module record{};
            record.timeNs = first ? m_session.identity.startNs : monotonicNs();
            record.base = module.base;
            record.from = module.from;
            record.to = module.to;
            record.path = m_session.strings.string(module.path);
            record.buildId = m_session.strings.string(module.buildId);
            m_session.ring.appendHistory(record);
            noteFrameworkLibrary(m_session, module.path);
        }
    } catch (...) {
        writeIssue(m_session, raw::IssueSeverity::DataLoss, "modules_unknown",
            "out of memory while listing loaded modules: some stack frames will have no names");
    }
}

void Keeper::sayPython() noexcept {
    const stacks::PythonRuntime* python = stacks::pythonRuntime();
    if (python == m_python) {
        return;
    }
    m_python = python;
    char version[32];
    formatInto(version, decimal(static_cast<unsigned>(python->major)), ".",
        decimal(static_cast<unsigned>(python->minor)));
    writeFact(m_session, "python_version", version);
}

void Keeper::renameThreads() noexcept {
    for (ThreadState* thread = m_session.threads.load(std::memory_order_acquire); thread != nullptr;
         thread = thread->next.load(std::memory_order_acquire)) {
        const std::uint32_t tid = thread->tid.load(std::memory_order_acquire);
        if (tid == 0 || thread->inUse.load(std::memory_order_acquire) == 0) {
            continue;
        }
        const raw::ThreadRef number = std::atomic_ref(thread->lane.thread).load(std::memory_order_relaxed);
        char path[64];
        char name[32];
        formatInto(path, "/proc/self/task/", decimal(tid), "/comm");
        std::size_t length = readFile(path, name, sizeof name);
        length -= length != 0 && name[length - 1] == '\n' ? 1 : 0;
        const raw::StringRef ref = m_session.strings.string({name, length});
        const bool isAnother = thread->tid.load(std::memory_order_acquire) != tid;
        if (ref == 0 || ref == thread->name.load(std::memory_order_relaxed) || isAnother) {
            continue;
        }
        thread->name.store(ref, std::memory_order_relaxed);
        raw::Thread record{};
        record.timeNs = monotonicNs();
        record.thread = number;
        record.tid = tid;
        record.name = ref;
        m_session.ring.appendHistory(record);
    }
}

void Keeper::writeCounters(std::int64_t nowNs) noexcept {
    const auto write = [this, nowNs](std::string_view name, std::uint64_t value, std::uint64_t& before) {
        if (value != before) {
            before = value;
            raw::Counter record{};
            record.timeNs = nowNs;
            record.value = static_cast<double>(value);
            record.name = m_session.strings.string(name);
            m_session.ring.appendHistory(record);
        }
    };
    write("collector.queries_left_out", m_session.queriesLeftOut.load(std::memory_order_relaxed),
        m_queriesLeftOut);
    write("collector.stacks_left_out", m_session.stacksLeftOut.load(std::memory_order_relaxed),
        m_stacksLeftOut);
    write("collector.range_names_left_out", m_session.strings.namesLeftOut(), m_namesLeftOut);
    write("collector.shapes_left_out", m_session.strings.shapesLeftOut(), m_shapesLeftOut);
}

} // namespace gd::session
