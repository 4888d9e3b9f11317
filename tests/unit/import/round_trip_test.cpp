// SPDX-License-Identifier: Apache-2.0
// Every record kind arrives in its table.
#include "tests/unit/import/import_fixture.h"

#include "collector/api/graphdoctor_runtime.h"

#include <gmock/gmock.h>

namespace gd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kStart = 1'000'000'000;

class RoundTrip : public test::ImportFixture {
protected:
    test::SpoolWriter& builder() {
        if (!m_builder) {
            m_builder.emplace(spool());
            m_builder->start();
        }
        return *m_builder;
    }
    void finish() {
        builder().end(kStart + 1'000'000);
        builder().writeSegment();
        import();
    }

private:
    std::optional<test::SpoolWriter> m_builder;
};

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
    failed.thread = 1;
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

TEST_F(RoundTrip, GraphsNodesAndExecutables) {
    auto& b = builder();
    raw::Graph graph{};
    graph.timeNs = kStart + 1;
    graph.graph = 1;
    graph.capture = 4;
    graph.life = 1;
    graph.origin = 3;
    b.history(graph);
    raw::KernelShape shape{};
    shape.shape = 1;
    shape.name = b.string("_Z3addPfi");
    shape.grid[0] = shape.grid[1] = shape.grid[2] = 1;
    shape.block[0] = 32;
    shape.block[1] = shape.block[2] = 1;
    b.history(shape);
    raw::GraphNode node{};
    node.timeNs = kStart + 2;
    node.node = 10;
    node.graph = 1;
    node.life = 1;
    node.stream = 7;
    node.rangePath = b.string("step/forward");
    b.history(node);
    raw::NodeKernel kernel{};
    kernel.node = 10;
    kernel.shape = 1;
    kernel.readable = 1;
    kernel.paramCount = 2;
    b.history(kernel);
    node.node = 11;
    node.type = GD_RT_NODE_MEMCPY;
    node.rangePath = 0;
    b.history(node);
    raw::NodeMemory memory{};
    memory.node = 11;
    memory.dst = 100;
    memory.src = 200;
    memory.bytes = 64;
    memory.type = GD_RT_NODE_MEMCPY;
    memory.copyKind = GD_RT_COPY_HTOD;
    memory.srcKind = GD_RT_MEMORY_HOST_PAGEABLE;
    b.history(memory);
    raw::GraphEdge edge{};
    edge.graph = 1;
    edge.fromNode = 10;
    edge.toNode = 11;
    b.history(edge);
    raw::NodePointer pointer{};
    pointer.node = 10;
    pointer.address = 0x7f00;
    pointer.allocation = 3;
    b.history(pointer);
    pointer.param = 0xffff;
    b.history(pointer);
    raw::NodeScalar scalar{};
    scalar.node = 10;
    scalar.param = 1;
    scalar.bytes = 4;
    scalar.value = 42;
    b.history(scalar);
    raw::GraphExec exec{};
    exec.startNs = kStart + 20;
    exec.endNs = kStart + 30;
    exec.exec = 2;
    exec.graph = 1;
    exec.life = 1;
    exec.traceable = 1;
    exec.nodes = 2;
    b.history(exec);
    exec.life = 3;
    exec.startNs = kStart + 40;
    exec.endNs = kStart + 50;
    exec.result = 910;
    exec.updateResult = 2;
    b.history(exec);
    exec.life = 4;
    exec.startNs = kStart + 60;
    b.history(exec);
    finish();
    EXPECT_EQ(one("SELECT graph_id, origin, capture_id, created_ns, signature IS NOT NULL FROM graph"),
        "1|capture|4|1|1");
    EXPECT_THAT(rows("SELECT node_id, graph_id, exec_id, type, range_path, name, params_readable, "
                     "param_count, dst, src, bytes, "
                     "copy_kind, src_memory, dst_memory FROM graph_node ORDER BY node_id"),
        ElementsAre("10|1|NULL|kernel|step/forward|add(float*, int)|1|2|NULL|NULL|NULL|NULL|NULL|NULL",
            "11|1|NULL|memcpy|NULL|NULL|NULL|NULL|100|200|64|HtoD|host_pageable|NULL"));
    EXPECT_EQ(one("SELECT graph_id, from_node_id, to_node_id FROM graph_edge"), "1|10|11");
    EXPECT_THAT(rows("SELECT node_id, param, role, address, allocation_id FROM node_pointer ORDER BY role"),
        ElementsAre("10|0|param|32512|3", "10|NULL|src|32512|3"));
    EXPECT_EQ(one("SELECT node_id, param, offset, bytes, value FROM node_scalar"), "10|1|0|4|42");
    EXPECT_EQ(one("SELECT exec_id, graph_id, traceable, created_start_ns, created_ns, destroyed_ns, result, "
                  "node_count FROM "
                  "graph_exec"),
        "2|1|1|20|30|60|0|2");
    EXPECT_EQ(one("SELECT exec_id, graph_id, start_ns, end_ns, result, update_result FROM exec_update"),
        "2|1|40|50|910|2");
}

