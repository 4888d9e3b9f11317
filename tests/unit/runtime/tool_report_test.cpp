// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_communicator.h"
#include "runtime/host/report_to_tool.h"
#include "runtime/memory_pool.h"
#include "runtime/range.h"
#include "test_kernels.h"

#include <algorithm>
#include <cstring>
#include <execinfo.h>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace gdt::runtime::test {

namespace {

/// What the table was told, in the order of the calls of all threads.
struct Told {
    struct Call {
        gd_rt_api record;
        std::int32_t result;
    };
    struct NodeParams {
        gd_rt_node_params record;
        std::string function;
        std::vector<gd_rt_param> fields;
        std::vector<std::byte> data;
    };
    std::mutex mutex;
    std::vector<gd_rt_api> entered;
    std::vector<Call> exited;
    std::vector<gd_rt_device> devices;
    std::vector<std::pair<gd_rt_life, gd_rt_object>> streams, events, contexts;
    std::vector<std::pair<gd_rt_life, gd_rt_graph>> graphs;
    std::vector<std::pair<gd_rt_life, gd_rt_node>> nodes;
    std::vector<std::pair<gd_rt_life, gd_rt_edge>> edges;
    std::vector<std::pair<gd_rt_life, gd_rt_exec>> execs;
    std::vector<NodeParams> params;
    std::vector<std::pair<gd_rt_node_params, std::uint64_t>> launches; // outside graphs, with their stream
    std::vector<gd_rt_memory> allocs, frees;
    std::vector<gd_rt_activity> activities;
    std::vector<std::pair<gd_rt_life, gd_rt_comm>> comms;
    std::vector<gd_rt_comm_op> commOps;
    std::vector<std::string> ranges;
    std::uint32_t wanted = 1;
};

Told* g_told = nullptr;

template <class Vector, class... Values> void add(Vector& vector, Values&&... values) {
    std::lock_guard lock(g_told->mutex);
    vector.push_back({std::forward<Values>(values)...});
}

gd_rt_table makeTable() {
    gd_rt_table table{};
    table.size = sizeof(table);
    table.version = GD_RT_VERSION;
    table.api_enter = [](const gd_rt_api* call) { add(g_told->entered, *call); };
    table.api_exit = [](const gd_rt_api* call, std::int32_t result) { add(g_told->exited, *call, result); };
    table.device = [](const gd_rt_device* device) { add(g_told->devices, *device); };
    table.context = [](gd_rt_life life, const gd_rt_object* object) { add(g_told->contexts, life, *object); };
    table.stream = [](gd_rt_life life, const gd_rt_object* object) { add(g_told->streams, life, *object); };
    table.event = [](gd_rt_life life, const gd_rt_object* object) { add(g_told->events, life, *object); };
    table.graph = [](gd_rt_life life, const gd_rt_graph* graph) { add(g_told->graphs, life, *graph); };
    table.node = [](gd_rt_life life, const gd_rt_node* node) { add(g_told->nodes, life, *node); };
    table.edge = [](gd_rt_life life, const gd_rt_edge* edge) { add(g_told->edges, life, *edge); };
    table.exec = [](gd_rt_life life, const gd_rt_exec* exec) { add(g_told->execs, life, *exec); };
    table.node_params = [](const gd_rt_node_params* p) {
        const auto* data = static_cast<const std::byte*>(p->param_data);
        add(g_told->params, *p, std::string(p->function != nullptr ? p->function : ""),
            std::vector<gd_rt_param>(p->params, p->params + p->param_count),
            std::vector<std::byte>(data, data + p->param_data_bytes));
    };
    table.alloc = [](const gd_rt_memory* memory) { add(g_told->allocs, *memory); };
    table.free = [](const gd_rt_memory* memory) { add(g_told->frees, *memory); };
    table.activity = [](const gd_rt_activity* activity) { add(g_told->activities, *activity); };
    table.comm = [](gd_rt_life life, const gd_rt_comm* comm) { add(g_told->comms, life, *comm); };
    table.comm_op = [](const gd_rt_comm_op* op) { add(g_told->commOps, *op); };
    table.range = [](const gd_rt_range* range) {
        add(g_told->ranges, std::to_string(range->op) + (range->name != nullptr ? range->name : ""));
    };
    table.launch = [](const gd_rt_node_params* params, std::uint64_t stream) {
        add(g_told->launches, *params, stream);
    };
    table.activity_wanted = [] { return g_told->wanted; };
    return table;
}

class ToolReport : public testing::Test {
protected:
    ToolReport()
        : m_table(makeTable()) {
        g_told = &told;
    }
    ~ToolReport() override { host::setTool(nullptr); }
    /// From here on; a Device's constructor looks for the real tool only once per process, so one is made
    /// before.
    void listen() { host::setTool(&m_table); }

