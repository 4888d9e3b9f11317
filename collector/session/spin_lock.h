// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <sched.h>

namespace gd::session {

/// A lock of one word that a forked child can simply forget (its state is built afresh). Sections under it
/// are some hundred nanoseconds long; a waiter gives up its time slice after a short spin, because its holder
/// may be preempted.
class SpinLock {
public:
    void lock() noexcept {
        for (unsigned spins = 0; m_held.exchange(1, std::memory_order_acquire) != 0; ++spins) {
            if (spins >= 64) {
                sched_yield();
            }
        }
    }
    void unlock() noexcept { m_held.store(0, std::memory_order_release); }

private:
    std::atomic<unsigned> m_held{0};
};

class SpinGuard {
public:
    explicit SpinGuard(SpinLock& lock) noexcept
        : m_lock(lock) {
        m_lock.lock();
    }
    ~SpinGuard() { m_lock.unlock(); }
    SpinGuard(const SpinGuard&) = delete;
    SpinGuard& operator=(const SpinGuard&) = delete;

private:
    SpinLock& m_lock;
};

} // namespace gd::session
