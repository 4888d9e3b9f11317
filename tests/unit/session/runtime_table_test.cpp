// SPDX-License-Identifier: Apache-2.0
// The runtime table, from the calls of a runtime to the records in the spool.
#include "collector/api/graphdoctor_runtime.h"
#include "collector/raw/records_activity.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"
#include "collector/session/session.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

extern "C" const gd_rt_table* graphdoctor_runtime_attach(std::uint32_t, const char*, clockid_t);

namespace gd::session {

namespace {

using test::RawSpool;
using test::SpoolBuilder;

const gd_rt_table& table() {
    return *graphdoctor_runtime_attach(GD_RT_VERSION, "test runtime", CLOCK_MONOTONIC);
}

template <class Struct> Struct sized() {
    Struct value{};
    value.size = sizeof value;
    return value;
}

gd_rt_api api(std::uint32_t id, std::uint64_t stream = 0) {
    static std::uint64_t correlation = 0;
    gd_rt_api call = sized<gd_rt_api>();
    call.api = id;
    call.stream = stream;
    call.correlation = ++correlation;
    return call;
}

void run(const gd_rt_api& call, std::int32_t result = 0) {
    table().api_enter(&call);
    table().api_exit(&call, result);
}

gd_rt_memory memory(std::uint64_t address, std::uint64_t bytes) {
    gd_rt_memory block = sized<gd_rt_memory>();
    block.kind = GD_RT_MEMORY_DEVICE;
    block.ptr = address;
    block.bytes = bytes;
    return block;
}

void kernelNode(
    std::uint64_t node, const void* data, std::uint64_t bytes, const std::vector<gd_rt_param>& params) {
    gd_rt_node_params info = sized<gd_rt_node_params>();
    info.type = GD_RT_NODE_KERNEL;
    info.node = node;
    info.function = "scale";
    info.grid[0] = 4;
    info.block[0] = 128;
    info.params = params.data();
    info.param_count = static_cast<std::uint32_t>(params.size());
    info.param_data = data;
    info.param_data_bytes = bytes;
    table().node_params(&info);
}

RawSpool recorded(SpoolBuilder& spool, const std::function<void()>& body) {
    EXPECT_EQ(spool.run(body), 0);
    const std::vector<std::string> segments = spool.segments();
    const std::string segment = segments.empty() ? std::string() : segments.front();
    return RawSpool(segment, SpoolBuilder::ringOf(segment));
}

/// Waits until the collector's own thread has written `count` coverage records.
void waitForCoverage(const char* state) {
    for (int i = 0; i < 60'000; ++i) {
        const RawSpool now(currentSession()->identity.segmentPath, currentSession()->identity.ringPath);
        for (const raw::Coverage& coverage : now.historyOf<raw::Coverage>()) {
            if (coverage.source == static_cast<std::uint32_t>(raw::CoverageSource::node_activity)
                && (now.string(coverage.reason) == state)) {
                return;
            }
        }
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
    }
    _exit(7);
}

} // namespace

TEST(RuntimeTable, RefusesWhatItCannotServe) {
    EXPECT_EQ(graphdoctor_runtime_attach(GD_RT_VERSION, "x", CLOCK_REALTIME), nullptr);
    EXPECT_EQ(graphdoctor_runtime_attach(GD_RT_VERSION + 1, "x", CLOCK_MONOTONIC), nullptr);
    EXPECT_EQ(graphdoctor_runtime_attach(0, "x", CLOCK_MONOTONIC), nullptr);
    const gd_rt_table* table = graphdoctor_runtime_attach(GD_RT_VERSION, "test runtime", CLOCK_MONOTONIC);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->size, sizeof(gd_rt_table));
}

TEST(RuntimeTable, AttachingAloneOpensNothing) {
    SpoolBuilder spool;
    EXPECT_EQ(spool.run([] { table(); }), 0);
    EXPECT_THAT(spool.segments(), testing::IsEmpty());
}

TEST(RuntimeTable, OlderShorterStructsAreFilledUp) {
    SpoolBuilder spool;
    const RawSpool raw = recorded(spool, [] {
        gd_rt_memory block = memory(0x1000, 64);
        block.size = offsetof(gd_rt_memory, bytes);
        table().alloc(&block);
    });
    ASSERT_EQ(raw.historyOf<raw::Alloc>().size(), 1u);
    EXPECT_EQ(raw.historyOf<raw::Alloc>()[0].address, 0x1000u);
    EXPECT_EQ(raw.historyOf<raw::Alloc>()[0].bytes, 0u);
}

