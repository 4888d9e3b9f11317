// SPDX-License-Identifier: Apache-2.0
// Notes an orderly exit, where the C library gets round to unloading us. Many jobs end without that (_exit, a
// signal): nothing depends on it.
#include "collector/raw/records_process.h"
#include "collector/session/session.h"
#include "collector/session/system.h"

namespace gd::session {

namespace {

__attribute__((destructor)) void noteExit() {
    SessionState* session = currentSession();
    if (session == nullptr) {
        return;
    }
    // A process of milliseconds says as much about itself as any other.
    constexpr std::int64_t kLongestNs = 100'000'000;
    awaitThread(session->greeted, session->keeperTid, kLongestNs);
    raw::ProcessEnd record{};
    record.timeNs = monotonicNs();
    session->ring.appendHistory(record);
    std::atomic_ref(session->ring.header().closed).store(1, std::memory_order_release);
}

} // namespace

} // namespace gd::session
