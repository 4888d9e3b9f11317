// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_communicator.h"

#include "tests/unit/runtime/rank_processes.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gdt::comm {

namespace {

using namespace gdt::runtime;
using gd::test::TemporaryFolder;

} // namespace

TEST(ShmCommunicator, SumsOverProcessesInSeveralRounds) {
    const TemporaryFolder folder;
    const auto results = runRanks(3, [&](int rank) -> std::string {
        ShmOptions options = optionsFor(folder, rank, 3);
        options.slotBytes = 1000; // 1,000 doubles take 8 rounds
        Rank r(options, 1000, rank + 1);
        if (r.communicator == nullptr)
            return r.error;
        for (int i = 0; i < 5; ++i)
            GDT_CHECK(r.reduce(1000));
        GDT_CHECK(r.stream.synchronize());
        const std::vector<double>& values = r.read();
        return std::to_string(values.front()) + " " + std::to_string(values.back());
    });
    // 6, then times 3 four times more.
    for (const std::string& result : results)
        EXPECT_EQ(result, "486.000000 486.000000");
}

class StaleFile : public testing::TestWithParam<std::string> { };

TEST_P(StaleFile, IsIgnoredAndNothingIsLeftBehind) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "world.rendezvous") << GetParam();
    const auto results = runRanks(2, [&](int rank) -> std::string {
        Rank r(optionsFor(folder, rank, 2), 1, rank + 1);
        if (r.communicator == nullptr)
            return r.error;
        GDT_CHECK(r.reduce(1));
        GDT_CHECK(r.stream.synchronize());
        return std::to_string(static_cast<int>(r.read().front()));
    });
    EXPECT_EQ(results, (std::vector<std::string>{"3", "3"}));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

std::string staleName(const testing::TestParamInfo<std::string>& file) {
    constexpr const char* kNames[] = {"NoProcess", "AnotherProcess", "AFileThatIsNoSegment", "Nothing"};
    return kNames[file.index];
}

// Of a process that is gone, of one that is another one now, of this one.
INSTANTIATE_TEST_SUITE_P(Naming, StaleFile,
    testing::Values(
        "/proc/999999999/fd/3", "/proc/1/fd/0", "/proc/" + std::to_string(::getpid()) + "/fd/1", ""),
    staleName);

TEST(ShmCommunicator, KilledWhileItWaitsForTheOthersLeavesNoSharedMemory) {
    const TemporaryFolder folder;
    const pid_t child = ::fork();
    if (child == 0) {
        const Rank rank(optionsFor(folder, 0, 2), 1, 1);
        ::_exit(0);
    }
    const std::filesystem::path file = folder.path() / "world.rendezvous";
    while (!std::filesystem::exists(file))
        ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const std::string mark = "-" + std::to_string(child) + "-";
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
        const std::string name = entry.path().filename().string();
        EXPECT_FALSE(name.starts_with("graphdoctor-trainer") && name.find(mark) != std::string::npos) << name;
    }
}

TEST(ShmCommunicator, RunsAtEachReplayOfAGraph) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        Rank r(optionsFor(folder, rank, 2), 4, rank + 1);
        if (r.communicator == nullptr)
            return r.error;
        Graph graph;
        GDT_CHECK(r.stream.beginCapture(CaptureMode::Global));
        GDT_CHECK(r.reduce(4));
        GDT_CHECK(r.stream.endCapture(graph));
        GraphExec exec;
        GDT_CHECK(graph.instantiate(exec));
        const double before = r.read().front();
        for (int i = 0; i < 3; ++i)
            GDT_CHECK(exec.launch(r.stream));
        GDT_CHECK(r.stream.synchronize());
        return std::to_string(static_cast<int>(before)) + " "
            + std::to_string(static_cast<int>(r.read().front()));
    });
    EXPECT_EQ(results[0], "1 12");
    EXPECT_EQ(results[1], "2 12");
}

