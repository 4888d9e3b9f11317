// SPDX-License-Identifier: Apache-2.0
// Notes an orderly exit, where the C library gets round to unloading us. Many jobs end without that (_exit, a
// signal): nothing depends on it.
#include "collector/raw/records_process.h"
#include "collector/session/session.h"

namespace gd::session {

namespace {

__attribute__((destructor)) void noteExit() {
    SessionState* session = currentSession();
    if (session == nullptr) {
        return;
    }
    raw::ProcessEnd record{};
    record.timeNs = monotonicNs();
    session->ring.appendHistory(record);
    std::atomic_ref(session->ring.header().closed).store(1, std::memory_order_release);
}

} // namespace

} // namespace gd::session