TEST(RuntimeTable, AnAllocationInsideACaptureIsItsFirstFailingCall) {
    SpoolBuilder spool;
    const RawSpool raw = recorded(spool, [] {
        run(api(GD_API_STREAM_BEGIN_CAPTURE, 5));
        gd_rt_node node = sized<gd_rt_node>();
        node.graph = 9;
        node.node = 1;
        node.stream = 5;
        const gd_rt_api launch = api(GD_API_LAUNCH_KERNEL, 5);
        table().api_enter(&launch);
        table().node(GD_RT_CREATED, &node);
        table().api_exit(&launch, 0);
        run(api(GD_API_MEM_ALLOC), 900);
        run(api(GD_API_LAUNCH_KERNEL, 5), 901);
        run(api(GD_API_STREAM_END_CAPTURE, 5), 901);
    });
    ASSERT_EQ(raw.historyOf<raw::CaptureBegin>().size(), 1u);
    const auto fails = raw.historyOf<raw::CaptureFail>();
    ASSERT_EQ(fails.size(), 2u);
    EXPECT_EQ(fails[0].api, GD_API_MEM_ALLOC);
    EXPECT_EQ(fails[0].ordinal, 0u);
    EXPECT_EQ(fails[0].result, 900);
    EXPECT_NE(fails[0].stack, 0u);
    ASSERT_EQ(raw.historyOf<raw::CaptureEnd>().size(), 1u);
    EXPECT_EQ(raw.historyOf<raw::CaptureEnd>()[0].result, 901);
    EXPECT_EQ(raw.historyOf<raw::CaptureEnd>()[0].nodes, 1u);
    const auto nodes = raw.historyOf<raw::GraphNode>();
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].capture, raw.historyOf<raw::CaptureBegin>()[0].capture);
    EXPECT_EQ(nodes[0].stream, 5u);
    bool stackFound = false;
    for (const raw::Stack& stack : raw.historyOf<raw::Stack>()) {
        stackFound = stackFound || (stack.id == fails[0].stack && stack.nativeCount > 3);
    }
    EXPECT_TRUE(stackFound);
}

TEST(RuntimeTable, ParameterWordsInLiveMemoryArePointers) {
    SpoolBuilder spool;
    const RawSpool raw = recorded(spool, [] {
        const gd_rt_memory a = memory(0x10000, 0x1000);
        const gd_rt_memory b = memory(0x20000, 0x1000);
        table().alloc(&a);
        table().alloc(&b);
        table().free(&b);
        struct {
            std::uint64_t live = 0x10010;
            std::uint64_t dead = 0x20010;
            std::uint32_t count = 77;
            std::uint32_t pad = 0;
            std::uint64_t inside[2] = {5, 0x10ff8};
        } values;
        kernelNode(1, &values, sizeof values, {{0, 8}, {8, 8}, {16, 4}, {24, 16}});
        table().free(&a);
    });
    const auto pointers = raw.historyOf<raw::NodePointer>();
    ASSERT_EQ(pointers.size(), 2u);
    EXPECT_EQ(pointers[0].address, 0x10010u);
    EXPECT_EQ(pointers[0].allocation, 1u);
    EXPECT_EQ(pointers[0].param, 0u);
    EXPECT_EQ(pointers[1].address, 0x10ff8u);
    EXPECT_EQ(pointers[1].param, 3u);
    EXPECT_EQ(pointers[1].offset, 8u);
    const auto scalars = raw.historyOf<raw::NodeScalar>();
    ASSERT_EQ(scalars.size(), 3u);
    EXPECT_EQ(scalars[0].value, 0x20010u) << "memory that was freed is no pointer any more";
    EXPECT_EQ(scalars[1].value, 77u);
    EXPECT_EQ(scalars[1].bytes, 4u);
    EXPECT_EQ(scalars[2].value, 5u);
    const auto frees = raw.historyOf<raw::Free>();
    ASSERT_EQ(frees.size(), 2u);
    EXPECT_EQ(frees[0].stack, 0u);
    EXPECT_NE(frees[1].stack, 0u) << "a node points into it";
    EXPECT_EQ(frees[1].allocation, 1u);
    const auto kernels = raw.historyOf<raw::NodeKernel>();
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels[0].readable, 1u);
    ASSERT_EQ(raw.historyOf<raw::KernelShape>().size(), 1u);
    EXPECT_EQ(raw.string(raw.historyOf<raw::KernelShape>()[0].name), "scale");
}

// PyTorch's multi_tensor_apply_kernel: 3 kB of tensors first, the learning rate last.
TEST(RuntimeTable, NumbersBehindALargeStructureAreKept) {
    SpoolBuilder spool;
    const RawSpool raw = recorded(spool, [] {
        struct {
            std::uint64_t tensors[400] = {};
            std::uint32_t rate = 0x3f000000;
            std::uint32_t pad = 0;
        } values;
        kernelNode(1, &values, sizeof values, {{0, 3200}, {3200, 4}});
    });
    const auto scalars = raw.historyOf<raw::NodeScalar>();
    ASSERT_EQ(scalars.size(), 256u);
    EXPECT_EQ(scalars[0].param, 1u);
    EXPECT_EQ(scalars[0].value, 0x3f000000u);
    EXPECT_EQ(scalars[255].param, 0u);
}

