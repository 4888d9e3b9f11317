// SPDX-License-Identifier: Apache-2.0
// Ranks of one step side by side: figures computed by hand.
#include "analyzer/report/ranks/step_comparison.h"
#include "tests/unit/report/made_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

using namespace gd;
using namespace gd::report;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

constexpr std::int64_t kComm = std::int64_t{0xabcd} << 32;
enum Shape { gemm = 1, nccl = 2 };

// Ranks whose step 0 lasts from 1000 to 2000, each with one stream 7 on device 0.
class RankStep : public testing::Test {
protected:
    RankStep() {
        trace.sql("INSERT INTO string VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce');"
                  "INSERT INTO kernel_shape VALUES (1, 1, 1,1,1,1,1,1,0,0,0), (2, 2, 1,1,1,1,1,1,0,0,0)");
    }
    void rank(std::int64_t number, std::int64_t nranks = 2, const std::string& host = "h") {
        m_process = number + 1;
        trace.process(m_process, number, host);
        trace.steps(m_process, {1000});
        trace.sql(fmt::format("INSERT INTO device_busy VALUES ({}, 0, 0, 1, 1000, 2000, 0, 0, 0, 0, 0, 0, 0, "
                              "'node', 0, 1, NULL);"
                              "INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) "
                              "VALUES ({}, {}, {}, {}, 1);"
                              "INSERT INTO track VALUES ({}, {}, 'kernel', 0, 7, NULL, 's', {}, {}, 0)",
            m_process, m_process, kComm, nranks, number, m_process, m_process, m_process * 100,
            m_process * 100));
        m_kernel = m_process * 100;
    }
    void kernel(Shape shape, std::int64_t startNs, std::int64_t endNs, std::int64_t node = 0) {
        trace.sql(fmt::format("INSERT INTO kernel VALUES ({}, {}, {}, {}, {}, NULL, {});"
                              "UPDATE track SET last_rowid = {} WHERE track_id = {}",
            m_kernel, m_process, startNs, endNs - startNs, static_cast<int>(shape),
            node == 0 ? std::string("NULL") : std::to_string(node), m_kernel, m_process));
        ++m_kernel;
    }
    // A call outside graphs in the step, then its kernel.
    void comm(const char* kind, std::int64_t startNs, std::int64_t endNs, std::int64_t peer = -1,
        std::int64_t bytes = 64) {
        op(kind, 1000 + ++m_calls, peer, bytes, "NULL");
        kernel(nccl, startNs, endNs);
    }
    std::int64_t op(const char* kind, std::int64_t timeNs, std::int64_t peer, std::int64_t bytes,
        const std::string& capture) {
        trace.sql(fmt::format(
            "INSERT INTO nccl_op VALUES ({}, {}, {}, '{}', 1, 'f', {}, {}, 7, 1, {}, {}, NULL, NULL, "
            "'runtime', NULL)",
            m_process, ++m_op, kComm, kind, bytes, peer < 0 ? std::string("NULL") : std::to_string(peer),
            timeNs, capture));
        return m_op;
    }
    StepComparison compare() { return compareRanks(trace.db, 0).value(); }

    gd::test::MadeTrace trace;
    std::int64_t m_process = 0, m_kernel = 0, m_op = 0, m_calls = 0;
};

std::vector<std::string> print(const RankLane& lane) {
    const std::map<LaneSegment::Kind, std::string> names{{LaneSegment::Kind::work, "work"},
        {LaneSegment::Kind::replay, "replay"}, {LaneSegment::Kind::transfer, "transfer"},
        {LaneSegment::Kind::wait, "wait"}};
    std::vector<std::string> out;
    for (const LaneSegment& segment : lane.segments)
        out.push_back(fmt::format("{} {}-{}", names.at(segment.kind), segment.startNs, segment.endNs));
    return out;
}

