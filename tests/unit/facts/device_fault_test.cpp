// SPDX-License-Identifier: Apache-2.0
// device_fault: the first error that stays, and what was in flight when it was seen.
#include "tests/unit/facts/facts_test_support.h"

#include <gmock/gmock.h>

namespace gd::facts {
namespace {

constexpr int kIllegalAddress = 700;
constexpr int kAssert = 710;
constexpr int kLaunchFailed = 719;
constexpr int kUnknown = 999;

// A replay each 10 ms on stream 7, waited for 5 ms after its launch.
class DeviceFaultTest : public testing::Test {
protected:
    void SetUp() override {
        trace.capturedGraph(1, 100, 200, {"embed", "gemm"}, "decode");
        trace.sql(
            "INSERT OR REPLACE INTO stream (process_id, stream_id, device_id, context_id, non_blocking, "
            "created_ns) VALUES (1, 1, 0, NULL, 0, 0), (1, 7, 0, 1, 1, 0), (1, 8, 0, 1, 0, 0), "
            "(1, 9, 0, 1, 1, 0)");
    }
    static std::int64_t at(int i) { return (i + 1) * 10 * kMs; }
    void launch(int i, std::int64_t exec = 1, std::int64_t stream = 7, std::int64_t stack = 0) {
        trace.replay(exec, at(i), at(i) + 10 * kUs, -1, -1, {.stream = stream, .stack = stack});
    }
    void wait(gd_api_id api, std::int64_t startNs, TraceBuilder::Call call = {.stream = 7}) {
        trace.call(1, api, startNs, startNs + kMs, call);
    }
    // `count` replays that ended.
    void replays(int count) {
        for (int i = 0; i < count; ++i) {
            launch(i);
            wait(GD_API_STREAM_SYNCHRONIZE, at(i) + 5 * kMs);
        }
    }
    void fails(int i, int result = kIllegalAddress, gd_api_id api = GD_API_STREAM_SYNCHRONIZE) {
        wait(api, at(i) + 5 * kMs, {.stream = 7, .result = result});
    }
    std::int64_t number(const std::string& column) {
        return trace.number("SELECT " + column + " FROM device_fault WHERE process_id = 1");
    }
    std::string text(const std::string& column) {
        return trace.text("SELECT " + column + " FROM device_fault WHERE process_id = 1");
    }
    std::int64_t rows() { return trace.number("SELECT count(*) FROM device_fault"); }

