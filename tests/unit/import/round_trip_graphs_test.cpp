// SPDX-License-Identifier: Apache-2.0
// Graphs, their replays and what the device did arrive in their tables.
#include "tests/unit/import/round_trip_fixture.h"

#include "collector/api/graphdoctor_runtime.h"
#include "collector/raw/records_coverage.h"

#include <gmock/gmock.h>

namespace gd {
namespace {

using test::kStart;
using test::RoundTrip;
using testing::ElementsAre;

// A launch of executable 2 on stream 7, `atNs` after the start, 5 ns long.
raw::ApiCall graphLaunch(std::int64_t atNs, std::uint64_t correlation) {
    raw::ApiCall launch{};
    launch.api = GD_API_GRAPH_LAUNCH;
    launch.object = 2;
    launch.stream = 7;
    launch.startNs = kStart + atNs;
    launch.endNs = launch.startNs + 5;
    launch.correlation = correlation;
    return launch;
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

// Seen on an H200: jobs of half a second that took all their device records with them.
TEST_F(RoundTrip, DeviceRecordsOfWhichNoneArrivedAreNotCalledComplete) {
    auto& b = builder();
    for (const auto source : {raw::CoverageSource::node_activity, raw::CoverageSource::sync}) {
        raw::Coverage record{};
        record.timeNs = kStart;
        record.source = static_cast<std::uint16_t>(source);
        record.state = static_cast<std::uint16_t>(raw::CoverageState::Complete);
        b.history(record);
    }
    b.event(1, graphLaunch(10, 100));
    finish();
    EXPECT_EQ(one("SELECT severity, count FROM trace_issue WHERE code = 'no_device_records'"), "data_loss|1");
    EXPECT_EQ(one("SELECT state, reason FROM coverage WHERE source = 'node_activity'"),
        "partial|none of its records arrived");
}

TEST_F(RoundTrip, ReplaysAreJoinedWithWhatTheDeviceSaid) {
    auto& b = builder();
    b.event(1, graphLaunch(10, 100));
    b.event(1, graphLaunch(50, 101));
    b.event(1, graphLaunch(90, 102));
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
        b.event(1, graphLaunch(at - kStart, 100 + i));
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

// Launched with node records, run without: the last replays' records end with replays of long after.
TEST_F(RoundTrip, NodesThatALaterReplayWroteOverAreLeftOut) {
    auto& b = builder();
    const auto launch = [&](std::uint64_t correlation, std::int64_t at) {
        raw::ApiCall call{};
        call.api = GD_API_GRAPH_LAUNCH;
        call.object = 2;
        call.stream = 7;
        call.startNs = kStart + at;
        call.endNs = kStart + at + 5;
        call.correlation = correlation;
        b.event(1, call);
    };
    const auto node = [&](std::uint64_t correlation, std::int64_t startNs, std::int64_t endNs) {
        raw::Kernel kernel{};
        kernel.exec = 2;
        kernel.correlation = correlation;
        kernel.stream = 7;
        kernel.startNs = kStart + startNs;
        kernel.endNs = kStart + endNs;
        b.event(2, kernel);
    };
    const auto whole
        = [&](std::uint64_t correlation, std::uint32_t exec, std::int64_t startNs, std::int64_t endNs) {
              raw::GraphTrace trace{};
              trace.correlation = correlation;
              trace.exec = exec;
              trace.stream = 7;
              trace.startNs = kStart + startNs;
              trace.endNs = kStart + endNs;
              b.event(2, trace);
          };
    for (std::int64_t i = 0; i < 6; ++i)
        launch(100 + static_cast<std::uint64_t>(i), 10 + i * 6);
    node(100, 100, 110);
    node(100, 120, 200); // up to the start of the next one
    node(101, 200, 210);
    node(101, 220, 520); // its end is that of 104
    raw::Memset fill{};
    fill.exec = 2;
    fill.correlation = 101;
    fill.stream = 7;
    fill.startNs = kStart + 215;
    fill.endNs = kStart + 517;
    b.event(2, fill);
    node(102, 300, 310);
    node(102, 320, 400); // also over a replay of another executable
    whole(90, 9, 330, 340);
    whole(103, 2, 400, 450);
    whole(104, 2, 500, 550);
    node(105, 510, 610); // start of 104, end of its own
    node(105, 610, 620);
    finish();
    EXPECT_THAT(
        rows("SELECT correlation, start_ns, end_ns, detail FROM replay WHERE exec_id = 2 ORDER BY replay_id"),
        ElementsAre("100|100|200|node", "101|NULL|NULL|launch_only", "102|300|400|node", "103|400|450|graph",
            "104|500|550|graph", "105|NULL|NULL|launch_only"));
    EXPECT_THAT(rows("SELECT correlation, start_ns, dur_ns FROM kernel ORDER BY kernel_id"),
        ElementsAre("100|100|10", "100|120|80", "101|200|10", "102|300|10", "102|320|80"));
    EXPECT_THAT(rows("SELECT * FROM memset"), ElementsAre());
    EXPECT_THAT(rows("SELECT * FROM track WHERE table_name = 'memset'"), ElementsAre());
    EXPECT_THAT(rows("SELECT severity, count FROM trace_issue WHERE code = 'node_times_overwritten'"),
        ElementsAre("info|4"));
}

TEST_F(RoundTrip, LaunchIntoACapturingStreamIsNoReplay) {
    auto& b = builder();
    raw::CaptureBegin begin{};
    begin.timeNs = kStart + 5;
    begin.capture = 1;
    begin.stream = 7;
    begin.thread = 1;
    b.history(begin);
    b.event(1, graphLaunch(10, 0));
    finish();
    EXPECT_EQ(one("SELECT count(*) FROM replay"), "0");
    EXPECT_EQ(one("SELECT count(*) FROM api_call"), "1");
}

} // namespace
} // namespace gd