TEST(ShmCommunicator, NamesADifferentCount) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        Rank r(optionsFor(folder, rank, 2), 24, 1);
        if (r.communicator == nullptr)
            return r.error;
        GDT_CHECK(r.reduce(rank == 0 ? 16 : 24));
        const Status status = r.stream.synchronize();
        return std::to_string(static_cast<int>(status)) + " " + r.communicator->error();
    });
    for (const std::string& result : results) {
        EXPECT_EQ(result.substr(0, 4), "719 ") << result;
        EXPECT_NE(result.find("ranks disagree"), std::string::npos) << result;
        EXPECT_NE(result.find("of 16 float64"), std::string::npos) << result;
        EXPECT_NE(result.find("of 24 float64"), std::string::npos) << result;
    }
}

TEST(ShmCommunicator, NamesARankThatReplaysWhileTheOtherDoesNot) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        Rank r(optionsFor(folder, rank, 2), 8, 1);
        if (r.communicator == nullptr)
            return r.error;
        if (rank == 0) {
            Graph graph;
            GraphExec exec;
            GDT_CHECK(r.stream.beginCapture(CaptureMode::Global));
            GDT_CHECK(r.reduce(8));
            GDT_CHECK(r.stream.endCapture(graph));
            GDT_CHECK(graph.instantiate(exec));
            GDT_CHECK(exec.launch(r.stream));
        } else {
            GDT_CHECK(r.reduce(8));
        }
        static_cast<void>(r.stream.synchronize());
        return r.communicator->error();
    });
    for (const std::string& result : results) {
        EXPECT_NE(result.find(", in a graph,"), std::string::npos) << result;
        EXPECT_NE(result.find(", not in a graph,"), std::string::npos) << result;
    }
}

TEST(ShmCommunicator, NoticesADeadPeerBeforeTheTimeLimit) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        Rank r(optionsFor(folder, rank, 2), 8, 1);
        if (r.communicator == nullptr)
            return r.error;
        if (rank == 1)
            _exit(0);
        GDT_CHECK(r.reduce(8));
        static_cast<void>(r.stream.synchronize());
        return r.communicator->error();
    });
    EXPECT_NE(results[0].find("rank 1 has ended"), std::string::npos) << results[0];
}

TEST(ShmCommunicator, GivesUpAfterTheTimeLimit) {
    const TemporaryFolder folder;
    std::array<int, 2> done{};
    ASSERT_EQ(pipe(done.data()), 0);
    const auto results = runRanks(2, [&](int rank) -> std::string {
        ShmOptions options = optionsFor(folder, rank, 2);
        options.timeoutNs = 3'000'000'000;
        Rank r(options, 8, 1);
        if (r.communicator == nullptr)
            return r.error;
        char byte = 1;
        if (rank == 1) // alive, but never calls
            return read(done[0], &byte, 1) == 1 ? "seen" : "unexpected";
        GDT_CHECK(r.reduce(8));
        static_cast<void>(r.stream.synchronize());
        return write(done[1], &byte, 1) == 1 ? r.communicator->error() : "unexpected";
    });
    close(done[0]);
    close(done[1]);
    EXPECT_NE(results[0].find("rank 1 did not come within 3000 ms"), std::string::npos) << results[0];
    EXPECT_EQ(results[1], "seen");
}

TEST(ShmCommunicator, AbortReachesThePeer) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        Rank r(optionsFor(folder, rank, 2), 8, 1);
        if (r.communicator == nullptr)
            return r.error;
        if (rank == 1) {
            r.communicator->abort();
            return r.communicator->error();
        }
        GDT_CHECK(r.reduce(8));
        static_cast<void>(r.stream.synchronize());
        return r.communicator->error();
    });
    for (const std::string& result : results)
        EXPECT_EQ(result, "rank 1 aborted the communicator");
}

TEST(ShmCommunicator, SaysWhoDidNotCome) {
    const TemporaryFolder folder;
    ShmOptions options = optionsFor(folder, 0, 2);
    options.startNs = 50'000'000;
    std::string error;
    EXPECT_EQ(createShmCommunicator(options, error), nullptr);
    EXPECT_NE(error.find("only 1 of 2 ranks came"), std::string::npos) << error;
    options.rank = 1;
    EXPECT_EQ(createShmCommunicator(options, error), nullptr);
    EXPECT_NE(error.find("rank 0 did not come"), std::string::npos) << error;
    options.rank = 2;
    EXPECT_EQ(createShmCommunicator(options, error), nullptr);
    EXPECT_NE(error.find("no valid place"), std::string::npos) << error;
}

} // namespace gdt::comm