TEST(RuntimeTable, CopiesKnowTheKindOfTheirMemory) {
    SpoolBuilder spool;
    const RawSpool raw = recorded(spool, [] {
        const gd_rt_memory device = memory(0x10000, 0x1000);
        table().alloc(&device);
        gd_rt_node_params copy = sized<gd_rt_node_params>();
        copy.type = GD_RT_NODE_MEMCPY;
        copy.node = 4;
        copy.dst = 0x10000;
        copy.src = 0x7f0000000000;
        copy.bytes = 64;
        copy.copy_kind = GD_RT_COPY_HTOD;
        table().node_params(&copy);
    });
    const auto nodes = raw.historyOf<raw::NodeMemory>();
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(nodes[0].dstKind, GD_RT_MEMORY_DEVICE);
    EXPECT_EQ(nodes[0].srcKind, GD_RT_MEMORY_HOST_PAGEABLE);
    ASSERT_EQ(raw.historyOf<raw::NodePointer>().size(), 1u);
    EXPECT_EQ(raw.historyOf<raw::NodePointer>()[0].param, 0xfffeu);
}

TEST(RuntimeTable, ExecutablesAndTheirNodes) {
    SpoolBuilder spool;
    const RawSpool raw = recorded(spool, [] {
        gd_rt_graph graph = sized<gd_rt_graph>();
        graph.graph = 1;
        table().graph(GD_RT_CREATED, &graph);
        gd_rt_node node = sized<gd_rt_node>();
        node.graph = 1;
        node.node = 10;
        table().node(GD_RT_CREATED, &node);
        kernelNode(10, nullptr, 0, {});
        const gd_rt_api instantiate = api(GD_API_GRAPH_INSTANTIATE);
        table().api_enter(&instantiate);
        gd_rt_exec exec = sized<gd_rt_exec>();
        exec.exec = 2;
        exec.graph = 1;
        table().exec(GD_RT_CREATED, &exec);
        node.graph = 2;
        node.node = 20;
        node.origin_node = 10;
        table().node(GD_RT_CLONED, &node);
        table().api_exit(&instantiate, 0);
        gd_rt_activity work = sized<gd_rt_activity>();
        work.kind = GD_RT_ACTIVITY_KERNEL;
        work.exec = 2;
        work.node = 20;
        table().activity(&work);
    });
    const auto execs = raw.historyOf<raw::GraphExec>();
    ASSERT_EQ(execs.size(), 1u);
    EXPECT_EQ(execs[0].nodes, 1u);
    EXPECT_LT(execs[0].startNs, execs[0].endNs);
    const auto nodes = raw.historyOf<raw::GraphNode>();
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(nodes[0].inExec, 0u);
    EXPECT_EQ(nodes[1].inExec, 1u);
    EXPECT_EQ(nodes[1].origin, 10u);
    const auto kernels = raw.eventsOf<raw::Kernel>();
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_EQ(kernels[0].shape, raw.historyOf<raw::NodeKernel>().at(0).shape)
        << "an executable's node has the shape of its template's";
}

TEST(RuntimeTable, RangesNestAndStepsGoToTheHistory) {
    SpoolBuilder spool;
    const RawSpool raw = recorded(spool, [] {
        const auto range = [](std::uint32_t op, const char* name) {
            gd_rt_range info = sized<gd_rt_range>();
            info.op = op;
            info.name = name;
            table().range(&info);
        };
        range(GD_RT_RANGE_PUSH, "step 1");
        range(GD_RT_RANGE_PUSH, "forward");
        gd_rt_node node = sized<gd_rt_node>();
        node.graph = 1;
        node.node = 10;
        table().node(GD_RT_CREATED, &node);
        range(GD_RT_RANGE_POP, nullptr);
        node.node = 11;
        table().node(GD_RT_CREATED, &node);
        range(GD_RT_RANGE_POP, nullptr);
        range(GD_RT_RANGE_PUSH, "stepwise");
        range(GD_RT_RANGE_POP, nullptr);
    });
    EXPECT_EQ(raw.historyOf<raw::Range>().size(), 2u);
    EXPECT_EQ(raw.eventsOf<raw::Range>().size(), 4u);
    const auto nodes = raw.historyOf<raw::GraphNode>();
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(raw.string(nodes[0].rangePath), "step 1/forward");
    EXPECT_EQ(raw.string(nodes[1].rangePath), "step 1");
}

