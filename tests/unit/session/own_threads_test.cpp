// SPDX-License-Identifier: Apache-2.0
#include "collector/session/system.h"

#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace gd::session {

namespace {

void* endAtOnce(void*) noexcept {
    return nullptr;
}

void* fault(void*) noexcept {
    __builtin_trap();
}

} // namespace

// The test below runs it where the C library keeps no stacks.
TEST(OwnThreads, EndAtOnce) {
    constexpr unsigned kThreads = 2000;
    for (unsigned i = 0; i < kThreads; ++i) {
        ASSERT_TRUE(startThread("gd-test", endAtOnce, nullptr));
    }
}

// What is known of a detached thread is gone with it: at once where the C library keeps no stacks, else when
// it has kept enough of others.
TEST(OwnThreads, MayEndBeforeTheirStarterGoesOn) {
    setenv("GLIBC_TUNABLES", "glibc.pthread.stack_cache_size=0", 1);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=OwnThreads.EndAtOnce";
    char* arguments[] = {program.data(), filter.data(), nullptr};
    pid_t child = 0;
    ASSERT_EQ(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// A job that prints the stack of a crash prints that of ours too.
TEST(OwnThreads, LeaveTheirFaultsToTheJobsHandler) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGILL, [](int) { _exit(42); });
        startThread("gd-test", fault, nullptr);
        for (;;) {
            pause();
        }
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

} // namespace gd::session