TEST_F(RankStep, WhoComesLastHoldsTheOthersUp) {
    rank(0);
    kernel(gemm, 1000, 1100);
    comm("all_reduce", 1100, 1500, -1, 4096);
    rank(1);
    kernel(gemm, 1050, 1400);
    comm("all_reduce", 1410, 1500, -1, 4096);
    const StepComparison found = compare();
    EXPECT_THAT(found.notes, IsEmpty());
    ASSERT_EQ(found.collectives.size(), 1u);
    EXPECT_EQ(found.collectives[0].kind, "all_reduce");
    EXPECT_EQ(found.collectives[0].bytes, 4096);
    EXPECT_EQ(found.collectives[0].skewNs, 310);
    EXPECT_EQ(found.collectives[0].lastLane, 1u);
    ASSERT_EQ(found.lanes.size(), 2u);
    EXPECT_EQ(found.lanes[0].waitNs, 310);
    EXPECT_EQ(found.lanes[1].waitNs, 0);
    EXPECT_EQ(found.lanes[0].heldUpNs, 0);
    EXPECT_EQ(found.lanes[1].heldUpNs, 310);
    EXPECT_EQ(found.lanes[0].computeNs, 100);
    EXPECT_EQ(found.lanes[0].commNs, 400);
    EXPECT_EQ(found.lanes[1].idleNs, 1000 - 350 - 90);
    EXPECT_EQ(found.lanes[1].firstWorkNs, 1050);
    EXPECT_EQ(print(found.lanes[0]),
        (std::vector<std::string>{"work 1000-1100", "wait 1100-1410", "transfer 1410-1500"}));
}

// A clock's uncertainty is no reason to blame anybody: here 310 ns of 1 us. In microseconds it is.
TEST_F(RankStep, TheSlowestIsNamedBeyondTheClocksUncertainty) {
    rank(0);
    comm("all_reduce", 1100, 1500);
    rank(1);
    comm("all_reduce", 1410, 1500);
    EXPECT_EQ(compare().slowest, std::nullopt);
    trace.sql("UPDATE step SET end_ns = 1000001000; UPDATE device_busy SET end_ns = 1000001000;"
              "UPDATE kernel SET start_ns = start_ns * 10000, dur_ns = dur_ns * 10000");
    const StepComparison found = compare();
    EXPECT_EQ(found.slowest, std::nullopt) << "3.1 ms of a step of a second are below 1 %";
    trace.sql("UPDATE step SET end_ns = 20001000; UPDATE device_busy SET end_ns = 20001000");
    EXPECT_EQ(compare().slowest, 1u);
    EXPECT_THAT(
        compare().slowestWhy, HasSubstr("rank 1 comes last: the others would gain 3.10 ms of 20.0 ms"));
}

TEST_F(RankStep, TheLastOfThreeCostsWhatIsBetweenItAndTheNextToLast) {
    const std::int64_t starts[] = {1100, 1300, 1350};
    for (int i = 0; i < 3; ++i) {
        rank(i, 3);
        comm("all_gather", starts[i], 1400);
    }
    const StepComparison found = compare();
    EXPECT_EQ(found.lanes[0].waitNs, 250);
    EXPECT_EQ(found.lanes[1].waitNs, 50);
    EXPECT_EQ(found.lanes[2].heldUpNs, 50);
}

TEST_F(RankStep, NodesOfGraphsAreKnownByTheirCall) {
    for (int i = 0; i < 2; ++i) {
        rank(i);
        const std::int64_t call = op("reduce_scatter", 500, -1, 128, "3");
        trace.sql(fmt::format(
            "INSERT INTO graph_node (process_id, node_id, exec_id, origin_node_id, type, created_ns) "
            "VALUES ({0}, 50, 9, 40, 'comm', 1);"
            "INSERT INTO graph_node (process_id, node_id, graph_id, capture_id, type, created_ns, "
            "comm_op_id) VALUES ({0}, 40, 8, 3, 'comm', 1, {1})",
            m_process, call));
        kernel(nccl, 1100 + i * 100, 1500, 50);
    }
    const StepComparison found = compare();
    EXPECT_THAT(found.notes, IsEmpty());
    ASSERT_EQ(found.collectives.size(), 1u);
    EXPECT_EQ(found.collectives[0].kind, "reduce_scatter");
    EXPECT_EQ(found.collectives[0].skewNs, 100);
}