    Told told;
    gd_rt_table m_table;
};

TEST_F(ToolReport, CallsCarryIdsResultAndCorrelation) {
    OneNumber t;
    listen();
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::ThreadLocal), Status::Success);
    ASSERT_EQ(t.stream.synchronize(), Status::CaptureUnsupported);
    Graph graph;
    ASSERT_EQ(t.stream.endCapture(graph), Status::CaptureInvalidated);
    ASSERT_EQ(told.exited.size(), 3U);
    ASSERT_EQ(told.entered.size(), 3U);
    EXPECT_EQ(told.exited[0].record.api, static_cast<std::uint32_t>(GD_API_STREAM_BEGIN_CAPTURE));
    EXPECT_EQ(told.exited[0].record.mode, 1U);
    EXPECT_NE(told.exited[0].record.graph, 0U);
    EXPECT_EQ(told.exited[0].record.stream, t.stream.id());
    EXPECT_EQ(told.exited[1].record.api, static_cast<std::uint32_t>(GD_API_STREAM_SYNCHRONIZE));
    EXPECT_EQ(told.exited[1].result, 900);
    EXPECT_EQ(told.exited[2].result, 901);
    EXPECT_EQ(told.entered[1].correlation, told.exited[1].record.correlation);
    EXPECT_NE(told.entered[1].correlation, told.entered[2].correlation);
    ASSERT_EQ(told.graphs.size(), 2U);
    EXPECT_EQ(told.graphs[1].first, GD_RT_DESTROYED);
}

TEST_F(ToolReport, NodesEdgesAndParametersOfACapture) {
    OneNumber t;
    listen();
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({.gridX = 3, .blockX = 64}, {t.number, 7}), Status::Success);
    ASSERT_EQ(t.stream.memsetAsync(t.number, 1, 8), Status::Success);
    Graph graph;
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    ASSERT_EQ(told.nodes.size(), 2U);
    EXPECT_EQ(told.nodes[0].second.graph, graph.id());
    EXPECT_EQ(told.nodes[0].second.type, static_cast<std::uint32_t>(GD_RT_NODE_KERNEL));
    ASSERT_EQ(told.edges.size(), 1U);
    EXPECT_EQ(told.edges[0].second.from_node, told.nodes[0].second.node);
    EXPECT_EQ(told.edges[0].second.to_node, told.nodes[1].second.node);
    ASSERT_EQ(told.params.size(), 2U);
    EXPECT_EQ(told.params[0].function, "append_digit");
    EXPECT_EQ(told.params[0].record.grid[0], 3U);
    EXPECT_EQ(told.params[0].record.block[0], 64U);
    ASSERT_EQ(told.params[0].fields.size(), 2U);
    double* pointer = nullptr;
    std::memcpy(&pointer, told.params[0].data.data() + told.params[0].fields[0].offset, sizeof(pointer));
    EXPECT_EQ(pointer, t.number);
    EXPECT_EQ(told.params[1].record.dst, reinterpret_cast<std::uint64_t>(t.number));
    EXPECT_EQ(told.params[1].record.bytes, 8U);
}

TEST_F(ToolReport, ExecNodesNameTheirOrigin) {
    OneNumber t;
    listen();
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 7}), Status::Success);
    Graph graph;
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    GraphExec exec;
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    ASSERT_EQ(told.execs.size(), 1U);
    EXPECT_EQ(told.execs[0].second.exec, exec.id());
    EXPECT_EQ(told.execs[0].second.graph, graph.id());
    ASSERT_EQ(told.nodes.size(), 2U);
    EXPECT_EQ(told.nodes[1].first, GD_RT_CLONED);
    EXPECT_EQ(told.nodes[1].second.graph, exec.id());
    EXPECT_EQ(told.nodes[1].second.origin_node, told.nodes[0].second.node);
    EXPECT_EQ(told.nodes[1].second.node >> 32, exec.id());
}

TEST_F(ToolReport, UpdateTellsChangedParametersOnly) {
    OneNumber t;
    const auto capture = [&](int digit) {
        Graph graph;
        GDT_CHECK(t.stream.beginCapture(CaptureMode::Global));
        GDT_CHECK(t.stream.launch<AppendDigit>({}, {t.number, 1}));
        GDT_CHECK(t.stream.launch<AppendDigit>({}, {t.number, digit}));
        GDT_CHECK(t.stream.endCapture(graph));
        return graph;
    };
    const Graph first = capture(2);
    const Graph second = capture(3);
    GraphExec exec;
    ASSERT_EQ(first.instantiate(exec), Status::Success);
    listen();
    ASSERT_EQ(exec.update(second), Status::Success);
    ASSERT_EQ(told.params.size(), 1U);
    EXPECT_EQ(told.params[0].record.node, exec.id() << 32 | 1);
    ASSERT_EQ(told.execs.size(), 1U);
    EXPECT_EQ(told.execs[0].first, GD_RT_UPDATED);
    EXPECT_EQ(told.execs[0].second.graph, second.id());
}

