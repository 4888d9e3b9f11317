// SPDX-License-Identifier: Apache-2.0
#include "collector/session/session.h"

#include "collector/raw/records_api.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"
#include "collector/session/hooks.h"
#include "tests/unit/session/session_test_support.h"

#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gd::session {

namespace {

using test::RawSpool;
using test::SpoolBuilder;

/// The last flush request of which this process has written everything.
std::uint32_t flushed() {
    return std::atomic_ref(currentSession()->ring.header().flushed).load();
}

/// First word of the first record in the chunk that takes the history just now.
std::uint64_t* firstHistoryRecord() {
    Ring& ring = currentSession()->ring;
    for (std::uint32_t i = 0; i < ring.chunkCount(); ++i) {
        if (std::atomic_ref(ring.slot(i).state).load() == static_cast<std::uint32_t>(raw::ChunkState::Filling)
            && ring.slot(i).use == static_cast<std::uint32_t>(raw::ChunkUse::History)) {
            return reinterpret_cast<std::uint64_t*>(ring.chunkAt(i) + sizeof(raw::ChunkHeader));
        }
    }
    return nullptr;
}

} // namespace

TEST(Session, NothingHappensWithoutASpool) {
    SpoolBuilder spool;
    spool.setVariable("GRAPHDOCTOR_SPOOL", "");
    EXPECT_EQ(spool.run([] {
        sink::alloc(memoryAt(0x1000));
        if (sink::enabled() || currentSession() != nullptr) {
            _exit(1);
        }
    }),
        0);
    EXPECT_THAT(spool.segments(), testing::IsEmpty());
}

TEST(Session, OpensAtTheFirstRecordAndNotBefore) {
    SpoolBuilder spool;
    EXPECT_EQ(spool.run(
                  [] {
                      if (currentSession() != nullptr) {
                          _exit(1);
                      }
                      sink::alloc(memoryAt(0x1000));
                  },
                  SpoolBuilder::Ending::Kill)
            & 0x7f,
        SIGKILL);
    ASSERT_EQ(spool.segments().size(), 1u);
    const RawSpool raw = read(spool);
    ASSERT_FALSE(raw.history.empty());
    EXPECT_EQ(raw.history.front().kind, raw::RecordKind::ProcessStart);
    ASSERT_EQ(raw.historyOf<raw::Alloc>().size(), 1u);
    EXPECT_EQ(raw.historyOf<raw::Alloc>()[0].address, 0x1000u);
    EXPECT_EQ(raw.fact("segment_path"), spool.segments()[0]);
    EXPECT_EQ(raw.fact("ring_path"), SpoolBuilder::ringOf(spool.segments()[0]));
}

TEST(Session, RefusesAFolderThatOthersCanEnter) {
    SpoolBuilder spool;
    ASSERT_EQ(chmod(spool.path().c_str(), 0755), 0);
    testing::internal::CaptureStderr();
    EXPECT_EQ(spool.run([] { sink::alloc(memoryAt(0x1000)); }), 0);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr(spool.path()));
    EXPECT_THAT(spool.segments(), testing::IsEmpty());
}

// Whoever judges launches of an executable must know that its parameters changed, even when the events are
// gone.
TEST(Session, TheFirstNewParametersOfAnExecutableAreHistory) {
    SpoolBuilder spool;
    ASSERT_EQ(spool.run([] {
        gd_rt_exec exec{};
        exec.size = sizeof exec;
        for (exec.exec = 5; exec.exec < 7; ++exec.exec) {
            sink::exec(GD_RT_CREATED, exec);
        }
        gd_rt_api set{};
        set.size = sizeof set;
        set.api = GD_API_GRAPH_EXEC_KERNEL_NODE_SET_PARAMS;
        for (const std::uint64_t target : {5u, 5u, 6u, 5u, 6u}) {
            set.exec = target;
            ++set.correlation;
            sink::apiEnter(set);
            sink::apiExit(set, 0);
        }
    }),
        0);
    std::vector<std::uint64_t> early;
    const RawSpool raw = read(spool);
    for (const raw::ApiCall& call : raw.historyOf<raw::ApiCall>()) {
        early.push_back(call.correlation);
        EXPECT_NE(raw::threadOf(call), 0u);
    }
    EXPECT_THAT(early, testing::ElementsAre(1u, 3u));
    EXPECT_EQ(raw.eventsOf<raw::ApiCall>().size(), 3u);
}

