// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/rank_processes.h"

#include <algorithm>
#include <numeric>

namespace gdt::comm {

namespace {

using namespace gdt::runtime;
using gd::test::TemporaryFolder;

constexpr auto kType = DataType::Float64;

std::string joined(const std::vector<double>& values) {
    std::string text;
    for (const double value : values)
        text += std::to_string(static_cast<int>(value)) + " ";
    return text;
}

// Each rank's buffer of `count` doubles holds 100 * rank + index.
std::unique_ptr<Rank> numbered(const TemporaryFolder& folder, int rank, int size, std::size_t count) {
    ShmOptions options = optionsFor(folder, rank, size);
    options.slotBytes = 128; // few elements a round, so that every operation takes several
    options.channelBytes = 64;
    auto r = std::make_unique<Rank>(options, count, 0);
    if (r->communicator == nullptr)
        return nullptr;
    std::iota(r->values.begin(), r->values.end(), 100.0 * rank);
    GDT_CHECK(r->device.copy(r->data, r->values.data(), count * sizeof(double), CopyKind::HostToDevice));
    return r;
}

} // namespace

TEST(ShmOperations, ReduceScatterGivesEachRankItsPartOfTheSum) {
    const TemporaryFolder folder;
    const auto results = runRanks(3, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 3, 21);
        GDT_CHECK(
            r->communicator->reduceScatter(r->data, r->data + 7 * rank, 7, kType, ReduceOp::Sum, r->stream));
        GDT_CHECK(r->stream.synchronize());
        const std::vector<double>& all = r->read();
        return joined({all[7U * static_cast<unsigned>(rank)], all[7U * static_cast<unsigned>(rank) + 6]});
    });
    EXPECT_EQ(results, (std::vector<std::string>{"300 318 ", "321 339 ", "342 360 "}));
}

TEST(ShmOperations, AllGatherPutsPartsInRankOrder) {
    const TemporaryFolder folder;
    const auto results = runRanks(3, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 3, 60);
        GDT_CHECK(r->communicator->allGather(r->data + 20 * rank, r->data, 20, kType, r->stream));
        GDT_CHECK(r->stream.synchronize());
        const std::vector<double>& all = r->read();
        return joined({all[0], all[19], all[20], all[39], all[40], all[59]});
    });
    for (const std::string& result : results)
        EXPECT_EQ(result, "0 19 120 139 240 259 ");
}

TEST(ShmOperations, BroadcastAndMaximum) {
    const TemporaryFolder folder;
    const auto results = runRanks(3, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 3, 40);
        GDT_CHECK(r->communicator->allReduce(r->data, r->data, 20, kType, ReduceOp::Max, r->stream));
        GDT_CHECK(r->communicator->broadcast(r->data + 20, r->data + 20, 20, kType, 1, r->stream));
        GDT_CHECK(r->stream.synchronize());
        const std::vector<double>& all = r->read();
        return joined({all[0], all[19], all[20], all[39]});
    });
    for (const std::string& result : results)
        EXPECT_EQ(result, "200 219 120 139 ");
}

TEST(ShmOperations, MessagesKeepTheirOrderAndSize) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 2, 40);
        Communicator& c = *r->communicator;
        if (rank == 0) {
            GDT_CHECK(c.send(r->data, 30, kType, 1, r->stream));
            GDT_CHECK(c.send(r->data + 30, 2, kType, 1, r->stream));
        } else {
            GDT_CHECK(c.receive(r->data, 30, kType, 0, r->stream));
            GDT_CHECK(c.receive(r->data + 30, 2, kType, 0, r->stream));
        }
        GDT_CHECK(r->stream.synchronize());
        const std::vector<double>& all = r->read();
        return joined({all[0], all[29], all[30], all[31], all[32]});
    });
    EXPECT_EQ(results[1], "0 29 30 31 132 ");
}

