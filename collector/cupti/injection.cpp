// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/activity.h"
#include "collector/cupti/client.h"
#include "collector/raw/spool_name.h"
#include "collector/session/hooks.h"
#include "collector/session/sink.h"

#include <atomic>
#include <cstdlib>

#include <unistd.h>

namespace gd::cupti {

namespace {

pid_t g_startedIn = 0; ///< the driver does not work in forked children

// Also without a subscriber: that the job used CUDA, and on what, is known then too.
bool g_factsReported = false;

void reportFacts() noexcept {
    g_factsReported = g_factsReported || reportProcessFacts();
}

void opened() noexcept {
    if (getpid() == g_startedIn) {
        reportFacts();
    }
}

void levelChanged(raw::RecordingLevel level, std::uint32_t) noexcept {
    if (getpid() == g_startedIn) {
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
    if (getpid() == g_startedIn) {
        reportFacts();
        const InsideGuard guard(ThreadCalls::current());
        Client::instance().tick(nowNs);
        Activity::instance().tick(nowNs);
    }
}

void flush() noexcept {
    if (getpid() == g_startedIn) {
        const InsideGuard guard(ThreadCalls::current());
        Activity::instance().flush();
    }
}

constexpr session::SourceHooks kHooks{opened, levelChanged, tick, flush};

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
    return 1;
}