TEST(Session, ThreadsGetNumbersAndTheirOwnSequences) {
    SpoolBuilder spool;
    ASSERT_EQ(spool.run(
                  [] {
                      std::vector<std::thread> threads;
                      for (int t = 0; t < 4; ++t) {
                          threads.emplace_back([t] {
                              for (std::uint64_t i = 0; i < 1000; ++i) {
                                  call(
                                      GD_API_LAUNCH_KERNEL, 0, static_cast<std::uint64_t>(t) << 32 | (i + 1));
                              }
                          });
                      }
                      for (std::thread& thread : threads) {
                          thread.join();
                      }
                  },
                  SpoolBuilder::Ending::Kill)
            & 0x7f,
        SIGKILL);
    const RawSpool raw = read(spool);
    std::size_t calls = 0;
    for (const auto& [thread, records] : raw.events) {
        for (std::size_t i = 0; i < records.size(); ++i) {
            EXPECT_EQ(records[i].sequence, i);
        }
        calls += records.size();
    }
    EXPECT_EQ(calls, 4000u);
    EXPECT_EQ(raw.historyOf<raw::Thread>().size() >= 4, true);
}

TEST(Session, AForkedChildOpensASpoolOfItsOwn) {
    SpoolBuilder spool;
    ASSERT_EQ(spool.run([] {
        sink::alloc(memoryAt(0x1000));
        const pid_t child = fork();
        if (child == 0) {
            sink::alloc(memoryAt(0x2000));
            _exit(currentSession()->ring.header().pid == static_cast<std::uint32_t>(getpid()) ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        sink::alloc(memoryAt(0x3000));
        _exit(status == 0 ? 0 : 1);
    }),
        0);
    ASSERT_EQ(spool.segments().size(), 2u);
    const RawSpool one = read(spool, 0);
    const RawSpool two = read(spool, 1);
    ASSERT_EQ(one.historyOf<raw::ProcessStart>().size(), 1u);
    ASSERT_EQ(two.historyOf<raw::ProcessStart>().size(), 1u);
    const bool firstIsChild = one.historyOf<raw::ProcessStart>()[0].role == 1;
    const RawSpool& parent = firstIsChild ? two : one;
    const RawSpool& child = firstIsChild ? one : two;
    EXPECT_EQ(child.historyOf<raw::ProcessStart>()[0].parentKey,
        parent.historyOf<raw::ProcessStart>()[0].processKey);
    ASSERT_EQ(child.historyOf<raw::Alloc>().size(), 1u);
    EXPECT_EQ(child.historyOf<raw::Alloc>()[0].address, 0x2000u);
    EXPECT_EQ(parent.historyOf<raw::Alloc>().size(), 2u);
}

TEST(Session, ForkWhileOtherThreadsRecordLeavesTheChildFree) {
    SpoolBuilder spool;
    ASSERT_EQ(spool.run([] {
        std::atomic<bool> stop{false};
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&stop] {
                for (std::uint64_t i = 1; !stop; ++i) {
                    sink::alloc(memoryAt(i * 4096));
                    sink::free(memoryAt(i * 4096));
                }
            });
        }
        for (int i = 0; i < 20; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                alarm(20); // a lock inherited in the held state would hang here
                sink::alloc(memoryAt(0x2000));
                sink::fact("framework", "child");
                _exit(0);
            }
            int status = -1;
            waitpid(child, &status, 0);
            if (status != 0) {
                _exit(1);
            }
        }
        stop = true;
        for (std::thread& thread : threads) {
            thread.join();
        }
    }),
        0);
    EXPECT_EQ(spool.segments().size(), 21u);
}

/// Also what the program of the next test runs after its exec.
TEST(Session, RecordingWithoutASpoolIsHarmless) {
    sink::alloc(memoryAt(0x2000));
    const bool hasSpool
        = std::getenv("GRAPHDOCTOR_SPOOL") != nullptr; // as the program that the next test starts
    EXPECT_EQ(sink::enabled(), hasSpool);
}

