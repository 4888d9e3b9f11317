// SPDX-License-Identifier: Apache-2.0
// The part of Activity that finds a moment at which a kind can be switched (see GraphTracePolicy).
#include "collector/cupti/activity.h"

#include "collector/session/sink.h"
#include "collector/session/system.h"

#include <time.h>

#include <algorithm>

namespace gd::cupti {

namespace sink = session::sink;

void Activity::launching(ThreadCalls& calls, const CallArguments& arguments, CUcontext context) noexcept {
    if (!m_started.load(std::memory_order_acquire)) {
        return;
    }
    if (m_switchWaits.load(std::memory_order_acquire)) {
        const std::lock_guard lock(m_mutex); // not while a kind is being switched on
        m_streams.launching(calls, arguments, context);
    } else {
        m_streams.launching(calls, arguments, context);
    }
    if (m_noReplay.load(std::memory_order_relaxed)) {
        const std::lock_guard lock(m_mutex);
        m_noReplay.store(false, std::memory_order_relaxed);
        m_policy.replayBegins();
    }
}

void Activity::callEnded(bool launch, CUcontext current) noexcept {
    if (!m_seeksIdle.load(std::memory_order_acquire) || !m_started.load(std::memory_order_acquire)
        || m_ended.load(std::memory_order_acquire) || sink::deviceFailed()) {
        return;
    }
    if (!launch) {
        const std::uint32_t looks = m_looks.fetch_add(1, std::memory_order_relaxed) + 1;
        if (looks <= kEagerLooks || looks % 16 == 0) {
            lookForIdle(current);
        }
        return;
    }
    const std::int64_t begin = sink::nowNs();
    const std::int64_t left = m_waitLeftNs.load(std::memory_order_relaxed);
    if (m_seekingLaunches.fetch_add(1, std::memory_order_relaxed) + 1 < kPatientLaunches || left <= 0
        || begin < m_nextWaitNs.load(std::memory_order_relaxed) || sink::openCaptures() != 0) {
        return;
    }
    m_nextWaitNs.store(begin + kLongestWaitNs, std::memory_order_relaxed); // of no other thread meanwhile
    const session::NoCancellation whole;
    std::int64_t now = begin;
    while (!lookForIdle(current) && now < begin + std::min(left, kLongestWaitNs)) {
        const timespec pause{0, kPollNs};
        nanosleep(&pause, nullptr);
        now = sink::nowNs();
    }
    m_waitLeftNs.fetch_sub(now - begin, std::memory_order_relaxed);
    m_nextWaitNs.store(now + kNoWaitFactor * (now - begin), std::memory_order_relaxed);
}

bool Activity::lookForIdle(CUcontext current) noexcept {
    if (!m_seeksIdle.load(std::memory_order_acquire)) {
        return true; // another thread found it
    }
    const std::uint64_t launches = m_streams.launches();
    if (sink::openCaptures() != 0 || m_streams.underWay() != 0 || !m_streams.isIdle(current)) {
        return false;
    }
    const std::lock_guard lock(m_mutex);
    if (m_streams.launches() != launches || m_streams.underWay() != 0) {
        return false;
    }
    m_streams.clear();
    m_noReplay.store(true, std::memory_order_relaxed);
    m_policy.idleSeen();
    apply();
    return true;
}

void Activity::end(std::int64_t ns) noexcept {
    m_ended.store(true, std::memory_order_release);
    const std::int64_t until = sink::nowNs() + ns;
    while (!m_mutex.try_lock()) {
        if (sink::nowNs() >= until) {
            return;
        }
        const timespec pause{0, kPollNs};
        nanosleep(&pause, nullptr);
    }
    m_mutex.unlock();
}

} // namespace gd::cupti
