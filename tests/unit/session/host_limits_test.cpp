// SPDX-License-Identifier: Apache-2.0
// Jobs that limit their files, close their pipes or all their descriptors under the collector.
#include "collector/session/session.h"

#include "collector/raw/records_process.h"
#include "collector/raw/spool_name.h"
#include "tests/unit/session/session_test_support.h"

#include <atomic>
#include <cstddef>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace gd::session {

namespace {

using test::RawSpool;
using test::SpoolBuilder;

bool runOnOneProcessor(int policy, int priority) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    const sched_param parameters{priority};
    return sched_setaffinity(0, sizeof one, &one) == 0 && sched_setscheduler(0, policy, &parameters) == 0;
}

} // namespace

// A thread of real-time priority that only yields keeps the processor to itself.
TEST(HostLimits, ARealTimeThreadLeavesTheProcessorToTheHolderOfALock) {
    SpinLock lock;
    std::atomic<bool> holds{false};
    std::atomic<bool> wanted{false};
    std::atomic<int> refused{0};
    std::int64_t usedNs = 0;
    std::thread holder([&] {
        refused += runOnOneProcessor(SCHED_OTHER, 0) ? 0 : 1;
        lock.lock();
        holds = true;
        while (!wanted && refused == 0) { }
        timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
        timespec used{};
        while (used.tv_sec == 0 && used.tv_nsec < 20'000'000) { // of the processor
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        }
        lock.unlock();
    });
    std::thread urgent([&] {
        while (!holds) { }
        refused += runOnOneProcessor(SCHED_FIFO, 1) ? 0 : 1;
        wanted = true;
        if (refused == 0) {
            lock.lock();
            timespec used{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
            usedNs = used.tv_sec * 1'000'000'000 + used.tv_nsec;
            lock.unlock();
        }
    });
    holder.join();
    urgent.join();
    if (refused != 0) {
        GTEST_SKIP() << "no real-time priority here";
    }
    EXPECT_LT(usedNs, 500'000'000) << "the kernel leaves others a twentieth of each second";
}

// As a driver does that no longer answers: it must not hold the job's end up like a thread without a
// processor.
TEST(HostLimits, AThreadOfOursThatPollsIsNotAwaitedForLong) {
    std::atomic<bool> stop{false};
    std::atomic<std::uint32_t> tid{0};
    std::atomic<std::uint32_t> done{0};
    std::atomic<std::int64_t> usedNs{0};
    std::thread polling([&] {
        tid = static_cast<std::uint32_t>(gettid());
        while (!stop) {
            timespec used{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
            usedNs = used.tv_sec * 1'000'000'000 + used.tv_nsec;
        }
    });
    while (tid == 0) { }
    awaitThread(done, tid, 50'000'000);
    EXPECT_LT(usedNs, 2'000'000'000);
    stop = true;
    polling.join();
}

// Unwinding through the collector would end the job.
TEST(HostLimits, AThreadThatIsBeingCancelledMakesTheFirstRecord) {
    SpoolBuilder spool;
    EXPECT_EQ(spool.run([] {
        pthread_t thread{};
        const auto work = [](void*) -> void* {
            pthread_cancel(pthread_self());
            call(GD_API_LAUNCH_KERNEL, 0, 1);
            pthread_testcancel();
            return nullptr;
        };
        void* result = nullptr;
        if (pthread_create(&thread, nullptr, work, nullptr) != 0 || pthread_join(thread, &result) != 0) {
            _exit(1);
        }
        _exit(result == PTHREAD_CANCELED ? 0 : 1);
    }),
        0);
    EXPECT_EQ(spool.segments().size(), 1u);
}

TEST(HostLimits, StopsAndSaysSoWhenTheSegmentCannotGrow) {
    SpoolBuilder spool;
    testing::internal::CaptureStderr();
    ASSERT_EQ(spool.run([] {
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        // The kernel answers a write beyond the limit as it does a full disk, and sends SIGXFSZ besides.
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_FSIZE, &limit);
        for (std::uint64_t i = 2; sink::enabled(); ++i) {
            call(GD_API_LAUNCH_KERNEL, 0, i);
        }
        call(GD_API_LAUNCH_KERNEL, 0, 1);
    }),
        0);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, testing::HasSubstr("cannot write"));
    EXPECT_EQ(said.find("graphdoctor:"), said.rfind("graphdoctor:"));
    const RawSpool raw = read(spool);
    EXPECT_EQ(raw.header.loss[1].failedWrites, 1u);
    bool saidInRecord = false;
    for (const raw::Issue& issue : raw.historyOf<raw::Issue>()) {
        saidInRecord = saidInRecord || raw.string(issue.code) == "segment_write_failed";
    }
    EXPECT_TRUE(saidInRecord);
}

// What cannot be written need not cost the job anything: sources hear of it, and a switch may take ticks.
TEST(HostLimits, ASourceIsSwitchedOffWhenWritingFailed) {
    static std::atomic<std::uint32_t> level{99};
    static std::atomic<unsigned> ticksWhileOff{0};
    static constexpr SourceHooks kHooks{nullptr,
        [](raw::RecordingLevel now, std::uint32_t) noexcept { level = static_cast<std::uint32_t>(now); },
        [](std::int64_t) noexcept { ticksWhileOff += level == 0 ? 1U : 0U; }, nullptr};
    SpoolBuilder spool;
    spool.setVariable("GRAPHDOCTOR_POLL_MS", "1");
    testing::internal::CaptureStderr();
    EXPECT_EQ(spool.run([] {
        registerSource(&kHooks);
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        if (!eventually([] { return level == static_cast<std::uint32_t>(raw::RecordingLevel::Standard); })) {
            _exit(1);
        }
        const rlimit limit{64 * 1024, 64 * 1024};
        setrlimit(RLIMIT_FSIZE, &limit);
        for (std::uint64_t i = 2; sink::enabled(); ++i) {
            call(GD_API_LAUNCH_KERNEL, 0, i);
        }
        _exit(eventually([] { return level == 0 && ticksWhileOff > 3; }) ? 0 : 2);
    }),
        0);
    testing::internal::GetCapturedStderr();
}

// It could never be read, and would fill the disk unseen.
TEST(HostLimits, StopsAndSaysSoWhenAFileOfTheSpoolIsRemoved) {
    testing::internal::CaptureStderr();
    SpoolBuilder spool;
    EXPECT_EQ(spool.run([&spool] {
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        for (const auto& entry : std::filesystem::directory_iterator(spool.path())) {
            if (entry.path().extension() == raw::kEventsSuffix) {
                std::filesystem::remove(entry.path()); // not the segment: the builder finds the ring by it
            }
        }
        for (std::uint64_t i = 2; i < 10'000'000 && sink::enabled(); ++i) {
            call(GD_API_LAUNCH_KERNEL, 0, i);
        }
        const auto holdsAFile = [] {
            for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
                std::error_code gone;
                const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
                if (target.ends_with(" (deleted)") && target.find(raw::kEventsSuffix) != std::string::npos) {
                    return true;
                }
            }
            return false;
        };
        _exit(!sink::enabled() && eventually([&] { return !holdsAFile(); }) ? 0 : 1);
    }),
        0);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, testing::HasSubstr("No such file or directory; recording of process"));
    EXPECT_EQ(said.find("graphdoctor:"), said.rfind("graphdoctor:"));
}