TEST_F(RoundTrip, DeviceWorkSortedByTrack) {
    auto& b = builder();
    raw::KernelShape shape{};
    shape.shape = 1;
    shape.name = b.string("gemm");
    shape.grid[0] = 4;
    b.history(shape);
    raw::Kernel kernel{};
    kernel.shape = 1;
    kernel.stream = 7;
    kernel.startNs = kStart + 300;
    kernel.endNs = kStart + 310;
    kernel.correlation = 5;
    b.event(2, kernel);
    kernel.stream = 3;
    b.event(2, kernel);
    kernel.stream = 7;
    kernel.startNs = kStart + 200;
    kernel.endNs = kStart + 250;
    kernel.node = 99;
    b.event(2, kernel);
    raw::Memcpy copy{};
    copy.startNs = kStart + 400;
    copy.endNs = kStart + 410;
    copy.bytes = 16;
    copy.copyKind = GD_RT_COPY_DTOH;
    copy.dstKind = GD_RT_MEMORY_HOST_PINNED;
    copy.stream = 7;
    b.event(2, copy);
    raw::Memset fill{};
    fill.startNs = kStart + 420;
    fill.endNs = kStart + 421;
    fill.bytes = 8;
    fill.value = 255;
    fill.stream = 7;
    b.event(2, fill);
    raw::Sync sync{};
    sync.startNs = kStart + 430;
    sync.endNs = kStart + 440;
    sync.type = GD_API_EVENT_SYNCHRONIZE;
    sync.event = 6;
    sync.stream = 7;
    b.event(2, sync);
    raw::Counter counter{};
    counter.timeNs = kStart + 500;
    counter.value = 1.5;
    counter.name = b.string("power_w");
    b.event(2, counter);
    finish();
    EXPECT_THAT(rows("SELECT kernel_id, stream_id, start_ns, end_ns, name, grid_x, correlation, node_id FROM "
                     "kernel_full ORDER BY "
                     "kernel_id"),
        ElementsAre("1|3|300|310|gemm|4|5|NULL", "2|7|200|250|gemm|4|5|99", "3|7|300|310|gemm|4|5|NULL"));
    EXPECT_THAT(
        rows("SELECT stream_id, first_rowid, last_rowid, row_count FROM track WHERE table_name = 'kernel'"),
        ElementsAre("3|1|1|1", "7|2|3|2"));
    EXPECT_EQ(one("SELECT start_ns, dur_ns, bytes, copy_kind, src_memory, dst_memory FROM memcpy"),
        "400|10|16|DtoH|NULL|host_pinned");
    EXPECT_EQ(one("SELECT start_ns, dur_ns, bytes, value FROM memset"), "420|1|8|255");
    EXPECT_EQ(one("SELECT a.name, event_id, dur_ns FROM sync JOIN api AS a USING (api_id)"),
        "cuEventSynchronize|6|10");
    EXPECT_EQ(one("SELECT t.name, time_ns, value FROM counter JOIN track AS t USING (track_id)"),
        "power_w|500|1.5");
}

TEST_F(RoundTrip, ReplaysAreJoinedWithWhatTheDeviceSaid) {
    auto& b = builder();
    raw::ApiCall launch{};
    launch.api = GD_API_GRAPH_LAUNCH;
    launch.object = 2;
    launch.stream = 7;
    launch.startNs = kStart + 10;
    launch.endNs = kStart + 15;
    launch.correlation = 100;
    b.event(1, launch);
    launch.startNs = kStart + 50;
    launch.endNs = kStart + 55;
    launch.correlation = 101;
    b.event(1, launch);
    launch.startNs = kStart + 90;
    launch.endNs = kStart + 95;
    launch.correlation = 102;
    b.event(1, launch);
    raw::GraphTrace whole{};
    whole.correlation = 100;
    whole.exec = 2;
    whole.stream = 7;
    whole.startNs = kStart + 20;
    whole.endNs = kStart + 40;
    b.event(2, whole);
    raw::Kernel kernel{};
    kernel.exec = 2;
    kernel.correlation = 101;
    kernel.stream = 7;
    kernel.startNs = kStart + 60;
    kernel.endNs = kStart + 65;
    b.event(2, kernel);
    kernel.stream = 8;
    kernel.startNs = kStart + 58;
    kernel.endNs = kStart + 80;
    b.event(2, kernel);
    finish();
    EXPECT_THAT(rows("SELECT replay_id, exec_id, correlation, launch_start_ns, launch_end_ns, start_ns, "
                     "end_ns, detail FROM replay ORDER "
                     "BY replay_id"),
        ElementsAre(
            "1|2|100|10|15|20|40|graph", "2|2|101|50|55|58|80|node", "3|2|102|90|95|NULL|NULL|launch_only"));
}

