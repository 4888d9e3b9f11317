// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/activity.h"
#include "collector/cupti/client.h"
#include "collector/cupti/exit_gate.h"
#include "collector/raw/spool_name.h"
#include "collector/session/hooks.h"
#include "collector/session/sink.h"
#include "collector/session/system.h"

#include <atomic>
#include <cstdlib>

#include <sys/syscall.h>
#include <unistd.h>

namespace gd::cupti {

namespace {

pid_t g_startedIn = 0; ///< the driver does not work in forked children
ExitGate g_gate; ///< every function below that calls into CUPTI or the driver passes it
/// Client::start() is over. NVTX or a framework's hook may have opened the session before the first cuInit:
/// then the collector's own thread is here while CUPTI is still being loaded.
std::atomic<bool> g_isStarted{false};
bool g_knowsLevel = false; ///< the collector's own thread

// Also without a subscriber: that the job used CUDA, and on what, is known then too.
bool g_factsReported = false;

void reportFacts() noexcept {
    g_factsReported
        = g_factsReported || (g_isStarted.load(std::memory_order_acquire) && reportProcessFacts());
}

void opened() noexcept {
    if (const GatePass pass(g_gate); pass && getpid() == g_startedIn) {
        reportFacts();
    }
}

void levelChanged(raw::RecordingLevel level, std::uint32_t) noexcept {
    if (!g_isStarted.load(std::memory_order_acquire)) {
        return; // tick() makes up for it
    }
    if (const GatePass pass(g_gate); pass && getpid() == g_startedIn) {
        g_knowsLevel = true;
        const InsideGuard guard(ThreadCalls::current());
        Client::instance().setLevel(level);
        if (Client::instance().subscribed()) {
            const bool on = level != raw::RecordingLevel::Off;
            reportCoverage(on, on ? "" : "recording is off");
            Activity::instance().setLevel(level);
        }
    }
}

void tick(std::int64_t nowNs) noexcept {
    if (const GatePass pass(g_gate); pass && getpid() == g_startedIn) {
        reportFacts();
        if (!g_knowsLevel) {
            levelChanged(session::sink::level(), 0);
        }
        const InsideGuard guard(ThreadCalls::current());
        Client::instance().tick(nowNs);
        Activity::instance().tick(nowNs);
    }
}

void flush() noexcept {
    if (const GatePass pass(g_gate); pass && getpid() == g_startedIn) {
        const InsideGuard guard(ThreadCalls::current());
        Activity::instance().flush();
    }
}

// At an orderly end (return from main, exit()) what CUPTI still holds is up to half a second of activity. A
// thread of its own fetches it, so that a driver that no longer answers can hold the end up by kExitWaitNs
// only.
constexpr std::int64_t kExitWaitNs = 250'000'000;
std::atomic<std::uint32_t> g_exitThread{0};
std::atomic<std::uint32_t> g_flushedAtExit{0};

void* flushForExit(void*) noexcept {
    g_exitThread.store(static_cast<std::uint32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
    if (const GatePass pass(g_gate); pass) {
        const InsideGuard guard(ThreadCalls::current());
        Activity::instance().flushAll(kExitWaitNs / 2);
    }
    g_flushedAtExit.store(1, std::memory_order_release);
    session::wakeAll(g_flushedAtExit);
    return nullptr;
}

void atExit() noexcept {
    if (getpid() != g_startedIn) {
        return;
    }
    const bool used = Client::instance().subscribed() && session::sink::activityWanted();
    if (used && session::startThread("gd-exit", flushForExit, nullptr)) {
        session::awaitThread(g_flushedAtExit, g_exitThread, kExitWaitNs);
    }
    // What comes next are the destructors of CUPTI and the driver.
    g_gate.close(kExitWaitNs, session::sink::nowNs);
    Activity::instance().end(kExitWaitNs);
}

bool otherProfiler(bool active) noexcept {
    const GatePass pass(g_gate);
    if (!pass || getpid() != g_startedIn) {
        return false;
    }
    const InsideGuard guard(ThreadCalls::current());
    return Client::instance().otherProfiler(active);
}

session::SwitchBar switchBar() noexcept {
    const bool hasActivity = getpid() == g_startedIn && Client::instance().subscribed();
    return hasActivity ? Activity::instance().switchBar() : session::SwitchBar{};
}

constexpr session::SourceHooks kHooks{opened, levelChanged, tick, flush, false, otherProfiler, switchBar};

} // namespace

} // namespace gd::cupti

/// Called by the CUDA driver in its first cuInit when CUDA_INJECTION64_PATH names this library. The result
/// says whether the injection wants to stay; the driver's own call goes on either way.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    static std::atomic<bool> called{false};
    const char* spool = std::getenv(gd::raw::kEnvSpool);
    if (spool == nullptr || spool[0] == '\0' || called.exchange(true)) {
        return 1;
    }
    gd::cupti::g_startedIn = getpid();
    gd::session::registerSource(&gd::cupti::kHooks);
    gd::cupti::Client::instance().start();
    gd::cupti::g_isStarted.store(true, std::memory_order_release);
    std::atexit(gd::cupti::atExit); // after CUPTI is loaded: it runs before its destructors
    return 1;
}
