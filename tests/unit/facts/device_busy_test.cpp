// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

TEST(DeviceBusy, UnionOfEverythingInsideTheStep) {
    TraceBuilder trace;
    addSteps(trace, 8, 1000);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    // On the device step 3 lasts from 4100, when the kernel of step 2 ends, to 4700: a replay, overlapping
    // copies, a collective half alone.
    trace.kernel("gemm", 3900, 4100);
    trace.replay(1, 4100, 4110, 4200, 4400);
    trace.copy(64, 4300, 4500, {.stream = 9});
    trace.fill(64, 4450, 4480, {.stream = 9});
    trace.kernel("ncclDevKernel_AllReduce", 4400, 4700, {.stream = 10});
    build(trace);
    const auto value = [&](const char* column) {
        return trace.number("SELECT " + std::string(column) + " FROM device_busy WHERE step = 3");
    };
    EXPECT_EQ(value("start_ns"), 4100);
    EXPECT_EQ(value("end_ns"), 4700);
    EXPECT_EQ(value("busy_ns"), 500);
    EXPECT_EQ(value("busy_without_comm_ns"), 300);
    EXPECT_EQ(value("comm_ns"), 300);
    EXPECT_EQ(value("exposed_comm_ns"), 200);
    EXPECT_EQ(value("graph_ns"), 200);
    EXPECT_EQ(value("graph_replays"), 1);
    EXPECT_EQ(value("known"), 1);
    EXPECT_EQ(trace.text("SELECT granularity FROM device_busy WHERE step = 3"), "graph");
    EXPECT_EQ(trace.number("SELECT busy_ns FROM device_busy WHERE step = 2"), 200);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM device_busy"), 2);
}

TEST(DeviceBusy, CommunicationInsideAWholeReplayIsNotToldApart) {
    const auto without = [](std::string_view kernel, bool called, bool byNodes) {
        TraceBuilder trace;
        addSteps(trace, 8, 1000);
        trace.comm(9, 2, 5);
        trace.capturedGraph(1, 10, 20, {std::string(kernel)});
        if (called)
            trace.commOp(9, "all_reduce", 64, 12, 1);
        trace.replay(1, 4100, 4110, 4200, 4600);
        if (byNodes) {
            const std::int64_t correlation = trace.number("SELECT correlation FROM replay");
            trace.kernel(kernel, 4200, 4600, {.correlation = correlation, .node = 5});
            trace.sql("UPDATE replay SET detail = 'node'");
        }
        build(trace);
        return trace.text("SELECT COALESCE(busy_without_comm_ns, 'unknown') FROM device_busy WHERE step = 3");
    };
    EXPECT_EQ(without("ncclDevKernel_AllReduce", false, false), "unknown");
    EXPECT_EQ(without("gemm", true, false), "unknown");
    EXPECT_EQ(without("gemm", false, false), "400");
    EXPECT_EQ(without("ncclDevKernel_AllReduce", true, true), "0");
}

TEST(DeviceBusy, NodesCountWhereTheReplayWasNotRecordedAsAWhole) {
    TraceBuilder trace;
    addSteps(trace, 8, 1000);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.replay(1, 4100, 4110, 4200, 4600);
    const std::int64_t correlation = trace.number("SELECT correlation FROM replay");
    trace.kernel("gemm", 4200, 4300, {.correlation = correlation, .node = 5});
    trace.kernel("gemm", 4500, 4600, {.correlation = correlation, .node = 6});
    build(trace);
    EXPECT_EQ(trace.number("SELECT busy_ns FROM device_busy WHERE step = 3"), 400);
    trace.sql("UPDATE replay SET detail = 'node'");
    build(trace);
    EXPECT_EQ(trace.number("SELECT busy_ns FROM device_busy WHERE step = 3"), 200);
    EXPECT_EQ(trace.number("SELECT graph_ns FROM device_busy WHERE step = 3"), 400);
    EXPECT_EQ(trace.text("SELECT granularity FROM device_busy WHERE step = 3"), "node");
}

