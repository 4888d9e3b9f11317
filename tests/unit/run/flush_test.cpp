// SPDX-License-Identifier: Apache-2.0
#include "cli/run/flush.h"

#include "cli/run/spool_folder.h"
#include "collector/raw/ring_header.h"
#include "tests/support/temporary_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

using namespace gd::run;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// A process that has a segment in the spool and holds its ring, as the collector does.
class Recorded {
public:
    Recorded(const fs::path& spool, pid_t pid) {
        const std::string stem = (spool / fmt::format("here.{}.123.00112233aabbccdd", pid)).string();
        std::ofstream(stem + ".seg") << "x";
        m_ring = Fd(open((stem + ".ring").c_str(), O_RDWR | O_CREAT, 0600));
        EXPECT_EQ(ftruncate(m_ring.get(), sizeof(gd::raw::RingHeader)), 0);
        EXPECT_EQ(flock(m_ring.get(), LOCK_SH), 0);
        void* map
            = mmap(nullptr, sizeof(gd::raw::RingHeader), PROT_READ | PROT_WRITE, MAP_SHARED, m_ring.get(), 0);
        m_header = static_cast<gd::raw::RingHeader*>(map);
    }
    ~Recorded() { letGo(); }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;

    gd::raw::RingHeader& header() { return *m_header; }
    // The mapping holds the lock as the descriptor does.
    void letGo() {
        if (m_header != nullptr)
            munmap(m_header, sizeof(gd::raw::RingHeader));
        m_header = nullptr;
        m_ring.reset();
    }

private:
    Fd m_ring;
    gd::raw::RingHeader* m_header = nullptr;
};

class Flush : public testing::Test {
protected:
    Flush() { m_control.emplace(Control::create(m_spool.path(), {}).value()); }
    std::vector<std::int64_t> flush(std::chrono::milliseconds longest) {
        const auto none = [](std::string_view) { return std::optional<std::string>(); };
        return gd::run::flush(*m_control, m_spool.path(), "here", none, longest);
    }
    gd::test::TemporaryFolder m_spool;
    std::optional<Control> m_control;
};

constexpr std::chrono::milliseconds kNever = 10min;

TEST_F(Flush, WaitsForTheAnswerOfEveryProcess) {
    Recorded one(m_spool.path(), getpid());
    Recorded two(m_spool.path(), getppid());
    std::atomic<bool> done = false;
    std::thread answering([&] {
        std::atomic_ref(one.header().flushed).store(1);
        std::this_thread::sleep_for(20ms);
        done = true;
        std::atomic_ref(two.header().flushed).store(1);
    });
    EXPECT_THAT(flush(kNever), testing::IsEmpty());
    EXPECT_TRUE(done);
    answering.join();
}

TEST_F(Flush, NamesAProcessThatDoesNotAnswer) {
    Recorded silent(m_spool.path(), getpid());
    EXPECT_THAT(flush(20ms), testing::ElementsAre(getpid()));
    silent.header().flushed = 2; // of a later request
    EXPECT_THAT(flush(kNever), testing::IsEmpty());
}

TEST_F(Flush, DoesNotWaitForWhatWritesNothingAnyMore) {
    Recorded full(m_spool.path(), getpid());
    full.header().loss[0].failedWrites = 1; // its disk is full
    const pid_t ended = fork();
    if (ended == 0)
        _exit(0);
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0); // a zombie
    const Recorded zombie(m_spool.path(), ended);
    EXPECT_THAT(flush(kNever), testing::IsEmpty());
    EXPECT_EQ(waitpid(ended, nullptr, 0), ended);
    EXPECT_THAT(flush(kNever), testing::IsEmpty());
}

TEST_F(Flush, AProgramThatAProcessHasLeftIsNotWaitedForLong) {
    Recorded left(m_spool.path(), getpid());
    left.letGo();
    EXPECT_THAT(flush(kNever), testing::IsEmpty());
}

TEST_F(Flush, OfASpoolWithoutProcessesIsDoneAtOnce) {
    EXPECT_THAT(flush(kNever), testing::IsEmpty());
}

} // namespace