TEST(RuntimeTable, BytesOfCollectives) {
    SpoolBuilder spool;
    const RawSpool raw = recorded(spool, [] {
        const auto op = [](std::uint32_t kind, std::uint32_t dtype) {
            gd_rt_comm_op info = sized<gd_rt_comm_op>();
            info.kind = kind;
            info.dtype = dtype;
            info.count = 100;
            info.nranks = 4;
            info.hash = 7;
            table().comm_op(&info);
        };
        op(GD_RT_COMM_ALL_REDUCE, GD_RT_FLOAT32);
        op(GD_RT_COMM_ALL_GATHER, GD_RT_BFLOAT16);
        op(GD_RT_COMM_ALL_TO_ALL, GD_RT_FLOAT64);
        op(GD_RT_COMM_SEND, GD_RT_INT8);
        gd_rt_comm comm = sized<gd_rt_comm>();
        comm.hash = 7;
        const gd_rt_api destroy = api(GD_API_COMM_DESTROY);
        table().api_enter(&destroy);
        table().comm(GD_RT_DESTROYED, &comm);
        table().api_exit(&destroy, 0);
    });
    std::vector<std::uint64_t> bytes;
    for (const raw::CommOp& op : raw.eventsOf<raw::CommOp>()) {
        bytes.push_back(op.messageBytes);
    }
    EXPECT_THAT(bytes, testing::ElementsAre(400u, 200u, 3200u, 100u));
    const auto comms = raw.historyOf<raw::Comm>();
    ASSERT_EQ(comms.size(), 2u);
    EXPECT_EQ(comms[0].endNs, 0);
    EXPECT_GT(comms[1].endNs, comms[1].startNs);
    EXPECT_EQ(comms[1].hash, 7u);
}

TEST(RuntimeTable, CoverageSaysWhatWasLookedAt) {
    SpoolBuilder spool;
    spool.setLevel(raw::RecordingLevel::Standard);
    const RawSpool raw = recorded(spool, [&spool] {
        run(api(GD_API_LAUNCH_KERNEL, 5));
        waitForCoverage("nodes are recorded in the first replays of each executable only");
        if (table().activity_wanted() != 1u) {
            _exit(1);
        }
        gd_rt_exec exec = sized<gd_rt_exec>();
        exec.exec = 2;
        exec.graph = 1;
        table().exec(GD_RT_CREATED, &exec);
        if (table().activity_wanted() != 3u) {
            _exit(2);
        }
        for (int i = 0; i < 100; ++i) {
            run(api(GD_API_GRAPH_LAUNCH, 5));
        }
        if (table().activity_wanted() != 1u) {
            _exit(3);
        }
        spool.setLevel(raw::RecordingLevel::Off);
        waitForCoverage("recording is off");
        if (table().activity_wanted() != 0u) {
            _exit(4);
        }
    });
    EXPECT_EQ(raw.fact("runtime"), "test runtime");
    std::map<std::uint32_t, std::vector<std::uint32_t>> states;
    for (const raw::Coverage& coverage : raw.historyOf<raw::Coverage>()) {
        states[coverage.source].push_back(coverage.state);
    }
    const auto of
        = [&states](raw::CoverageSource source) { return states[static_cast<std::uint32_t>(source)]; };
    EXPECT_THAT(of(raw::CoverageSource::callbacks), testing::ElementsAre(2u, 0u));
    EXPECT_THAT(of(raw::CoverageSource::node_activity), testing::ElementsAre(0u, 2u, 0u, 0u));
    EXPECT_THAT(of(raw::CoverageSource::nccl_plugin), testing::ElementsAre(0u));
    EXPECT_THAT(of(raw::CoverageSource::stacks_native), testing::ElementsAre(2u));
}

TEST(RuntimeTable, AProcessOfMillisecondsSaysWhatWasLookedAt) {
    SpoolBuilder spool;
    spool.run([] { run(api(GD_API_STREAM_BEGIN_CAPTURE, 7), 900); }, SpoolBuilder::Ending::Kill);
    ASSERT_EQ(spool.segments().size(), 1u);
    const RawSpool raw(spool.segments()[0], SpoolBuilder::ringOf(spool.segments()[0]));
    bool callbacks = false;
    for (const raw::Coverage& coverage : raw.historyOf<raw::Coverage>()) {
        callbacks = callbacks
            || (coverage.source == static_cast<std::uint32_t>(raw::CoverageSource::callbacks)
                && coverage.state == static_cast<std::uint32_t>(raw::CoverageState::Complete));
    }
    EXPECT_TRUE(callbacks);
    EXPECT_FALSE(raw.historyOf<raw::Module>().empty()); // without them its stacks have no names
}

} // namespace gd::session
