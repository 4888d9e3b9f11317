// SPDX-License-Identifier: Apache-2.0
// unordered_access and pool_conflict: who uses the same memory, and in which order.
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

class UnorderedAccessTest : public testing::Test {
protected:
    // One captured graph with two kernels that use nothing, launched four times.
    void SetUp() override {
        trace.capturedGraph(1, 100, 200, {"first", "last"});
        for (int i = 0; i < 4; ++i)
            trace.replay(1, 1000 + 100 * i, 1010 + 100 * i, 1020 + 100 * i, 1090 + 100 * i);
        first = trace.number("SELECT MIN(node_id) FROM graph_node");
    }
    std::int64_t add(const std::string& type, std::int64_t dst, std::int64_t src, std::int64_t bytes) {
        const std::int64_t id = trace.node(
            {.graph = 1, .capture = 1, .createdNs = 120 + ++m_added, .type = type, .name = type});
        trace.sql("UPDATE graph_node SET dst = NULLIF(" + std::to_string(dst) + ", 0), src = NULLIF("
            + std::to_string(src) + ", 0), bytes = " + std::to_string(bytes)
            + " WHERE node_id = " + std::to_string(id));
        return id;
    }
    void edge(std::int64_t from, std::int64_t to) {
        trace.sql(
            "INSERT INTO graph_edge VALUES (1, 1, " + std::to_string(from) + ", " + std::to_string(to) + ")");
    }
    std::string found() {
        build(trace);
        return trace.text("SELECT COALESCE((SELECT group_concat(writer_name || ' ' || other_role || ' ' || "
                          "other_name || ' ' || bytes || ' ' || reason || ' ' || confidence) FROM (SELECT * "
                          "FROM unordered_access WHERE known ORDER BY writer_node_id)), 'none')");
    }

    TraceBuilder trace;
    std::int64_t first = 0;

private:
    int m_added = 0;
};

TEST_F(UnorderedAccessTest, TwoFillsOnTwoBranches) {
    const std::int64_t a = add("memset", 0x1000, 0, 256);
    const std::int64_t b = add("memset", 0x1080, 0, 256);
    edge(first, a);
    edge(first, b);
    EXPECT_EQ(found(), "memset writes memset 128 no_path high");
    EXPECT_EQ(trace.number("SELECT address FROM unordered_access"), 0x1080);
    EXPECT_EQ(trace.number("SELECT replays FROM unordered_access"), 4);
    EXPECT_EQ(trace.text("SELECT graph_name FROM unordered_access"), "graph 1");
}

TEST_F(UnorderedAccessTest, AnEdgeOrdersThem) {
    const std::int64_t a = add("memset", 0x1000, 0, 256);
    const std::int64_t b = add("memset", 0x1080, 0, 256);
    edge(first, a);
    edge(a, b);
    EXPECT_EQ(found(), "none");
}

TEST_F(UnorderedAccessTest, RangesThatOnlyTouchAreNoConflict) {
    const std::int64_t a = add("memset", 0x1000, 0, 256);
    const std::int64_t b = add("memset", 0x1100, 0, 256);
    edge(first, a);
    edge(first, b);
    EXPECT_EQ(found(), "none");
}

TEST_F(UnorderedAccessTest, ACopyThatReadsWhatAnotherWrites) {
    const std::int64_t a = add("memcpy", 0x9000, 0x1000, 64);
    const std::int64_t b = add("memset", 0x1000, 0, 32);
    edge(first, a);
    edge(first, b);
    EXPECT_EQ(found(), "memset reads memcpy 32 no_path high");
}

TEST_F(UnorderedAccessTest, TwoThatOnlyReadAreNoConflict) {
    const std::int64_t a = add("memcpy", 0x9000, 0x1000, 64);
    const std::int64_t b = add("memcpy", 0x8000, 0x1000, 64);
    edge(first, a);
    edge(first, b);
    EXPECT_EQ(found(), "none");
}

TEST_F(UnorderedAccessTest, AKernelsPointerIntoWhatIsFilled) {
    const std::int64_t a = add("memset", 0x1000, 0, 256);
    edge(first, a);
    const std::int64_t last = trace.number("SELECT node_id FROM graph_node WHERE name = 'last'");
    trace.pointer(last, 0x10c0, 1, 3);
    edge(first, last);
    EXPECT_EQ(found(), "memset uses last 64 no_path medium");
    EXPECT_EQ(trace.number("SELECT other_param FROM unordered_access"), 3);
}

