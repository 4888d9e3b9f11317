// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm_matches.h"

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
    return completeCommunicators(db).value();
}

// Pairs of the rows and of the columns of a square of ranks.
const Communicators kSquare = {{5, {1, 2}}, {6, {3, 4}}, {7, {1, 3}}, {8, {2, 4}}};

} // namespace

TEST(CommMatches, ARankWaitsUntilTheLastOneArrives) {
    const CommMatches matches(
        {{1, 10, 0, 100, 7}, {2, 20, 60, 101, 7}, {3, 30, 20, 99, 7}}, {{5, {1, 2, 3}}});
    EXPECT_THAT(matches.collective(0), ElementsAre(0, 1, 2));
    EXPECT_EQ(matches.waitsUntilNs(matches.find(1, 10)), 60);
    EXPECT_EQ(matches.waitsUntilNs(matches.find(2, 20)), 60); // the last one does not wait
    EXPECT_EQ(matches.waitsUntilNs(matches.find(3, 30)), 60);
    EXPECT_EQ(matches.find(3, 10), 3U);
}

TEST(CommMatches, NeighboursThatTouchStayApart) {
    // Rank 2 leaves the first one while rank 1 has begun the second.
    const CommMatches matches(
        {{1, 1, 0, 100, 7}, {1, 2, 101, 200, 7}, {2, 1, 50, 105, 7}, {2, 2, 110, 201, 7}}, {{5, {1, 2}}});
    EXPECT_THAT(matches.collective(0), ElementsAre(0, 2));
    EXPECT_THAT(matches.collective(1), ElementsAre(1, 3));
}

TEST(CommMatches, WhatCouldBeTwoIsNotMatched) {
    // Half of it overlaps the one, half the other.
    EXPECT_THAT(
        CommMatches({{1, 1, 0, 100, 7}, {2, 1, 0, 50, 7}, {2, 2, 50, 100, 7}}, {{5, {1, 2}}}).collective(0),
        IsEmpty());
    // All ranks of a square busy: rows or columns?
    const CommMatches square({{1, 1, 0, 9, 7}, {2, 1, 0, 9, 7}, {3, 1, 0, 9, 7}, {4, 1, 0, 9, 7}}, kSquare);
    EXPECT_EQ(square.waitsUntilNs(0), -1);
    // Other names, no overlap, and a rank that is not there.
    EXPECT_EQ(CommMatches({{1, 1, 0, 9, 7}, {2, 1, 0, 9, 8}}, {{5, {1, 2}}}).waitsUntilNs(0), -1);
    EXPECT_EQ(CommMatches({{1, 1, 0, 9, 7}, {2, 1, 9, 18, 7}}, {{5, {1, 2}}}).waitsUntilNs(0), -1);
    EXPECT_EQ(CommMatches({{1, 1, 0, 9, 7}, {2, 1, 0, 9, 7}}, {{5, {1, 2, 3}}}).waitsUntilNs(0), -1);
    EXPECT_EQ(CommMatches({{1, 1, 0, 9, 7}}, {}).waitsUntilNs(0), -1);
}

TEST(CommMatches, TheCommunicatorDecidesWhereItIsKnown) {
    const CommMatches square(
        {{1, 1, 0, 9, 7, 7}, {2, 1, 1, 9, 7, 8}, {3, 1, 2, 9, 7, 7}, {4, 1, 3, 9, 7, 8}}, kSquare);
    EXPECT_THAT(square.collective(0), ElementsAre(0, 2));
    EXPECT_EQ(square.waitsUntilNs(1), 3);
    // Sends have one name on all ranks, but no counterpart of that name.
    EXPECT_EQ(
        CommMatches({{1, 1, 0, 9, 7, 5, false}, {2, 1, 0, 9, 7, 5, false}}, kSquare).waitsUntilNs(0), -1);
}

TEST(CommMatches, AKernelIsOfTheCallItWasCapturedFromOrOfItsStreamsOnlyCommunicator) {
    auto db = gd::Db::openInMemory().value();
    db.exec("CREATE TABLE graph_node (process_id, node_id, origin_node_id, comm_op_id, stream_id);"
            "CREATE TABLE nccl_op (process_id, op_id, comm_hash, stream_id, capture_id);"
            "INSERT INTO nccl_op VALUES (1, 1, 5, 13, 1), (1, 2, 6, 14, 1), (1, 3, 7, 14, 1), (1, 4, 8, 1, "
            "NULL);"
            "INSERT INTO graph_node VALUES (1, 10, NULL, 2, 14), (1, 11, NULL, NULL, 13), "
            "(1, 12, NULL, NULL, 14), (1, 20, 10, NULL, NULL), (1, 21, 11, NULL, NULL), (1, 22, 12, NULL, "
            "NULL);")
        .value();
    auto identity = CommIdentity::open(db).value();
    EXPECT_EQ(identity.of(1, 99, 20).value(), 6); // by its call
    EXPECT_EQ(identity.of(1, 99, 21).value(), 5); // by the stream it was captured on
    EXPECT_EQ(identity.of(1, 99, 22).value(), 0); // two communicators were captured there
    EXPECT_EQ(identity.of(1, 1, -1).value(), 8);
    EXPECT_EQ(identity.of(1, 13, -1).value(), 0); // what was captured says nothing of eager calls
    EXPECT_EQ(identity.of(2, 1, -1).value(), 0);
}

TEST(CommMatches, OnlyCompleteCommunicatorsCount) {
    EXPECT_THAT(communicators("INSERT INTO nccl_comm VALUES (1, 5, 2, 0), (2, 5, 2, 1), (1, 6, 3, 0), "
                              "(2, 6, 3, 1), (1, 7, 1, 0);"),
        ElementsAre(Pair(5, ElementsAre(1, 2))));
    // Not recorded: the job, when all of it is there.
    EXPECT_THAT(communicators("INSERT INTO process VALUES (1, 0, 2, NULL, 'a'), (2, 1, 2, NULL, 'a'), "
                              "(3, 1, 2, 2, 'a');"),
        ElementsAre(Pair(0, ElementsAre(1, 2))));
    // Clocks of two hosts are not related.
    EXPECT_THAT(communicators("INSERT INTO process VALUES (1, 0, 2, NULL, 'a'), (2, 1, 2, NULL, 'b');"
                              "INSERT INTO nccl_comm VALUES (1, 5, 2, 0), (2, 5, 2, 1);"),
        IsEmpty());
    EXPECT_THAT(
        communicators("INSERT INTO process VALUES (1, 0, 3, NULL, 'a'), (2, 1, 3, NULL, 'a');"), IsEmpty());
}
