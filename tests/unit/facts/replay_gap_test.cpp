// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

// Eight steps of 10 ms; in the last (from 80 ms on) a replay of exec 1 runs from 81 to 83 ms, launched
// at 80.5.
class ReplayGapTest : public testing::Test {
protected:
    ReplayGapTest() {
        addSteps(trace, 8, 10 * kMs);
        trace.capturedGraph(1, 10, 20, {"gemm"}, "step/cycle");
        trace.capturedGraph(2, 30, 40, {"adamw"}, "step/optimizer");
        trace.replay(1, 80'500 * kUs, 80'510 * kUs, 81 * kMs, 83 * kMs);
    }
    std::int64_t part(std::string_view name) {
        return trace.number("SELECT " + std::string(name) + " FROM replay_gap");
    }
    std::int64_t sumOfParts() {
        return part(
            "host_sync_ns + exec_update_ns + data_ns + host_other_ns + launch_call_ns + event_ns + peer_ns + "
            "nccl_ns + unknown_ns");
    }

    TraceBuilder trace;
};

TEST_F(ReplayGapTest, ALateHostIsDividedByItsCalls) {
    // Idle 83 to 86 ms: the wait ends at 83.4, an update takes 83.5 to 83.9, a copy 84.0 to 84.1, launch 85.9
    // to 85.95.
    trace.call(1, GD_API_DEVICE_SYNCHRONIZE, 80'600 * kUs, 83'400 * kUs, {.stack = trace.stack({"look@3"})});
    trace.call(1, GD_API_GRAPH_EXEC_UPDATE, 83'500 * kUs, 83'900 * kUs);
    trace.call(1, GD_API_MEMCPY_HTOD_ASYNC, 84'000 * kUs, 84'100 * kUs);
    trace.replay(2, 85'900 * kUs, 85'950 * kUs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM replay_gap"), 1);
    EXPECT_EQ(part("end_ns - start_ns"), 3 * kMs);
    EXPECT_EQ(part("host_sync_ns"), 400 * kUs);
    EXPECT_EQ(part("exec_update_ns"), 400 * kUs);
    EXPECT_EQ(part("data_ns"), 100 * kUs);
    EXPECT_EQ(part("host_other_ns"), 2000 * kUs);
    EXPECT_EQ(part("launch_call_ns"), 50 * kUs);
    EXPECT_EQ(part("unknown_ns"), 50 * kUs);
    EXPECT_EQ(sumOfParts(), 3 * kMs);
    EXPECT_EQ(trace.text("SELECT cause FROM replay_gap"), "host_other");
    EXPECT_EQ(trace.text("SELECT graph_name FROM replay_gap"), "step/optimizer");
    EXPECT_EQ(trace.text("SELECT sync_api FROM replay_gap"), "cuCtxSynchronize");
    EXPECT_EQ(part("sync_ns"), 2800 * kUs);
    EXPECT_EQ(part("steady"), 1);
    EXPECT_EQ(part("same_step"), 1);
    EXPECT_EQ(part("known"), 1);
    EXPECT_EQ(part("eager_recorded"), 1);
    EXPECT_EQ(part("noise_ns"), 0);
}

TEST_F(ReplayGapTest, AWaitThatEndedEarlyIsNotTheReason) {
    trace.call(1, GD_API_STREAM_SYNCHRONIZE, 80'600 * kUs, 82'000 * kUs);
    trace.replay(2, 85'900 * kUs, 85'950 * kUs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_TRUE(trace.isNull("SELECT sync_api FROM replay_gap"));
}

TEST_F(ReplayGapTest, ALaunchThatWasThereInTimeWaitsForTheDevice) {
    trace.call(1, GD_API_STREAM_WAIT_EVENT, 80'600 * kUs, 80'610 * kUs, {.stream = 7});
    trace.replay(2, 80'700 * kUs, 80'750 * kUs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(trace.text("SELECT cause FROM replay_gap"), "event");
    EXPECT_EQ(part("event_ns"), 3 * kMs);
    EXPECT_EQ(sumOfParts(), 3 * kMs);
}

TEST_F(ReplayGapTest, WithoutAnEventTheWaitIsUnknown) {
    trace.replay(2, 80'700 * kUs, 80'750 * kUs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(trace.text("SELECT cause FROM replay_gap"), "unknown");
}

TEST_F(ReplayGapTest, EagerWorkShortensTheGap) {
    trace.kernel("fill", 83'500 * kUs, 85 * kMs);
    trace.replay(2, 85'900 * kUs, 85'950 * kUs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(part("start_ns"), 85 * kMs);
    EXPECT_EQ(part("end_ns"), 86 * kMs);
}

TEST_F(ReplayGapTest, WorkAtTheStartLeavesNoGap) {
    trace.kernel("long", 82 * kMs, 88 * kMs, {.stream = 9});
    trace.replay(2, 85'900 * kUs, 85'950 * kUs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM replay_gap"), 0);
}

TEST_F(ReplayGapTest, ReplaysOfTwoStepsAreMarked) {
    trace.replay(2, 90'100 * kUs, 90'150 * kUs, 91 * kMs, 92 * kMs);
    trace.range(1, "step", 90 * kMs, 100 * kMs);
    build(trace);
    EXPECT_EQ(part("same_step"), 0);
    EXPECT_EQ(part("start_ns"), 83 * kMs);
}

TEST_F(ReplayGapTest, ReplaysFarApartHaveNone) {
    trace.range(1, "step", 90 * kMs, 100 * kMs);
    trace.range(1, "step", 100 * kMs, 110 * kMs);
    trace.replay(2, 100'100 * kUs, 100'150 * kUs, 101 * kMs, 102 * kMs);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM replay_gap"), 0);
}

TEST_F(ReplayGapTest, TimeInALoaderRangeIsData) {
    trace.range(1, "next_batch", 83'200 * kUs, 85'200 * kUs, 1);
    trace.replay(2, 85'900 * kUs, 86 * kMs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(part("data_ns"), 2 * kMs);
    EXPECT_EQ(part("host_other_ns"), 900 * kUs);
    EXPECT_EQ(trace.text("SELECT cause FROM replay_gap"), "data");
}

TEST_F(ReplayGapTest, TheCopyOfALateBatchDoesNotHideTheWaitForIt) {
    trace.range(1, "next_batch", 83'200 * kUs, 85'200 * kUs, 1);
    trace.kernel("unpack", 85'400 * kUs, 85'800 * kUs);
    trace.replay(2, 85'900 * kUs, 85'950 * kUs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM replay_gap"), 1);
    EXPECT_EQ(part("start_ns"), 83 * kMs);
    EXPECT_EQ(part("end_ns"), 85'400 * kUs);
    EXPECT_EQ(part("data_ns"), 2 * kMs);
    EXPECT_EQ(sumOfParts(), 2400 * kUs);
}

TEST_F(ReplayGapTest, HostDevicesHaveNoise) {
    trace.hostDevice(200 * kUs);
    trace.replay(2, 85'900 * kUs, 86 * kMs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(part("noise_ns"), 600 * kUs);
}

TEST_F(ReplayGapTest, UnknownWhereAReplayWithoutTimesMayHaveRun) {
    trace.replay(1, 83'000 * kUs, 83'010 * kUs, -1, -1);
    trace.replay(2, 85'900 * kUs, 85'950 * kUs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM replay_gap WHERE known"), 0);
    EXPECT_EQ(part("known"), 0);
}

TEST_F(ReplayGapTest, UnknownWhereCallsWereNotRecorded) {
    trace.coverage("callbacks", "partial");
    trace.coverage("eager_kernel_activity", "absent");
    trace.replay(2, 85'900 * kUs, 86 * kMs, 86 * kMs, 87 * kMs);
    build(trace);
    EXPECT_EQ(part("known"), 0);
    EXPECT_EQ(part("eager_recorded"), 0);
}

TEST_F(ReplayGapTest, AWaitThatBeginsWhenTheDeviceHasLongBeenIdleIsNotTheReason) {
    // Idle from 83 ms: the host prepares a batch until 86.0, whose copy is waited for until 86.2.
    trace.call(1, GD_API_MEMCPY_HTOD_ASYNC, 86'000 * kUs, 86'020 * kUs, {.correlation = 77});
    trace.copy(65'536, 86'030 * kUs, 86'040 * kUs, {.correlation = 77});
    const std::int64_t place = trace.stack({"feed@4"});
    trace.call(1, GD_API_STREAM_SYNCHRONIZE, 86'030 * kUs, 86'200 * kUs, {.stack = place});
    trace.replay(2, 86'500 * kUs, 86'510 * kUs, 86'520 * kUs, 87 * kMs);
    build(trace);
    EXPECT_TRUE(trace.isNull("SELECT sync_api FROM replay_gap"));
    EXPECT_EQ(part("end_ns - start_ns"), 3'030 * kUs);
    EXPECT_EQ(part("input_ns"), 3'000 * kUs);
    EXPECT_EQ(part("copy_ns"), 10 * kUs);
    EXPECT_EQ(part("input_stack_id"), place);
    EXPECT_EQ(trace.text("SELECT input_api FROM replay_gap"), "cuMemcpyHtoDAsync");
}

TEST_F(ReplayGapTest, AScalarIsNoInput) {
    trace.call(1, GD_API_MEMCPY_HTOD_ASYNC, 86'000 * kUs, 86'020 * kUs, {.correlation = 77});
    trace.copy(8, 86'030 * kUs, 86'040 * kUs, {.correlation = 77});
    trace.replay(2, 86'500 * kUs, 86'510 * kUs, 86'520 * kUs, 87 * kMs);
    build(trace);
    EXPECT_EQ(part("input_ns"), 0);
    EXPECT_TRUE(trace.isNull("SELECT input_api FROM replay_gap"));
}

TEST_F(ReplayGapTest, TheWaitInACopyFromPageableMemoryIsPartOfTheCopying) {
    // The device copies from 83 to 86 ms; the host then needs 0.5 ms to launch.
    trace.call(1, GD_API_MEMCPY_HTOD_ASYNC, 80'600 * kUs, 85'900 * kUs, {.correlation = 77});
    trace.copy(1 << 26, 83 * kMs, 86 * kMs, {.correlation = 77});
    trace.call(1, GD_API_STREAM_SYNCHRONIZE, 85'950 * kUs, 86'010 * kUs);
    trace.replay(2, 86'400 * kUs, 86'450 * kUs, 86'500 * kUs, 87 * kMs);
    trace.sql("UPDATE memcpy SET src_memory = 'host_pageable'");
    build(trace);
    EXPECT_TRUE(trace.isNull("SELECT sync_api FROM replay_gap"));
    EXPECT_EQ(part("copy_ns"), 3 * kMs);
}

TEST_F(ReplayGapTest, AWaitThatSpansAReplayAndSuchACopyIsAWait) {
    trace.call(1, GD_API_MEMCPY_HTOD_ASYNC, 80'600 * kUs, 80'620 * kUs, {.correlation = 77});
    trace.copy(65'536, 83 * kMs, 83'010 * kUs, {.correlation = 77});
    trace.call(1, GD_API_STREAM_SYNCHRONIZE, 80'650 * kUs, 83'020 * kUs);
    trace.replay(2, 86'400 * kUs, 86'450 * kUs, 86'500 * kUs, 87 * kMs);
    trace.sql("UPDATE memcpy SET src_memory = 'host_pageable'");
    build(trace);
    EXPECT_EQ(trace.text("SELECT sync_api FROM replay_gap"), "cuStreamSynchronize");
}

TEST_F(ReplayGapTest, UnknownBeforeAReplayThatWasToBeMeasured) {
    trace.replay(2, 84 * kMs, 84'050 * kUs, -1, -1);
    build(trace);
    EXPECT_EQ(part("known"), 0);
    EXPECT_EQ(trace.text("SELECT why FROM replay_gap"), "device times of replays are missing");
}

TEST_F(ReplayGapTest, UnknownWhereGraphsMayBeLaunchedFromTheDevice) {
    trace.replay(2, 85'900 * kUs, 85'950 * kUs, 86 * kMs, 87 * kMs);
    trace.exec(7, 2, 50);
    trace.sql("UPDATE graph_exec SET flags = 4 WHERE exec_id = 7");
    build(trace);
    EXPECT_EQ(part("known"), 0);
    EXPECT_EQ(trace.number("SELECT known FROM device_busy WHERE graph_replays > 0"), 0);
}

} // namespace
} // namespace gd::facts
