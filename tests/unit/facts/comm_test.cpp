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

} // namespace
} // namespace gd::facts