TEST_F(UnorderedAccessTest, MessagesOfOneGroupRunAtTheSameTime) {
    const auto message = [&](const char* kind, std::int64_t dst, std::int64_t src, std::int64_t group) {
        const std::int64_t op = trace.commOp(0xabc, kind, 256, 130, 1);
        trace.sql("UPDATE nccl_op SET group_id = " + std::to_string(group)
            + " WHERE op_id = " + std::to_string(op));
        const std::int64_t node = add("comm", dst, src, 256);
        trace.sql("UPDATE graph_node SET name = '" + std::string(kind)
            + "', comm_op_id = " + std::to_string(op) + " WHERE node_id = " + std::to_string(node));
        return node;
    };
    const std::int64_t send = message("send", 0, 0x1000, 5);
    const std::int64_t receive = message("recv", 0x1000, 0, 5);
    const std::int64_t again = message("send", 0, 0x1000, 6);
    edge(first, send);
    edge(send, receive);
    edge(receive, again);
    EXPECT_EQ(found(), "recv reads send 256 same_group high");
}

TEST_F(UnorderedAccessTest, WithoutAnyEdgeItIsNotKnown) {
    add("memset", 0x1000, 0, 256);
    add("memset", 0x1080, 0, 256);
    EXPECT_EQ(found(), "none");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM unordered_access WHERE NOT known"), 1);
}

TEST_F(UnorderedAccessTest, AnUpdatedExecutableTouchesSomethingElse) {
    const std::int64_t a = add("memset", 0x1000, 0, 256);
    const std::int64_t b = add("memset", 0x1080, 0, 256);
    edge(first, a);
    edge(first, b);
    trace.sql("INSERT INTO exec_update VALUES (1, 1, 1, 500, 510, 1, 0, 0, NULL)");
    EXPECT_EQ(found(), "none");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM unordered_access"), 0);
}

class PoolConflictTest : public testing::Test {
protected:
    // Captured in the order of their numbers, each with these pointers.
    void graphs(
        const std::vector<std::vector<std::int64_t>>& pointers, const std::string& kernel = "kernel") {
        for (std::size_t i = 0; i < pointers.size(); ++i) {
            const auto id = static_cast<std::int64_t>(i + 1);
            trace.capturedGraph(id, 100 * id, 100 * id + 50, {kernel}, "graph " + std::to_string(id));
            const std::int64_t node
                = trace.number("SELECT node_id FROM graph_node WHERE graph_id = " + std::to_string(id));
            for (const std::int64_t address : pointers[i])
                trace.pointer(node, address, 1, static_cast<int>(address));
        }
    }
    void memory(std::int64_t from, std::int64_t bytes, const TraceBuilder::Allocation& more) {
        trace.allocation(from, bytes, 10, more);
    }
    std::string confidence() { return trace.text("SELECT group_concat(confidence) FROM pool_conflict"); }
    // Eight steps of 10 ms, each with these executables in this order.
    void steps(const std::vector<std::int64_t>& order) {
        addSteps(trace, 8, 10 * kMs);
        for (int i = 0; i < 8; ++i) {
            std::int64_t at = (i + 1) * 10 * kMs;
            for (const std::int64_t exec : order) {
                trace.replay(exec, at, at + 10, at + 20, at + 900 * kUs);
                at += kMs;
            }
        }
    }
    std::string found() {
        build(trace);
        return trace.text("SELECT COALESCE((SELECT group_concat(what || ' ' || exec_id || ': ' || "
                          "first_exec_id || ' ' || COALESCE(second_exec_id, '-') || ' x' || steps) FROM "
                          "(SELECT * FROM pool_conflict ORDER BY exec_id, first_exec_id)), 'none')");
    }

    TraceBuilder trace;
};

// Forward and backward passes of two micro-batches in one set of buffers (2), weights (1), an optimizer.
const std::vector<std::vector<std::int64_t>> kOneSet = {{1, 2}, {1, 2}, {1, 2}, {1, 2}, {1}};