TEST(DeviceBusy, AHostThatRunsAheadDoesNotMoveTheStepsOfTheDevice) {
    TraceBuilder trace;
    addSteps(trace, 8, 100);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    // All launched within 800 ns; the device takes 1000 ns a step and idles for 100 of them.
    for (int i = 0; i < 8; ++i)
        trace.replay(1, (i + 1) * 100, (i + 1) * 100 + 10, 5000 + i * 1000, 5000 + i * 1000 + 900);
    trace.launch(1, "fill", 450, 7910, 7950, {});
    build(trace);
    EXPECT_EQ(trace.number("SELECT start_ns FROM device_busy WHERE step = 2"), 6900);
    EXPECT_EQ(trace.number("SELECT end_ns FROM device_busy WHERE step = 2"), 7900);
    EXPECT_EQ(trace.number("SELECT busy_ns FROM device_busy WHERE step = 2"), 900);
    EXPECT_EQ(trace.number("SELECT busy_ns FROM device_busy WHERE step = 3"), 940);
}

TEST(DeviceBusy, UnknownWhereAReplayWithoutTimesMayHaveRun) {
    TraceBuilder trace;
    addSteps(trace, 8, 100);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    for (int i = 0; i < 8; ++i) {
        const std::int64_t at = (i + 1) * 100;
        const bool measured = i != 3;
        trace.replay(1, at, at + 10, measured ? 5000 + i * 1000 : -1, measured ? 5000 + i * 1000 + 900 : -1);
    }
    build(trace);
    // Step 3 has no times of its own; step 4 begins on the device where step 2 ended.
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM device_busy WHERE step = 3"), 0);
    EXPECT_EQ(trace.number("SELECT start_ns FROM device_busy WHERE step = 4"), 7900);
    EXPECT_EQ(trace.text("SELECT group_concat(known) FROM (SELECT known FROM device_busy ORDER BY step)"),
        "1,1,1,0,1,1,1");
}

TEST(DeviceBusy, AReplayThatWasRefusedRanNothing) {
    TraceBuilder trace;
    addSteps(trace, 8, 100);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    for (int i = 0; i < 8; ++i) {
        const std::int64_t at = (i + 1) * 100;
        trace.replay(1, at, at + 10, 5000 + i * 1000, 5000 + i * 1000 + 900);
    }
    trace.replay(1, 450, 460, -1, -1, {.result = 1});
    build(trace);
    EXPECT_EQ(trace.number("SELECT MIN(known) FROM device_busy"), 1);
}

TEST(DeviceBusy, HostDevicesHaveNoise) {
    TraceBuilder trace;
    addSteps(trace, 8, 1000);
    trace.kernel("gemm", 4200, 4300);
    build(trace);
    EXPECT_EQ(trace.number("SELECT noise_ns FROM device_busy"), 0);
    trace.hostDevice(200 * kUs);
    build(trace);
    EXPECT_EQ(trace.number("SELECT noise_ns FROM device_busy"), 4 * kMs);
    trace.hostDevice(2 * kMs);
    build(trace);
    EXPECT_EQ(trace.number("SELECT noise_ns FROM device_busy"), 6 * kMs);
}

TEST(DeviceBusy, UnknownWithoutEagerRecords) {
    TraceBuilder trace;
    addSteps(trace, 8, 1000);
    trace.coverage("eager_kernel_activity", "complete", 0, 5500);
    trace.kernel("gemm", 4200, 4300);
    trace.kernel("gemm", 6200, 6300);
    build(trace);
    EXPECT_EQ(trace.number("SELECT known FROM device_busy WHERE step = 3"), 1);
    EXPECT_EQ(trace.number("SELECT known FROM device_busy WHERE step = 5"), 0);
}

TEST(DeviceBusy, ALaunchedReplayThatWaitsForItsTurnIsQueued) {
    TraceBuilder trace;
    addSteps(trace, 8, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm"}, "step");
    trace.replay(1, 50'000 * kUs, 50'010 * kUs, 51 * kMs, 52 * kMs);
    trace.replay(1, 60'000 * kUs, 60'010 * kUs, 62'500 * kUs, 63 * kMs);
    build(trace);
    EXPECT_EQ(trace.number("SELECT MAX(queued_ns) FROM device_busy"), 2'490 * kUs);
}

TEST(DeviceBusy, StepsOfReplaysWithoutTimesAreNotKnown) {
    TraceBuilder trace;
    addSteps(trace, 8, 10 * kMs);
    trace.capturedGraph(1, 10, 20, {"gemm"}, "step");
    for (int i = 1; i < 8; ++i)
        trace.replay(1, i * 10 * kMs + 100, i * 10 * kMs + 200, -1, -1);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM device_busy WHERE NOT known"), 7);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM device_busy WHERE known"), 0);
}

} // namespace
} // namespace gd::facts
