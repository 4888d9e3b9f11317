// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gd::session {

/// A lock of one word that a forked child can simply forget (its state is built afresh). Sections under it
/// are some hundred nanoseconds long; a waiter gives up its time slice after a short spin, because its holder
/// may be preempted, and sleeps where that does not help: to a holder of lower priority the scheduler gives
/// no time slice of a real-time thread.
class SpinLock {
public:
    void lock() noexcept {
        for (unsigned spins = 0; m_held.exchange(1, std::memory_order_acquire) != 0; ++spins) {
            if (spins >= 192) {
                sleep();
            } else if (spins >= 64) {
                sched_yield();
            }
        }
    }
    void unlock() noexcept { m_held.store(0, std::memory_order_release); }

private:
    void sleep() noexcept {
        const int savedErrno = errno;
        const timespec pause{0, 50'000};
        syscall(SYS_futex, &m_held, FUTEX_WAIT_PRIVATE, 1, &pause, nullptr, 0); // nobody wakes it
        errno = savedErrno;
    }

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
