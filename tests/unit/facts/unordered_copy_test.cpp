// SPDX-License-Identifier: Apache-2.0
// unordered_copy: what the job copies into a graph's memory while the graph runs on another stream.
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

// Eight times, 10 ms apart: a replay on stream 7 that uses 0x1000 and runs for 5 ms, and a copy into 0x1000
// on stream 9.
class UnorderedCopyTest : public testing::Test {
protected:
    static constexpr int kTimes = 8;

    void SetUp() override {
        trace.capturedGraph(1, 100, 200, {"infer"}, "serve");
        trace.pointer(trace.number("SELECT MIN(node_id) FROM graph_node"), 0x1000, 1, 1);
        trace.sql(
            "INSERT OR REPLACE INTO stream (process_id, stream_id, device_id, context_id, non_blocking, "
            "created_ns) VALUES (1, 7, 0, 1, 1, 0), (1, 8, 0, 1, 1, 0), (1, 9, 0, 1, 1, 0)");
    }
    static std::int64_t at(int i) { return (i + 1) * 10 * kMs; }
    void replays(std::int64_t stream = 7) {
        for (int i = 0; i < kTimes; ++i)
            trace.replay(1, at(i), at(i) + 10, at(i) + 20, at(i) + 5 * kMs, {.stream = stream});
    }
    // Called for after the launch of the replay and run while it does.
    void copies(std::int64_t address, std::int64_t bytes = 64, std::int64_t startAfterNs = kMs,
        std::int64_t stream = 9) {
        for (int i = 0; i < kTimes; ++i)
            copy(address, bytes, at(i) + 1000, at(i) + startAfterNs, stream);
    }
    void copy(std::int64_t address, std::int64_t bytes, std::int64_t callNs, std::int64_t startNs,
        std::int64_t stream = 9) {
        const std::int64_t correlation = ++m_correlation;
        trace.call(2, GD_API_MEMCPY_HTOD_ASYNC, callNs, callNs + 10,
            {.stream = stream, .object = address, .bytes = bytes, .correlation = correlation});
        trace.copy(bytes, startNs, startNs + 20 * kUs, {.stream = stream, .correlation = correlation});
    }
    void record(std::int64_t stream, std::int64_t event, std::int64_t atNs) {
        trace.call(1, GD_API_EVENT_RECORD, atNs, atNs + 1, {.stream = stream, .object = event});
    }
    void wait(std::int64_t stream, std::int64_t event, std::int64_t atNs) {
        trace.call(2, GD_API_STREAM_WAIT_EVENT, atNs, atNs + 1, {.stream = stream, .object = event});
    }
    std::int64_t found() {
        build(trace);
        return trace.number("SELECT COALESCE((SELECT times FROM unordered_copy), 0)");
    }

    TraceBuilder trace;

private:
    std::int64_t m_correlation = 5000;
};

TEST_F(UnorderedCopyTest, ACopyIntoWhatAReplayReads) {
    replays();
    copies(0xff0);
    EXPECT_EQ(found(), kTimes);
    EXPECT_EQ(trace.number("SELECT address FROM unordered_copy"), 0x1000);
    EXPECT_EQ(trace.number("SELECT stream_id FROM unordered_copy"), 9);
    EXPECT_EQ(trace.number("SELECT replay_stream_id FROM unordered_copy"), 7);
    EXPECT_EQ(trace.number("SELECT launched_beside FROM unordered_copy"), 0);
    EXPECT_EQ(trace.number("SELECT overlap_ns FROM unordered_copy"), 20 * kUs);
    EXPECT_EQ(trace.number("SELECT replays FROM unordered_copy"), kTimes);
    EXPECT_EQ(trace.text("SELECT graph_name FROM unordered_copy"), "serve");
    EXPECT_EQ(trace.text("SELECT confidence FROM unordered_copy"), "medium");
}

