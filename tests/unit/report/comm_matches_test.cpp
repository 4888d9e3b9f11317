// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm/link.h"
#include "analyzer/report/comm/matches.h"

#include <gmock/gmock.h>

using namespace gd::report;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

namespace {

Communicators communicators(const std::string& sql) {
    auto db = gd::Db::openInMemory().value();
    db.exec("CREATE TABLE nccl_comm (process_id, comm_hash, nranks, rank);"
            "CREATE TABLE process (process_id, rank, world_size, parent_process_id, host);"
          + sql)
        .value();
    return readCommunicators(db).value();
}
std::vector<std::int64_t> hashesOf(const Communicators& all) {
    std::vector<std::int64_t> out;
    for (const auto& [hash, comm] : all) {
        if (comm.isComplete() && comm.isOnOneHost())
            out.push_back(hash);
    }
    return out;
}

// A communicator of these processes, whose ranks are 0, 1, ... in their order.
Communicator of(const std::vector<std::int64_t>& processes, std::int64_t nranks = 0) {
    Communicator out;
    out.nranks = nranks == 0 ? static_cast<std::int64_t>(processes.size()) : nranks;
    for (std::size_t i = 0; i < processes.size(); ++i)
        out.members[processes[i]] = {static_cast<std::int64_t>(i), "h"};
    return out;
}

// Pairs of the rows and of the columns of a square of ranks.
const Communicators kSquare = {{5, of({1, 2})}, {6, of({3, 4})}, {7, of({1, 3})}, {8, of({2, 4})}};

struct Ran {
    std::int64_t process, row, startNs, endNs;
    std::int64_t name = 7;
    CommCall call = {};
    bool oneSided = false;
};
CommMatches matchesOf(const std::vector<Ran>& ran, const Communicators& communicators) {
    CommCalls calls;
    std::vector<CommKernel> kernels;
    for (const Ran& one : ran)
        kernels.push_back({one.process, one.row, one.startNs, one.endNs, one.name, -1, -1,
            calls.add(one.call), one.oneSided});
    return {std::move(kernels), std::move(calls), communicators};
}
// Kernels that belong together by number in order of process and start; empty: none.
std::vector<std::uint32_t> groupOf(const CommMatches& matches, std::size_t kernel) {
    const auto* const group = matches.groupOf(kernel);
    return group == nullptr ? std::vector<std::uint32_t>() : group->kernels;
}

} // namespace

TEST(CommMatches, ARankWaitsUntilTheLastOneArrives) {
    const auto matches
        = matchesOf({{1, 10, 0, 100}, {2, 20, 60, 101}, {3, 30, 20, 99}}, {{5, of({1, 2, 3})}});
    EXPECT_THAT(groupOf(matches, 0), ElementsAre(0, 1, 2));
    EXPECT_EQ(matches.waitsUntilNs(matches.find(1, 10, 0)), 60);
    EXPECT_EQ(matches.waitsUntilNs(matches.find(2, 20, 60)), 60); // the last one does not wait
    EXPECT_EQ(matches.waitsUntilNs(matches.find(3, 30, 20)), 60);
    EXPECT_EQ(matches.find(3, 10, 0), 3U);
    EXPECT_EQ(matches.waitsUntilNs(3), -1);
}

TEST(CommMatches, NeighboursThatTouchStayApart) {
    // Rank 2 leaves the first one while rank 1 has begun the second.
    const auto matches
        = matchesOf({{1, 1, 0, 100}, {1, 2, 101, 200}, {2, 1, 50, 105}, {2, 2, 110, 201}}, {{5, of({1, 2})}});
    EXPECT_THAT(groupOf(matches, 0), ElementsAre(0, 2));
    EXPECT_THAT(groupOf(matches, 1), ElementsAre(1, 3));
}

