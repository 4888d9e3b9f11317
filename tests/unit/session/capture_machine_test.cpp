// SPDX-License-Identifier: Apache-2.0
#include "collector/session/capture_machine.h"

#include "collector/api/graphdoctor_api_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace gd::session {

namespace {

constexpr std::uint64_t kOrigin = 10;
constexpr std::uint64_t kSide = 11;
constexpr std::uint64_t kThird = 12;
constexpr raw::ThreadRef kMain = 1;
constexpr raw::ThreadRef kOther = 2;

/// A machine, its records, and calls in the order in which a program makes them.
class CaptureMachineTest : public testing::Test, public CaptureRecords {
public:
    void write(raw::CaptureBegin& record) noexcept override { begins.push_back(record); }
    void write(raw::CaptureJoin& record) noexcept override { joins.push_back(record); }
    void write(raw::CaptureFail& record) noexcept override { fails.push_back(record); }
    void write(raw::CaptureEnd& record) noexcept override { ends.push_back(record); }

protected:
    CaptureCall make(std::uint16_t api, std::uint64_t stream, std::int32_t result) {
        CaptureCall call;
        call.api = api;
        call.stream = stream;
        call.result = result;
        call.thread = thread;
        call.startNs = ++clockNs;
        call.endNs = ++clockNs;
        call.stack = ++stack;
        return call;
    }
    void run(std::uint16_t api, std::uint64_t stream, std::int32_t result = 0) {
        machine.finished(make(api, stream, result));
    }
    void begin(std::uint64_t stream = kOrigin, std::uint32_t mode = 0) {
        CaptureCall call = make(GD_API_STREAM_BEGIN_CAPTURE, stream, 0);
        call.mode = mode;
        machine.finished(call);
    }
    void end(std::uint64_t stream = kOrigin, std::int32_t result = 0, std::uint64_t graph = 0) {
        CaptureCall call = make(GD_API_STREAM_END_CAPTURE, stream, result);
        call.graph = graph;
        machine.finished(call);
    }
    void record(std::uint64_t event, std::uint64_t stream, std::int32_t result = 0) {
        CaptureCall call = make(GD_API_EVENT_RECORD, stream, result);
        call.event = event;
        machine.finished(call);
    }
    void wait(std::uint64_t stream, std::uint64_t event, std::int32_t result = 0) {
        CaptureCall call = make(GD_API_STREAM_WAIT_EVENT, stream, result);
        call.event = event;
        machine.finished(call);
    }
    void launch(std::uint64_t stream, std::int32_t result = 0) { run(GD_API_LAUNCH_KERNEL, stream, result); }

    CaptureMachine machine{*this};
    std::vector<raw::CaptureBegin> begins;
    std::vector<raw::CaptureJoin> joins;
    std::vector<raw::CaptureFail> fails;
    std::vector<raw::CaptureEnd> ends;
    raw::ThreadRef thread = kMain;
    raw::StackRef stack = 0;
    std::int64_t clockNs = 1000;
};

TEST_F(CaptureMachineTest, BeginAndEnd) {
    machine.streamCreated(kOrigin, 1);
    begin(kOrigin, 1);
    EXPECT_EQ(machine.openCount(), 1u);
    EXPECT_EQ(machine.captureOf(kOrigin), 1u);
    EXPECT_EQ(machine.captureOf(kSide), 0u);
    EXPECT_EQ(machine.nodeCreated(kOrigin), 1u);
    EXPECT_EQ(machine.nodeCreated(kSide), 0u);
    end(kOrigin, 0, 77);
    ASSERT_EQ(begins.size(), 1u);
    EXPECT_EQ(begins[0].mode, 1u);
    EXPECT_EQ(begins[0].streamFlags, 1u);
    EXPECT_EQ(begins[0].thread, kMain);
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].capture, begins[0].capture);
    EXPECT_EQ(ends[0].graph, 77u);
    EXPECT_EQ(ends[0].nodes, 1u);
    EXPECT_EQ(ends[0].state, static_cast<std::uint16_t>(raw::CaptureState::EndedOk));
    EXPECT_EQ(machine.openCount(), 0u);
    EXPECT_EQ(machine.captureOf(kOrigin), 0u);
    EXPECT_THAT(fails, testing::IsEmpty());
}

