// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

TEST(CaptureOutcome, TheFirstFailureOverAllThreadsIsTheCause) {
    TraceBuilder trace;
    trace.node({.id = 5, .capture = 1, .createdNs = 120, .name = "gemm"});
    trace.capture(100, {.endNs = 500, .endResult = 901});
    trace.fail(1, GD_API_EVENT_QUERY, 600, 110, {});
    trace.fail(1, GD_API_MEM_HOST_ALLOC, 900, 200, {.thread = 2, .bytes = 64});
    trace.fail(1, GD_API_STREAM_SYNCHRONIZE, 901, 300, {.stream = 7, .memberStream = true});
    trace.fail(1, GD_API_STREAM_END_CAPTURE, 901, 499, {.stream = 7, .memberStream = true});
    build(trace);
    EXPECT_EQ(trace.text("SELECT state FROM capture_outcome"), "ended_error");
    EXPECT_EQ(trace.text("SELECT fail_api FROM capture_outcome"), "cuMemHostAlloc");
    EXPECT_EQ(trace.text("SELECT fail_runtime_api FROM capture_outcome"), "cudaHostAlloc");
    EXPECT_EQ(trace.number("SELECT fail_same_thread FROM capture_outcome"), 0);
    EXPECT_EQ(trace.text("SELECT fail_thread FROM capture_outcome"), "worker");
    EXPECT_EQ(trace.text("SELECT fail_sub_kind FROM capture_outcome"), "user_worker");
    EXPECT_EQ(trace.number("SELECT later_failures FROM capture_outcome"), 1);
    EXPECT_EQ(trace.text("SELECT last_node FROM capture_outcome"), "gemm");
    EXPECT_EQ(trace.number("SELECT abandoned FROM capture_outcome"), 0);
}

TEST(CaptureOutcome, ACaptureCodeIsPreferredToAHarmlessFailure) {
    TraceBuilder trace;
    trace.capture(100, {.endNs = 500, .endResult = 901});
    trace.fail(1, GD_API_MEM_GET_INFO, 1, 150, {});
    trace.fail(1, GD_API_DEVICE_SYNCHRONIZE, 900, 200, {});
    build(trace);
    EXPECT_EQ(trace.text("SELECT fail_api FROM capture_outcome"), "cuCtxSynchronize");
    EXPECT_EQ(trace.number("SELECT fail_same_thread FROM capture_outcome"), 1);
    EXPECT_TRUE(trace.isNull("SELECT fail_sub_kind FROM capture_outcome"));
}

TEST(CaptureOutcome, OutOfMemoryIsSeenBehindTheRefusedFree) {
    TraceBuilder trace;
    trace.capture(100, {.endNs = 500, .endResult = 901});
    trace.fail(1, GD_API_MEM_ALLOC, 2, 150, {.bytes = 1 << 30});
    trace.fail(1, GD_API_MEM_FREE, 900, 200, {});
    build(trace);
    EXPECT_EQ(trace.text("SELECT fail_api FROM capture_outcome"), "cuMemFree");
    EXPECT_EQ(trace.number("SELECT oom_before FROM capture_outcome"), 1);
}

TEST(CaptureOutcome, KindsOfForeignThreads) {
    TraceBuilder trace;
    trace.sql("UPDATE thread SET name = 'pt_nccl_watchdg' WHERE thread_id = 2");
    trace.capture(100, {.endNs = 500, .endResult = 901});
    trace.fail(1, GD_API_EVENT_QUERY, 900, 200, {.thread = 2});
    build(trace);
    EXPECT_EQ(trace.text("SELECT fail_sub_kind FROM capture_outcome"), "nccl_watchdog");
}

TEST(CaptureOutcome, WhyAnObjectWasDestroyedJustThen) {
    const auto why = [](const std::vector<std::string>& frames, gd_api_id api) {
        TraceBuilder trace;
        trace.capture(100, {.endNs = 500, .endResult = 901});
        trace.fail(1, api, 900, 200, {.stack = trace.stack(frames)});
        build(trace);
        return trace.text("SELECT fail_destroyed_by FROM capture_outcome");
    };
    EXPECT_EQ(
        why({"subtype_dealloc", "delete_garbage", "gc_collect_main", "forward@9"}, GD_API_GRAPH_EXEC_DESTROY),
        "gc");
    EXPECT_EQ(why({"subtype_dealloc", "forward@9"}, GD_API_GRAPH_DESTROY), "refcount");
    EXPECT_EQ(why({"reset@3", "forward@9"}, GD_API_MODULE_UNLOAD), "code");
    EXPECT_EQ(why({}, GD_API_GRAPH_EXEC_DESTROY), "NULL");
    EXPECT_EQ(why({"gc_collect_main", "forward@9"}, GD_API_MEM_FREE), "NULL");
}