// NCCL's kernels carry no call: the n-th of a stream of the capture is the n-th call on it.
TEST_F(RankStep, KernelNodesAreKnownByTheirOrderInTheCapture) {
    for (int i = 0; i < 2; ++i) {
        rank(i);
        for (int n = 0; n < 2; ++n) {
            op(n == 0 ? "all_reduce" : "all_gather", 500 + n, -1, 128, "3");
            trace.sql(fmt::format(
                "INSERT INTO graph_node (process_id, node_id, exec_id, origin_node_id, type, "
                "created_ns) VALUES ({0}, {1}, 9, {2}, 'kernel', 1);"
                "INSERT INTO graph_node (process_id, node_id, graph_id, capture_id, type, created_ns, "
                "stream_id, name) VALUES ({0}, {2}, 8, 3, 'kernel', {2}, 7, 'ncclDevKernel_X')",
                m_process, 50 + n, 40 + n));
            kernel(nccl, 1100 + n * 200 + i * 10, 1200 + n * 200, 50 + n);
        }
    }
    const StepComparison found = compare();
    ASSERT_EQ(found.collectives.size(), 2u);
    EXPECT_EQ(found.collectives[0].kind, "all_reduce");
    EXPECT_EQ(found.collectives[1].kind, "all_gather");
    EXPECT_EQ(found.lanes[0].waitNs, 20);
}

TEST_F(RankStep, MessagesWaitForTheOtherSide) {
    rank(0);
    comm("send", 1100, 1310, 1);
    rank(1);
    comm("recv", 1300, 1310, 0);
    const StepComparison found = compare();
    ASSERT_EQ(found.collectives.size(), 1u);
    EXPECT_EQ(found.collectives[0].kind, "send");
    EXPECT_EQ(found.lanes[0].waitNs, 200);
    EXPECT_EQ(found.lanes[1].waitNs, 0);
    EXPECT_EQ(found.lanes[1].heldUpNs, 200);
}

TEST_F(RankStep, ABroadcastWaitsForItsRootOnly) {
    const std::int64_t starts[] = {1200, 1100, 1500}; // the root is rank 0
    for (int i = 0; i < 3; ++i) {
        rank(i, 3);
        comm("broadcast", starts[i], 1600, 0);
    }
    const StepComparison found = compare();
    EXPECT_EQ(found.lanes[0].waitNs, 0);
    EXPECT_EQ(found.lanes[1].waitNs, 100);
    EXPECT_EQ(found.lanes[2].waitNs, 0);
}

TEST_F(RankStep, OneRankMissing) {
    rank(0, 3);
    comm("all_reduce", 1100, 1500);
    rank(2, 3);
    comm("all_reduce", 1400, 1500);
    const StepComparison found = compare();
    ASSERT_EQ(found.collectives.size(), 1u);
    EXPECT_EQ(found.collectives[0].skewNs, 300);
    EXPECT_EQ(found.lanes[0].waitNs, std::nullopt); // the third may have come later still
    EXPECT_THAT(
        found.notes, Contains(HasSubstr("communicator 0000abcd: not all of its ranks are in the trace")));
}

// Those that ran on all ranks at one time are the same all the same.
TEST_F(RankStep, OfOtherNumbersOfCallsOnlyWhatRanTogetherIsCompared) {
    rank(0);
    comm("all_reduce", 1100, 1200);
    comm("all_reduce", 1300, 1400);
    rank(1);
    comm("all_reduce", 1100, 1200);
    const StepComparison found = compare();
    ASSERT_EQ(found.collectives.size(), 1u);
    EXPECT_EQ(found.collectives[0].skewNs, 0);
    EXPECT_THAT(found.notes, Contains(HasSubstr("its ranks ran different numbers of collectives")));
    EXPECT_THAT(found.notes, Contains(HasSubstr("1 communication kernel could not be matched")));
}

TEST_F(RankStep, CallsThatCannotBeTheSameAreNotCompared) {
    rank(0);
    comm("all_reduce", 1100, 1200);
    rank(1);
    comm("all_reduce", 9300, 9400);
    trace.sql("UPDATE device_busy SET start_ns = 9000, end_ns = 9900 WHERE process_id = 2");
    EXPECT_THAT(compare().notes, Contains(HasSubstr("a rank left a collective before all had come")));
}

