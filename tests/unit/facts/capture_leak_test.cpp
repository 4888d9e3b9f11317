// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

TEST(CaptureLeak, AKernelOnAStreamThatDoesNotCapture) {
    TraceBuilder trace;
    trace.launch(1, "scale", 50, 60, 70, {.stream = 9});
    trace.capturedGraph(1, 100, 500, {"gemm"});
    trace.launch(1, "scale", 200, 210, 220, {.stream = 9});
    trace.launch(1, "scale", 230, 240, 250, {.stream = 9});
    trace.launch(1, "scale", 600, 610, 620, {.stream = 9});
    trace.replay(1, 1000, 1010, 1020, 1030);
    trace.replay(1, 2000, 2010, 2020, 2030);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM capture_leak"), 1);
    EXPECT_EQ(trace.text("SELECT kind || ' ' || name FROM capture_leak"), "kernel scale");
    EXPECT_EQ(trace.number("SELECT count FROM capture_leak"), 2);
    EXPECT_EQ(trace.number("SELECT start_ns FROM capture_leak"), 200);
    EXPECT_EQ(trace.number("SELECT in_warmup FROM capture_leak"), 1);
    EXPECT_EQ(trace.number("SELECT replays_after FROM capture_leak"), 2);
}

// Where the oldest events were dropped, so may have been what tells a leak from a first launch.
TEST(CaptureLeak, WithoutTheEventsOfItsWarmupALeakIsNotKnown) {
    TraceBuilder trace;
    trace.sql("INSERT INTO process_fact VALUES (1, 'events_from_ns', '90')");
    trace.capturedGraph(1, 100, 500, {"gemm"});
    trace.launch(1, "scale", 200, 210, 220, {.stream = 9});
    build(trace);
    EXPECT_EQ(trace.text("SELECT in_warmup || ' ' || known FROM capture_leak"), "0 0");
}

// The same for a capture that lies in that time as a whole.
TEST(CaptureLeak, ACaptureWhoseEventsWereDroppedIsNotKnown) {
    TraceBuilder trace;
    trace.sql("INSERT INTO process_fact VALUES (1, 'events_from_ns', '600')");
    trace.coverage("launch_callbacks", "absent", 0, 600);
    trace.coverage("launch_callbacks", "complete", 600);
    trace.capturedGraph(1, 100, 500, {"gemm"});
    build(trace);
    EXPECT_EQ(trace.text("SELECT group_concat(known) FROM capture_leak"), "0");
}

TEST(CaptureLeak, MembersOtherThreadsAndFailedLaunchesAreNone) {
    TraceBuilder trace;
    trace.capture(100, {.endNs = 500});
    trace.join(1, 8, 150);
    trace.call(1, GD_API_LAUNCH_KERNEL, 200, 210, {.stream = 7});
    trace.call(1, GD_API_LAUNCH_KERNEL, 200, 210, {.stream = 8});
    trace.call(2, GD_API_LAUNCH_KERNEL, 200, 210, {.stream = 9});
    trace.call(1, GD_API_LAUNCH_KERNEL, 220, 230, {.stream = 9, .result = 900});
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM capture_leak"), 0);
}

TEST(CaptureLeak, AStreamBeforeItJoined) {
    TraceBuilder trace;
    trace.capture(100, {.endNs = 500});
    trace.join(1, 8, 150);
    trace.call(1, GD_API_LAUNCH_KERNEL, 120, 130, {.stream = 8});
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM capture_leak"), 1);
    EXPECT_EQ(trace.number("SELECT in_warmup FROM capture_leak"), 0);
}

TEST(CaptureLeak, WithoutDeviceRecordsAnEarlierLaunchIsTheWarmup) {
    TraceBuilder trace;
    trace.call(1, GD_API_LAUNCH_KERNEL, 20, 30, {.stream = 9});
    trace.capture(100, {.endNs = 500});
    trace.call(1, GD_API_LAUNCH_KERNEL, 200, 210, {.stream = 9});
    build(trace);
    EXPECT_EQ(trace.number("SELECT in_warmup FROM capture_leak"), 1);
}

TEST(CaptureLeak, ACollectiveOfOneRankHasNothingToCapture) {
    for (const int ranks : {1, 2}) {
        TraceBuilder trace;
        trace.comm(0xabc, ranks, 5);
        trace.capturedGraph(1, 100, 500, {"gemm"});
        trace.commOp(0xabc, "all_reduce", 4096, 200, 0, 1, 0);
        build(trace);
        EXPECT_EQ(trace.number("SELECT count(*) FROM capture_leak"), ranks - 1) << ranks;
    }
}

TEST(CaptureLeak, ACollectiveWithItsOwnKernelIsOneLeak) {
    TraceBuilder trace;
    trace.comm(0xabc, 2, 5);
    trace.commOp(0xabc, "all_reduce", 4096, 50, 0, 1, 9);
    trace.capturedGraph(1, 100, 500, {"gemm"});
    trace.commOp(0xabc, "all_reduce", 4096, 200, 0, 1, 9);
    trace.launch(1, "ncclDevKernel_AllReduce_Sum_f32", 205, 210, 220, {.stream = 9});
    trace.commOp(0xabc, "all_reduce", 4096, 250, 1, 1, 7);
    build(trace);
    EXPECT_EQ(trace.text("SELECT group_concat(kind || ' ' || name) FROM capture_leak"), "comm all_reduce");
    EXPECT_EQ(trace.number("SELECT bytes FROM capture_leak"), 4096);
    EXPECT_EQ(trace.number("SELECT in_warmup FROM capture_leak"), 1);
}

TEST(CaptureLeak, CopiesAreRecognisedBySize) {
    TraceBuilder trace;
    trace.copy(256, 20, 30, {});
    trace.capture(100, {.endNs = 500});
    trace.call(1, GD_API_MEMCPY_HTOD_ASYNC, 200, 210, {.stream = 9, .bytes = 256, .correlation = 77});
    trace.copy(256, 205, 215, {.stream = 9, .correlation = 77});
    trace.call(1, GD_API_MEMCPY_HTOD_ASYNC, 230, 240, {.stream = 6, .bytes = 999, .correlation = 78});
    trace.copy(999, 235, 245, {.stream = 6, .correlation = 78});
    build(trace);
    EXPECT_EQ(trace.number("SELECT in_warmup FROM capture_leak WHERE bytes = 256"), 1);
    EXPECT_EQ(trace.number("SELECT in_warmup FROM capture_leak WHERE bytes = 999"), 0);
}

TEST(CaptureLeak, FillingMemoryThatIsNewIsNoLostWork) {
    TraceBuilder trace;
    trace.fill(256, 20, 30, {});
    trace.capture(100, {.mode = "relaxed", .endNs = 500});
    trace.allocation(0x1000, 256, 150, {});
    trace.call(1, GD_API_MEMSET, 200, 210, {.object = 0x1000, .bytes = 256});
    trace.call(1, GD_API_MEMSET, 220, 230, {.object = 0x8000, .bytes = 256});
    build(trace);
    EXPECT_EQ(trace.number("SELECT count FROM capture_leak"), 1);
    EXPECT_EQ(trace.number("SELECT start_ns FROM capture_leak"), 220);
}

TEST(CaptureLeak, UnknownWhereLaunchesWereNotRecorded) {
    TraceBuilder trace;
    trace.coverage("launch_callbacks", "absent");
    trace.capture(100, {.endNs = 500});
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM capture_leak WHERE known = 0"), 1);
}

} // namespace
} // namespace gd::facts
