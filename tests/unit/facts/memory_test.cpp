// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

TEST(MemoryStep, PeaksAndAllocations) {
    TraceBuilder trace;
    addSteps(trace, 6, 1000);
    trace.capturedGraph(1, 10, 20, {"gemm"});
    trace.allocation(0x1000, 100, 500, {});
    trace.allocation(0x2000, 40, 4100, {.stack = trace.stack({"grow@1"}), .freeNs = 4500});
    trace.allocation(0x2000, 30, 4600, {.freeNs = 5200});
    trace.allocation(0x1010, 16, 4650, {.kind = "framework"});
    trace.allocation(0x9000, 64, 4660, {.kind = "host_pinned"});
    trace.allocation(0x5000, 8, 4700, {.kind = "device_async"});
    trace.replay(1, 4100, 4110, 4200, 4600);
    trace.replay(1, 5100, 5110, 5200, 5600);
    trace.kernel("eager", 5700, 5800);
    build(trace);
    const auto value = [&](const char* column, int step) {
        return trace.number(
            "SELECT " + std::string(column) + " FROM memory_step WHERE step = " + std::to_string(step));
    };
    EXPECT_EQ(value("peak_bytes", 3), 140);
    EXPECT_EQ(value("end_bytes", 3), 138);
    EXPECT_EQ(value("alloc_bytes", 3), 78);
    EXPECT_EQ(value("free_bytes", 3), 40);
    EXPECT_EQ(value("alloc_count", 3), 2);
    EXPECT_EQ(value("largest_alloc_bytes", 3), 40);
    EXPECT_EQ(value("previous_peak_bytes", 3), 100);
    EXPECT_EQ(value("replay_only", 3), 1);
    EXPECT_EQ(value("replay_only", 4), 0);
    EXPECT_EQ(value("peak_bytes", 4), 138);
    EXPECT_EQ(value("end_bytes", 5), 108);
    EXPECT_FALSE(trace.isNull("SELECT largest_alloc_stack_id FROM memory_step WHERE step = 3"));
}

TEST(MemoryStep, TakesInLooksAtTheDevice) {
    TraceBuilder trace;
    addSteps(trace, 6, 1000);
    trace.allocation(0x1000, 100, 500, {});
    trace.allocation(0x7000, 50, 600, {.kind = "graph"}); // counted by what graphs have reserved
    trace.sql("INSERT INTO memory_sample VALUES (1, 0, 3500, 400, 1000, NULL), (1, 0, 3600, 100, 1000, 64), "
              "(1, 0, 3700, 300, 1000, 32)");
    build(trace);
    EXPECT_EQ(trace.number("SELECT peak_bytes FROM memory_step WHERE step = 2"), 100);
    EXPECT_EQ(trace.number("SELECT device_used_bytes FROM memory_step WHERE step = 2"), 900);
    EXPECT_EQ(trace.number("SELECT graph_reserved_bytes FROM memory_step WHERE step = 2"), 64);
    EXPECT_TRUE(trace.isNull("SELECT device_used_bytes FROM memory_step WHERE step = 3")) << "nobody looked";
    const auto sign = [&](const char* name) {
        return trace.real(
            "SELECT value FROM vital_sign WHERE process_id = 1 AND name = '" + std::string(name) + "'");
    };
    EXPECT_DOUBLE_EQ(sign("memory.device_share_ratio"), 0.9);
    EXPECT_DOUBLE_EQ(sign("memory.graph_reserved_bytes"), 64);
}

// Exec 1 holds a node whose parameter 2 points into the allocation; replays at 10, 20 and 30 us.
class StalePointerTest : public testing::Test {
protected:
    StalePointerTest() { trace.capturedGraph(1, 100, 200, {}, "step/cycle"); }

    void pointInto(std::int64_t allocation, std::int64_t address = 0x1040) {
        node = trace.node({.graph = 1, .capture = 1, .createdNs = 150, .name = "residual_add"});
        trace.pointer(node, address, allocation, 2);
        for (const std::int64_t t : {10, 20, 30})
            trace.replay(1, t * kUs, t * kUs + 10, t * kUs + 20, t * kUs + 100);
    }
    std::int64_t rows() { return trace.number("SELECT COUNT(*) FROM stale_pointer"); }

    TraceBuilder trace;
    std::int64_t node = 0;
};