TEST(Session, ExecUnderTheSamePidOpensANewSpool) {
    SpoolBuilder spool;
    testing::internal::CaptureStdout();
    ASSERT_EQ(spool.run([] {
        sink::alloc(memoryAt(0x1000));
        execl("/proc/self/exe", "session_test", "--gtest_filter=Session.RecordingWithoutASpoolIsHarmless",
            nullptr);
    }),
        0);
    testing::internal::GetCapturedStdout();
    ASSERT_EQ(spool.segments().size(), 2u);
    const raw::ProcessStart one = read(spool, 0).historyOf<raw::ProcessStart>().at(0);
    const raw::ProcessStart two = read(spool, 1).historyOf<raw::ProcessStart>().at(0);
    EXPECT_EQ(one.pid, two.pid);
    EXPECT_NE(one.processKey, two.processKey);
    EXPECT_EQ(one.role, static_cast<std::uint32_t>(raw::ProcessRole::Primary));
    EXPECT_EQ(two.role, static_cast<std::uint32_t>(raw::ProcessRole::Primary));
}

TEST(Session, ManyShortThreadsLoseNothing) {
    SpoolBuilder spool;
    constexpr std::uint64_t kRounds = 50; // fits the pool even when the drainer gets no time at all
    ASSERT_EQ(spool.run([] {
        for (std::uint64_t round = 0; round < kRounds; ++round) {
            std::vector<std::thread> threads;
            for (std::uint64_t t = 0; t < 10; ++t) {
                threads.emplace_back([round, t] {
                    for (std::uint64_t i = 0; i < 100; ++i) {
                        call(GD_API_LAUNCH_KERNEL, 0, (round * 10 + t) << 32 | (i + 1));
                    }
                });
            }
            for (std::thread& thread : threads) {
                thread.join();
            }
        }
    }),
        0);
    const RawSpool raw = read(spool);
    EXPECT_EQ(raw.header.loss[1].droppedRecords, 0u);
    EXPECT_EQ(raw.eventsOf<raw::ApiCall>().size(), kRounds * 10 * 100);
    EXPECT_GT(raw.events.size(), kRounds * 10 - 1) << "each thread has a number of its own";
}

TEST(Session, TheControlPageSwitchesRecordingOffAndOn) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    ASSERT_EQ(spool.run([&spool] {
        sink::alloc(memoryAt(0x1000));
        if (!sink::activityWanted()) {
            _exit(1);
        }
        spool.setLevel(raw::RecordingLevel::Off);
        if (!eventually([] { return !sink::enabled(); })) {
            _exit(2);
        }
        sink::alloc(memoryAt(0x2000));
        spool.setLevel(raw::RecordingLevel::History);
        if (!eventually([] { return sink::enabled(); }) || sink::activityWanted()) {
            _exit(3);
        }
        sink::alloc(memoryAt(0x3000));
    }),
        0);
    const RawSpool raw = read(spool);
    std::vector<std::uint64_t> addresses;
    for (const raw::Alloc& alloc : raw.historyOf<raw::Alloc>()) {
        addresses.push_back(alloc.address);
    }
    EXPECT_THAT(addresses, testing::ElementsAre(0x1000u, 0x3000u));
    std::vector<std::uint32_t> levels;
    for (const raw::ControlState& state : raw.historyOf<raw::ControlState>()) {
        levels.push_back(state.level);
    }
    EXPECT_THAT(levels, testing::ElementsAre(3u, 0u, 1u));
}