// A ring shift, eager and as graph nodes: everybody sends first, which needs the group.
TEST(ShmOperations, GroupsShiftARingAlsoInAGraph) {
    const TemporaryFolder folder;
    const auto results = runRanks(4, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 4, 40);
        const auto shift = [&] {
            GDT_CHECK(r->communicator->groupStart());
            GDT_CHECK(r->communicator->send(r->data, 20, kType, (rank + 1) % 4, r->stream));
            GDT_CHECK(r->communicator->receive(r->data + 20, 20, kType, (rank + 3) % 4, r->stream));
            GDT_CHECK(r->communicator->groupEnd());
            GDT_CHECK(r->stream.memcpyAsync(r->data, r->data + 20, 160, CopyKind::DeviceToDevice));
        };
        shift();
        Graph graph;
        GraphExec exec;
        GDT_CHECK(r->stream.beginCapture(CaptureMode::Global));
        shift();
        GDT_CHECK(r->stream.endCapture(graph));
        GDT_CHECK(graph.instantiate(exec));
        GDT_CHECK(exec.launch(r->stream));
        GDT_CHECK(exec.launch(r->stream));
        GDT_CHECK(r->stream.synchronize());
        return joined({r->read()[0], r->values[19]});
    });
    EXPECT_EQ(results, (std::vector<std::string>{"100 119 ", "200 219 ", "300 319 ", "0 19 "}));
}

TEST(ShmOperations, SplitMakesWorkingPartsInKeyOrder) {
    const TemporaryFolder folder;
    const auto results = runRanks(5, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 5, 4);
        std::string error;
        // Ranks 0, 2, 4 in reverse order; 1 alone; 3 in none.
        const int color = rank == 3 ? -1 : rank % 2;
        const auto part = r->communicator->split(color, -rank, error);
        if (part == nullptr)
            return "none " + error;
        GDT_CHECK(part->allReduce(r->data, r->data, 4, kType, ReduceOp::Sum, r->stream));
        GDT_CHECK(r->stream.synchronize());
        const bool other = part->hash() != r->communicator->hash();
        return std::to_string(part->rank()) + "/" + std::to_string(part->size()) + " "
            + joined({r->read()[0]}) + (other ? "own hash" : "same hash");
    });
    EXPECT_EQ(results,
        (std::vector<std::string>{
            "2/3 600 own hash", "0/1 100 own hash", "1/3 600 own hash", "none ", "0/3 600 own hash"}));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ShmOperations, TwoSendsThatWaitForEachOtherAreNamed) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 2, 20);
        GDT_CHECK(r->communicator->send(r->data, 20, kType, 1 - rank, r->stream));
        GDT_CHECK(r->communicator->receive(r->data, 20, kType, 1 - rank, r->stream));
        static_cast<void>(r->stream.synchronize());
        return r->communicator->error();
    });
    for (const std::string& result : results) {
        EXPECT_NE(result.find("ranks wait for each other: rank 0 in send of 20 float64 to rank 1"),
            std::string::npos)
            << result;
        EXPECT_NE(result.find("rank 1 in send of 20 float64 to rank 0"), std::string::npos) << result;
    }
}

// Rank 0 waits for a message that rank 2 would send after a collective that rank 0 has not reached.
TEST(ShmOperations, AMessageAndACollectiveThatWaitForEachOtherAreNamed) {
    const TemporaryFolder folder;
    const auto results = runRanks(3, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 3, 20);
        Communicator& c = *r->communicator;
        if (rank == 0)
            GDT_CHECK(c.receive(r->data, 20, kType, 2, r->stream));
        GDT_CHECK(c.allReduce(r->data, r->data, 20, kType, ReduceOp::Sum, r->stream));
        if (rank == 2)
            GDT_CHECK(c.send(r->data, 20, kType, 0, r->stream));
        static_cast<void>(r->stream.synchronize());
        return c.error();
    });
    for (const std::string& result : results) {
        EXPECT_NE(result.find("rank 0 in receive of 20 float64 from rank 2"), std::string::npos) << result;
        EXPECT_NE(result.find("rank 2 in all-reduce of 20 float64"), std::string::npos) << result;
    }
}