TEST_F(ToolReport, ActivityLinksToItsCall) {
    OneNumber t;
    Graph graph;
    GraphExec exec;
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 7}), Status::Success);
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    listen();
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 7}), Status::Success);
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    ASSERT_EQ(t.stream.synchronize(), Status::Success);
    ASSERT_EQ(told.launches.size(), 1U); // the one that ran at once, not the captured one
    EXPECT_EQ(told.launches[0].first.node, 0U);
    ASSERT_EQ(told.activities.size(), 3U);
    const gd_rt_activity& kernel = told.activities[0];
    const gd_rt_activity& replay = told.activities[1];
    EXPECT_EQ(kernel.kind, static_cast<std::uint32_t>(GD_RT_ACTIVITY_KERNEL));
    EXPECT_EQ(kernel.correlation, told.exited[0].record.correlation);
    EXPECT_EQ(kernel.exec, 0U);
    EXPECT_LE(kernel.start_ns, kernel.end_ns);
    EXPECT_EQ(replay.kind, static_cast<std::uint32_t>(GD_RT_ACTIVITY_GRAPH));
    EXPECT_EQ(replay.exec, exec.id());
    EXPECT_EQ(replay.correlation, told.exited[1].record.correlation);
    EXPECT_LE(kernel.end_ns, replay.start_ns);
    EXPECT_EQ(told.activities[2].kind, static_cast<std::uint32_t>(GD_RT_ACTIVITY_SYNC));
}

TEST_F(ToolReport, NodeTimesOnlyWhenAskedFor) {
    OneNumber t;
    Graph graph;
    GraphExec exec;
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    ASSERT_EQ(t.stream.launch<AppendDigit>({}, {t.number, 7}), Status::Success);
    ASSERT_EQ(t.stream.endCapture(graph), Status::Success);
    ASSERT_EQ(graph.instantiate(exec), Status::Success);
    listen();
    told.wanted = 3;
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    ASSERT_EQ(t.device.synchronize(), Status::Success);
    ASSERT_GE(told.activities.size(), 2U);
    EXPECT_EQ(told.activities[0].kind, static_cast<std::uint32_t>(GD_RT_ACTIVITY_KERNEL));
    EXPECT_EQ(told.activities[0].exec, exec.id());
    EXPECT_EQ(told.activities[0].node, exec.id() << 32);
    told.wanted = 0;
    told.activities.clear();
    ASSERT_EQ(exec.launch(t.stream), Status::Success);
    ASSERT_EQ(t.device.synchronize(), Status::Success);
    for (const gd_rt_activity& activity : told.activities)
        EXPECT_EQ(activity.kind, static_cast<std::uint32_t>(GD_RT_ACTIVITY_SYNC));
}

TEST_F(ToolReport, MemoryAndObjectLife) {
    OneNumber t;
    listen();
    void* memory = nullptr;
    ASSERT_EQ(t.device.allocate(&memory, 100), Status::Success);
    ASSERT_EQ(t.device.release(memory), Status::Success);
    {
        GraphPool pool;
        ASSERT_EQ(GraphPool::create(t.device, 1024, pool), Status::Success);
        ASSERT_EQ(pool.allocate(&memory, 64), Status::Success);
        Event event;
        ASSERT_EQ(Event::create(t.device, event), Status::Success);
    }
    ASSERT_EQ(told.allocs.size(), 3U);
    EXPECT_EQ(told.allocs[0].kind, static_cast<std::uint32_t>(GD_RT_MEMORY_DEVICE));
    EXPECT_EQ(told.allocs[0].bytes, 100U);
    EXPECT_EQ(told.allocs[2].kind, static_cast<std::uint32_t>(GD_RT_MEMORY_FRAMEWORK));
    EXPECT_EQ(told.allocs[2].pool, told.allocs[1].ptr);
    ASSERT_EQ(told.frees.size(), 3U);
    EXPECT_EQ(told.frees[0].ptr, told.allocs[0].ptr);
    EXPECT_EQ(told.frees[0].bytes, 100U);
    ASSERT_EQ(told.events.size(), 2U);
    EXPECT_EQ(told.events[0].first, GD_RT_CREATED);
    EXPECT_EQ(told.events[1].first, GD_RT_DESTROYED);
}