TEST_F(PoolConflictTest, ForwardPassesFirstOverwriteEachOther) {
    graphs(kOneSet);
    memory(2, 1, {.pool = 7, .kind = "framework"});
    steps({1, 3, 2, 4, 5});
    EXPECT_EQ(found(), "order 2: 3 4 x8,order 3: 1 2 x8");
    EXPECT_EQ(trace.number("SELECT MIN(address) FROM pool_conflict"), 2);
    EXPECT_EQ(confidence(), "medium,medium");
}

TEST_F(PoolConflictTest, BuffersOfTheJobMayBeUsedInAnyOrder) {
    graphs(kOneSet);
    memory(1, 8, {}); // long before the captures
    memory(1, 2, {.kind = "framework"}); // of the default pool
    steps({1, 3, 2, 4, 5});
    EXPECT_EQ(found(), "order 2: 3 4 x8,order 3: 1 2 x8");
    EXPECT_EQ(confidence(), "low,low");
}

TEST_F(PoolConflictTest, MemoryAllocatedInACaptureIsAPool) {
    graphs(kOneSet);
    trace.allocation(2, 1, 320, {}); // while the third is captured
    steps({1, 3, 2, 4, 5});
    found();
    EXPECT_EQ(confidence(), "medium,medium");
}

TEST_F(PoolConflictTest, MemoryAllocatedBetweenCapturesIsNone) {
    graphs(kOneSet);
    trace.allocation(2, 1, 370, {});
    steps({1, 3, 2, 4, 5});
    found();
    EXPECT_EQ(confidence(), "low,low");
}

TEST_F(PoolConflictTest, ThePoolsAddressesAreTheOnesThatCount) {
    graphs({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1}});
    memory(3, 1, {.pool = 7, .kind = "framework"});
    steps({1, 3, 2, 4, 5});
    found();
    EXPECT_EQ(confidence(), "medium,medium");
    EXPECT_EQ(trace.number("SELECT MIN(address) FROM pool_conflict"), 3);
    EXPECT_EQ(trace.number("SELECT MAX(addresses) FROM pool_conflict"), 1);
}

TEST_F(PoolConflictTest, WhatAllTakeAsConstIsNotHandedOn) {
    graphs(kOneSet, "kernel(float const*, float const*, float const*, float*)");
    memory(2, 1, {.pool = 7, .kind = "framework"});
    steps({1, 3, 2, 4, 5});
    EXPECT_EQ(found(), "none");
}

TEST_F(PoolConflictTest, TheOrderOfTheCapturesIsFine) {
    graphs(kOneSet);
    steps({1, 2, 3, 4, 5});
    EXPECT_EQ(found(), "none");
}

TEST_F(PoolConflictTest, SoIsAnyOrderOfGraphsThatShareOnlyWeights) {
    graphs({{1, 2}, {1, 2}, {1, 3}, {1, 3}, {1}});
    steps({1, 3, 2, 4, 5});
    EXPECT_EQ(found(), "none");
}

TEST_F(PoolConflictTest, AlsoWhereNoOtherGraphShowsWhatAreWeights) {
    graphs({{1, 2}, {1, 2}, {1, 3}, {1, 3}});
    steps({1, 3, 2, 4});
    EXPECT_EQ(found(), "none");
}

TEST_F(PoolConflictTest, OneThatUsesExactlyTheSameMemoryOverwritesIt) {
    graphs({{1, 2}, {1, 2, 3}, {1, 2}, {1, 2, 3}});
    steps({1, 3, 2, 4});
    EXPECT_EQ(found(), "order 3: 1 2 x8");
}

TEST_F(PoolConflictTest, AndAnExecutableThatServesSeveralMicroBatches) {
    graphs({{1, 2}, {1, 2}, {1, 2}, {1}});
    steps({1, 2, 1, 3, 2, 4});
    EXPECT_EQ(found(), "none");
}

TEST_F(PoolConflictTest, AGraphThatRunsBeforeBothWaitsForNothing) {
    graphs(kOneSet);
    steps({3, 1, 2, 4, 5});
    // 4 should follow 3: 1 comes between them.
    EXPECT_EQ(found(), "order 1: 3 4 x8");
}