TEST_F(CaptureMachineTest, AFailedBeginOpensNothing) {
    run(GD_API_STREAM_BEGIN_CAPTURE, kOrigin, 401);
    EXPECT_EQ(machine.openCount(), 0u);
    EXPECT_THAT(fails, testing::IsEmpty());
}

TEST_F(CaptureMachineTest, FailuresOutsideOfCapturesAreNotItsBusiness) {
    launch(kOrigin, 700);
    EXPECT_THAT(fails, testing::IsEmpty());
}

/// Every code that a restricted call gives, and those that mean nothing.
class CaptureFailCode : public CaptureMachineTest,
                        public testing::WithParamInterface<std::pair<int, bool>> { };

TEST_P(CaptureFailCode, IsAFailureOrNot) {
    begin();
    run(GD_API_EVENT_QUERY, kOrigin, GetParam().first);
    EXPECT_EQ(fails.size(), GetParam().second ? 1u : 0u);
    if (!fails.empty()) {
        EXPECT_EQ(fails[0].result, GetParam().first);
        EXPECT_EQ(fails[0].api, GD_API_EVENT_QUERY);
        EXPECT_EQ(fails[0].ordinal, 0u);
    }
    EXPECT_EQ(machine.openCount(), 1u) << "only EndCapture closes a capture";
}

INSTANTIATE_TEST_SUITE_P(Codes, CaptureFailCode,
    testing::Values(std::pair(0, false), std::pair(600, false), std::pair(704, false), std::pair(1, true),
        std::pair(2, true), std::pair(400, true), std::pair(700, true), std::pair(900, true),
        std::pair(901, true), std::pair(902, true), std::pair(905, true), std::pair(906, true),
        std::pair(907, true), std::pair(910, true)),
    [](const auto& one) {
        return "Code" + std::to_string(one.param.first) + (one.param.second ? "Fails" : "DoesNot");
    });

TEST_F(CaptureMachineTest, OrdinalsCountTheCascadeUpToSixteen) {
    begin();
    for (int i = 0; i < 40; ++i) {
        launch(kOrigin, 901);
    }
    ASSERT_EQ(fails.size(), 16u);
    for (unsigned i = 0; i < fails.size(); ++i) {
        EXPECT_EQ(fails[i].ordinal, i);
    }
}

TEST_F(CaptureMachineTest, RelationOfACallToTheCapture) {
    begin();
    run(GD_API_MEM_ALLOC, 0, 900);
    EXPECT_EQ(fails.back().relation, raw::kSameThread | raw::kSameDevice | raw::kThreadCaptures);
    launch(kOrigin, 901);
    EXPECT_EQ(fails.back().relation & raw::kMemberStream, raw::kMemberStream);
    thread = kOther;
    run(GD_API_MEM_ALLOC, 0, 900);
    EXPECT_EQ(fails.back().relation, raw::kSameDevice);
    run(GD_API_MEMCPY_HTOD, 0, 906);
    EXPECT_EQ(fails.back().relation, raw::kSameDevice | raw::kLegacyStreamCall);
    launch(raw::kLegacyStream, 906);
    EXPECT_EQ(fails.back().relation, raw::kSameDevice | raw::kLegacyStreamCall);
    begin(kThird, 2);
    run(GD_API_DEVICE_SYNCHRONIZE, 0, 900);
    const raw::CaptureFail& ofFirst = fails.back();
    const raw::CaptureFail& ofSecond = fails[fails.size() - 2];
    EXPECT_EQ(ofFirst.capture, 1u);
    EXPECT_EQ(ofFirst.relation, raw::kSameDevice | raw::kThreadCaptures);
    EXPECT_EQ(ofSecond.capture, 2u);
    EXPECT_EQ(ofSecond.relation, raw::kSameDevice | raw::kThreadCaptures | raw::kSameThread);
}

