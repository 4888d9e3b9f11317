// SPDX-License-Identifier: Apache-2.0
// What a device waited for that had its launch in time: an event, a late peer, communication.
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

constexpr std::int64_t kWaitComm = 0xfeed;

// As in replay_gap_test: a replay of exec 1 runs from 81 to 83 ms; exec 2 is launched at 80.7 and starts at
// 86 ms.
class DeviceWaitTest : public testing::Test {
protected:
    DeviceWaitTest() { rank(); }

    void rank() {
        addSteps(trace, 8, 10 * kMs);
        trace.capturedGraph(1, 10, 20, {"gemm"}, "step/cycle");
        trace.capturedGraph(2, 30, 40, {"adamw"}, "step/optimizer");
        trace.replay(1, 80'500 * kUs, 80'510 * kUs, 81 * kMs, 83 * kMs);
    }
    void late() { trace.replay(2, 80'700 * kUs, 80'750 * kUs, 86 * kMs, 87 * kMs); }
    void lightOnly() { trace.coverage("eager_kernel_activity", "absent"); }
    std::string cause() {
        build(trace);
        return trace.text(
            "SELECT cause || ' ' || coalesce(cause_detail, '-') FROM replay_gap WHERE process_id = 1");
    }
    // Event 5, recorded on stream 9, then waited for by the replay's stream.
    void eventFromStream9() {
        trace.call(1, GD_API_EVENT_RECORD, 80'520 * kUs, 80'521 * kUs, {.stream = 9, .object = 5});
        trace.call(1, GD_API_STREAM_WAIT_EVENT, 80'600 * kUs, 80'610 * kUs, {.stream = 7, .object = 5});
    }

    TraceBuilder trace;
};

TEST_F(DeviceWaitTest, AnEventIsNamedByTheStreamItWasRecordedOn) {
    lightOnly();
    eventFromStream9();
    trace.call(1, GD_API_EVENT_RECORD, 80'690 * kUs, 80'691 * kUs, {.stream = 8, .object = 5}); // later
    late();
    EXPECT_EQ(cause(), "event stream 9");
}

TEST_F(DeviceWaitTest, AnEventThatCameEarlyIsNotTheReasonWhereWorkIsRecorded) {
    eventFromStream9();
    trace.kernel("copy", 81 * kMs, 82 * kMs, {.stream = 9});
    late();
    EXPECT_EQ(cause(), "unknown -");
}

TEST_F(DeviceWaitTest, AnEventOfWorkThatEndedAtTheStartIs) {
    eventFromStream9();
    // On another device, or this one would not be idle.
    trace.kernel("copy", 81 * kMs, 85'998 * kUs, {.stream = 9, .device = 1});
    late();
    EXPECT_EQ(cause(), "event stream 9");
}

TEST_F(DeviceWaitTest, APeerThatCameLateIsNamed) {
    lightOnly();
    trace.comm(kWaitComm, 2, 100);
    trace.commOp(kWaitComm, "all_reduce", 64, 70 * kMs);
    trace.commOp(kWaitComm, "all_reduce", 64, 80'600 * kUs);
    late();
    trace.process(2);
    trace.comm(kWaitComm, 2, 100);
    trace.commOp(kWaitComm, "all_reduce", 64, 70 * kMs);
    trace.commOp(kWaitComm, "all_reduce", 64, 85'500 * kUs);
    EXPECT_EQ(cause(), "peer rank 1");
    EXPECT_EQ(trace.number("SELECT peer_ns FROM replay_gap WHERE process_id = 1"), 3 * kMs);
}

// Clocks of two hosts are not related: who came late cannot be told.
TEST_F(DeviceWaitTest, APeerOnAnotherHostIsNotBlamed) {
    lightOnly();
    trace.comm(kWaitComm, 2, 100);
    trace.commOp(kWaitComm, "all_reduce", 64, 80'600 * kUs);
    late();
    trace.process(2);
    trace.comm(kWaitComm, 2, 100);
    trace.commOp(kWaitComm, "all_reduce", 64, 85'500 * kUs);
    trace.sql("UPDATE process SET host = 'h' || process_id");
    EXPECT_EQ(cause(), "nccl all_reduce");
}

TEST_F(DeviceWaitTest, WhenAllCameInTimeItIsTheCommunication) {
    lightOnly();
    trace.comm(kWaitComm, 2, 100);
    trace.commOp(kWaitComm, "all_reduce", 64, 80'600 * kUs);
    late();
    trace.process(2);
    trace.comm(kWaitComm, 2, 100);
    trace.commOp(kWaitComm, "all_reduce", 64, 80'650 * kUs);
    EXPECT_EQ(cause(), "nccl all_reduce");
}

TEST_F(DeviceWaitTest, WithoutThePeersTracesItIsTheCommunication) {
    lightOnly();
    trace.comm(kWaitComm, 2, 100);
    trace.commOp(kWaitComm, "all_reduce", 64, 80'600 * kUs);
    late();
    EXPECT_EQ(cause(), "nccl all_reduce");
}

TEST_F(DeviceWaitTest, CommunicationOnTheStreamAnEventComesFrom) {
    lightOnly();
    trace.commOp(kWaitComm, "all_gather", 64, 80'510 * kUs, 0, 1, 9);
    eventFromStream9();
    late();
    EXPECT_EQ(cause(), "nccl all_gather");
}

TEST_F(DeviceWaitTest, CommunicationElsewhereOrInAGraphOrRecordedIsNotTheReason) {
    lightOnly();
    trace.commOp(kWaitComm, "all_gather", 64, 80'600 * kUs, 0, 1, 11);
    trace.commOp(kWaitComm, "all_gather", 64, 80'610 * kUs, 3, 1, 7);
    late();
    EXPECT_EQ(cause(), "unknown -");
}

TEST_F(DeviceWaitTest, WhereEagerWorkIsRecordedIdleIsNotCommunication) {
    trace.commOp(kWaitComm, "all_gather", 64, 80'600 * kUs);
    late();
    EXPECT_EQ(cause(), "unknown -");
}

TEST_F(DeviceWaitTest, CallsBeforeTheRecordingMakePeersUnknown) {
    lightOnly();
    trace.comm(kWaitComm, 2, 0); // made before anything was recorded
    trace.commOp(kWaitComm, "all_reduce", 64, 80'600 * kUs);
    late();
    trace.process(2);
    trace.comm(kWaitComm, 2, 100);
    trace.commOp(kWaitComm, "all_reduce", 64, 85'500 * kUs);
    EXPECT_EQ(cause(), "nccl all_reduce");
}

TEST_F(DeviceWaitTest, AReceiveWaitsForItsSender) {
    lightOnly();
    const auto peer = [&](std::int64_t op, int to) {
        trace.sql("UPDATE nccl_op SET peer = " + std::to_string(to) + " WHERE op_id = " + std::to_string(op));
    };
    trace.comm(kWaitComm, 3, 100);
    peer(trace.commOp(kWaitComm, "recv", 64, 80'600 * kUs), 1);
    late();
    trace.process(2);
    trace.comm(kWaitComm, 3, 100);
    peer(trace.commOp(kWaitComm, "send", 64, 60 * kMs), 2);
    peer(trace.commOp(kWaitComm, "send", 64, 85'900 * kUs), 0);
    EXPECT_EQ(cause(), "peer rank 1") << "rank 2's trace is not needed";
}

} // namespace
} // namespace gd::facts
