// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

class RecaptureTest : public testing::Test {
protected:
    RecaptureTest() { addSteps(trace, 10, 10 * kMs); }

    // One capture of region "step" with an executable of the same number: two kernels, the second with a
    // pointer and a scalar.
    void capture(std::int64_t id, std::int64_t startNs, std::int64_t grid = 1, std::int64_t address = 4096,
        std::int64_t value = 1, const std::string& second = "adam", std::string_view path = "step") {
        trace.capture(startNs, {.id = id, .graph = id, .endNs = startNs + 100});
        trace.graph(id, startNs + 100, id);
        trace.node({.graph = id,
            .capture = id,
            .createdNs = startNs + 1,
            .name = "gemm",
            .path = std::string(path)});
        const std::int64_t node = trace.node({.graph = id,
            .capture = id,
            .grid = grid,
            .createdNs = startNs + 2,
            .name = second,
            .path = std::string(path)});
        trace.pointer(node, address, 1, 0);
        trace.sql("INSERT INTO node_scalar VALUES (1, " + std::to_string(node) + ", 1, 0, 8, "
            + std::to_string(value) + ")");
        trace.exec(id, id, startNs + 200);
    }
    std::string change(std::int64_t id) {
        return trace.text(
            "SELECT change || ': ' || coalesce(change_detail, '-') FROM recapture WHERE capture_id = "
            + std::to_string(id));
    }

    TraceBuilder trace;
};

TEST_F(RecaptureTest, TheStrongestDifferenceToTheOneBefore) {
    capture(1, 10 * kMs);
    capture(2, 11 * kMs);
    capture(3, 12 * kMs, 1, 8192);
    capture(4, 13 * kMs, 1, 4096, 2);
    capture(5, 14 * kMs, 2, 8192, 3);
    capture(6, 15 * kMs, 2, 8192, 3, "sgd");
    build(trace);
    EXPECT_EQ(change(1), "first: -");
    EXPECT_EQ(change(2), "same: -");
    EXPECT_EQ(change(3), "pointers: node 1 (adam) points elsewhere");
    EXPECT_EQ(change(4), "values: node 1 (adam) has other values");
    EXPECT_EQ(change(5), "sizes: node 1 (adam) has another launch shape or size");
    EXPECT_EQ(change(6), "topology: node 1: adam became sgd");
    EXPECT_EQ(trace.number("SELECT changed_nodes FROM recapture WHERE capture_id = 6"), 1);
    EXPECT_EQ(trace.number("SELECT previous_capture_id FROM recapture WHERE capture_id = 6"), 5);
    EXPECT_EQ(trace.number("SELECT ordinal FROM recapture WHERE capture_id = 6"), 6);
    EXPECT_EQ(trace.number("SELECT live_execs FROM recapture WHERE capture_id = 6"), 6);
}

TEST_F(RecaptureTest, CountsTheExecutablesThatLiveWhenOneIsMade) {
    for (std::int64_t i = 1; i <= 3; ++i)
        capture(i, (9 + i) * kMs);
    trace.sql("UPDATE graph_exec SET destroyed_ns = 11500000 WHERE exec_id = 1");
    trace.sql("UPDATE graph_exec SET destroyed_ns = 12000200 WHERE exec_id = 2"); // as the third is made
    build(trace);
    EXPECT_EQ(trace.number("SELECT live_execs FROM recapture WHERE capture_id = 1"), 1);
    EXPECT_EQ(trace.number("SELECT live_execs FROM recapture WHERE capture_id = 2"), 2);
    EXPECT_EQ(trace.number("SELECT live_execs FROM recapture WHERE capture_id = 3"), 1);
}

TEST_F(RecaptureTest, MoreNodesAreAnotherTopology) {
    capture(1, 10 * kMs);
    capture(2, 11 * kMs);
    trace.node({.graph = 2, .capture = 2, .createdNs = 11 * kMs + 3, .name = "more", .path = "step"});
    build(trace);
    EXPECT_EQ(change(2), "topology: 2 nodes became 3");
    EXPECT_EQ(trace.number("SELECT changed_nodes FROM recapture WHERE capture_id = 2"), 1);
}

TEST_F(RecaptureTest, RegionsAreApart) {
    capture(1, 10 * kMs);
    capture(2, 11 * kMs, 1, 4096, 1, "adam", "eval");
    capture(3, 12 * kMs);
    build(trace);
    EXPECT_EQ(change(2), "first: -");
    EXPECT_EQ(change(3), "same: -");
    EXPECT_EQ(trace.number("SELECT previous_capture_id FROM recapture WHERE capture_id = 3"), 1);
    EXPECT_EQ(trace.text("SELECT region FROM recapture WHERE capture_id = 2"), "eval");
}

TEST_F(RecaptureTest, CostStepMemoryAndReplays) {
    trace.allocation(1 << 20, 1000, 5, {});
    trace.allocation(2 << 20, 500, 10 * kMs + 50, {.kind = "device_async"});
    trace.allocation(3 << 20, 70, 6, {.kind = "device", .freeNs = 9 * kMs});
    capture(1, 10 * kMs);
    trace.replay(1, 15 * kMs, 15 * kMs + 10, 15 * kMs + 20, 16 * kMs);
    capture(2, 60 * kMs);
    trace.replay(2, 70 * kMs, 70 * kMs + 10, 70 * kMs + 20, 71 * kMs);
    build(trace);
    // 100 ns of capture, 10 ns of instantiation.
    EXPECT_EQ(trace.number("SELECT cost_ns FROM recapture WHERE capture_id = 2"), 110);
    EXPECT_EQ(trace.number("SELECT end_ns FROM recapture WHERE capture_id = 2"), 60 * kMs + 200);
    EXPECT_EQ(trace.number("SELECT steady FROM recapture WHERE capture_id = 1"), 0);
    EXPECT_EQ(trace.number("SELECT steady FROM recapture WHERE capture_id = 2"), 1);
    EXPECT_EQ(trace.number("SELECT device_bytes FROM recapture WHERE capture_id = 1"), 1500);
    EXPECT_EQ(trace.number("SELECT region_replays FROM recapture WHERE capture_id = 1"), 1);
    EXPECT_EQ(trace.number("SELECT known FROM recapture WHERE capture_id = 1"), 1);
}

TEST_F(RecaptureTest, FailedCapturesAreNoneAndMissingMemoryIsNotZero) {
    trace.coverage("memory", "absent");
    capture(1, 10 * kMs);
    trace.capture(20 * kMs, {.id = 2, .endNs = 20 * kMs + 10, .endResult = 901});
    build(trace);
    EXPECT_EQ(trace.number("SELECT count(*) FROM recapture"), 1);
    EXPECT_TRUE(trace.isNull("SELECT device_bytes FROM recapture"));
}

TEST_F(RecaptureTest, ACaptureThatMakesNoExecutableUpdatesOne) {
    capture(1, 10 * kMs);
    capture(2, 11 * kMs);
    trace.sql("DELETE FROM graph_exec WHERE exec_id = 2");
    build(trace);
    EXPECT_EQ(trace.number("SELECT updates_only FROM recapture WHERE capture_id = 1"), 0);
    EXPECT_EQ(trace.number("SELECT updates_only FROM recapture WHERE capture_id = 2"), 1);
}

} // namespace
} // namespace gd::facts