TEST_F(StalePointerTest, FreedAndHandedOutAgain) {
    const auto free = trace.stack({"release@9"});
    pointInto(trace.allocation(0x1000, 256, 50, {.freeStack = free, .freeNs = 15 * kUs}));
    const std::int64_t owner = trace.allocation(0x1000, 128, 16 * kUs, {});
    build(trace);
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(trace.number("SELECT replays FROM stale_pointer"), 2);
    EXPECT_EQ(trace.number("SELECT start_ns FROM stale_pointer"), 20 * kUs);
    EXPECT_EQ(trace.number("SELECT owner_allocation_id FROM stale_pointer"), owner);
    EXPECT_EQ(trace.number("SELECT free_stack_id FROM stale_pointer"), free);
    EXPECT_EQ(trace.number("SELECT param FROM stale_pointer"), 2);
    EXPECT_EQ(trace.text("SELECT confidence || ' ' || node_name || ' ' || graph_name FROM stale_pointer"),
        "high residual_add graph 1");
}

TEST_F(StalePointerTest, NobodyOwnsItNow) {
    pointInto(trace.allocation(0x1000, 256, 50, {.freeNs = 15 * kUs}));
    trace.allocation(0x2000, 128, 16 * kUs, {});
    build(trace);
    EXPECT_TRUE(trace.isNull("SELECT owner_allocation_id FROM stale_pointer"));
}

// The memory was freed while the executable lived on, and nobody knows whether it was launched then.
TEST_F(StalePointerTest, WithoutTheLaunchesAfterwardsItIsNotKnown) {
    pointInto(trace.allocation(0x1000, 256, 50, {.freeNs = 31 * kUs}));
    trace.coverage("callbacks", "partial", 0, 100 * kUs);
    trace.coverage("callbacks", "complete", 100 * kUs);
    build(trace);
    EXPECT_EQ(
        trace.text("SELECT known || ' ' || replays || ' ' || start_ns FROM stale_pointer"), "0 0 31000");
}

TEST_F(StalePointerTest, AnExecutableThatWentBeforeItsMemoryIsFine) {
    pointInto(trace.allocation(0x1000, 256, 50, {.freeNs = 35 * kUs}));
    trace.sql("UPDATE graph_exec SET destroyed_ns = 33000");
    trace.coverage("callbacks", "partial", 0, 100 * kUs);
    build(trace);
    EXPECT_EQ(rows(), 0);
}

TEST_F(StalePointerTest, FreedAfterTheLastReplay) {
    pointInto(trace.allocation(0x1000, 256, 50, {.freeNs = 31 * kUs}));
    build(trace);
    EXPECT_EQ(rows(), 0);
}

TEST_F(StalePointerTest, ABlockOfTheGraphsPoolStaysTheGraphs) {
    pointInto(trace.allocation(0x1000, 256, 50, {.pool = 4, .kind = "framework", .freeNs = 15 * kUs}));
    trace.allocation(0x1000, 256, 16 * kUs, {.pool = 4, .kind = "framework"});
    build(trace);
    EXPECT_EQ(rows(), 0);
}

TEST_F(StalePointerTest, ABlockHandedOutByAnotherPoolIsStale) {
    pointInto(trace.allocation(0x1000, 256, 50, {.pool = 4, .kind = "framework", .freeNs = 15 * kUs}));
    trace.allocation(0x1000, 256, 16 * kUs, {.pool = 5, .kind = "framework"});
    build(trace);
    EXPECT_EQ(trace.text("SELECT confidence FROM stale_pointer"), "medium");
}

TEST_F(StalePointerTest, ABlockFreedWhileCapturingIsTheCapturesBusiness) {
    pointInto(trace.allocation(0x1000, 256, 120, {.kind = "framework", .freeNs = 160}));
    build(trace);
    EXPECT_EQ(rows(), 0);
}

// What a hook of a framework tells: blocks inside an allocation of the driver, to which the pointer belongs.
TEST_F(StalePointerTest, ABlockInsideTheDriversAllocationIsFreedInTheCache) {
    const auto where = trace.stack({"load@7"});
    const auto free = trace.stack({"let_go@9"});
    trace.allocation(
        0x1000, 256, 60, {.stack = where, .freeStack = free, .kind = "framework", .freeNs = 15 * kUs});
    const std::int64_t owner = trace.allocation(0x1000, 128, 16 * kUs, {.stack = where, .kind = "framework"});
    pointInto(trace.allocation(0x0, 0x10000, 50, {}));
    build(trace);
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(trace.number("SELECT replays FROM stale_pointer"), 2);
    EXPECT_EQ(trace.number("SELECT bytes FROM stale_pointer"), 256);
    EXPECT_EQ(trace.number("SELECT owner_allocation_id FROM stale_pointer"), owner);
    EXPECT_EQ(trace.number("SELECT free_stack_id FROM stale_pointer"), free);
    EXPECT_NE(trace.text("SELECT alloc_place FROM stale_pointer").find(":7 in load"), std::string::npos);
    EXPECT_EQ(trace.text("SELECT confidence FROM stale_pointer"), "medium");
}

