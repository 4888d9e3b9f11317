// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

TEST(DeviceBusy, UnionOfEverythingInsideTheStep) {
    TraceBuilder trace;
    addSteps(trace, 8, 1000);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    // Step 3 is [4000, 5000): a kernel reaches in, a replay, overlapping copies, a collective half alone.
    trace.kernel("gemm", 3900, 4100);
    trace.replay(1, 4100, 4110, 4200, 4400);
    trace.copy(64, 4300, 4500, {.stream = 9});
    trace.fill(64, 4450, 4480, {.stream = 9});
    trace.kernel("ncclDevKernel_AllReduce", 4400, 4700, {.stream = 10});
    build(trace);
    const auto value = [&](const char* column) {
        return trace.number("SELECT " + std::string(column) + " FROM device_busy WHERE step = 3");
    };
    EXPECT_EQ(value("busy_ns"), 100 + 500);
    EXPECT_EQ(value("busy_without_comm_ns"), 100 + 300);
    EXPECT_EQ(value("comm_ns"), 300);
    EXPECT_EQ(value("exposed_comm_ns"), 200);
    EXPECT_EQ(value("graph_ns"), 200);
    EXPECT_EQ(value("graph_replays"), 1);
    EXPECT_EQ(value("known"), 1);
    EXPECT_EQ(trace.text("SELECT granularity FROM device_busy WHERE step = 3"), "graph");
    EXPECT_EQ(trace.number("SELECT busy_ns FROM device_busy WHERE step = 2"), 100);
    EXPECT_EQ(trace.number("SELECT busy_ns FROM device_busy WHERE step = 5"), 0);
}

TEST(DeviceBusy, NodesReplaceTheReplayTheyBelongTo) {
    TraceBuilder trace;
    addSteps(trace, 8, 1000);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.replay(1, 4100, 4110, 4200, 4600);
    const std::int64_t correlation = trace.number("SELECT correlation FROM replay");
    trace.kernel("gemm", 4200, 4300, {.correlation = correlation, .node = 5});
    trace.kernel("gemm", 4500, 4600, {.correlation = correlation, .node = 6});
    build(trace);
    EXPECT_EQ(trace.number("SELECT busy_ns FROM device_busy WHERE step = 3"), 200);
    EXPECT_EQ(trace.number("SELECT graph_ns FROM device_busy WHERE step = 3"), 400);
    EXPECT_EQ(trace.text("SELECT granularity FROM device_busy WHERE step = 3"), "node");
}

TEST(DeviceBusy, UnknownWithoutEagerRecords) {
    TraceBuilder trace;
    addSteps(trace, 8, 1000);
    trace.coverage("eager_kernel_activity", "complete", 0, 5500);
    trace.kernel("gemm", 4200, 4300);
    build(trace);
    EXPECT_EQ(trace.number("SELECT known FROM device_busy WHERE step = 3"), 1);
    EXPECT_EQ(trace.number("SELECT known FROM device_busy WHERE step = 5"), 0);
}

} // namespace
} // namespace gd::facts