TEST_F(CaptureMachineTest, AnEventRecordedInsideLinksACallOfAnotherThread) {
    record(5, kOrigin);
    begin();
    record(6, kOrigin);
    const std::int64_t recordNs = clockNs;
    thread = kOther;
    CaptureCall query = make(GD_API_EVENT_QUERY, 0, 907);
    query.event = 6;
    machine.finished(query);
    ASSERT_EQ(fails.size(), 1u);
    EXPECT_EQ(fails[0].relation & raw::kMemberEvent, raw::kMemberEvent);
    EXPECT_EQ(fails[0].eventRecordNs, recordNs);
    EXPECT_EQ(fails[0].eventStream, kOrigin);
    query = make(GD_API_EVENT_QUERY, 0, 900);
    query.event = 5;
    machine.finished(query);
    EXPECT_EQ(fails[1].relation & raw::kMemberEvent, 0);
    EXPECT_NE(fails[1].eventRecordNs, 0);
    query = make(GD_API_EVENT_QUERY, 0, 900);
    query.event = 99;
    machine.finished(query);
    EXPECT_EQ(fails[2].eventRecordNs, 0) << "never recorded";
}

TEST_F(CaptureMachineTest, MembersJoinThroughAChainOfEvents) {
    begin();
    record(1, kOrigin);
    wait(kSide, 1);
    record(2, kSide);
    wait(kThird, 2);
    ASSERT_EQ(joins.size(), 2u);
    EXPECT_EQ(joins[0].stream, kSide);
    EXPECT_EQ(joins[0].fromStream, kOrigin);
    EXPECT_EQ(joins[1].stream, kThird);
    EXPECT_EQ(joins[1].fromStream, kSide);
    EXPECT_EQ(machine.captureOf(kThird), 1u);
    launch(kThird, 901);
    EXPECT_EQ(fails.at(0).relation & raw::kMemberStream, raw::kMemberStream);
}

TEST_F(CaptureMachineTest, WaitingForAnOldEventJoinsNothing) {
    record(1, kOrigin);
    begin();
    wait(kSide, 1);
    EXPECT_THAT(joins, testing::IsEmpty());
    EXPECT_EQ(machine.captureOf(kSide), 0u);
}

TEST_F(CaptureMachineTest, AnEventOfAnEndedCaptureJoinsNothing) {
    begin();
    record(1, kOrigin);
    end();
    begin(kThird);
    wait(kSide, 1);
    EXPECT_THAT(joins, testing::IsEmpty());
}

TEST_F(CaptureMachineTest, AFailedWaitJoinsNothingAndNamesTheOtherCapture) {
    begin(kOrigin);
    begin(kThird);
    record(1, kThird);
    wait(kOrigin, 1, 902);
    EXPECT_THAT(joins, testing::IsEmpty());
    for (const raw::CaptureFail& fail : fails) {
        EXPECT_EQ(fail.otherCapture, fail.capture == 1 ? 2u : 1u);
    }
    EXPECT_EQ(fails.size(), 2u);
}

TEST_F(CaptureMachineTest, UnjoinedNamesTheStreamWhoseWorkWasLeft) {
    begin();
    record(1, kOrigin);
    wait(kSide, 1);
    wait(kThird, 1);
    const raw::StackRef joinStack = joins.back().stack;
    launch(kSide);
    launch(kThird);
    record(2, kSide);
    wait(kOrigin, 2);
    end(kOrigin, 904);
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_EQ(ends[0].state, static_cast<std::uint16_t>(raw::CaptureState::EndedWithError));
    EXPECT_EQ(ends[0].strayStream, kThird);
    EXPECT_EQ(ends[0].strayStack, joinStack);
    EXPECT_EQ(ends[0].graph, 0u);
}

TEST_F(CaptureMachineTest, WorkAfterTheJoinIsStray) {
    begin();
    record(1, kOrigin);
    wait(kSide, 1);
    launch(kSide);
    record(2, kSide);
    launch(kSide);
    wait(kOrigin, 2);
    end(kOrigin, 904);
    EXPECT_EQ(ends.at(0).strayStream, kSide);
}

TEST_F(CaptureMachineTest, AJoinThroughAThirdStreamCounts) {
    begin();
    record(1, kOrigin);
    wait(kSide, 1);
    wait(kThird, 1);
    launch(kSide);
    record(2, kSide);
    wait(kThird, 2);
    record(3, kThird);
    wait(kOrigin, 3);
    launch(kThird);
    end(kOrigin, 904);
    EXPECT_EQ(ends.at(0).strayStream, kThird) << "the side stream's work came back through the third stream";
}