// It is looked for at each tick: a mapping left each time would take all of the job's within the hour.
TEST(HostLimits, AControlPageOfAnotherVersionIsNotKeptMapped) {
    SpoolBuilder spool;
    spool.setVariable("GRAPHDOCTOR_POLL_MS", "1");
    spool.setLevel(raw::RecordingLevel::Standard);
    const int page = open((spool.path() + "/" + raw::kControlPageName).c_str(), O_RDWR);
    ASSERT_GE(page, 0);
    const std::uint32_t version = raw::kRawVersion + 1;
    ASSERT_EQ(pwrite(page, &version, sizeof version, offsetof(raw::ControlPage, version)),
        static_cast<ssize_t>(sizeof version));
    close(page);
    EXPECT_EQ(spool.run([&spool] {
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        const timespec pause{0, 100'000'000};
        nanosleep(&pause, nullptr);
        std::ifstream maps("/proc/self/maps");
        int mapped = 0;
        for (std::string line; std::getline(maps, line);) {
            mapped += line.ends_with(spool.path() + "/" + raw::kControlPageName) ? 1 : 0;
        }
        _exit(mapped <= 2 ? 0 : 1); // the builder's own, and one being looked at
    }),
        0);
}

TEST(HostLimits, AFileSizeLimitOfNothingDoesNotEndTheJob) {
    SpoolBuilder spool;
    testing::internal::CaptureStderr(); // into a file: what is said must not end the job either
    EXPECT_EQ(spool.run([] {
        const rlimit limit{0, 0};
        setrlimit(RLIMIT_FSIZE, &limit);
        call(GD_API_LAUNCH_KERNEL, 0, 1); // SIGXFSZ would end the process here
        if (sink::enabled()) {
            _exit(1);
        }
    }),
        0);
    testing::internal::GetCapturedStderr();
    EXPECT_THAT(spool.segments(), testing::IsEmpty());
}

TEST(HostLimits, ComplainingToAClosedPipeDoesNotEndTheJob) {
    SpoolBuilder spool;
    ASSERT_EQ(chmod(spool.path().c_str(), 0755), 0);
    EXPECT_EQ(spool.run([] {
        int ends[2] = {};
        if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) {
            _exit(1);
        }
        close(ends[0]);
        call(GD_API_LAUNCH_KERNEL, 0, 1);
    }),
        0);
}

TEST(HostLimits, StandardStreamsThatAJobHasClosedStayClosed) {
    SpoolBuilder spool;
    EXPECT_EQ(spool.run([] {
        for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
            close(fd);
        }
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
            if (fcntl(fd, F_GETFD) >= 0) {
                _exit(1); // what the job says would go into a file of ours
            }
        }
    }),
        0);
    EXPECT_EQ(read(spool).historyOf<raw::ProcessStart>().size(), 1u);
}

TEST(HostLimits, FilesOfAJobThatClosesAllDescriptorsAreLeftAlone) {
    SpoolBuilder spool;
    const std::string theirs = spool.path() + "/theirs";
    EXPECT_EQ(spool.run([&theirs] {
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        for (int fd = 3; fd < 256; ++fd) {
            close(fd); // as daemons do
        }
        int last = 0;
        for (int i = 0; i < 16; ++i) {
            last = open(theirs.c_str(), O_RDWR | O_CREAT, 0600); // the numbers are taken again
        }
        const std::uint64_t before = currentSession()->events.bytes();
        for (std::uint64_t i = 2; i < 20'000; ++i) {
            call(GD_API_LAUNCH_KERNEL, 0, i);
        }
        if (last < 0 || !eventually([before] { return currentSession()->events.bytes() > before; })) {
            _exit(1);
        }
    }),
        0);
    EXPECT_EQ(std::filesystem::file_size(theirs), 0u);
    const RawSpool raw = read(spool);
    std::size_t calls = 0;
    for (const auto& [thread, records] : raw.events) {
        calls += records.size();
    }
    EXPECT_EQ(calls, 19'999u);
}

} // namespace gd::session
