// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/loader_look.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gd::stacks {

namespace {

std::atomic<std::uint32_t> g_looking{0};
std::atomic<std::uint32_t> g_forking{0};
std::atomic<bool> g_watched{false};

// A fork from inside dl_iterate_phdr() holds what a look waits for, and one that never ends keeps a look out:
// neither may last.
constexpr int kLongestWaits = 20'000;

/// False: it did not become 0 in two seconds.
bool awaitZero(std::atomic<std::uint32_t>& word) noexcept {
    const int savedErrno = errno;
    const timespec pause{0, 100'000};
    std::uint32_t value = word.load(std::memory_order_seq_cst);
    for (int i = 0; value != 0 && i < kLongestWaits; ++i) {
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &pause, nullptr, 0); // no cancellation point
        value = word.load(std::memory_order_seq_cst);
    }
    errno = savedErrno;
    return value == 0;
}

void beforeFork() noexcept {
    g_forking.fetch_add(1, std::memory_order_seq_cst);
    awaitZero(g_looking);
}
void afterForkInParent() noexcept {
    g_forking.fetch_sub(1, std::memory_order_seq_cst);
}
void afterForkInChild() noexcept {
    g_forking.store(0, std::memory_order_seq_cst);
    g_looking.store(0, std::memory_order_seq_cst);
}

} // namespace

LoaderLook::LoaderLook() noexcept {
    if (!g_watched.exchange(true)) {
        pthread_atfork(beforeFork, afterForkInParent, afterForkInChild);
    }
    for (bool wait = true; wait;) {
        g_looking.fetch_add(1, std::memory_order_seq_cst);
        if (g_forking.load(std::memory_order_seq_cst) == 0) {
            return;
        }
        g_looking.fetch_sub(1, std::memory_order_seq_cst);
        wait = awaitZero(g_forking);
    }
    g_looking.fetch_add(1, std::memory_order_seq_cst);
}

LoaderLook::~LoaderLook() {
    g_looking.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace gd::stacks