TEST(ShmOperations, ADifferentMessageSizeIsNamed) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 2, 20);
        GDT_CHECK(rank == 0 ? r->communicator->send(r->data, 20, kType, 1, r->stream)
                            : r->communicator->receive(r->data, 16, kType, 0, r->stream));
        static_cast<void>(r->stream.synchronize());
        return r->communicator->error();
    });
    for (const std::string& result : results) {
        EXPECT_NE(result.find("receive of 16 float64 from rank 0"), std::string::npos) << result;
        EXPECT_NE(result.find("send of 20 float64 to rank 1"), std::string::npos) << result;
    }
}

TEST(ShmOperations, ADeadPeerEndsAReceive) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 2, 20);
        if (rank == 1)
            _exit(0);
        GDT_CHECK(r->communicator->receive(r->data, 20, kType, 1, r->stream));
        static_cast<void>(r->stream.synchronize());
        return r->communicator->error();
    });
    EXPECT_NE(results[0].find("rank 1 has ended; rank 0 waited for it in receive of 20"), std::string::npos)
        << results[0];
}

// Without the strict mode the same mistake hangs until the time limit, as on a GPU.
TEST(ShmOperations, PartsNameRanksAsTheJobCountsThem) {
    const TemporaryFolder folder;
    const auto results = runRanks(4, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 4, 20);
        std::string error;
        const auto part = r->communicator->split(rank / 2, rank, error);
        if (part == nullptr)
            return error;
        if (rank < 2)
            return "";
        // Ranks 0 and 1 of the part are 2 and 3 of the job.
        GDT_CHECK(part->send(r->data, 20, kType, 1 - part->rank(), r->stream));
        static_cast<void>(r->stream.synchronize());
        return part->error();
    });
    for (const int rank : {2, 3}) {
        const std::string& result = results[static_cast<std::size_t>(rank)];
        EXPECT_NE(result.find("rank 2 in send of 20 float64 to rank 3"), std::string::npos) << result;
        EXPECT_NE(result.find("rank 3 in send of 20 float64 to rank 2"), std::string::npos) << result;
    }
}

TEST(ShmOperations, WithoutStrictModeOnlyTheTimeLimitEndsAHang) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        ShmOptions options = optionsFor(folder, rank, 2);
        options.strict = false;
        options.timeoutNs = 3'000'000'000; // also until all have come
        Rank r(options, 20, 1);
        if (r.communicator == nullptr)
            return "timed out before " + r.error;
        GDT_CHECK(r.communicator->send(r.data, 20, kType, 1 - rank, r.stream));
        static_cast<void>(r.stream.synchronize());
        return r.communicator->error();
    });
    for (const std::string& result : results)
        EXPECT_NE(result.find("did not come within 3000 ms"), std::string::npos) << result;
}

TEST(ShmOperations, CallsThatMakeNoSenseAreRefused) {
    const TemporaryFolder folder;
    const auto results = runRanks(2, [&](int rank) -> std::string {
        const auto r = numbered(folder, rank, 2, 4);
        Communicator& c = *r->communicator;
        const auto code = [](Status status) { return std::to_string(static_cast<int>(status)) + " "; };
        std::string text = code(c.send(r->data, 4, kType, rank, r->stream)); // to itself
        text += code(c.send(r->data, 4, kType, 2, r->stream)); // nobody
        text += code(c.allReduce(nullptr, r->data, 4, kType, ReduceOp::Sum, r->stream));
        text += code(c.groupEnd());
        text += code(c.groupStart());
        text += code(c.groupStart());
        text += code(c.allReduce(r->data, r->data, 4, kType, ReduceOp::Sum, r->stream)); // in a group
        return text + code(c.groupEnd());
    });
    for (const std::string& result : results)
        EXPECT_EQ(result, "1 1 1 1 0 1 1 0 ");
}

} // namespace gdt::comm