TEST_F(ToolReport, RefusedAllocationIsNoAllocation) {
    OneNumber t;
    ASSERT_EQ(t.stream.beginCapture(CaptureMode::Global), Status::Success);
    listen();
    void* memory = nullptr;
    EXPECT_EQ(t.device.allocate(&memory, 100), Status::CaptureUnsupported);
    EXPECT_TRUE(told.allocs.empty());
    ASSERT_EQ(told.exited.size(), 1U);
    EXPECT_EQ(told.exited[0].result, 900);
    EXPECT_EQ(told.exited[0].record.bytes, 100U);
}

TEST_F(ToolReport, CollectivesSayWhetherTheyWereCaptured) {
    OneNumber t;
    Graph graph;
    listen();
    {
        comm::ShmOptions options;
        options.folder = testing::TempDir();
        options.name = "tool-report-" + std::to_string(getpid());
        std::string error;
        const auto communicator = comm::createShmCommunicator(options, error);
        ASSERT_NE(communicator, nullptr) << error;
        const auto reduce = [&] {
            return communicator->allReduce(
                t.number, t.number, 1, comm::DataType::Float64, comm::ReduceOp::Sum, t.stream);
        };
        ASSERT_EQ(reduce(), Status::Success);
        ASSERT_EQ(t.stream.beginCapture(CaptureMode::Relaxed), Status::Success);
        ASSERT_EQ(reduce(), Status::Success);
        ASSERT_EQ(t.stream.synchronize(), Status::CaptureUnsupported);
        ASSERT_EQ(reduce(), Status::CaptureInvalidated);
        ASSERT_EQ(t.stream.endCapture(graph), Status::CaptureInvalidated);
        ASSERT_EQ(t.device.synchronize(), Status::Success);
        ASSERT_EQ(told.commOps.size(), 2U);
        EXPECT_EQ(told.commOps[0].hash, communicator->hash());
    }
    EXPECT_EQ(told.commOps[0].captured, 0U);
    EXPECT_EQ(told.commOps[0].count, 1U);
    EXPECT_EQ(told.commOps[0].dtype, static_cast<std::uint32_t>(GD_RT_FLOAT64));
    EXPECT_EQ(told.commOps[1].captured, 1U);
    ASSERT_EQ(told.params.size(), 1U);
    EXPECT_EQ(told.params[0].record.comm_op, told.commOps[1].op);
    EXPECT_EQ(told.params[0].record.bytes, 8U);
    EXPECT_EQ(told.params[0].function, "AllReduce");
    ASSERT_EQ(told.comms.size(), 2U);
    EXPECT_EQ(told.comms[0].first, GD_RT_CREATED);
    EXPECT_EQ(told.comms[0].second.nranks, 1U);
    EXPECT_EQ(told.comms[1].first, GD_RT_DESTROYED);
    const bool timed
        = std::any_of(told.activities.begin(), told.activities.end(), [](const gd_rt_activity& a) {
              return a.kind == static_cast<std::uint32_t>(GD_RT_ACTIVITY_COMM) && a.bytes == 8;
          });
    EXPECT_TRUE(timed);
}

TEST_F(ToolReport, RangesNest) {
    OneNumber t;
    listen();
    {
        const Range outer("step", 4);
        rangeMark("reached");
    }
    EXPECT_EQ(told.ranges, (std::vector<std::string>{"1step", "3reached", "2"}));
}

// A tool takes stacks by walking frames inside its callbacks: the job's function that made the call must be
// there.
TEST_F(ToolReport, TheCallersFrameIsOnTheStack) {
    OneNumber t;
    static const void* returnAddress = nullptr;
    static bool found = false;
    m_table.api_exit = [](const gd_rt_api*, std::int32_t) {
        void* frames[32] = {};
        const int count = backtrace(frames, 32);
        found = std::find(frames, frames + count, returnAddress) != frames + count;
    };
    listen();
    const auto check = [&](auto call) __attribute__((noinline)) {
        returnAddress = __builtin_return_address(0);
        found = false;
        static_cast<void>(call());
        return found;
    };
    EXPECT_TRUE(check([&] { return t.stream.synchronize(); }));
    EXPECT_TRUE(check([&] { return t.stream.launch<AppendDigit>({}, {t.number, 1}); }));
    EXPECT_TRUE(check([&] { return t.device.synchronize(); }));
    EXPECT_TRUE(check([&] { return t.device.release(nullptr); }));
}

TEST_F(ToolReport, WakeupNoiseIsMeasured) {
    const std::uint64_t p99 = host::measureWakeupP99Ns();
    EXPECT_GT(p99, 0U);
    EXPECT_LT(p99, 1'000'000'000U);
}

} // namespace
} // namespace gdt::runtime::test