TEST_F(PoolConflictTest, OneThatIsSeenToWriteThereIsSure) {
    graphs({{1, 2}, {1, 2}, {1, 2}, {1, 2}});
    memory(2, 1, {.pool = 7, .kind = "framework"});
    const std::int64_t fill = trace.node({.graph = 3, .capture = 3, .createdNs = 310, .type = "memset"});
    trace.sql("UPDATE graph_node SET dst = 2, bytes = 4 WHERE node_id = " + std::to_string(fill));
    steps({1, 3, 2, 4});
    EXPECT_EQ(found(), "order 2: 3 4 x8,order 3: 1 2 x8");
    EXPECT_EQ(trace.text("SELECT confidence FROM pool_conflict WHERE exec_id = 3"), "high");
}

// One set of buffers (2), replayed for two micro-batches before the backward passes.
TEST_F(PoolConflictTest, AnExecutableThatRunsAgainBeforeItsResultIsUsed) {
    graphs({{1, 2}, {1, 2}, {1}});
    steps({1, 1, 2, 2, 3});
    EXPECT_EQ(found(), "again 1: 1 2 x8");
    EXPECT_EQ(trace.number("SELECT address FROM pool_conflict"), 2);
    EXPECT_EQ(confidence(), "low"); // memory of the job, as far as was recorded
}

TEST_F(PoolConflictTest, AnExecutableThatRunsAgainInMemoryOfAPool) {
    graphs({{1, 2, 3}, {1, 2, 3}, {1}});
    memory(3, 1, {.pool = 7, .kind = "framework"});
    steps({1, 1, 2, 2, 3});
    EXPECT_EQ(found(), "again 1: 1 2 x8");
    EXPECT_EQ(trace.number("SELECT address FROM pool_conflict"), 3);
    EXPECT_EQ(confidence(), "medium");
}

TEST_F(PoolConflictTest, AndOneThatIsUsedInBetween) {
    graphs({{1, 2}, {1, 2}, {1}});
    steps({1, 2, 1, 2, 3});
    EXPECT_EQ(found(), "none");
}

TEST_F(PoolConflictTest, AForwardPassThatIsComputedAgainIsFine) {
    graphs({{1, 2}, {1, 2}, {1}});
    steps({1, 1, 2, 3});
    EXPECT_EQ(found(), "none");
}

// Two graphs whose replays overlap on streams 7 and 9; the first one writes what the second one uses.
// `between` is called for each step with the time between the two launches.
class OverlapTest : public PoolConflictTest {
protected:
    template <class Fn> void overlap(Fn between) {
        graphs({{1, 2}, {2}});
        const std::int64_t fill = trace.node({.graph = 1, .capture = 1, .createdNs = 110, .type = "memset"});
        trace.sql("UPDATE graph_node SET dst = 2, bytes = 4 WHERE node_id = " + std::to_string(fill));
        addSteps(trace, 8, 10 * kMs);
        for (int i = 0; i < 8; ++i) {
            const std::int64_t at = (i + 1) * 10 * kMs;
            trace.replay(1, at, at + 10, at + 20, at + 900 * kUs);
            between(at + 100);
            trace.replay(2, at + 1000, at + 1010, at + 500 * kUs, at + kMs, {.stream = 9});
        }
    }
    void record(std::int64_t stream, std::int64_t event, std::int64_t atNs) {
        trace.call(1, GD_API_EVENT_RECORD, atNs, atNs + 1, {.stream = stream, .object = event});
    }
    void wait(std::int64_t stream, std::int64_t event, std::int64_t atNs, int result = 0) {
        trace.call(1, GD_API_STREAM_WAIT_EVENT, atNs, atNs + 1,
            {.stream = stream, .object = event, .result = result});
    }
};

TEST_F(OverlapTest, AtTheSameTime) {
    overlap([](std::int64_t) {});
    EXPECT_EQ(found(), "overlap 1: 2 - x8");
    EXPECT_EQ(confidence(), "high");
}

TEST_F(OverlapTest, AStreamThatWaitsForTheOtherDoesNotRunBesideIt) {
    overlap([&](std::int64_t at) {
        record(7, 5, at);
        wait(9, 5, at + 10);
    });
    EXPECT_EQ(found(), "none");
}