TEST(CommMatches, WhatCouldBeTwoIsNotMatched) {
    // Half of it overlaps the one, half the other.
    EXPECT_THAT(groupOf(matchesOf({{1, 1, 0, 100}, {2, 1, 0, 50}, {2, 2, 50, 100}}, {{5, of({1, 2})}}), 0),
        IsEmpty());
    // All ranks of a square busy: rows or columns?
    const auto square = matchesOf({{1, 1, 0, 9}, {2, 1, 0, 9}, {3, 1, 0, 9}, {4, 1, 0, 9}}, kSquare);
    EXPECT_EQ(square.waitsUntilNs(0), -1);
    // Other names, no overlap, and a rank that is not there.
    EXPECT_EQ(matchesOf({{1, 1, 0, 9, 7}, {2, 1, 0, 9, 8}}, {{5, of({1, 2})}}).waitsUntilNs(0), -1);
    EXPECT_EQ(matchesOf({{1, 1, 0, 9}, {2, 1, 9, 18}}, {{5, of({1, 2})}}).waitsUntilNs(0), -1);
    EXPECT_EQ(matchesOf({{1, 1, 0, 9}, {2, 1, 0, 9}}, {{5, of({1, 2, 3})}}).waitsUntilNs(0), -1);
    EXPECT_EQ(matchesOf({{1, 1, 0, 9}, {2, 1, 0, 9}}, {{5, of({1, 2}, 3)}}).waitsUntilNs(0), -1);
    EXPECT_EQ(matchesOf({{1, 1, 0, 9}}, {}).waitsUntilNs(0), -1);
    EXPECT_EQ(matchesOf({}, kSquare).waitsUntilNs(0), -1);
}

TEST(CommMatches, TheCommunicatorDecidesWhereItIsKnown) {
    const auto square = matchesOf({{1, 1, 0, 9, 7, {7, "", 0, -1}}, {2, 1, 1, 9, 7, {8, "", 0, -1}},
                                      {3, 1, 2, 9, 7, {7, "", 0, -1}}, {4, 1, 3, 9, 7, {8, "", 0, -1}}},
        kSquare);
    EXPECT_THAT(groupOf(square, 0), ElementsAre(0, 2));
    EXPECT_EQ(square.waitsUntilNs(1), 3);
    // Sends have one name on all ranks, but no counterpart of that name.
    EXPECT_EQ(
        matchesOf({{1, 1, 0, 9, 7, {5, "", 0, -1}, true}, {2, 1, 0, 9, 7, {5, "", 0, -1}, true}}, kSquare)
            .waitsUntilNs(0),
        -1);
    EXPECT_TRUE(isOneSided("ncclDevKernel_Recv(x)") && isOneSided("send"));
    EXPECT_FALSE(isOneSided("ncclDevKernel_SendRecv(x)") || isOneSided("ncclDevKernel_AllReduce_Sum_f32"));
}

// Equal names and no overlap: only the calls tell that they are the same.
TEST(CommMatches, CallsAreMatchedByTheirOrderAcrossHosts) {
    Communicator two = of({1, 2});
    two.members[2].host = "other";
    const CommCall call = {5, "all_reduce", 64, -1};
    const auto matches = matchesOf({{1, 1, 0, 10, 7, call}, {1, 2, 20, 30, 7, call},
                                       {2, 1, 1000, 1010, 7, call}, {2, 2, 1020, 1030, 7, call}},
        {{5, two}});
    EXPECT_THAT(groupOf(matches, 1), ElementsAre(1, 3));
    EXPECT_EQ(matches.waitsUntilNs(1), -1); // their clocks are not related
    EXPECT_FALSE(matches.groups()[0].isOnOneClock);
}