    TraceBuilder trace;
};

TEST_F(DeviceFaultTest, TheReplayThatWasInFlight) {
    replays(6);
    launch(6, 1, 7, trace.stack({"run@60"}));
    const std::int64_t stack = trace.stack({"(anonymous namespace)::answer<f(int)>(Service&)@80"});
    trace.call(2, GD_API_STREAM_SYNCHRONIZE, at(7), at(7) + kMs,
        {.stream = 7, .stack = stack, .result = kIllegalAddress});
    trace.call(1, GD_API_MEM_FREE, at(8), at(8) + kMs, {.result = kIllegalAddress});
    build(trace);
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(number("result"), kIllegalAddress);
    EXPECT_EQ(text("api"), "cuStreamSynchronize");
    EXPECT_EQ(number("start_ns"), at(7));
    EXPECT_EQ(number("thread_id"), 2);
    EXPECT_EQ(text("thread_name"), "worker");
    EXPECT_EQ(number("stack_id"), stack);
    EXPECT_THAT(text("place"), testing::EndsWith(":80 in answer<f(int)>"));
    EXPECT_EQ(number("failed_calls"), 2);
    EXPECT_EQ(number("launches"), 7);
    EXPECT_EQ(number("in_flight"), 1);
    EXPECT_EQ(number("execs"), 1);
    EXPECT_EQ(number("have_times"), 0);
    EXPECT_TRUE(trace.isNull("SELECT eager_kernels FROM device_fault")) << "no device record at all";
    EXPECT_EQ(number("exec_id"), 1);
    EXPECT_EQ(text("graph_name"), "decode");
    EXPECT_EQ(number("first_launch"), 7);
    EXPECT_EQ(number("last_launch"), 7);
    EXPECT_EQ(text("launch_place"), "run.cpp:60 in run");
    EXPECT_EQ(number("recovered"), 0);
    EXPECT_EQ(text("first_process_id"), "NULL");
}

TEST_F(DeviceFaultTest, OtherErrorsAreNone) {
    replays(2);
    launch(2);
    for (const int result : {1, 2, 4, 401, 600, 704, 720, 900, 901, 910})
        fails(2, result);
    build(trace);
    EXPECT_EQ(rows(), 0);
}

TEST_F(DeviceFaultTest, AnUnknownErrorCountsWhereItStays) {
    launch(0);
    fails(0, kUnknown);
    build(trace);
    EXPECT_EQ(rows(), 0) << "one call alone";
    fails(1, kUnknown);
    build(trace);
    EXPECT_EQ(rows(), 1);
    launch(3);
    build(trace);
    EXPECT_EQ(rows(), 0) << "the device works";
    fails(4, kAssert);
    build(trace);
    EXPECT_EQ(number("result"), kAssert);
}

TEST_F(DeviceFaultTest, NothingIsInFlightBehindAWaitThatSucceeded) {
    replays(3);
    fails(5, kIllegalAddress, GD_API_DEVICE_SYNCHRONIZE);
    build(trace);
    EXPECT_EQ(number("in_flight"), 0);
    EXPECT_EQ(number("launches"), 3);
    EXPECT_TRUE(trace.isNull("SELECT exec_id FROM device_fault"));
    EXPECT_TRUE(trace.isNull("SELECT how FROM device_fault"));
}

TEST_F(DeviceFaultTest, WhatProvesThatALaunchHadEnded) {
    struct Proof {
        gd_api_id api;
        TraceBuilder::Call call;
        bool proves;
    };
    const Proof proofs[] = {
        {GD_API_STREAM_QUERY, {.stream = 7}, true},
        {GD_API_STREAM_QUERY, {.stream = 7, .result = 600}, false},
        {GD_API_STREAM_SYNCHRONIZE, {.stream = 9}, false},
        {GD_API_STREAM_SYNCHRONIZE, {.stream = 1}, false}, // the legacy stream; 7 is non-blocking
        {GD_API_DEVICE_SYNCHRONIZE, {}, true},
        {GD_API_EVENT_SYNCHRONIZE, {.object = 5}, true},
        {GD_API_EVENT_QUERY, {.object = 5}, true},
        {GD_API_EVENT_QUERY, {.object = 6}, false}, // recorded on another stream
        {GD_API_EVENT_QUERY, {.object = 4}, false}, // recorded before the launch
        {GD_API_MEMCPY_DTOD, {.stream = 7}, false},
        {GD_API_MEMCPY_DTOH, {.stream = 7}, true},
        {GD_API_STREAM_SYNCHRONIZE, {.stream = 7, .returns = false}, false},
    };
    for (const Proof& proof : proofs) {
        trace.sql("DELETE FROM api_call; DELETE FROM replay");
        wait(GD_API_EVENT_RECORD, at(0) - 2 * kMs, {.stream = 7, .object = 4});
        launch(0);
        wait(GD_API_EVENT_RECORD, at(0) + kMs, {.stream = 7, .object = 5});
        wait(GD_API_EVENT_RECORD, at(0) + kMs, {.stream = 9, .object = 6});
        wait(proof.api, at(1), proof.call);
        fails(3);
        build(trace);
        EXPECT_EQ(number("in_flight"), proof.proves ? 0 : 1) << &proof - proofs;
    }
}

TEST_F(DeviceFaultTest, TheLegacyStreamWaitsForBlockingOnes) {
    launch(0, 1, 8);
    wait(GD_API_MEMCPY_DTOH, at(1), {.stream = 1});
    fails(2);
    build(trace);
    EXPECT_EQ(number("in_flight"), 0);
}

TEST_F(DeviceFaultTest, AWaitFromBeforeTheLaunchProvesNothing) {
    wait(GD_API_STREAM_SYNCHRONIZE, at(0) - 1);
    launch(0);
    fails(2);
    build(trace);
    EXPECT_EQ(number("in_flight"), 1);
}

TEST_F(DeviceFaultTest, LaterWorkOfTheStreamProvesThatALaunchHadEnded) {
    for (int i = 0; i < 4; ++i)
        launch(i);
    trace.replay(1, at(4), at(4) + 1, at(4) + 10, at(4) + 20);
    launch(5);
    launch(6, 1, 9);
    trace.kernel("add", at(6), at(6) + 10, {.stream = 9, .correlation = 100'000}); // before that launch
    fails(7);
    build(trace);
    EXPECT_EQ(number("in_flight"), 2) << "the fifth has times, those before it had ended";
    EXPECT_EQ(number("first_launch"), 6);
    EXPECT_EQ(number("last_launch"), 7);
    trace.kernel("add", at(6) + 20, at(6) + 30, {.stream = 9, .correlation = 900'000});
    build(trace);
    EXPECT_EQ(number("in_flight"), 1);
    EXPECT_EQ(number("eager_kernels"), 1);
}

TEST_F(DeviceFaultTest, ReplaysWithDeviceTimesMayHaveEnded) {
    trace.replay(1, at(0), at(0) + 1, at(0) + 10, at(0) + 20);
    fails(1);
    build(trace);
    EXPECT_EQ(number("in_flight"), 1);
    EXPECT_EQ(number("have_times"), 1);
}

TEST_F(DeviceFaultTest, KernelsOutsideGraphsSinceTheFirstReplay) {
    trace.kernel("warm_up", 10, 20, {.correlation = 5});
    trace.replay(1, at(0), at(0) + 1, at(0) + 10, at(0) + 20);
    launch(1);
    fails(1);
    build(trace);
    EXPECT_EQ(number("eager_kernels"), 0);
    EXPECT_EQ(number("measured"), 1);
    EXPECT_EQ(number("launches"), 2);
    trace.coverage("eager_kernel_activity", "partial");
    build(trace);
    EXPECT_TRUE(trace.isNull("SELECT eager_kernels FROM device_fault"));
}

TEST_F(DeviceFaultTest, ADeviceThatWorksAgainWasReset) {
    launch(0);
    fails(1);
    wait(GD_API_DEVICE_SYNCHRONIZE, at(3), {});
    build(trace);
    EXPECT_EQ(number("recovered"), 1);
}

TEST_F(DeviceFaultTest, HostRuntimesEndCommunicationWithLaunchFailed) {
    trace.sql("UPDATE process SET runtime = 'host'");
    launch(0);
    fails(1, kLaunchFailed);
    build(trace);
    EXPECT_EQ(rows(), 0);
    fails(2);
    build(trace);
    EXPECT_EQ(number("result"), kIllegalAddress);
}

TEST_F(DeviceFaultTest, TheExecutableLaunchedFirstUnlessAnotherHasAStalePointer) {
    trace.capturedGraph(2, 300, 400, {"relu"}, "backward");
    trace.capturedGraph(3, 500, 600, {"adam"}, "optimizer");
    launch(0, 1);
    launch(1, 2);
    launch(2, 3);
    launch(3, 3);
    fails(4);
    build(trace);
    EXPECT_EQ(text("graph_name"), "decode");
    EXPECT_EQ(number("execs"), 3);
    EXPECT_EQ(text("others"), "backward (1 launch), optimizer (2 launches)");
    const std::int64_t node = trace.number("SELECT node_id FROM graph_node WHERE graph_id = 3");
    const std::int64_t freed = trace.allocation(0x1000, 64, 10, {.freeNs = at(0)});
    trace.pointer(node, 0x1000, freed);
    build(trace);
    EXPECT_EQ(text("graph_name"), "optimizer");
    EXPECT_EQ(text("how"), "stale");
    EXPECT_EQ(text("suspect1"), "adam");
    EXPECT_EQ(text("others"), "decode (1 launch), backward (1 launch)");
}

TEST_F(DeviceFaultTest, SuspectsByWhatTheRecordTells) {
    const auto suspects = [&] { return text("how || ' ' || suspects || ' ' || kernels || ' ' || suspect1"); };
    trace.capturedGraph(4, 300, 400, {"gemm", "void index_kernel<Op>(int)", "add", "softmax"}, "step");
    launch(0, 4);
    fails(1);
    build(trace);
    EXPECT_EQ(suspects(), "index 1 4 void index_kernel<Op>(int)");
    const std::int64_t add
        = trace.number("SELECT node_id FROM graph_node WHERE graph_id = 4 AND name = 'add'");
    trace.sql("INSERT INTO node_scalar VALUES (1, " + std::to_string(add) + ", 0, 0, 8, 1), (1, "
        + std::to_string(add) + ", 0, 120, 8, 1)");
    build(trace);
    EXPECT_EQ(suspects(), "descriptor 1 4 add");
    fails(0, kAssert);
    build(trace);
    EXPECT_EQ(suspects(), "index 1 4 void index_kernel<Op>(int)") << "descriptors fail no assertion";
}

TEST_F(DeviceFaultTest, NodesThatEndedAreNoSuspects) {
    trace.capturedGraph(4, 300, 400, {"a", "b", "c", "d"}, "step");
    const std::int64_t first = trace.number("SELECT MIN(node_id) FROM graph_node WHERE graph_id = 4");
    // a -> b -> d, c beside them
    trace.sql("INSERT INTO graph_edge VALUES (1, 4, " + std::to_string(first) + ", "
        + std::to_string(first + 1) + "), (1, 4, " + std::to_string(first + 1) + ", "
        + std::to_string(first + 3) + ")");
    launch(0, 4);
    fails(1);
    build(trace);
    EXPECT_EQ(text("how"), "any");
    EXPECT_EQ(number("suspects"), 4);
    const std::int64_t correlation = trace.number("SELECT correlation FROM replay");
    trace.kernel("a", at(0) + 20, at(0) + 30, {.correlation = correlation, .node = first});
    build(trace);
    EXPECT_EQ(text("how || ' ' || suspect1 || ' ' || suspect2"), "running b c");
    EXPECT_EQ(number("suspects"), 2);
}

TEST_F(DeviceFaultTest, NoCallBreaksACaptureWhenTheDeviceFailed) {
    trace.capture(at(0), {.id = 5, .thread = 2});
    trace.fail(5, GD_API_MEM_ALLOC, kIllegalAddress, at(1), {});
    build(trace);
    EXPECT_TRUE(trace.isNull("SELECT fail_api FROM capture_outcome WHERE capture_id = 5"));
    EXPECT_EQ(number("result"), kIllegalAddress);
    trace.fail(5, GD_API_MEM_ALLOC, 900, at(1), {});
    build(trace);
    EXPECT_EQ(trace.text("SELECT fail_api FROM capture_outcome WHERE capture_id = 5"), "cuMemAlloc");
}

TEST_F(DeviceFaultTest, RanksThatFailLaterNameTheFirst) {
    launch(0);
    trace.comm(171, 2, 50);
    fails(1);
    for (const std::int64_t process : {2, 3}) {
        trace.process(process);
        trace.capturedGraph(1, 100, 200, {"embed"}, "decode");
        launch(0);
        if (process == 2)
            trace.comm(171, 2, 50);
        fails(2);
    }
    build(trace);
    EXPECT_EQ(rows(), 3);
    EXPECT_EQ(text("first_process_id"), "NULL");
    EXPECT_EQ(trace.number("SELECT first_process_id FROM device_fault WHERE process_id = 2"), 1);
    EXPECT_EQ(trace.number("SELECT after_ns FROM device_fault WHERE process_id = 2"), 10 * kMs);
    EXPECT_TRUE(trace.isNull("SELECT first_process_id FROM device_fault WHERE process_id = 3"))
        << "it shares no communicator";
    trace.sql("UPDATE process SET host = 'other' WHERE process_id = 2");
    build(trace);
    EXPECT_TRUE(trace.isNull("SELECT first_process_id FROM device_fault WHERE process_id = 2"))
        << "clocks are not related";
}

} // namespace
} // namespace gd::facts