TEST_F(OverlapTest, NorOneThatWaitsForAStreamThatWaits) {
    overlap([&](std::int64_t at) {
        record(7, 5, at);
        wait(8, 5, at + 10);
        record(8, 6, at + 20);
        wait(9, 6, at + 30);
    });
    EXPECT_EQ(found(), "none");
}

TEST_F(OverlapTest, AWaitOrdersNothingWhereItWasRefusedOrItsEventWasRecordedBefore) {
    overlap([&](std::int64_t at) {
        wait(9, 5, at); // for the replay of the step before
        record(7, 5, at + 10);
        wait(9, 5, at + 20, 400);
        wait(8, 5, at + 30); // another stream
        wait(9, 99, at + 40); // recorded nowhere
    });
    EXPECT_EQ(found(), "overlap 1: 2 - x8");
    EXPECT_EQ(confidence(), "high");
}

TEST_F(OverlapTest, AnEventRecordedAgainStandsForItsLastPlace) {
    overlap([&](std::int64_t at) {
        record(7, 5, at);
        record(8, 5, at + 10);
        wait(9, 5, at + 20);
    });
    EXPECT_EQ(found(), "overlap 1: 2 - x8");
}

TEST_F(OverlapTest, WaitsOfACaptureAreTheGraphs) {
    overlap([&](std::int64_t at) {
        record(7, 5, at);
        wait(9, 5, at + 10);
    });
    // Thread 1 captures all the time.
    trace.sql("UPDATE capture SET end_ns = 1000000000, end_start_ns = 1000000000 WHERE capture_id = 2");
    EXPECT_EQ(found(), "overlap 1: 2 - x8");
}

TEST_F(OverlapTest, WithoutTheCallsItIsNotSure) {
    overlap([](std::int64_t) {});
    trace.coverage("callbacks", "partial");
    EXPECT_EQ(found(), "overlap 1: 2 - x8");
    EXPECT_EQ(confidence(), "low");
}

TEST_F(OverlapTest, OneTimeThatIsSureIsEnough) {
    overlap([](std::int64_t) {});
    trace.coverage("callbacks", "partial", 0, 75 * kMs);
    trace.sql(
        "INSERT INTO coverage (process_id, source, from_ns, to_ns, state) VALUES (1, 'callbacks', 75000000, "
        "1000000000, 'complete')");
    EXPECT_EQ(found(), "overlap 1: 2 - x8");
    EXPECT_EQ(confidence(), "high");
}

TEST_F(OverlapTest, NorIsItWithNodesThatWaitForEvents) {
    for (const char* type : {"wait_event", "event_record"}) {
        TraceBuilder fresh;
        trace = std::move(fresh);
        overlap([](std::int64_t) {});
        trace.node({.graph = 2, .capture = 2, .createdNs = 210, .type = type});
        EXPECT_EQ(found(), "overlap 1: 2 - x8");
        EXPECT_EQ(confidence(), "low") << type;
    }
}

TEST_F(PoolConflictTest, AStreamRunsOneAfterTheOtherWhateverTheTimesSay) {
    graphs({{1, 2}, {2}});
    const std::int64_t fill = trace.node({.graph = 1, .capture = 1, .createdNs = 110, .type = "memset"});
    trace.sql("UPDATE graph_node SET dst = 2, bytes = 4 WHERE node_id = " + std::to_string(fill));
    addSteps(trace, 8, 10 * kMs);
    for (int i = 0; i < 8; ++i) {
        const std::int64_t at = (i + 1) * 10 * kMs;
        trace.replay(1, at, at + 10, at + 20, at + 900 * kUs);
        trace.replay(2, at + 10, at + 20, at + 500 * kUs, at + kMs);
    }
    EXPECT_EQ(found(), "none");
}

TEST_F(PoolConflictTest, AtTheSameTimeWithoutAKnownWriteIsFine) {
    graphs({{1, 2}, {1, 2}});
    addSteps(trace, 8, 10 * kMs);
    for (int i = 0; i < 8; ++i) {
        const std::int64_t at = (i + 1) * 10 * kMs;
        trace.replay(1, at, at + 10, at + 20, at + 900 * kUs);
        trace.replay(2, at + 10, at + 20, at + 500 * kUs, at + kMs, {.stream = 9});
    }
    EXPECT_EQ(found(), "none");
}

} // namespace
} // namespace gd::facts