TEST_F(UnorderedCopyTest, TwoStreamsLaunchTheExecutable) {
    replays();
    copies(0x1000);
    const std::int64_t stack = trace.stack({"serve", "main"});
    for (int i = 0; i < kTimes; ++i)
        trace.replay(1, at(i) + 2000, at(i) + 2010, at(i) + 5 * kMs, at(i) + 6 * kMs,
            {.thread = 2, .stream = 9, .stack = stack});
    EXPECT_EQ(found(), kTimes);
    EXPECT_EQ(trace.number("SELECT launched_beside FROM unordered_copy"), 1);
    EXPECT_EQ(trace.number("SELECT replays FROM unordered_copy"), 2 * kTimes);
    EXPECT_EQ(trace.number("SELECT thread_id FROM unordered_copy"), 2);
    EXPECT_EQ(trace.number("SELECT stack_id FROM unordered_copy"), stack);
}

TEST_F(UnorderedCopyTest, IntoOtherMemoryOrOnTheSameStreamItIsFine) {
    replays();
    copies(0x1001);
    copies(0xfc0, 64);
    copies(0x1000, 64, kMs, 7);
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, SoIsOneThatRanAfterTheReplay) {
    replays();
    copies(0x1000, 64, 5 * kMs);
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, OrThatTouchesItByNoMoreThanTheClocksError) {
    replays();
    copies(0x1000, 64, 5 * kMs - 999);
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, OrThatWaitsForIt) {
    replays();
    copies(0x1000);
    for (int i = 0; i < kTimes; ++i) {
        record(7, 5, at(i) + 100);
        wait(8, 5, at(i) + 200);
        record(8, 6, at(i) + 300);
        wait(9, 6, at(i) + 400);
    }
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, OrForWhichTheReplayWaits) {
    for (int i = 0; i < kTimes; ++i) {
        copy(0x1000, 64, at(i) - 1000, at(i) + kMs);
        record(9, 5, at(i) - 500);
        wait(7, 5, at(i) - 400);
    }
    replays();
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, AWaitForWhatWasBeforeTheReplayOrdersNothing) {
    for (int i = 0; i < kTimes; ++i) {
        record(7, 5, at(i) - 500);
        wait(9, 5, at(i) + 400);
    }
    replays();
    copies(0x1000);
    EXPECT_EQ(found(), kTimes);
}

TEST_F(UnorderedCopyTest, TheLegacyStreamOrdersBlockingStreams) {
    replays();
    copies(0x1000);
    trace.sql("UPDATE stream SET non_blocking = 0, context_id = NULL WHERE stream_id = 9");
    EXPECT_EQ(found(), kTimes);
    trace.sql("UPDATE stream SET non_blocking = 0 WHERE stream_id = 7");
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, BlockingStreamsOfTheJobHaveNoOrderAmongThemselves) {
    replays();
    copies(0x1000);
    trace.sql("UPDATE stream SET non_blocking = 0");
    EXPECT_EQ(found(), kTimes);
}

TEST_F(UnorderedCopyTest, AnUpdatedExecutableUsesOtherMemory) {
    replays();
    copies(0x1000);
    trace.call(1, GD_API_GRAPH_EXEC_KERNEL_NODE_SET_PARAMS, 500, 510, {.object = 1});
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, GraphsThatWaitForEventsMayBeOrderedInside) {
    trace.node({.graph = 1, .capture = 1, .createdNs = 150, .type = "event_record"});
    replays();
    copies(0x1000);
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, NorIsAStreamFollowedThatWaitsForValues) {
    replays();
    copies(0x1000);
    trace.call(2, GD_API_STREAM_WAIT_VALUE, 300, 310, {.stream = 9});
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, WhatWasCapturedIsNoCopyOfTheJob) {
    replays();
    for (int i = 0; i < kTimes; ++i)
        trace.call(2, GD_API_MEMCPY_HTOD_ASYNC, at(i) + 1000, at(i) + 1010,
            {.stream = 9, .object = 0x1000, .bytes = 64, .correlation = 7000 + i});
    EXPECT_EQ(found(), 0);
}

TEST_F(UnorderedCopyTest, WithoutTheCallsItIsNotSure) {
    replays();
    copies(0x1000);
    trace.coverage("callbacks", "partial");
    EXPECT_EQ(found(), kTimes);
    EXPECT_EQ(trace.text("SELECT confidence FROM unordered_copy"), "low");
}

} // namespace
} // namespace gd::facts