TEST(CaptureOutcome, TheAllocatingPlaceWasWarm) {
    TraceBuilder trace;
    const auto warm = trace.stack({"cuMemAlloc", "grow@12", "warmup@3", "main@1"});
    const auto cold = trace.stack({"cuMemAlloc", "grow@12", "capture@9", "main@2"});
    trace.allocation(4096, 64, 50, {.stack = warm});
    trace.capture(100, {.endNs = 500, .endResult = 901});
    trace.fail(1, GD_API_MEM_ALLOC, 900, 200, {.stack = cold, .bytes = 64});
    trace.sql("UPDATE stack_frame SET module = '/usr/lib/libcuda.so.1' WHERE position = 0");
    build(trace);
    EXPECT_EQ(trace.number("SELECT warm_same_site FROM capture_outcome"), 1);
}

TEST(CaptureOutcome, AnotherAllocatingPlaceIsNotWarm) {
    TraceBuilder trace;
    trace.allocation(4096, 64, 50, {.stack = trace.stack({"grow@12", "main@1"})});
    trace.capture(100, {.endNs = 500, .endResult = 901});
    trace.fail(1, GD_API_MEM_ALLOC, 900, 200, {.stack = trace.stack({"moments@4", "main@1"})});
    build(trace);
    EXPECT_EQ(trace.number("SELECT warm_same_site FROM capture_outcome"), 0);
}

TEST(CaptureOutcome, VictimsAfterwardsAndTheRetry) {
    TraceBuilder trace;
    trace.capture(100, {.id = 1, .endNs = 500, .endResult = 901});
    trace.fail(1, GD_API_MEM_ALLOC, 900, 200, {});
    trace.call(1, GD_API_STREAM_SYNCHRONIZE, 600, 610, {.stream = 7, .result = 901});
    trace.call(2, GD_API_STREAM_SYNCHRONIZE, 620, 630, {.stream = 9, .result = 901});
    trace.call(1, GD_API_STREAM_SYNCHRONIZE, 640, 650, {.stream = 7});
    trace.capture(700, {.id = 2, .endNs = 800});
    build(trace);
    EXPECT_EQ(trace.number("SELECT victims_after FROM capture_outcome WHERE capture_id = 1"), 1);
    EXPECT_EQ(
        trace.text("SELECT first_victim FROM capture_outcome WHERE capture_id = 1"), "cuStreamSynchronize");
    EXPECT_EQ(trace.number("SELECT retried_ok FROM capture_outcome WHERE capture_id = 1"), 1);
    EXPECT_EQ(trace.text("SELECT state FROM capture_outcome WHERE capture_id = 2"), "ended_ok");
}

// The driver answers with an invalid value or handle, and no capture is open that it could spoil.
TEST(CaptureOutcome, AnEventRecordedInsideAndAskedForAfterwards) {
    TraceBuilder trace;
    trace.call(1, GD_API_EVENT_RECORD, 20, 30, {.stream = 7, .object = 3});
    trace.capture(100, {.endNs = 500});
    trace.call(1, GD_API_EVENT_RECORD, 200, 210, {.stream = 7, .object = 4});
    trace.call(1, GD_API_EVENT_RECORD, 220, 230, {.stream = 9, .object = 5}); // not captured
    trace.call(1, GD_API_EVENT_SYNCHRONIZE, 600, 610, {.object = 3, .result = 1}); // recorded before
    trace.call(1, GD_API_EVENT_SYNCHRONIZE, 620, 630, {.object = 5, .result = 1});
    trace.call(2, GD_API_EVENT_SYNCHRONIZE, 640, 650, {.object = 4, .result = 600});
    trace.call(2, GD_API_EVENT_SYNCHRONIZE, 660, 670, {.object = 4, .result = 1});
    trace.call(1, GD_API_EVENT_SYNCHRONIZE, 680, 690, {.object = 4, .result = 1});
    build(trace);
    EXPECT_EQ(trace.text("SELECT state || fail_api || fail_result FROM capture_outcome"),
        "ended_okcuEventSynchronize1");
    EXPECT_EQ(trace.number("SELECT fail_start_ns FROM capture_outcome"), 660);
    EXPECT_EQ(trace.number("SELECT fail_event_record_ns FROM capture_outcome"), 200);
}