TEST(CommMatches, OrderThatTheClockContradictsGivesWayToTime) {
    // Rank 2's first call was not recorded, and its third was.
    const CommCall call = {5, "all_reduce", 64, -1};
    const auto shifted = matchesOf({{1, 1, 0, 10'000, 7, call}, {1, 2, 20'000, 30'000, 7, call},
                                       {2, 1, 21'000, 30'000, 7, call}, {2, 2, 40'000, 50'000, 7, call}},
        {{5, of({1, 2})}});
    EXPECT_THAT(shifted.refusals(), ElementsAre(Pair(5, CommMatches::Refusal::contradiction)));
    EXPECT_THAT(groupOf(shifted, 0), IsEmpty());
    EXPECT_THAT(groupOf(shifted, 1), ElementsAre(1, 2));
    EXPECT_EQ(shifted.waitsUntilNs(1), 21'000);
    // Other numbers and other kinds of calls: again only what ran together.
    const auto more = matchesOf(
        {{1, 1, 0, 10, 7, call}, {1, 2, 20, 30, 7, call}, {2, 1, 22, 30, 7, call}}, {{5, of({1, 2})}});
    EXPECT_THAT(more.refusals(), ElementsAre(Pair(5, CommMatches::Refusal::otherNumbers)));
    EXPECT_THAT(groupOf(more, 1), ElementsAre(1, 2));
    const CommCall gather = {5, "all_gather", 64, -1};
    const auto mixed = matchesOf({{1, 1, 0, 10, 7, call}, {2, 1, 0, 10, 7, gather}}, {{5, of({1, 2})}});
    EXPECT_THAT(mixed.refusals(), ElementsAre(Pair(5, CommMatches::Refusal::otherKinds)));
    EXPECT_THAT(groupOf(mixed, 0), IsEmpty());
}

TEST(CommMatches, ABroadcastWaitsForItsRootAndInAReductionOnlyTheRootWaits) {
    const Communicators three = {{5, of({1, 2, 3})}};
    const auto ran = [](const CommCall& call) {
        return std::vector<Ran>{
            {1, 1, 200, 600, 7, call}, {2, 1, 100, 600, 7, call}, {3, 1, 500, 600, 7, call}};
    };
    const auto broadcast = matchesOf(ran({5, "broadcast", 64, 0}), three); // its root is rank 0
    EXPECT_EQ(broadcast.waitsUntilNs(0), 200);
    EXPECT_EQ(broadcast.waitsUntilNs(1), 200);
    EXPECT_EQ(broadcast.waitsUntilNs(2), 500); // the root had come before
    const auto reduce = matchesOf(ran({5, "reduce", 64, 1}), three);
    EXPECT_EQ(reduce.waitsUntilNs(0), 200);
    EXPECT_EQ(reduce.waitsUntilNs(1), 500);
    EXPECT_EQ(reduce.waitsUntilNs(2), 500);
}

TEST(CommMatches, TheNthSendToARankIsItsNthReceive) {
    const CommCall send = {5, "send", 64, 1}, receive = {5, "recv", 64, 0};
    const auto matches
        = matchesOf({{1, 1, 0, 310, 7, send, true}, {1, 2, 400, 500, 7, send, true},
                        {2, 1, 300, 310, 8, receive, true}, {2, 2, 390, 500, 8, receive, true}},
            {{5, of({1, 2})}});
    EXPECT_THAT(groupOf(matches, 0), ElementsAre(0, 2));
    EXPECT_TRUE(matches.groupOf(0)->isMessage);
    EXPECT_EQ(matches.waitsUntilNs(0), 300);
    EXPECT_EQ(matches.waitsUntilNs(2), 300);
    EXPECT_EQ(matches.waitsUntilNs(3), 400);
    // Nothing is received before it was sent.
    EXPECT_THAT(groupOf(matchesOf({{1, 1, 9'000, 9'100, 7, send, true}, {2, 1, 0, 100, 8, receive, true}},
                            {{5, of({1, 2})}}),
                    0),
        IsEmpty());
}

TEST(CommLink, AKernelIsOfTheCallItWasCapturedFromOrOfItsStreamsOnlyCommunicator) {
    auto db = gd::Db::openInMemory().value();
    db.exec(
          "CREATE TABLE graph_node (process_id, node_id, origin_node_id, comm_op_id, stream_id, capture_id, "
          "graph_id, type, created_ns, name);"
          "CREATE TABLE nccl_op (process_id, op_id, comm_hash, stream_id, capture_id, message_bytes, peer, "
          "group_id, kind, time_ns);"
          "INSERT INTO nccl_op VALUES (1, 1, 5, 13, 1, 8, NULL, NULL, 'all_reduce', 1),"
          "(1, 2, 6, 14, 1, 9, 3, NULL, 'broadcast', 2), (1, 3, 7, 14, 1, 8, NULL, NULL, 'all_reduce', 3),"
          "(1, 4, 8, 1, NULL, 8, NULL, NULL, 'all_gather', 4), (1, 5, 8, 1, NULL, 8, NULL, NULL, "
          "'all_gather', 5), (1, 6, 9, 2, NULL, 7, NULL, 4, 'send', 6), (1, 7, 9, 2, NULL, 7, NULL, 4, "
          "'recv', "
          "7);"
          "INSERT INTO graph_node (process_id, node_id, origin_node_id, comm_op_id, stream_id) VALUES "
          "(1, 10, NULL, 2, 14), (1, 11, NULL, NULL, 13), (1, 12, NULL, NULL, 14), (1, 20, 10, NULL, NULL), "
          "(1, 21, 11, NULL, NULL), (1, 22, 12, NULL, NULL);")
        .value();
    const auto callOf = [&](std::int64_t stream, std::int64_t node) {
        std::vector<CommKernel> kernels = {{1, 1, 0, 9, 7, stream, node}};
        CommCalls calls;
        EXPECT_TRUE(linkCommunication(db, kernels, calls, 0, 100));
        return calls[kernels[0].call];
    };
    EXPECT_EQ(callOf(99, 20), (CommCall{6, "broadcast", 9, 3})); // by its call
    EXPECT_EQ(callOf(99, 21), (CommCall{5, "", 0, -1})); // by the stream it was captured on
    EXPECT_EQ(callOf(99, 22), CommCall()); // two communicators were captured there
    EXPECT_EQ(callOf(1, -1), (CommCall{8, "", 0, -1})); // two calls, one kernel
    EXPECT_EQ(callOf(2, -1), (CommCall{9, "group of 2", 14, -1}));
    EXPECT_EQ(callOf(13, -1), CommCall()); // what was captured says nothing of eager calls
    EXPECT_EQ(callOf(3, -1), CommCall());
}

TEST(Communicators, OnlyCompleteOnesOfOneHostTellWhoWaits) {
    const auto recorded
        = communicators("INSERT INTO nccl_comm VALUES (1, 5, 2, 0), (2, 5, 2, 1), (1, 6, 3, 0), "
                        "(2, 6, 3, 1), (1, 7, 1, 0), (1, 8, 2, 0), (2, 8, 2, 0);");
    EXPECT_THAT(hashesOf(recorded), ElementsAre(5));
    EXPECT_EQ(recorded.count(8), 0U); // two claim one rank
    EXPECT_THAT(hashesOf(among(recorded, {1})), IsEmpty());
    // Not recorded: the job, when all of it is there.
    EXPECT_THAT(
        hashesOf(communicators("INSERT INTO process VALUES (1, 0, 2, NULL, 'a'), (2, 1, 2, NULL, 'a'), "
                               "(3, 1, 2, 2, 'a');")),
        ElementsAre(0));
    // Clocks of two hosts are not related.
    EXPECT_THAT(
        hashesOf(communicators("INSERT INTO process VALUES (1, 0, 2, NULL, 'a'), (2, 1, 2, NULL, 'b');"
                               "INSERT INTO nccl_comm VALUES (1, 5, 2, 0), (2, 5, 2, 1);")),
        IsEmpty());
    EXPECT_THAT(
        hashesOf(communicators("INSERT INTO process VALUES (1, 0, 3, NULL, 'a'), (2, 1, 3, NULL, 'a');")),
        IsEmpty());
}
