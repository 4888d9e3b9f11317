// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

constexpr std::int64_t kComm = 0xabc;

TEST(Nccl, BytesOfAReplayAndOfAStep) {
    TraceBuilder trace;
    addSteps(trace, 8, 10 * kMs);
    trace.comm(kComm, 4, 5);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.commOp(kComm, "all_reduce", 1000, 12, 1);
    trace.commOp(kComm, "all_gather", 100, 13, 1);
    for (int i = 0; i < 8; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        trace.replay(1, t, t + 10, t + 20, t + kMs);
        trace.replay(1, t + kMs, t + kMs + 10, t + kMs + 20, t + 2 * kMs);
        trace.commOp(kComm, "all_reduce", 300, t + 3 * kMs);
        trace.kernel("ncclDevKernel_AllReduce", t + 3 * kMs, t + 4 * kMs);
        trace.kernel("gemm", t + 3'600 * kUs, t + 5 * kMs, {.stream = 9});
    }
    build(trace);
    EXPECT_EQ(trace.number("SELECT message_bytes FROM nccl_replay"), 1100);
    // 2 x 3/4 of 1000, and 3 x 100.
    EXPECT_EQ(trace.number("SELECT wire_bytes FROM nccl_replay"), 1800);
    EXPECT_EQ(trace.number("SELECT ops FROM nccl_replay"), 2);
    EXPECT_EQ(trace.number("SELECT replays FROM nccl_replay"), 16);
    EXPECT_EQ(trace.number("SELECT graph_bytes FROM nccl_step WHERE step = 5"), 2200);
    EXPECT_EQ(trace.number("SELECT eager_bytes FROM nccl_step WHERE step = 5"), 300);
    EXPECT_EQ(trace.number("SELECT graph_ops FROM nccl_step WHERE step = 5"), 4);
    EXPECT_EQ(trace.number("SELECT exposed_eager_ns FROM nccl_step WHERE step = 5"), 600 * kUs);
    EXPECT_EQ(trace.number("SELECT nranks FROM nccl_step WHERE step = 5"), 4);
}

TEST(Nccl, WhereEagerCallsOfAStepLie) {
    TraceBuilder trace;
    addSteps(trace, 8, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    const auto inStep = [&](int step, const char* kind, std::int64_t atNs) {
        trace.commOp(kComm + step, kind, 100, (step + 1) * 10 * kMs + atNs);
    };
    for (int i = 0; i < 8; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        trace.replay(1, t, t + 10, t + 20, t + kMs);
        trace.replay(1, t + 5 * kMs, t + 5 * kMs + 10, t + 5 * kMs + 20, t + 6 * kMs);
    }
    inStep(3, "all_reduce", 2 * kMs);
    inStep(3, "all_reduce", 7 * kMs);
    inStep(4, "all_reduce", 7 * kMs);
    inStep(4, "send", 2 * kMs);
    inStep(5, "recv", 2 * kMs);
    build(trace);
    const auto kind = [&](int step) {
        return trace.text("SELECT eager_kind FROM nccl_step WHERE step = " + std::to_string(step));
    };
    EXPECT_EQ(kind(3), "between_graphs");
    EXPECT_EQ(kind(4), "after_graphs");
    EXPECT_EQ(kind(5), "point_to_point");
}

TEST(Nccl, TheReductionBeforeTheOptimizersGraphFollowsTheModels) {
    TraceBuilder trace;
    addSteps(trace, 8, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm", "adam_fused"});
    trace.capturedGraph(2, 60, 70, {"norm", "adamw"});
    for (int i = 0; i < 8; ++i) {
        const std::int64_t t = (i + 1) * 10 * kMs;
        trace.replay(1, t, t + 10, t + 20, t + kMs);
        trace.commOp(kComm, "all_reduce", 100, t + 2 * kMs);
        trace.replay(2, t + 5 * kMs, t + 5 * kMs + 10, t + 5 * kMs + 20, t + 6 * kMs);
    }
    build(trace);
    EXPECT_EQ(trace.text("SELECT eager_kind FROM nccl_step WHERE step = 4"), "after_graphs");
}

TEST(Nccl, BytesOnTheWireNeedTheNumberOfRanks) {
    TraceBuilder trace;
    trace.comm(kComm, 0, 5);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.commOp(kComm, "all_reduce", 1000, 12, 1);
    build(trace);
    EXPECT_EQ(trace.number("SELECT message_bytes FROM nccl_replay"), 1000);
    EXPECT_TRUE(trace.isNull("SELECT wire_bytes FROM nccl_replay"));
}

TEST(CommLifetime, WhatHoldsACommunicatorIsThereWhateverWasMissedBefore) {
    TraceBuilder trace(900'000);
    trace.coverage("comm_ops", "complete", 300);
    trace.comm(kComm, 2, 250, 500'000);
    trace.capturedGraph(1, 310, 320, {"gemm"});
    trace.commOp(kComm, "all_reduce", 1000, 312, 1);
    build(trace);
    EXPECT_EQ(trace.number("SELECT known FROM comm_lifetime"), 1);
}

TEST(CommLifetime, DestroyedWhileAnExecutableLives) {
    TraceBuilder trace(900'000);
    trace.comm(kComm, 2, 5, 500'000);
    trace.capturedGraph(1, 10, 20, {"gemm"}, "step/cycle");
    trace.commOp(kComm, "all_reduce", 1000, 12, 1);
    trace.exec(3, 1, 60, 400'000);
    trace.sql("INSERT INTO process_fact VALUES (1, 'nccl_version', '22809')");
    build(trace);
    EXPECT_EQ(trace.number("SELECT live_execs FROM comm_lifetime"), 1);
    EXPECT_EQ(trace.number("SELECT live_graphs FROM comm_lifetime"), 1);
    EXPECT_EQ(trace.number("SELECT first_exec_id FROM comm_lifetime"), 1);
    EXPECT_EQ(trace.number("SELECT waited_ns FROM comm_lifetime"), 400'000);
    EXPECT_EQ(trace.text("SELECT graph_name FROM comm_lifetime"), "step/cycle");
    EXPECT_EQ(trace.number("SELECT nccl_version FROM comm_lifetime"), 22809);
    EXPECT_TRUE(trace.isNull("SELECT execs_gone_ns FROM comm_lifetime"));
}

TEST(CommLifetime, GraphsThatWereGoneBefore) {
    TraceBuilder trace(900'000);
    trace.comm(kComm, 2, 5, 500'000, 500'100);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.commOp(kComm, "all_reduce", 1000, 12, 1);
    trace.sql("UPDATE graph_exec SET destroyed_ns = 400000; UPDATE graph SET destroyed_ns = 300000");
    build(trace);
    EXPECT_EQ(trace.number("SELECT live_execs + live_graphs FROM comm_lifetime"), 0);
    EXPECT_EQ(trace.number("SELECT waited_ns FROM comm_lifetime"), 100);
}

TEST(CommLifetime, DestroyedInTheMeantimeSaysWhen) {
    TraceBuilder trace(900'000);
    trace.comm(kComm, 2, 5, 500'000, 700'100);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.commOp(kComm, "all_reduce", 1000, 12, 1);
    trace.sql("UPDATE graph_exec SET destroyed_ns = 700000");
    build(trace);
    EXPECT_EQ(trace.number("SELECT execs_gone_ns FROM comm_lifetime"), 700'000);
}

TEST(CommLifetime, AnAbortIsNoOrderlyEnd) {
    TraceBuilder trace(900'000);
    trace.comm(kComm, 2, 5, 500'000, 500'100);
    trace.call(1, GD_API_COMM_ABORT, 499'990, 500'110);
    trace.capturedGraph(1, 10, 20, {"gemm"}, "step/cycle");
    trace.commOp(kComm, "all_reduce", 1000, 12, 1);
    trace.capture(400'000, {.id = 2, .endNs = 600'000});
    trace.replay(1, 450'000, 450'100, -1, -1);
    trace.replay(1, 700'000, 700'100, -1, -1, {.result = 719});
    trace.replay(1, 800'000, 800'100, -1, -1, {.result = 719});
    trace.process(2);
    trace.comm(kComm, 2, 5, 600'000, 600'100);
    trace.call(1, GD_API_COMM_ABORT, 599'990, 600'110);
    build(trace);
    const char* first = " FROM comm_lifetime WHERE process_id = 1";
    EXPECT_EQ(trace.number(std::string("SELECT unfinished") + first), 1); // without times
    EXPECT_EQ(trace.number(std::string("SELECT aborted") + first), 1);
    EXPECT_EQ(trace.number(std::string("SELECT first_abort") + first), 1);
    EXPECT_EQ(trace.number(std::string("SELECT open_captures") + first), 1);
    EXPECT_EQ(trace.number(std::string("SELECT replays_after") + first), 2);
    EXPECT_EQ(trace.number(std::string("SELECT first_after_ns") + first), 700'000);
    EXPECT_EQ(trace.number(std::string("SELECT failed_after") + first), 2);
    EXPECT_EQ(
        trace.text(std::string("SELECT first_failed") + first), "cuGraphLaunch: CUDA_ERROR_LAUNCH_FAILED");
    EXPECT_EQ(trace.number("SELECT aborted FROM comm_lifetime WHERE process_id = 2"), 1);
    EXPECT_EQ(trace.number("SELECT first_abort FROM comm_lifetime WHERE process_id = 2"), 0);
}

TEST(CommLifetime, ReplaysThatHadNotEnded) {
    const auto unfinished = [](std::int64_t endNs, const char* more) {
        TraceBuilder trace(900'000);
        trace.comm(kComm, 2, 5, 500'000, 500'100);
        trace.call(1, GD_API_COMM_ABORT, 499'990, 500'110);
        trace.capturedGraph(1, 10, 20, {"gemm"});
        trace.commOp(kComm, "all_reduce", 1000, 12, 1);
        trace.capturedGraph(2, 30, 40, {"gemm"}); // without calls of it: says nothing
        trace.replay(1, 400'000, 400'100, 400'200, 410'000);
        trace.replay(2, 420'000, 420'100, 420'200, 800'000);
        trace.replay(1, 450'000, 450'100, endNs < 0 ? -1 : 450'200, endNs);
        trace.sql(more);
        build(trace);
        return trace.number("SELECT unfinished FROM comm_lifetime");
    };
    EXPECT_EQ(unfinished(500'000, ""), 0);
    EXPECT_EQ(unfinished(500'001, ""), 1);
    EXPECT_EQ(unfinished(-1, ""), 1);
    EXPECT_EQ(unfinished(-1, "UPDATE replay SET result = 719 WHERE start_ns IS NULL"), 0);
    EXPECT_EQ(unfinished(-1, "UPDATE coverage SET state = 'absent' WHERE source = 'graph_trace'"), 0);
}

TEST(CommLifetime, ADestroyIsNoAbort) {
    TraceBuilder trace(900'000);
    trace.comm(kComm, 2, 5, 500'000, 500'100);
    trace.call(1, GD_API_COMM_DESTROY, 499'990, 500'110);
    build(trace);
    EXPECT_EQ(trace.number("SELECT aborted + first_abort + replays_after FROM comm_lifetime"), 0);
}

class RingPeersTest : public testing::Test {
protected:
    // Two hops a step; `eager` and `captured` are the ranks that this one sends to in each step and graph.
    std::string found(const std::vector<int>& eager, const std::vector<int>& captured, int from = 2) {
        trace.comm(kComm, 4, 5);
        std::int64_t at = 10 * kMs;
        for (const int peer : eager) {
            for (int i = 0; i < 2; ++i) {
                hop("send", peer, at + i * kMs);
                hop("recv", from, at + i * kMs + 10);
            }
            at += 10 * kMs;
        }
        std::int64_t id = 1;
        for (const int peer : captured) {
            trace.capturedGraph(id, at, at + kMs, {"kernel"}, "cycle");
            hop("send", peer, at + 10, id);
            hop("recv", from, at + 20, id);
            for (int i = 0; i < 4; ++i)
                trace.replay(id, at + (2 + i) * kMs, at + (2 + i) * kMs + 10, -1, -1);
            ++id;
            at += 10 * kMs;
        }
        build(trace);
        return trace.text("SELECT COALESCE((SELECT captured_peer || ' of ' || eager_peers || ' x' || replays "
                          "FROM ring_peers), 'none')");
    }
    void hop(const char* kind, int peer, std::int64_t atNs, std::int64_t capture = 0) {
        const std::int64_t id = trace.commOp(kComm, kind, 64, atNs, capture);
        trace.sql(
            "UPDATE nccl_op SET peer = " + std::to_string(peer) + " WHERE op_id = " + std::to_string(id));
    }

    TraceBuilder trace;
};

TEST_F(RingPeersTest, TurnsEagerlyAndNotInTheGraph) {
    EXPECT_EQ(found({1, 3, 1}, {1}), "1 of 1, 3, 1 x4");
}

TEST_F(RingPeersTest, KeepsItsPeers) {
    EXPECT_EQ(found({1, 1, 1}, {1}), "none");
}

TEST_F(RingPeersTest, HasAGraphForEachDirection) {
    EXPECT_EQ(found({1, 3, 1}, {1, 3}), "none");
}

TEST_F(RingPeersTest, APipelineSendsBothWays) {
    trace.capturedGraph(9, 100, 200, {"kernel"}, "cycle");
    hop("send", 3, 110, 9);
    hop("recv", 2, 120, 9);
    trace.replay(9, 300, 310, -1, -1);
    EXPECT_EQ(found({1, 3, 1, 3}, {1}), "none");
}

TEST_F(RingPeersTest, APairIsNoRing) {
    EXPECT_EQ(found({2, 2, 2}, {2}), "none");
}

class StallTest : public testing::Test {
protected:
    static constexpr std::int64_t kSecond = 1'000'000'000;

    std::string found(TraceBuilder& trace) {
        build(trace);
        return trace.text("SELECT COALESCE((SELECT group_concat(outcome || ' ' || name || ' ' || ((end_ns - "
                          "start_ns) / 1000000000)) FROM stall WHERE known), 'none')");
    }
};

TEST_F(StallTest, AReplayThatWasNotOverWhenTheProcessEnded) {
    TraceBuilder trace(100 * kSecond);
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    trace.replay(1, kSecond, kSecond + 10, kSecond + 20, kSecond + kMs);
    trace.replay(1, 40 * kSecond, 40 * kSecond + 10, -1, -1);
    trace.replay(1, 41 * kSecond, 41 * kSecond + 10, -1, -1);
    EXPECT_EQ(found(trace), "never cycle 60");
}

TEST_F(StallTest, AnOrderlyEndNeedsHalfAMinute) {
    TraceBuilder trace(69 * kSecond);
    trace.sql("UPDATE process SET ended = 'closed'");
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    trace.replay(1, 40 * kSecond, 40 * kSecond + 10, -1, -1);
    EXPECT_EQ(found(trace), "none");
}

TEST_F(StallTest, AKilledJobHasStalledAfterSeconds) {
    TraceBuilder trace(69 * kSecond);
    trace.sql("UPDATE process SET ended = 'unknown', exit_status = NULL");
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    trace.replay(1, 66 * kSecond, 66 * kSecond + 10, -1, -1);
    EXPECT_EQ(found(trace), "never cycle 3");
}

TEST_F(StallTest, ALaterReplayOfTheStreamThatEndedMeansThatThisOneDid) {
    TraceBuilder trace(100 * kSecond);
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    trace.replay(1, kSecond, kSecond + 10, -1, -1);
    trace.replay(1, 2 * kSecond, 2 * kSecond + 10, 2 * kSecond + 20, 2 * kSecond + kMs);
    EXPECT_EQ(found(trace), "none");
}

TEST_F(StallTest, AReplayThatTookAMinute) {
    TraceBuilder trace(100 * kSecond);
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    for (int i = 1; i < 5; ++i)
        trace.replay(1, i * kSecond, i * kSecond + 10, i * kSecond + 20, i * kSecond + kMs);
    trace.replay(1, 20 * kSecond, 20 * kSecond + 10, 20 * kSecond + 20, 80 * kSecond + 20);
    EXPECT_EQ(found(trace), "late cycle 60");
}

// Rank 0 saves a checkpoint; rank 1 has launched its next graph and waits in it for the all-reduce.
TEST_F(StallTest, AReplayThatWaitedForACheckpointWentOn) {
    TraceBuilder trace(200 * kSecond);
    for (int rank = 0; rank < 2; ++rank) {
        if (rank > 0)
            trace.process(rank + 1);
        trace.comm(kComm, 2, 5);
        trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
        trace.commOp(kComm, "all_reduce", 64, 150, 1);
        for (int i = 1; i < 10; ++i)
            trace.replay(1, i * kSecond, i * kSecond + 10, i * kSecond + 20, i * kSecond + kMs);
        const std::int64_t launchNs = (rank == 0 ? 55 : 10) * kSecond;
        trace.replay(1, launchNs, launchNs + 10, launchNs + 20, 55 * kSecond + kMs);
        for (int i = 56; i < 60; ++i)
            trace.replay(1, i * kSecond, i * kSecond + 10, i * kSecond + 20, i * kSecond + kMs);
    }
    trace.sql("UPDATE process SET ended = 'unknown', exit_status = NULL");
    EXPECT_EQ(found(trace), "late cycle 45");
    EXPECT_EQ(trace.number("SELECT went_on FROM stall"), 1);
    EXPECT_EQ(trace.number("SELECT absent_ranks FROM stall"), 0);
    EXPECT_EQ(trace.text("SELECT others FROM stall"), "rank 0 last launched cycle 45.0 s after this began");
}

// What was in the stream's queue runs when an abort sets it free; then the process is killed.
TEST_F(StallTest, WhatAnAbortSetFreeDidNotGoOn) {
    TraceBuilder trace(100 * kSecond);
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    for (int i = 1; i < 5; ++i)
        trace.replay(1, i * kSecond, i * kSecond + 10, i * kSecond + 20, i * kSecond + kMs);
    trace.replay(1, 20 * kSecond, 20 * kSecond + 10, 20 * kSecond + 20, 80 * kSecond);
    trace.replay(1, 21 * kSecond, 21 * kSecond + 10, 80 * kSecond, 80 * kSecond + kMs);
    trace.sql("UPDATE process SET ended = 'unknown', exit_status = NULL");
    EXPECT_EQ(found(trace), "late cycle 59");
    EXPECT_EQ(trace.number("SELECT went_on FROM stall"), 0);
}

TEST_F(StallTest, AStreamThatWentOnOnceCanStillStall) {
    TraceBuilder trace(200 * kSecond);
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    for (int i = 1; i < 10; ++i)
        trace.replay(1, i * kSecond, i * kSecond + 10, i * kSecond + 20, i * kSecond + kMs);
    trace.replay(1, 10 * kSecond, 10 * kSecond + 10, 10 * kSecond, 55 * kSecond);
    trace.replay(1, 60 * kSecond, 60 * kSecond + 10, 60 * kSecond, 105 * kSecond);
    trace.replay(1, 110 * kSecond, 110 * kSecond + 10, 110 * kSecond, 110 * kSecond + kMs);
    trace.replay(1, 120 * kSecond, 120 * kSecond + 10, -1, -1);
    EXPECT_EQ(found(trace), "late cycle 45,never cycle 80");
}

TEST_F(StallTest, ALongReplayIsNoStallWhereAllAreLong) {
    TraceBuilder trace(500 * kSecond);
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    for (int i = 1; i < 5; ++i)
        trace.replay(1, i * 40 * kSecond, i * 40 * kSecond + 10, i * 40 * kSecond, (i * 40 + 35) * kSecond);
    EXPECT_EQ(found(trace), "none");
}

TEST_F(StallTest, WithoutRecordsOfReplaysItIsNotKnown) {
    TraceBuilder trace(100 * kSecond);
    trace.coverage("graph_trace", "absent");
    trace.capturedGraph(1, 100, 200, {"kernel"}, "cycle");
    trace.replay(1, 40 * kSecond, 40 * kSecond + 10, -1, -1);
    EXPECT_EQ(found(trace), "none");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM stall"), 1);
}

// Both ranks of a host runtime send first; each gives up with an error.
TEST_F(StallTest, SendsThatWaitForEachOther) {
    TraceBuilder trace(100 * kSecond);
    for (int rank = 0; rank < 2; ++rank) {
        if (rank > 0)
            trace.process(rank + 1);
        trace.hostDevice(1000);
        trace.comm(kComm, 2, 5);
        trace.call(1, GD_API_COMM_SEND, 1000, 1100, {.correlation = 40 + rank});
        const std::int64_t op = trace.commOp(kComm, "send", 64, 1050);
        trace.sql(
            "UPDATE nccl_op SET peer = " + std::to_string(1 - rank) + " WHERE op_id = " + std::to_string(op));
        trace.kernel("gemm", 500, 900);
        trace.kernel("Send", 2000, 2000 + kMs, {.correlation = 40 + rank});
        trace.call(1, GD_API_STREAM_SYNCHRONIZE, 3000, 3000 + kMs, {.result = 719});
    }
    trace.sql("UPDATE process SET runtime = 'host'");
    build(trace);
    EXPECT_EQ(trace.text("SELECT group_concat(name || ' ' || rank || '-' || peer || ' ' || cycle || ' ' || "
                         "outcome || ' ' || others) FROM (SELECT * FROM stall ORDER BY rank)"),
        "Send 0-1 1 failed rank 1 in Send to rank 0,Send 1-0 1 failed rank 0 in Send to rank 1");
    EXPECT_EQ(trace.text("SELECT error FROM stall"), "CUDA_ERROR_LAUNCH_FAILED");
}

// Two ranks on devices whose processes end some seconds after an eager receive.
class PendingCallTest : public testing::Test {
protected:
    static constexpr std::int64_t kSecond = 1'000'000'000;

    explicit PendingCallTest(std::int64_t endNs = 100 * kSecond)
        : trace(endNs) {
        for (int rank = 0; rank < 2; ++rank) {
            if (rank > 0)
                trace.process(rank + 1);
            trace.comm(kComm, 2, 5);
            trace.kernel("gemm", 500, 900, {.correlation = 40});
            trace.call(1, GD_API_EVENT_RECORD, 1000, 1010, {.correlation = 50});
            receive(rank, 88 * kSecond);
            receive(rank, 89 * kSecond); // queues behind it
        }
        trace.sql("UPDATE process SET ended = 'unknown', exit_status = NULL");
    }
    void receive(int rank, std::int64_t atNs) {
        const std::int64_t op = trace.commOp(kComm, "recv", 64, atNs);
        trace.sql(
            "UPDATE nccl_op SET peer = " + std::to_string(1 - rank) + " WHERE op_id = " + std::to_string(op));
    }
    std::string found() {
        build(trace);
        return trace.text(
            "SELECT COALESCE((SELECT group_concat(kind || ' ' || name || ' ' || rank || '-' || peer "
            "|| ' ' || cycle || ' ' || outcome || ' ' || ((end_ns - start_ns) / 1000000000) || ' ' || "
            "others) FROM (SELECT * FROM stall WHERE known ORDER BY rank)), 'none')");
    }

    TraceBuilder trace;
};

TEST_F(PendingCallTest, AReceiveBehindWhichItsStreamDidNothing) {
    EXPECT_EQ(found(),
        "comm Recv 0-1 1 never 12 rank 1 in Recv from rank 0,comm Recv 1-0 1 never 12 rank 0 in Recv from "
        "rank 1");
}

TEST_F(PendingCallTest, WhatTheStreamDidLaterMeansThatItEnded) {
    trace.kernel("ncclDevKernel_SendRecv", 90 * kSecond, 91 * kSecond, {.correlation = 60}); // of rank 1
    trace.sql("UPDATE nccl_op SET kind = 'send', peer = 1 WHERE process_id = 1");
    found();
    EXPECT_EQ(trace.number("SELECT count(*) FROM stall"), 1);
    EXPECT_EQ(trace.text("SELECT name FROM stall"), "Send");
    EXPECT_EQ(trace.text("SELECT others FROM stall"), "rank 1 last called Recv 1.0 s after this began");
    EXPECT_EQ(trace.number("SELECT absent_ranks FROM stall"), 0);
}

TEST_F(PendingCallTest, RanksThatAreNotInTheTraceAreCounted) {
    trace.sql("UPDATE nccl_comm SET nranks = 4");
    found();
    EXPECT_EQ(trace.number("SELECT MIN(absent_ranks) FROM stall"), 2);
}

TEST_F(PendingCallTest, WithoutEagerKernelsItIsNotKnown) {
    trace.coverage("eager_kernel_activity", "partial");
    EXPECT_EQ(trace.number("SELECT count(*) FROM process"), 2);
    found();
    EXPECT_EQ(trace.number("SELECT count(*) FROM stall WHERE known AND process_id = 2"), 0);
}

class SoonEndedCallTest : public PendingCallTest {
protected:
    SoonEndedCallTest()
        : PendingCallTest(89 * kSecond + kSecond / 2) { }
};

TEST_F(SoonEndedCallTest, RecordsOfTheLastSecondsMayBeMissing) {
    EXPECT_EQ(found(), "none");
}

class CommCostTest : public testing::Test {
protected:
    // Steps of 10 ms; in step i of each process the collective takes commMs[i].
    void job(const std::vector<std::vector<int>>& commMs, const char* kernel = "ncclDevKernel_AllReduce") {
        for (std::size_t rank = 0; rank < commMs.size(); ++rank) {
            if (rank > 0)
                trace.process(static_cast<std::int64_t>(rank) + 1);
            addSteps(trace, 12, 10 * kMs);
            trace.comm(kComm, 2, 5);
            for (int i = 0; i < 12; ++i) {
                const std::int64_t at = (i + 1) * 10 * kMs;
                trace.launch(1, "gemm", at + 10, at + 20, at + 4 * kMs, {.correlation = 100 + i});
                const int ms = commMs[rank][static_cast<std::size_t>(i) % commMs[rank].size()];
                trace.commOp(kComm, "all_reduce", 1'000'000, at + 100);
                trace.launch(
                    1, kernel, at + 200, at + 4 * kMs, at + (4 + ms) * kMs, {.correlation = 200 + i});
            }
        }
        build(trace);
    }

    TraceBuilder trace;
};

TEST_F(CommCostTest, TheFastestStepOfTheRankThatWaitsLeast) {
    job({{5, 4, 5}, {3, 5, 5}});
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM comm_cost WHERE least_comm_ns = 3000000"), 2);
    EXPECT_EQ(trace.number("SELECT comm_ns FROM comm_cost WHERE process_id = 1"), 5 * kMs);
    EXPECT_EQ(trace.number("SELECT bytes FROM comm_cost WHERE process_id = 1"), 1'000'000);
    EXPECT_EQ(trace.number("SELECT hosts FROM comm_cost WHERE process_id = 1"), 1);
    EXPECT_EQ(trace.number("SELECT known FROM comm_cost WHERE process_id = 1"), 1);
}

TEST_F(CommCostTest, SeveralHostsTheLaunchersNumberAndAModel) {
    trace.sql("INSERT INTO env_var VALUES (1, 'LOCAL_WORLD_SIZE', '8')");
    job({{5}, {5}}, "MODELLED AllReduce");
    trace.sql("UPDATE process SET host = 'node' || process_id");
    build(trace);
    EXPECT_EQ(trace.number("SELECT hosts FROM comm_cost WHERE process_id = 1"), 2);
    EXPECT_EQ(trace.number("SELECT local_ranks FROM comm_cost WHERE process_id = 1"), 8);
    EXPECT_TRUE(trace.isNull("SELECT local_ranks FROM comm_cost WHERE process_id = 2"));
    EXPECT_EQ(trace.number("SELECT is_modelled FROM comm_cost WHERE process_id = 1"), 1);
}

TEST_F(CommCostTest, WithoutItsKernelsItIsNotKnown) {
    job({{5}, {5}}, "reduction of something");
    EXPECT_EQ(trace.number("SELECT SUM(known) FROM comm_cost"), 0);
}

} // namespace
} // namespace gd::facts