// Allocations at a high rate, for days: what says which graphs and steps there were must still fit.
TEST(Session, FrequentRecordsLeaveTheHistoryItsShareOfTheLimit) {
    SpoolBuilder spool;
    spool.setVariable("GRAPHDOCTOR_LIMITS", "size=8000000");
    ASSERT_EQ(spool.run([] {
        gd_rt_block block{};
        block.size = sizeof block;
        block.event = GD_RT_BLOCK_ALLOCATED;
        for (std::uint64_t i = 0; i < 60'000; ++i) {
            block.ptr = i * 4096;
            sink::frameworkBlock(block);
            if (i % 1'000 == 0) {
                const timespec pause{0, 3'000'000};
                nanosleep(&pause, nullptr); // for the drainer
            }
        }
        sink::frameworkCoverage(raw::CoverageState::Complete, 0, "");
        gd_rt_graph graph{};
        graph.size = sizeof graph;
        graph.graph = 77;
        sink::graph(GD_RT_CREATED, graph);
    }),
        0);
    const RawSpool raw = read(spool);
    const std::size_t blocks = raw.historyOf<raw::FrameworkBlock>().size();
    EXPECT_EQ(blocks, 1'000'000 / sizeof(raw::FrameworkBlock));
    EXPECT_EQ(raw.header.historyFull, 0u);
    EXPECT_FALSE(raw.historyOf<raw::Graph>().empty());
    std::vector<raw::CoverageState> states;
    for (const raw::Coverage& coverage : raw.historyOf<raw::Coverage>()) {
        if (coverage.source == static_cast<std::uint32_t>(raw::CoverageSource::framework_allocator)
            && raw.string(coverage.reason).find("--max-size") != std::string::npos) {
            states.push_back(static_cast<raw::CoverageState>(coverage.state));
        }
    }
    EXPECT_THAT(states, testing::ElementsAre(raw::CoverageState::Partial, raw::CoverageState::Partial))
        << "what the hook says later does not undo it";
}

TEST(Session, AFlushBringsEverythingIntoTheSegment) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    ASSERT_EQ(spool.run([&spool] {
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        sink::alloc(memoryAt(0x1000));
        spool.requestFlush();
        _exit(eventually([] { return flushed() == 1; }) ? 0 : 1);
    }),
        0);
    const RawSpool raw(spool.segments().at(0), "");
    EXPECT_EQ(raw.eventsOf<raw::ApiCall>().size(), 1u);
    EXPECT_EQ(raw.historyOf<raw::Alloc>().size(), 1u);
}

TEST(Session, AFlushIsDoneOnlyWhenAWriterOfTheHistoryHasCommitted) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    ASSERT_EQ(spool.run([&spool] {
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        sink::alloc(memoryAt(0x1000));
        std::uint64_t* first = firstHistoryRecord();
        if (first == nullptr) {
            _exit(1);
        }
        std::atomic_ref word(*first);
        const std::uint64_t committed = word.load();
        word.store((committed >> 32 << 32) | raw::kReservedRecordBit | (committed >> 16 & 0x7fff));
        spool.requestFlush();
        auto& written = currentSession()->ring.header().eventRecords;
        if (!eventually([&written] { return std::atomic_ref(written).load() != 0; })) {
            _exit(2);
        }
        if (flushed() != 0) {
            _exit(3);
        }
        word.store(committed);
        _exit(eventually([] { return flushed() == 1; }) ? 0 : 4);
    }),
        0);
    EXPECT_EQ(RawSpool(spool.segments().at(0), "").historyOf<raw::Alloc>().size(), 1u);
}

TEST(Session, AFlushWaitsForAThreadInsideTheCollectorAndNotForItsNextRecord) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    ASSERT_EQ(spool.run([&spool] {
        call(GD_API_LAUNCH_KERNEL, 0, 1);
        ThreadLane& lane = threadNow->lane;
        lane.busy = 1;
        spool.requestFlush();
        if (!eventually([&lane] { return lane.revoked != 0; }) || flushed() != 0) {
            _exit(1);
        }
        lane.busy = 0;
        _exit(eventually([] { return flushed() == 1; }) ? 0 : 2);
    }),
        0);
    EXPECT_EQ(RawSpool(spool.segments().at(0), "").eventsOf<raw::ApiCall>().size(), 1u);
}

TEST(Session, ARequestFromBeforeTheFirstRecordIsAlreadyFollowed) {
    SpoolBuilder spool;
    spool.requestFlush();
    EXPECT_EQ(spool.run([] {
        sink::alloc(memoryAt(0x1000));
        _exit(flushed() == 1 ? 0 : 1);
    }),
        0);
}