TEST_F(StalePointerTest, ABlockThatTheDriverFreedTooIsGoneForSure) {
    trace.allocation(0x1000, 256, 60, {.kind = "framework", .freeNs = 14 * kUs});
    pointInto(trace.allocation(0x0, 0x10000, 50, {.freeNs = 15 * kUs}));
    build(trace);
    EXPECT_EQ(trace.number("SELECT free_ns FROM stale_pointer"), 14 * kUs);
    EXPECT_EQ(trace.text("SELECT confidence FROM stale_pointer"), "high");
}

// The hook saw a block, but never its segment: which pool it was of is not known. The driver's free says
// enough.
TEST_F(StalePointerTest, ABlockOfAnyPoolIsGoneWhenTheDriverFreedIt) {
    trace.allocation(0x1000, 256, 60, {.pool = 0x7fffffffffffffff, .kind = "framework", .freeNs = 11 * kUs});
    pointInto(trace.allocation(0x0, 0x10000, 50, {.freeNs = 15 * kUs}));
    build(trace);
    EXPECT_EQ(rows(), 1);
    EXPECT_EQ(trace.number("SELECT replays FROM stale_pointer"), 2);
    EXPECT_EQ(trace.number("SELECT bytes FROM stale_pointer"), 256);
    EXPECT_EQ(trace.text("SELECT confidence FROM stale_pointer"), "high");
}

TEST_F(StalePointerTest, AndNotWhenItDidSoAfterTheLastReplay) {
    trace.allocation(0x1000, 256, 60, {.pool = 4, .kind = "framework", .freeNs = 11 * kUs});
    pointInto(trace.allocation(0x0, 0x10000, 50, {.freeNs = 31 * kUs}));
    build(trace);
    EXPECT_EQ(rows(), 0);
}

TEST_F(StalePointerTest, OnlyTheBlockOfThatTimeCounts) {
    trace.allocation(0x1000, 256, 60, {.kind = "framework", .freeNs = 90}); // before the capture
    trace.allocation(0x1000, 256, 95, {.kind = "framework"}); // what the node points to
    trace.allocation(0x2000, 256, 96, {.kind = "framework", .freeNs = 15 * kUs}); // its neighbour
    pointInto(trace.allocation(0x0, 0x10000, 50, {}));
    build(trace);
    EXPECT_EQ(rows(), 0);
}

TEST_F(StalePointerTest, ABlockFromBeforeTheCaptureDoesNotBecomeTheGraphs) {
    trace.allocation(0x1000, 256, 60, {.kind = "framework", .freeNs = 180});
    pointInto(trace.allocation(0x0, 0x10000, 50, {}));
    build(trace);
    EXPECT_EQ(trace.number("SELECT replays FROM stale_pointer"), 3);
}

TEST_F(StalePointerTest, WatchedOnlyWhereTheFrameworkWasFollowed) {
    pointInto(trace.allocation(0x1000, 256, 50, {}));
    build(trace);
    EXPECT_EQ(trace.number("SELECT known FROM memory_watch"), 1);
    trace.sql("INSERT INTO coverage VALUES (1, 'framework_allocator', 15000, 100000, 'partial', 'not handed "
              "over')");
    build(trace);
    EXPECT_EQ(trace.number("SELECT known FROM memory_watch"), 0);
    EXPECT_EQ(trace.text("SELECT why FROM memory_watch"), "not handed over");
}

TEST_F(StalePointerTest, AnUpdateGivesNewPointers) {
    pointInto(trace.allocation(0x1000, 256, 50, {.freeNs = 15 * kUs}));
    trace.graph(2, 300);
    trace.sql("INSERT INTO exec_update VALUES (1, 1, 2, 15500, 16000, 1, 0, 0, NULL)");
    build(trace);
    EXPECT_EQ(rows(), 0);
}

TEST_F(StalePointerTest, AfterNodeParametersWereSetNothingIsKnown) {
    pointInto(trace.allocation(0x1000, 256, 50, {.freeNs = 15 * kUs}));
    trace.call(1, GD_API_GRAPH_EXEC_KERNEL_NODE_SET_PARAMS, 25 * kUs, 25 * kUs + 10, {.object = 1});
    build(trace);
    EXPECT_EQ(trace.number("SELECT replays FROM stale_pointer"), 1);
}

} // namespace
} // namespace gd::facts