TEST(CaptureOutcome, AnEventRecordedAgainOutsideIsNoConcernOfTheCapture) {
    TraceBuilder trace;
    trace.capture(100, {.endNs = 500});
    trace.call(1, GD_API_EVENT_RECORD, 200, 210, {.stream = 7, .object = 4});
    trace.call(1, GD_API_EVENT_RECORD, 550, 560, {.stream = 7, .object = 4});
    trace.call(1, GD_API_EVENT_SYNCHRONIZE, 600, 610, {.object = 4, .result = 1});
    build(trace);
    EXPECT_EQ(trace.text("SELECT coalesce(fail_api, 'none') FROM capture_outcome"), "none");
}

TEST(CaptureOutcome, AbandonedWhenTheFailureLiesOutsideTheFramesThatHoldIt) {
    TraceBuilder trace(10'000);
    trace.capture(100, {.beginStack = trace.stack({"begin@5", "region@10", "step@3", "main@1"})});
    trace.node({.capture = 1,
        .stack = trace.stack({"gemm@7", "forward@2", "region@12", "step@3", "main@1"}),
        .createdNs = 120,
        .name = "gemm"});
    trace.fail(1, GD_API_DEVICE_SYNCHRONIZE, 900, 900, {.stack = trace.stack({"log@8", "step@5", "main@1"})});
    build(trace);
    EXPECT_EQ(trace.text("SELECT state FROM capture_outcome"), "not_ended");
    EXPECT_EQ(trace.number("SELECT left_scope FROM capture_outcome"), 1);
    EXPECT_EQ(trace.number("SELECT abandoned FROM capture_outcome"), 1);
    EXPECT_EQ(trace.number("SELECT open_ns FROM capture_outcome"), 9'900);
}

TEST(CaptureOutcome, AKnownExitStatusIsAnOrderlyEnd) {
    for (const bool known : {false, true}) {
        TraceBuilder trace(10'000);
        trace.capture(100, {});
        ASSERT_TRUE(trace.db().exec(known ? "UPDATE process SET ended = 'unknown', exit_status = 0"
                                          : "UPDATE process SET ended = 'unknown', exit_status = NULL"));
        build(trace);
        EXPECT_EQ(trace.number("SELECT process_closed FROM capture_outcome"), known ? 1 : 0);
    }
}

TEST(CaptureOutcome, NotAbandonedWhenTheFailureComesFromInside) {
    TraceBuilder trace(10'000);
    trace.capture(100, {.beginStack = trace.stack({"begin@5", "region@10", "step@3", "main@1"})});
    trace.node({.capture = 1,
        .stack = trace.stack({"gemm@7", "forward@2", "region@12", "step@3", "main@1"}),
        .createdNs = 120,
        .name = "gemm"});
    trace.fail(1, GD_API_MEM_ALLOC, 900, 900,
        {.stack = trace.stack({"grow@8", "forward@4", "region@12", "step@3", "main@1"})});
    build(trace);
    EXPECT_EQ(trace.number("SELECT left_scope FROM capture_outcome"), 0);
    EXPECT_EQ(trace.number("SELECT abandoned FROM capture_outcome"), 0);
}

TEST(CaptureOutcome, NotAbandonedWhenTheFailureNamesItsStream) {
    TraceBuilder trace(10'000);
    trace.capture(100, {});
    trace.fail(1, GD_API_STREAM_SYNCHRONIZE, 900, 900, {.stream = 7, .memberStream = true});
    build(trace);
    EXPECT_EQ(trace.number("SELECT abandoned FROM capture_outcome"), 0);
    EXPECT_TRUE(trace.isNull("SELECT left_scope FROM capture_outcome"));
}

TEST(CaptureOutcome, AbandonedWhenTheThreadCapturesAnew) {
    TraceBuilder trace(10'000);
    trace.capture(100, {.id = 1});
    trace.capture(600, {.id = 2, .stream = 8, .endNs = 700});
    build(trace);
    EXPECT_EQ(trace.number("SELECT abandoned FROM capture_outcome WHERE capture_id = 1"), 1);
    EXPECT_EQ(trace.number("SELECT left_scope FROM capture_outcome WHERE capture_id = 1"), 1);
}

TEST(CaptureOutcome, AttemptsThatFailAlikeHaveOneRoot) {
    TraceBuilder trace;
    const auto place = trace.stack({"wait@5", "region@10"});
    for (const std::int64_t id : {1, 2}) {
        trace.capture(id * 1000, {.id = id, .endNs = id * 1000 + 500, .endResult = 901});
        trace.fail(id, GD_API_STREAM_SYNCHRONIZE, 900, id * 1000 + 100, {.stack = place, .stream = 7});
    }
    trace.capture(3000, {.id = 3, .endNs = 3500, .endResult = 901});
    trace.fail(3, GD_API_MEM_ALLOC, 900, 3100, {.stack = trace.stack({"grow@5"})});
    trace.capture(4000, {.id = 4, .endNs = 4500, .endResult = 901});
    trace.fail(4, GD_API_MEM_ALLOC, 900, 4100, {});
    trace.capture(5000, {.id = 5, .endNs = 5500});
    build(trace);
    EXPECT_EQ(trace.text("SELECT group_concat(root_capture_id) FROM capture_outcome"), "1,1,3,4,5");
}

TEST(CaptureOutcome, EndOnTheWrongThread) {
    TraceBuilder trace(10'000);
    trace.capture(100, {});
    trace.fail(1, GD_API_STREAM_END_CAPTURE, 908, 900, {.thread = 2, .stream = 7, .memberStream = true});
    build(trace);
    EXPECT_EQ(trace.number("SELECT end_result FROM capture_outcome"), 908);
    EXPECT_EQ(trace.text("SELECT end_thread FROM capture_outcome"), "worker");
    EXPECT_TRUE(trace.isNull("SELECT fail_api FROM capture_outcome"));
}

TEST(CaptureOutcome, AnEndOnTheWrongThreadBreaksTheRightOne) {
    TraceBuilder trace(10'000);
    trace.capture(100, {.id = 1, .endNs = 950, .endResult = 401});
    trace.fail(1, GD_API_STREAM_END_CAPTURE, 908, 900, {.thread = 2, .stream = 7, .memberStream = true});
    trace.capture(2000, {.id = 2, .endNs = 2950, .endResult = 901}); // here another call was first
    trace.fail(2, GD_API_STREAM_SYNCHRONIZE, 900, 2100, {.stream = 7});
    trace.fail(2, GD_API_STREAM_END_CAPTURE, 908, 2900, {.thread = 2, .stream = 7, .memberStream = true});
    trace.capture(4000, {.id = 3, .endNs = 4950, .endResult = 904});
    trace.fail(3, GD_API_STREAM_END_CAPTURE, 908, 4900, {.thread = 2, .stream = 7, .memberStream = true});
    build(trace);
    EXPECT_EQ(trace.text("SELECT group_concat(end_result) FROM capture_outcome"), "908,901,904");
}

TEST(CaptureOutcome, LegacyStreamUsersInTheWindow) {
    TraceBuilder trace;
    trace.capture(100, {.endNs = 500, .endResult = 901, .nonBlocking = 0});
    trace.call(2, GD_API_LAUNCH_KERNEL, 50, 60, {.stream = 1});
    trace.call(2, GD_API_LAUNCH_KERNEL, 200, 210, {.stream = 1});
    trace.call(2, GD_API_LAUNCH_KERNEL, 220, 230, {.stream = 9});
    trace.call(1, GD_API_MEMCPY_DTOH, 300, 310, {});
    build(trace);
    EXPECT_EQ(trace.number("SELECT legacy_calls FROM capture_outcome"), 2);
    EXPECT_EQ(trace.number("SELECT legacy_thread_id FROM capture_outcome"), 2);
}

TEST(CaptureOutcome, PathOfTheRangesAroundTheBegin) {
    TraceBuilder trace;
    trace.range(1, "step", 10, 900);
    trace.range(1, "done", 20, 30, 1);
    trace.range(1, "cycle", 50, 600, 1);
    trace.range(2, "other", 50, 600);
    trace.capture(100, {.endNs = 500});
    build(trace);
    EXPECT_EQ(trace.text("SELECT range_path FROM capture_outcome"), "step/cycle");
}

} // namespace
} // namespace gd::facts
