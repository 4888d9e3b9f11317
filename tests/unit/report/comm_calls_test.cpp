// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm/calls.h"
#include "analyzer/report/comm/order.h"
#include "tests/unit/report/made_trace.h"

#include <gmock/gmock.h>

using namespace gd::report;
using gd::test::MadeTrace;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

namespace {

// Processes 1, 2, ... with the ranks 0, 1, ... of communicator 5; the rows of their calls in the order given.
class SameCalls : public testing::Test {
protected:
    void ranks(int count) {
        for (int process = 1; process <= count; ++process) {
            trace.process(process, process - 1);
            trace.sql(fmt::format("INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) "
                                  "VALUES ({}, 5, {}, {}, 0)",
                process, count, process - 1));
        }
    }
    // Returns its row.
    std::int64_t call(std::int64_t process, std::int64_t timeNs, const std::string& kind,
        const std::string& peer = "NULL", const std::string& capture = "NULL", std::int64_t comm = 5) {
        ++m_row;
        trace.sql(fmt::format("INSERT INTO nccl_op (process_id, op_id, comm_hash, kind, count, dtype, "
                              "message_bytes, peer, thread_id, time_ns, capture_id, source) VALUES "
                              "({}, {}, {}, '{}', 1, 'float32', 4, {}, 1, {}, {}, 'runtime')",
            process, m_row, comm, kind, peer, timeNs, capture));
        return m_row;
    }
    SameCall of(std::int64_t row) { return sameCall(trace.db, row).value(); }
    std::vector<std::pair<std::int64_t, std::int64_t>> rows(std::int64_t row) {
        std::vector<std::pair<std::int64_t, std::int64_t>> out;
        for (const SameCall::Call& one : of(row).calls)
            out.emplace_back(one.rank, one.rowId);
        return out;
    }

    MadeTrace trace;

private:
    std::int64_t m_row = 0;
};

TEST(AlikeByOrder, EndsWhereKindsDifferAndNotWhereARankEnds) {
    EXPECT_EQ(alikeByOrder({}), 0U);
    EXPECT_EQ(alikeByOrder({{"a", "b"}, {"a", "b"}}), 2U);
    EXPECT_EQ(alikeByOrder({{"a", "b", "c"}, {"a"}, {"a", "b"}}), 3U);
    EXPECT_EQ(alikeByOrder({{"a", "b"}, {"a", "c"}}), 1U);
    EXPECT_EQ(alikeByOrder({{"a", "b", "c"}, {}, {"a", "b", "d"}}), 2U);
}

TEST_F(SameCalls, TheSecondCollectiveOfEachRankIsOne) {
    ranks(3);
    call(1, 10, "all_reduce");
    call(2, 900, "all_reduce"); // hours later is the same call all the same
    call(3, 30, "all_reduce");
    const auto second = call(1, 40, "all_gather");
    const auto other = call(2, 910, "all_gather");
    const auto third = call(3, 60, "all_gather");
    call(1, 45, "all_gather", "NULL", "NULL", 6); // another communicator counts by itself
    EXPECT_THAT(rows(second), ElementsAre(Pair(1, other), Pair(2, third)));
    EXPECT_THAT(rows(other), ElementsAre(Pair(0, second), Pair(2, third)));
    EXPECT_THAT(of(second).without, IsEmpty());
    EXPECT_FALSE(of(second).isUnclear);
    EXPECT_EQ(of(second).calls[0].timeNs, 910);
    EXPECT_EQ(of(second).calls[0].process, 2);
    EXPECT_EQ(of(second).calls[0].kind, "all_gather");
}

TEST_F(SameCalls, CapturedCallsCountByThemselves) {
    ranks(2);
    const auto captured = call(1, 10, "all_reduce", "NULL", "7");
    const auto eager = call(1, 20, "all_reduce");
    const auto otherEager = call(2, 5, "all_reduce");
    const auto otherCaptured = call(2, 15, "all_reduce", "NULL", "8");
    EXPECT_THAT(rows(captured), ElementsAre(Pair(1, otherCaptured)));
    EXPECT_THAT(rows(eager), ElementsAre(Pair(1, otherEager)));
}

TEST_F(SameCalls, ARankThatNeverMadeTheCallIsNamed) {
    ranks(4);
    for (int process = 1; process <= 4; ++process)
        call(process, process, "all_reduce");
    const auto second = call(1, 10, "all_reduce");
    const auto other = call(3, 11, "all_reduce");
    EXPECT_THAT(rows(second), ElementsAre(Pair(2, other)));
    EXPECT_THAT(of(second).without, ElementsAre(1, 3));
}

TEST_F(SameCalls, OtherKindsAreNotGuessedAt) {
    ranks(2);
    const auto first = call(1, 1, "all_reduce");
    call(2, 2, "all_reduce");
    const auto odd = call(1, 3, "all_gather");
    call(2, 4, "broadcast", "0");
    const auto later = call(1, 5, "all_reduce");
    call(2, 6, "all_reduce");
    EXPECT_EQ(rows(first).size(), 1U);
    for (const auto row : {odd, later}) {
        EXPECT_THAT(rows(row), IsEmpty());
        EXPECT_TRUE(of(row).isUnclear);
        EXPECT_THAT(of(row).without, IsEmpty());
    }
}

TEST_F(SameCalls, TheNthSendToARankIsItsNthReceive) {
    ranks(3);
    const auto toTwo = call(1, 1, "send", "2");
    const auto firstToOne = call(1, 2, "send", "1");
    const auto secondToOne = call(1, 3, "send", "1");
    const auto back = call(1, 4, "recv", "1");
    const auto sentBack = call(2, 1, "send", "0");
    const auto firstReceived = call(2, 8, "recv", "0");
    const auto secondReceived = call(2, 9, "recv", "0");
    call(2, 10, "all_reduce"); // no message
    EXPECT_THAT(rows(firstToOne), ElementsAre(Pair(1, firstReceived)));
    EXPECT_THAT(rows(secondToOne), ElementsAre(Pair(1, secondReceived)));
    EXPECT_THAT(rows(secondReceived), ElementsAre(Pair(0, secondToOne)));
    EXPECT_THAT(rows(back), ElementsAre(Pair(1, sentBack)));
    // Nobody received it, and rank 1 has nothing to do with that.
    EXPECT_THAT(rows(toTwo), IsEmpty());
    EXPECT_THAT(of(toTwo).without, ElementsAre(2));
}

TEST_F(SameCalls, WhatIsNotKnownIsEmpty) {
    ranks(2);
    EXPECT_THAT(rows(99), IsEmpty()); // no such row
    const auto stranger = call(1, 1, "all_reduce", "NULL", "NULL", 77); // of no communicator
    EXPECT_THAT(rows(stranger), IsEmpty());
    const auto mine = call(1, 2, "all_reduce");
    call(2, 3, "all_reduce");
    EXPECT_EQ(rows(mine).size(), 1U);
    trace.process(9, 0); // claims rank 0 as well
    trace.sql(
        "INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) VALUES (9, 5, 2, 0, 0)");
    EXPECT_THAT(rows(mine), IsEmpty());
}

} // namespace
