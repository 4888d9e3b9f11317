// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/timeline.h"

#include <ctime>

namespace gdt::runtime::host {

void Timeline::complete(std::uint64_t sequence) {
    // The store is inside the lock: a waiter that found the old value has not yet gone to sleep otherwise.
    std::lock_guard lock(m_mutex);
    m_completed.store(sequence, std::memory_order_release);
    if (m_waiters != 0)
        m_changed.notify_all();
}

void Timeline::waitFor(std::uint64_t sequence) {
    if (completed() >= sequence)
        return;
    std::unique_lock lock(m_mutex);
    ++m_waiters;
    m_changed.wait(lock, [&] { return completed() >= sequence; });
    --m_waiters;
}

void Marker::reach(std::int64_t timeNs) {
    std::lock_guard lock(m_mutex);
    m_timeNs.store(timeNs, std::memory_order_release);
    m_changed.notify_all();
}

void Marker::wait() {
    if (done())
        return;
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return done(); });
}

std::int64_t nowNs() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

} // namespace gdt::runtime::host
