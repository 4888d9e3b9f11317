// SPDX-License-Identifier: Apache-2.0
// Every record kind arrives in its table: processes, calls, captures, memory, ranges, coverage.
#include "tests/unit/import/round_trip_fixture.h"

#include "collector/api/graphdoctor_runtime.h"

#include <gmock/gmock.h>

namespace gd {
namespace {

using test::kStart;
using test::RoundTrip;
using testing::ElementsAre;

TEST_F(RoundTrip, ProcessAndItsFacts) {
    auto& b = builder();
    b.fact("command_line",
        std::string_view("train\0--lr\0"
                         "3\0--api-key\0abc\0",
            26));
    b.fact("executable", "/usr/bin/train");
    b.fact("runtime", "host");
    b.fact("python_version", "3.12");
    raw::EnvVar rank{};
    rank.name = b.string("RANK");
    rank.value = b.string("3");
    b.history(rank);
    raw::EnvVar world{};
    world.name = b.string("WORLD_SIZE");
    world.value = b.string("8");
    b.history(world);
    raw::EnvVar secret{};
    secret.name = b.string("HF_TOKEN");
    secret.value = b.string("hf_123");
    b.history(secret);
    raw::Thread thread{};
    thread.timeNs = kStart + 5;
    thread.thread = 1;
    thread.tid = 99;
    thread.name = b.string("main");
    b.history(thread);
    finish();
    EXPECT_EQ(
        one("SELECT process_id, pid, parent_pid, role, host, rank, world_size, command_line, executable, "
            "runtime, start_ns, end_ns, ended FROM process"),
        "1|4711|1|primary|node7|3|8|train --lr 3 --api-key ***|/usr/bin/train|host|0|1000000|closed");
    EXPECT_THAT(rows("SELECT key, value FROM process_fact"), ElementsAre("python_version|3.12"));
    EXPECT_THAT(
        rows("SELECT name, value FROM env_var"), ElementsAre("RANK|3", "WORLD_SIZE|8", "HF_TOKEN|***"));
    EXPECT_EQ(one("SELECT process_id, thread_id, tid, name, first_ns FROM thread"), "1|1|99|main|5");
    EXPECT_EQ(one("SELECT value FROM meta WHERE key = 'start_unix_ns'"), "1700000001000000000");
}

TEST_F(RoundTrip, DevicesAndTheirObjects) {
    auto& b = builder();
    raw::Device device{};
    device.device = 0;
    device.name = b.string("NVIDIA H200");
    device.uuid = b.string("GPU-1");
    device.memoryBytes = 1024;
    device.ccMajor = 9;
    device.multiprocessors = 132;
    b.history(device);
    raw::SchedulingNoise noise{};
    noise.wakeupP99Ns = 777;
    b.history(noise);
    raw::Context context{};
    context.timeNs = kStart + 1;
    context.id = 5;
    context.life = 1;
    b.history(context);
    raw::Stream stream{};
    stream.timeNs = kStart + 2;
    stream.id = 7;
    stream.context = 5;
    stream.life = 1;
    stream.flags = 1;
    stream.priority = -5;
    b.history(stream);
    stream.life = 4;
    stream.timeNs = kStart + 9;
    b.history(stream);
    raw::Event event{};
    event.timeNs = kStart + 3;
    event.id = 8;
    event.life = 1;
    event.flags = 2;
    b.history(event);
    finish();
    EXPECT_EQ(one("SELECT name, uuid, memory_bytes, compute_capability, multiprocessors, workers, "
                  "wakeup_p99_ns FROM device"),
        "NVIDIA H200|GPU-1|1024|9.0|132|0|777");
    EXPECT_EQ(one("SELECT context_id, created_ns, destroyed_ns FROM context"), "5|1|NULL");
    EXPECT_EQ(
        one("SELECT stream_id, context_id, non_blocking, priority, created_ns, destroyed_ns FROM stream"),
        "7|5|1|-5|2|9");
    EXPECT_EQ(one("SELECT event_id, flags, created_ns, destroyed_ns FROM event"), "8|2|3|NULL");
}

TEST_F(RoundTrip, CallsWithAndWithoutAnEnd) {
    auto& b = builder();
    const auto stack = b.stack({0x1000, 0x2000}, {{b.string("train.py"), b.string("step"), 12, 0}});
    raw::ApiEnter enter{};
    enter.startNs = kStart + 10;
    enter.correlation = 1;
    enter.api = GD_API_STREAM_SYNCHRONIZE;
    b.event(1, enter);
    raw::ApiCall call{};
    call.startNs = kStart + 10;
    call.endNs = kStart + 20;
    call.correlation = 1;
    call.api = GD_API_STREAM_SYNCHRONIZE;
    call.stream = 7;
    call.stack = stack;
    b.event(1, call);
    raw::ApiCall failed{};
    failed.startNs = kStart + 30;
    failed.endNs = kStart + 31;
    failed.api = GD_API_MEM_ALLOC;
    failed.result = 900;
    failed.bytes = 64;
    raw::setThread(failed, 1);
    b.history(failed);
    enter.startNs = kStart + 40;
    enter.correlation = 2;
    enter.api = GD_API_EVENT_SYNCHRONIZE;
    b.event(1, enter);
    finish();
    EXPECT_THAT(rows("SELECT thread_id, a.name, a.class, start_ns, end_ns, result, stream_id, bytes, "
                     "stack_id FROM api_call "
                     "JOIN api AS a USING (api_id) ORDER BY api_call_id"),
        ElementsAre("1|cuStreamSynchronize|SYNC|10|20|0|7|NULL|1",
            "1|cuMemAlloc|ALLOC|30|31|900|NULL|64|NULL",
            "1|cuEventSynchronize|SYNC|40|NULL|NULL|NULL|NULL|NULL"));
    EXPECT_EQ(
        one("SELECT first_rowid, last_rowid, row_count, thread_id FROM track WHERE table_name = 'api_call'"),
        "1|3|3|1");
    EXPECT_THAT(rows("SELECT language, position, function, file, line, address FROM stack_frame ORDER BY "
                     "language DESC, position"),
        ElementsAre("python|0|step|train.py|12|NULL", "native|0|NULL|NULL|NULL|4096",
            "native|1|NULL|NULL|NULL|8192"));
    EXPECT_EQ(one("SELECT name, runtime_name FROM result_code WHERE result = 900"),
        "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED|cudaErrorStreamCaptureUnsupported");
}

TEST_F(RoundTrip, CaptureFromBeginToEnd) {
    auto& b = builder();
    raw::CaptureBegin begin{};
    begin.timeNs = kStart + 100;
    begin.capture = 1;
    begin.stream = 7;
    begin.thread = 1;
    begin.mode = 1;
    begin.streamFlags = 1;
    b.history(begin);
    raw::CaptureJoin join{};
    join.timeNs = kStart + 110;
    join.capture = 1;
    join.stream = 9;
    join.fromStream = 7;
    join.event = 3;
    join.thread = 1;
    b.history(join);
    raw::CaptureFail fail{};
    fail.startNs = kStart + 120;
    fail.endNs = kStart + 121;
    fail.capture = 1;
    fail.stream = 7;
    fail.thread = 1;
    fail.result = 900;
    fail.api = GD_API_STREAM_SYNCHRONIZE;
    fail.relation = raw::kSameThread | raw::kMemberStream | raw::kSameDevice;
    b.history(fail);
    raw::CaptureEnd end{};
    end.startNs = kStart + 130;
    end.endNs = kStart + 140;
    end.capture = 1;
    end.thread = 1;
    end.result = 901;
    end.state = 2;
    end.nodes = 4;
    b.history(end);
    raw::ThreadCaptureMode mode{};
    mode.timeNs = kStart + 150;
    mode.thread = 1;
    mode.mode = 2;
    b.history(mode);
    finish();
    EXPECT_EQ(one("SELECT capture_id, stream_id, mode, begin_thread_id, start_ns, origin_non_blocking, "
                  "end_start_ns, end_ns, "
                  "end_result, graph_id, node_count FROM capture"),
        "1|7|thread_local|1|100|1|130|140|901|NULL|4");
    EXPECT_EQ(one("SELECT stream_id, from_stream_id, event_id, time_ns FROM capture_join"), "9|7|3|110");
    EXPECT_EQ(one("SELECT ordinal, result, start_ns, same_thread, member_stream, member_event, "
                  "legacy_stream, same_device, "
                  "thread_captures, other_capture_id, event_record_ns FROM capture_fail"),
        "0|900|120|1|1|0|0|1|0|NULL|NULL");
    EXPECT_EQ(one("SELECT time_ns, mode, previous FROM thread_capture_mode"), "150|relaxed|global");
}

TEST_F(RoundTrip, ThreadsPastTheFirst65535KeepTheirNumber) {
    raw::ApiCall failed{};
    failed.startNs = kStart + 30;
    failed.endNs = kStart + 31;
    failed.api = GD_API_MEM_ALLOC;
    failed.result = 2;
    failed.device = 3;
    raw::setThread(failed, 70'000);
    builder().history(failed);
    finish();
    EXPECT_EQ(one("SELECT thread_id, device_id FROM api_call"), "70000|3");
}

TEST_F(RoundTrip, EagerLaunchesAndTheirScalars) {
    auto& b = builder();
    raw::KernelShape shape{};
    shape.shape = 4;
    shape.name = b.string("adam");
    shape.grid[0] = shape.grid[1] = shape.grid[2] = shape.block[0] = shape.block[1] = shape.block[2] = 1;
    b.history(shape);
    raw::ScalarSet set{};
    set.id = 9;
    set.count = 2;
    const raw::ScalarWord words[] = {{~std::uint64_t{0}, 1, 8, 8, 0}, {5, 2, 0, 4, 0}};
    b.history(set, words, sizeof words);
    raw::EagerLaunch launch{};
    launch.timeNs = kStart + 50;
    launch.stream = 7;
    launch.shape = 4;
    launch.scalars = 9;
    launch.thread = 1;
    launch.rangePath = b.string("step/optim");
    b.history(launch);
    launch.timeNs = kStart + 40;
    launch.scalars = 0;
    launch.rangePath = 0;
    b.history(launch);
    finish();
    EXPECT_THAT(rows("SELECT launch_id, time_ns, thread_id, stream_id, text, scalar_set_id, range_path FROM "
                     "eager_launch JOIN kernel_shape USING (shape_id) JOIN string ON string_id = name_id "
                     "ORDER BY launch_id"),
        ElementsAre("1|40|1|7|adam|NULL|NULL", "2|50|1|7|adam|9|step/optim"));
    EXPECT_THAT(rows("SELECT scalar_set_id, param, offset, bytes, value FROM launch_scalar ORDER BY param"),
        ElementsAre("9|1|8|8|-1", "9|2|0|4|5"));
}

TEST_F(RoundTrip, MemoryAndItsEnd) {
    auto& b = builder();
    raw::Alloc alloc{};
    alloc.timeNs = kStart + 1;
    alloc.allocation = 3;
    alloc.address = 0xffff000000000000;
    alloc.bytes = 4096;
    alloc.pool = 1;
    alloc.kind = GD_RT_MEMORY_DEVICE_ASYNC;
    b.history(alloc);
    alloc.allocation = 4;
    alloc.kind = GD_RT_MEMORY_HOST_PINNED;
    alloc.address = 16;
    b.history(alloc);
    raw::Free free{};
    free.timeNs = kStart + 9;
    free.allocation = 3;
    free.thread = 2;
    b.history(free);
    raw::MemoryPool pool{};
    pool.timeNs = kStart + 2;
    pool.pool = 1;
    pool.life = 1;
    pool.reservedBytes = 10;
    pool.known = raw::kKnowsReserved;
    b.history(pool);
    raw::MemorySample sample{};
    sample.timeNs = kStart + 3;
    sample.freeBytes = 5;
    sample.totalBytes = 6;
    b.history(sample);
    sample.timeNs = kStart + 4;
    sample.known = raw::kKnowsReserved; // and that is nothing: not the same as unknown
    b.history(sample);
    finish();
    EXPECT_THAT(rows("SELECT allocation_id, device_id, kind, address, bytes, pool_id, alloc_ns, free_ns, "
                     "free_thread_id FROM "
                     "allocation ORDER BY allocation_id"),
        ElementsAre(
            "3|0|device_async|-281474976710656|4096|1|1|9|2", "4|NULL|host_pinned|16|4096|1|1|NULL|NULL"));
    EXPECT_EQ(one("SELECT pool_id, time_ns, event, reserved_bytes, used_bytes FROM memory_pool"),
        "1|2|created|10|NULL");
    EXPECT_THAT(rows("SELECT time_ns, free_bytes, total_bytes, graph_reserved_bytes FROM memory_sample"),
        ElementsAre("3|5|6|NULL", "4|5|6|0"));
}

TEST_F(RoundTrip, BlocksOfAFrameworkBecomeLives) {
    auto& b = builder();
    raw::Alloc alloc{};
    alloc.timeNs = kStart + 1;
    alloc.allocation = 7;
    alloc.address = 1000;
    alloc.bytes = 4096;
    alloc.kind = GD_RT_MEMORY_DEVICE;
    b.history(alloc);
    const auto block
        = [&](std::int64_t at, gd_rt_block_event event, std::uint64_t address, std::uint64_t pool) {
              raw::FrameworkBlock record{};
              record.timeNs = kStart + at;
              record.address = address;
              record.bytes = 64;
              record.pool = pool;
              record.event = static_cast<std::uint16_t>(event);
              b.history(record);
          };
    block(10, GD_RT_BLOCK_LIVE, 1000, 0);
    block(11, GD_RT_BLOCK_ALLOCATED, 2000, 5);
    block(20, GD_RT_BLOCK_FREE_REQUESTED, 1000, 0);
    block(25, GD_RT_BLOCK_FREE_COMPLETED, 1000, 0);
    block(30, GD_RT_BLOCK_ALLOCATED, 1000, 0);
    block(40, GD_RT_BLOCK_ALLOCATED, 2000, 5); // its free was not seen
    block(50, GD_RT_BLOCK_FREE_REQUESTED, 3000, 0); // nor was this one's allocation
    finish();
    EXPECT_THAT(
        rows("SELECT allocation_id, device_id, address, bytes, pool_id, alloc_ns, free_ns FROM allocation "
             "WHERE kind = 'framework' ORDER BY allocation_id"),
        ElementsAre("8|0|1000|64|NULL|10|20", "9|0|2000|64|5|11|40", "10|0|1000|64|NULL|30|NULL",
            "11|0|2000|64|5|40|NULL"));
}

TEST_F(RoundTrip, RangesArePairedPerThreadAndDomain) {
    auto& b = builder();
    const auto push = [&](std::int64_t at, const char* name, const char* domain) {
        raw::Range range{};
        range.timeNs = kStart + at;
        range.name = b.string(name);
        range.domain = *domain == '\0' ? 0 : b.string(domain);
        range.op = 1;
        return range;
    };
    b.event(1, push(10, "step", ""));
    b.event(1, push(20, "inner", ""));
    b.event(1, push(25, "other", "lib"));
    raw::Range pop = push(30, "", "");
    pop.op = 2;
    pop.name = 0;
    b.event(1, pop);
    pop.timeNs = kStart + 40;
    b.event(1, pop);
    raw::Range mark = push(45, "mark", "");
    mark.op = 3;
    b.event(1, mark);
    raw::Range start = push(50, "async", "");
    start.op = 4;
    start.payload = 77;
    b.event(1, start);
    raw::Range end = start;
    end.op = 5;
    end.timeNs = kStart + 60;
    end.name = 0;
    b.event(2, end);
    finish();
    EXPECT_THAT(rows("SELECT n.text, d.text, kind, depth, start_ns, end_ns FROM nvtx_range AS r JOIN string "
                     "AS n ON n.string_id = "
                     "r.name_id JOIN string AS d ON d.string_id = r.domain_id ORDER BY range_id"),
        ElementsAre("step||push|0|10|40", "inner||push|1|20|30", "other|lib|push|0|25|NULL",
            "mark||mark|0|45|45", "async||start|0|50|60"));
}

// Steps lie in the history, other ranges in the events, of which the oldest may be gone: half a range ends no
// step.
TEST_F(RoundTrip, StepsEndWithTheirOwnEndWhateverIsMissingInside) {
    auto& b = builder();
    const auto range = [&](std::int64_t at, const char* name, raw::RangeOp op, bool isStep) {
        raw::Range record{};
        record.timeNs = kStart + at;
        record.name = *name == '\0' ? 0 : b.string(name);
        record.op = static_cast<std::uint8_t>(op);
        raw::setThread(record, isStep ? 1 : 0);
        return record;
    };
    b.history(range(10, "step 1", raw::RangeOp::Push, true));
    b.event(1, range(30, "", raw::RangeOp::Pop, false)); // its start is gone
    b.history(range(40, "", raw::RangeOp::Pop, true));
    b.event(1, range(45, "", raw::RangeOp::Pop, false)); // so is this one's, around the step
    b.history(range(50, "step 2", raw::RangeOp::Push, true));
    b.event(1, range(60, "inner", raw::RangeOp::Push, false)); // its end is gone
    b.history(range(90, "", raw::RangeOp::Pop, true));
    finish();
    EXPECT_THAT(rows("SELECT n.text, start_ns, end_ns FROM nvtx_range AS r JOIN string AS n ON n.string_id = "
                     "r.name_id ORDER BY range_id"),
        ElementsAre("step 1|10|40", "step 2|50|90", "inner|60|90"));
    EXPECT_EQ(one("SELECT count FROM trace_issue WHERE code = 'unmatched_range_end'"), "2");
}

TEST_F(RoundTrip, CoverageIntervalsAreClosed) {
    auto& b = builder();
    raw::Coverage coverage{};
    coverage.timeNs = kStart + 1;
    coverage.source = static_cast<std::uint32_t>(raw::CoverageSource::callbacks);
    coverage.state = 2;
    b.history(coverage);
    coverage.timeNs = kStart + 500;
    coverage.state = 0;
    coverage.reason = b.string("switched off");
    b.history(coverage);
    raw::Issue issue{};
    issue.timeNs = kStart + 3;
    issue.severity = 1;
    issue.code = b.string("second_subscriber");
    issue.detail = b.string("another tool is there");
    b.history(issue);
    finish();
    EXPECT_THAT(
        rows(
            "SELECT from_ns, to_ns, state, reason FROM coverage WHERE source = 'callbacks' ORDER BY from_ns"),
        ElementsAre("0|500|complete|NULL", "500|1000000|absent|switched off"));
    EXPECT_EQ(one("SELECT state FROM coverage WHERE source = 'nvtx'"), "absent");
    EXPECT_EQ(one("SELECT count(DISTINCT source) FROM coverage"), "16");
    EXPECT_EQ(one("SELECT process_id, severity, detail FROM trace_issue WHERE code = 'second_subscriber'"),
        "1|data_loss|another tool is there");
}

TEST_F(RoundTrip, SeveralProcessesOfOneJobShareAClock) {
    auto& b = builder();
    b.fact("rank", "0");
    b.end(kStart + 5000);
    b.writeSegment();
    // Forked two microseconds later, after a step of the wall clock that must not shift it.
    test::SpoolWriter child(spool(), 4712, "node7", kStart + 2000, 0xbeef);
    child.start(1'700'000'000'000'000'000 + 77, 0x0123456789abcdef);
    child.fact("rank", "0");
    child.writeSegment();
    // Another host, with another CLOCK_MONOTONIC.
    test::SpoolWriter remote(spool(), 50, "node8", 9'000, 0xcafe);
    remote.start(1'700'000'000'999'995'000);
    remote.fact("rank", "1");
    remote.writeSegment();
    importer::ImportOptions options;
    options.command.emplace();
    options.command->pid = 4711;
    options.command->exitSignal = 9;
    const auto summary = import(options);
    EXPECT_EQ(summary.processes, 3);
    EXPECT_THAT(rows("SELECT process_id, pid, host, rank, role, parent_process_id, start_ns, exit_signal, "
                     "exit_status FROM "
                     "process ORDER BY process_id"),
        ElementsAre("1|4711|node7|0|primary|NULL|0|9|NULL", "2|4712|node7|NULL|forked_child|1|2000|NULL|NULL",
            "3|50|node8|1|primary|NULL|4000|NULL|NULL"));
    EXPECT_EQ(one("SELECT exit_reason FROM process WHERE process_id = 1"), "ended by signal 9");
}

TEST_F(RoundTrip, LongStringsAreJoined) {
    auto& b = builder();
    const std::string name(10'000, 'k');
    b.fact("framework", name);
    finish();
    EXPECT_EQ(one("SELECT length(value) FROM process_fact"), "10000");
}

} // namespace
} // namespace gd