TEST_F(RoundTrip, AReplayWhoseNodesWereCutOffHasNoTimes) {
    auto& b = builder();
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::int64_t at = kStart + static_cast<std::int64_t>(i) * 100;
        raw::ApiCall launch{};
        launch.api = GD_API_GRAPH_LAUNCH;
        launch.object = 2;
        launch.stream = 7;
        launch.startNs = at;
        launch.endNs = at + 5;
        launch.correlation = 100 + i;
        b.event(1, launch);
        for (std::int64_t node = 0; node < (i == 1 ? 2 : 3); ++node) {
            raw::Kernel kernel{};
            kernel.exec = 2;
            kernel.correlation = 100 + i;
            kernel.stream = 7;
            kernel.startNs = at + 10 + node * 10;
            kernel.endNs = kernel.startNs + 9;
            b.event(2, kernel);
        }
    }
    finish();
    EXPECT_THAT(rows("SELECT correlation, start_ns, end_ns, detail FROM replay ORDER BY replay_id"),
        ElementsAre("100|10|39|node", "101|NULL|NULL|launch_only", "102|210|239|node"));
}

TEST_F(RoundTrip, LaunchIntoACapturingStreamIsNoReplay) {
    auto& b = builder();
    raw::CaptureBegin begin{};
    begin.timeNs = kStart + 5;
    begin.capture = 1;
    begin.stream = 7;
    begin.thread = 1;
    b.history(begin);
    raw::ApiCall launch{};
    launch.api = GD_API_GRAPH_LAUNCH;
    launch.object = 2;
    launch.stream = 7;
    launch.startNs = kStart + 10;
    launch.endNs = kStart + 15;
    b.event(1, launch);
    finish();
    EXPECT_EQ(one("SELECT count(*) FROM replay"), "0");
    EXPECT_EQ(one("SELECT count(*) FROM api_call"), "1");
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
    b.history(pool);
    raw::MemorySample sample{};
    sample.timeNs = kStart + 3;
    sample.freeBytes = 5;
    sample.totalBytes = 6;
    b.history(sample);
    finish();
    EXPECT_THAT(rows("SELECT allocation_id, device_id, kind, address, bytes, pool_id, alloc_ns, free_ns, "
                     "free_thread_id FROM "
                     "allocation ORDER BY allocation_id"),
        ElementsAre(
            "3|0|device_async|-281474976710656|4096|1|1|9|2", "4|NULL|host_pinned|16|4096|1|1|NULL|NULL"));
    EXPECT_EQ(one("SELECT pool_id, time_ns, event, reserved_bytes, used_bytes FROM memory_pool"),
        "1|2|created|10|NULL");
    EXPECT_EQ(one("SELECT time_ns, free_bytes, total_bytes, graph_reserved_bytes FROM memory_sample"),
        "3|5|6|NULL");
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

TEST_F(RoundTrip, Communication) {
    auto& b = builder();
    raw::Comm comm{};
    comm.startNs = kStart + 1;
    comm.endNs = kStart + 2;
    comm.hash = 0xabc;
    comm.nranks = 2;
    comm.rank = 1;
    comm.life = 1;
    b.history(comm);
    comm.life = 4;
    comm.startNs = kStart + 90;
    comm.endNs = 0;
    comm.thread = 1;
    b.history(comm);
    raw::CommOp op{};
    op.timeNs = kStart + 10;
    op.op = 1;
    op.hash = 0xabc;
    op.count = 16;
    op.messageBytes = 64;
    op.capture = 4;
    op.thread = 1;
    op.peer = -1;
    op.kind = GD_RT_COMM_ALL_REDUCE;
    op.dtype = GD_RT_FLOAT32;
    op.source = 1;
    b.history(op);
    finish();
    EXPECT_EQ(one("SELECT comm_hash, nranks, rank, created_ns, destroy_start_ns, destroy_end_ns, "
                  "destroy_thread_id FROM nccl_comm"),
        "2748|2|1|2|90|NULL|1");
    EXPECT_EQ(one("SELECT op_id, comm_hash, kind, count, dtype, message_bytes, peer, thread_id, time_ns, "
                  "capture_id, source FROM nccl_op"),
        "1|2748|all_reduce|16|float32|64|NULL|1|10|4|runtime");
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