TEST_F(CaptureMachineTest, AMemberThatNobodyWaitedForIsStrayEvenWithoutWorkSeen) {
    begin();
    record(1, kOrigin);
    wait(kSide, 1);
    end(kOrigin, 904);
    EXPECT_EQ(ends.at(0).strayStream, kSide);
}

TEST_F(CaptureMachineTest, NodesCountAsWorkToo) {
    begin();
    record(1, kOrigin);
    wait(kSide, 1);
    wait(kThird, 1);
    record(2, kSide);
    wait(kOrigin, 2);
    record(3, kThird);
    wait(kOrigin, 3);
    EXPECT_EQ(machine.nodeCreated(kThird), 1u);
    end(kOrigin, 904);
    EXPECT_EQ(ends.at(0).strayStream, kThird);
}

TEST_F(CaptureMachineTest, EndInTheWrongPlaceFailsButDoesNotClose) {
    begin(kOrigin, 1);
    thread = kOther;
    end(kOrigin, 908);
    EXPECT_EQ(machine.openCount(), 1u);
    ASSERT_EQ(fails.size(), 1u);
    EXPECT_EQ(fails[0].relation & raw::kSameThread, 0);
    record(1, kOrigin);
    wait(kSide, 1);
    end(kSide, 903);
    EXPECT_EQ(machine.openCount(), 1u);
    EXPECT_EQ(fails.size(), 2u);
    thread = kMain;
    end(kOrigin, 901);
    EXPECT_EQ(machine.openCount(), 0u);
    EXPECT_EQ(ends.at(0).result, 901);
    EXPECT_EQ(machine.captureOf(kSide), 0u);
}

TEST_F(CaptureMachineTest, ACaptureThatIsNeverEndedLeavesNoEndRecord) {
    begin();
    launch(kOrigin, 700);
    EXPECT_EQ(fails.size(), 1u);
    EXPECT_THAT(ends, testing::IsEmpty());
    EXPECT_EQ(machine.openCount(), 1u);
}

TEST_F(CaptureMachineTest, BeginOnAStreamWhoseEndWasMissedStartsAfresh) {
    begin();
    begin();
    EXPECT_EQ(machine.openCount(), 1u);
    EXPECT_EQ(machine.captureOf(kOrigin), 2u);
    end(kOrigin, 0, 3);
    EXPECT_EQ(ends.at(0).capture, 2u);
}

TEST_F(CaptureMachineTest, ForgettingClosesWithoutRecords) {
    begin();
    record(1, kOrigin);
    wait(kSide, 1);
    machine.forget();
    EXPECT_EQ(machine.openCount(), 0u);
    EXPECT_EQ(machine.captureOf(kSide), 0u);
    EXPECT_THAT(ends, testing::IsEmpty());
    launch(kOrigin, 900);
    EXPECT_THAT(fails, testing::IsEmpty());
}

TEST_F(CaptureMachineTest, MoreMembersThanAreFollowedStayMembers) {
    begin();
    record(1, kOrigin);
    for (std::uint64_t stream = 100; stream < 200; ++stream) {
        wait(stream, 1);
        launch(stream);
    }
    EXPECT_EQ(joins.size(), 100u);
    EXPECT_EQ(machine.captureOf(199), 1u);
    end(kOrigin, 904);
    EXPECT_EQ(ends.at(0).strayStream, 100u);
    EXPECT_EQ(machine.captureOf(199), 0u);
}

TEST_F(CaptureMachineTest, RecordsOfManyCapturesReuseTheirClocks) {
    for (int round = 0; round < 1000; ++round) {
        begin();
        record(1, kOrigin);
        wait(kSide, 1);
        launch(kSide);
        record(2, kSide);
        wait(kOrigin, 2);
        end(kOrigin, 0, 5);
        machine.eventDestroyed(2);
    }
    EXPECT_EQ(ends.size(), 1000u);
    EXPECT_EQ(joins.size(), 1000u);
}

} // namespace
} // namespace gd::session