TEST_F(RankStep, ClocksOfTwoHostsAreNotCompared) {
    rank(0, 2, "a");
    comm("all_reduce", 1100, 1200);
    rank(1, 2, "b");
    comm("all_reduce", 1900, 2000);
    const StepComparison found = compare();
    EXPECT_FALSE(found.oneClock);
    ASSERT_EQ(found.collectives.size(), 1u);
    EXPECT_EQ(found.collectives[0].skewNs, std::nullopt);
    EXPECT_EQ(found.lanes[0].waitNs, std::nullopt);
    EXPECT_THAT(found.notes, Contains(HasSubstr("clocks of the hosts are not fitted")));
}

TEST_F(RankStep, WhoComputesLongestIsTheSlowestWhereNothingIsSaidOfWaits) {
    for (int i = 0; i < 3; ++i) {
        rank(i, 3);
        kernel(gemm, 1000, i == 1 ? 1600 : 1400);
    }
    const StepComparison found = compare();
    EXPECT_EQ(found.slowest, 1u);
    EXPECT_EQ(found.slowestWhy, "rank 1 works longest: 600 ns, the median is 400 ns");
}

TEST_F(RankStep, CommunicationBehindOtherWorkIsNotDrawn) {
    rank(0);
    kernel(gemm, 1000, 1300);
    trace.sql("INSERT INTO track VALUES (50, 1, 'kernel', 0, 8, NULL, 't', 900, 900, 1);"
              "INSERT INTO kernel VALUES (900, 50, 1200, 200, 2, NULL, NULL)"); // another stream
    rank(1);
    const StepComparison found = compare();
    EXPECT_EQ(print(found.lanes[0]), (std::vector<std::string>{"work 1000-1300", "transfer 1300-1400"}));
    EXPECT_EQ(found.lanes[0].exposedCommNs, 100);
    EXPECT_EQ(found.lanes[0].busyNs, 400);
}

TEST_F(RankStep, WholeReplaysHideWhatIsInThem) {
    for (int i = 0; i < 2; ++i) {
        rank(i);
        trace.sql(fmt::format(
            "INSERT INTO track VALUES ({0}, {1}, 'replay', NULL, 7, NULL, 'r', {0}, {0}, 1);"
            "INSERT INTO replay (replay_id, track_id, process_id, exec_id, launch_start_ns, start_ns, "
            "end_ns, detail) VALUES ({0}, {0}, {1}, 1, 1010, 1100, 1900, 'graph')",
            20 + i, m_process));
    }
    StepComparison found = compare();
    EXPECT_EQ(print(found.lanes[0]), (std::vector<std::string>{"replay 1100-1900"}));
    EXPECT_EQ(found.lanes[0].busyNs, 800);
    EXPECT_EQ(found.lanes[0].computeNs, std::nullopt);
    EXPECT_THAT(found.notes, Contains(HasSubstr("replays were recorded as a whole")));
    // With its nodes recorded a replay is what they are.
    kernel(gemm, 1200, 1300, 77);
    found = compare();
    EXPECT_EQ(print(found.lanes[1]), (std::vector<std::string>{"work 1200-1300"}));
    EXPECT_EQ(found.lanes[1].computeNs, 100);
}

TEST_F(RankStep, StepsOfSeveralRanksOnly) {
    rank(0);
    rank(1);
    trace.sql("INSERT INTO step (process_id, step, start_ns, end_ns, method, kind, replays, captures) "
              "VALUES (1, 5, 3000, 4000, 'known_range', 'steady', 0, 0)");
    EXPECT_EQ(comparableSteps(trace.db).value(), std::vector<std::int64_t>{0});
    EXPECT_EQ(compareRanks(trace.db, 5).error().message,
        "step 5 is in 1 process of this trace: two are needed to compare");
    EXPECT_FALSE(compareRanks(trace.db, 99));
}

TEST_F(RankStep, WithoutDeviceWorkTheHostsStepIsShown) {
    rank(0);
    rank(1);
    trace.sql("DELETE FROM device_busy WHERE process_id = 2");
    const StepComparison found = compare();
    EXPECT_EQ(found.lanes[1].deviceId, -1);
    EXPECT_EQ(found.lanes[1].endNs, 2000);
    EXPECT_THAT(found.notes, Contains(HasSubstr("rank 1: no device work was recorded in this step")));
}

} // namespace