TEST(Session, DropsAreCountedAndLeaveGapsOfTheirSize) {
    SpoolBuilder spool;
    spool.setVariable("GRAPHDOCTOR_RING_BYTES", "1048576");
    spool.setVariable("GRAPHDOCTOR_POLL_MS", "1000"); // the collector's thread would switch recording off
    ASSERT_EQ(spool.run(
                  [] {
                      call(GD_API_LAUNCH_KERNEL, 0, 1);
                      // As if the disk hung: chunks fill up and nobody frees them.
                      currentSession()->stopped = 1;
                      for (std::uint64_t i = 2; i <= 50'000; ++i) {
                          call(GD_API_LAUNCH_KERNEL, 0, i);
                      }
                  },
                  SpoolBuilder::Ending::Kill)
            & 0x7f,
        SIGKILL);
    const RawSpool raw = read(spool);
    const auto& [thread, records] = *raw.events.begin();
    EXPECT_GT(raw.header.loss[1].droppedRecords, 0u);
    EXPECT_EQ(records.size() + raw.header.loss[1].droppedRecords, 50'000u);
    EXPECT_EQ(raw.header.loss[0].droppedRecords, 0u);
}

TEST(Session, ASignalHandlerInsideTheCollectorDoesNothing) {
    SpoolBuilder spool;
    ASSERT_EQ(spool.run([] {
        sink::alloc(memoryAt(0x1000));
        threadNow->lane.busy = 1;
        sink::alloc(memoryAt(0x2000));
        threadNow->lane.busy = 0;
        errno = EDOM;
        sink::alloc(memoryAt(0x3000));
        _exit(errno == EDOM ? 0 : 1);
    }),
        0);
    EXPECT_EQ(read(spool).historyOf<raw::Alloc>().size(), 2u);
}

TEST(Session, AFailedCallGoesToTheHistoryAndNotReadyDoesNot) {
    SpoolBuilder spool;
    ASSERT_EQ(spool.run([] {
        call(GD_API_STREAM_QUERY, 600, 1);
        call(GD_API_MEM_ALLOC, 2, 2);
    }),
        0);
    const RawSpool raw = read(spool);
    ASSERT_EQ(raw.historyOf<raw::ApiCall>().size(), 1u);
    EXPECT_EQ(raw.historyOf<raw::ApiCall>()[0].result, 2);
    ASSERT_EQ(raw.eventsOf<raw::ApiCall>().size(), 1u);
    EXPECT_EQ(raw.eventsOf<raw::ApiCall>()[0].result, 600);
    EXPECT_EQ(raw.eventsOf<raw::ApiEnter>().size(), 1u);
}

TEST(Session, OnlyLaunchesThatLeaveACaptureGetAStack) {
    SpoolBuilder spool;
    spool.run([] {
        static const StackWalker walker{[](std::uint64_t* addresses, unsigned) noexcept {
                                            addresses[0] = 0x1000;
                                            return 1U;
                                        },
            nullptr};
        setStackWalker(&walker);
        call(GD_API_LAUNCH_KERNEL, 0, 1, 9); // before
        call(GD_API_STREAM_BEGIN_CAPTURE, 0, 2, 7);
        call(GD_API_LAUNCH_KERNEL, 0, 3, 7); // captured
        call(GD_API_LAUNCH_KERNEL, 0, 4, 9); // runs now, and on no replay
    });
    const RawSpool raw = read(spool);
    std::map<std::uint64_t, bool> stacked;
    for (const raw::ApiCall& recorded : raw.eventsOf<raw::ApiCall>()) {
        stacked[recorded.correlation] = recorded.stack != 0;
    }
    EXPECT_EQ(stacked, (std::map<std::uint64_t, bool>{{1, false}, {2, true}, {3, false}, {4, true}}));
}

TEST(Session, PollingQueriesAreLimitedAndCounted) {
    SpoolBuilder spool;
    ASSERT_EQ(spool.run([] {
        for (std::uint64_t i = 1; i <= 100'000; ++i) {
            call(GD_API_EVENT_QUERY, 600, i);
        }
        _exit(currentSession()->queriesLeftOut > 90'000 ? 0 : 1);
    }),
        0);
    EXPECT_LT(read(spool).eventsOf<raw::ApiCall>().size(), 10'000u);
}

} // namespace gd::session
