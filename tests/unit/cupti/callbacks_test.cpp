// SPDX-License-Identifier: Apache-2.0
// Callbacks as a device was seen to give them (tests/e2e/probes/README.md), fed to the client in a child
// process, and the records that come of them.
#include "collector/cupti/refusal.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"
#include "collector/session/sink.h"
#include "tests/support/raw_reader.h"
#include "tests/support/spool_builder.h"
#include "tests/unit/cupti/fake_driver.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace gd;
using namespace gd::test;

struct Recorded {
    test::SpoolBuilder builder;
    int status = -1;

    explicit Recorded(const std::function<void()>& body)
        : status(builder.run(body)) { }
    test::RawSpool read() const {
        const std::string segment = builder.segments().at(0);
        return test::RawSpool(segment, test::SpoolBuilder::ringOf(segment));
    }
};

TEST(Callbacks, AFailingCallInACaptureIsItsFirstFailure) {
    const Recorded recorded([] {
        Driver driver;
        driver.createStream(kStream, CU_STREAM_NON_BLOCKING);
        driver.beginCapture(kStream, 1);
        driver.captureNode(kStream, 1, 0, CU_GRAPH_NODE_TYPE_MEMSET);
        const cuStreamSynchronize_params params{kStream};
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, params, 900);
        driver.endCapture(kStream, 1, 901);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto spool = recorded.read();
    const auto begins = spool.historyOf<raw::CaptureBegin>();
    ASSERT_EQ(begins.size(), 1U);
    EXPECT_EQ(begins[0].stream, 13U);
    EXPECT_EQ(begins[0].device, 3U);
    EXPECT_EQ(begins[0].streamFlags & 1, 1U);
    const auto fails = spool.historyOf<raw::CaptureFail>();
    ASSERT_EQ(fails.size(), 1U);
    EXPECT_EQ(fails[0].api, GD_API_STREAM_SYNCHRONIZE);
    EXPECT_EQ(fails[0].result, 900);
    EXPECT_TRUE(fails[0].relation & raw::kSameThread);
    EXPECT_TRUE(fails[0].relation & raw::kMemberStream);
    const auto ends = spool.historyOf<raw::CaptureEnd>();
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0].result, 901);
    EXPECT_EQ(ends[0].nodes, 1U);
}

TEST(Callbacks, ACapturedGraphKnowsItsCapture) {
    const Recorded recorded([] {
        Driver driver;
        driver.createStream(kStream, CU_STREAM_NON_BLOCKING);
        driver.beginCapture(kStream, 1);
        driver.captureNode(kStream, 1, 0, CU_GRAPH_NODE_TYPE_MEMSET);
        driver.endCapture(kStream, 1);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto spool = recorded.read();
    const auto graphs = spool.historyOf<raw::Graph>();
    ASSERT_FALSE(graphs.empty());
    EXPECT_EQ(graphs.back().graph, 1U);
    EXPECT_EQ(graphs.back().capture, 1U);
    EXPECT_EQ(graphs.back().origin, static_cast<std::uint16_t>(raw::GraphOrigin::Capture));
    EXPECT_EQ(spool.historyOf<raw::CaptureEnd>().at(0).graph, 1U);
    const auto nodes = spool.historyOf<raw::GraphNode>();
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].type, CU_GRAPH_NODE_TYPE_MEMSET);
    EXPECT_EQ(nodes[0].capture, 1U);
    EXPECT_EQ(nodes[0].stream, 13U);
}

TEST(Callbacks, InstantiatingReportsTheExecutableAndNothingOfTheDriversOwn) {
    const Recorded recorded([] {
        Driver driver;
        driver.createStream(kStream, 0);
        driver.beginCapture(kStream, 1);
        driver.captureNode(kStream, 1, 0, CU_GRAPH_NODE_TYPE_MEMSET);
        driver.captureNode(kStream, 1, 1, CU_GRAPH_NODE_TYPE_HOST);
        driver.endCapture(kStream, 1);
        driver.instantiate(1, 2, {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST}, 0);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto spool = recorded.read();
    for (const auto& one : spool.historyOf<raw::Graph>()) {
        EXPECT_EQ(one.graph, 1U); // neither the executable's graph 2 nor the one that never runs, 3
    }
    std::vector<std::uint64_t> execNodes;
    for (const auto& one : spool.historyOf<raw::GraphNode>()) {
        if (one.inExec != 0) {
            EXPECT_EQ(one.graph, 2U);
            execNodes.push_back(one.node);
            EXPECT_EQ(one.origin, one.node == (2ULL << 32 | 100) ? 0U : one.node - (1ULL << 32));
        }
    }
    EXPECT_EQ(execNodes, (std::vector<std::uint64_t>{2ULL << 32, 2ULL << 32 | 1, 2ULL << 32 | 100}));
    const auto execs = spool.historyOf<raw::GraphExec>();
    ASSERT_EQ(execs.size(), 1U);
    EXPECT_EQ(execs[0].exec, 2U);
    EXPECT_EQ(execs[0].graph, 1U);
    EXPECT_EQ(execs[0].traceable, 1U);
    EXPECT_EQ(execs[0].nodes, 2U);
}

TEST(Callbacks, AnExecutableWithLiveAllocationsIsNotTraceable) {
    const Recorded recorded([] {
        Driver driver;
        driver.createStream(kStream, 0);
        driver.beginCapture(kStream, 1);
        driver.captureNode(kStream, 1, 0, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
        driver.captureNode(kStream, 1, 1, CU_GRAPH_NODE_TYPE_MEM_FREE);
        driver.endCapture(kStream, 1);
        driver.instantiate(1, 2, {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE}, 0);
        driver.instantiate(1, 4, {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE},
            CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
        driver.execEvent(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, 0, 2);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto execs = recorded.read().historyOf<raw::GraphExec>();
    ASSERT_EQ(execs.size(), 3U);
    EXPECT_EQ(execs[0].traceable, 0U);
    EXPECT_EQ(execs[1].traceable, 1U);
    EXPECT_EQ(execs[1].flags, 1U);
    EXPECT_EQ(execs[2].life, static_cast<std::uint16_t>(raw::Life::Destroyed));
    EXPECT_EQ(execs[2].exec, 2U);
}

// As after cudaDeviceReset: no callback tells of the executables, and what could crash is gone with the
// context.
TEST(Callbacks, ExecutablesEndWithTheirContext) {
    const Recorded recorded([] {
        Driver driver;
        driver.createStream(kStream, 0);
        driver.beginCapture(kStream, 1);
        driver.captureNode(kStream, 1, 0, CU_GRAPH_NODE_TYPE_MEMSET);
        driver.endCapture(kStream, 1);
        driver.instantiate(1, 2, {CU_GRAPH_NODE_TYPE_MEMSET}, 0);
        driver.instantiate(1, 4, {CU_GRAPH_NODE_TYPE_MEMSET}, 0);
        driver.execEvent(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, 0, 4);
        driver.contextDestroyed();
        driver.execEvent(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, 0, 2); // late: it is known already
    });
    ASSERT_EQ(recorded.status, 0);
    std::vector<std::uint64_t> ended;
    for (const raw::GraphExec& exec : recorded.read().historyOf<raw::GraphExec>()) {
        if (exec.life == static_cast<std::uint16_t>(raw::Life::Destroyed)) {
            ended.push_back(exec.exec);
        }
    }
    EXPECT_EQ(ended, (std::vector<std::uint64_t>{4, 2}));
}

TEST(Callbacks, ChildGraphsHangBelowTheirNode) {
    const Recorded recorded([] {
        Driver driver;
        const cuGraphCreate_params create{};
        driver.enter(CUPTI_DRIVER_TRACE_CBID_cuGraphCreate, create);
        driver.graphCreated(7);
        driver.exit(CUPTI_DRIVER_TRACE_CBID_cuGraphCreate, create, 1); // the result pointer is null here
        const cuGraphAddChildGraphNode_params add{nullptr, graph(7), nullptr, 0, graph(6)};
        driver.enter(CUPTI_DRIVER_TRACE_CBID_cuGraphAddChildGraphNode, add);
        driver.nodeStarting(7, 0, CU_GRAPH_NODE_TYPE_GRAPH);
        driver.graphCreated(8);
        driver.nodeStarting(8, 0, CU_GRAPH_NODE_TYPE_MEMSET);
        driver.nodeCreated(8, 0);
        driver.nodeCloned(8, 0, 6);
        driver.nodeCreated(7, 0);
        driver.exit(CUPTI_DRIVER_TRACE_CBID_cuGraphAddChildGraphNode, add);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto nodes = recorded.read().historyOf<raw::GraphNode>();
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0].node, 8ULL << 32);
    EXPECT_EQ(nodes[0].origin, 6ULL << 32);
    EXPECT_EQ(nodes[0].parentNode, 7ULL << 32);
    EXPECT_EQ(nodes[0].type, CU_GRAPH_NODE_TYPE_MEMSET);
    EXPECT_EQ(nodes[1].node, 7ULL << 32);
    EXPECT_EQ(nodes[1].type, CU_GRAPH_NODE_TYPE_GRAPH);
}

// cuGraphAddNode adds nodes of every type, child graphs too.
TEST(Callbacks, ACopiedNodeIsAskedNothingWhicheverCallCopiesIt) {
    const Recorded recorded([] {
        Driver driver;
        static int asked = 0;
        cupti::DriverApi api;
        api.graphMemsetNodeGetParams = [](CUgraphNode, CUDA_MEMSET_NODE_PARAMS*) {
            ++asked;
            return CUDA_SUCCESS;
        };
        cupti::setDriverApi(api);
        driver.createStream(kStream, 0);
        driver.graphCreated(7);
        const cuGraphAddNode_params add{nullptr, graph(7), nullptr, 0, nullptr};
        driver.enter(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode, add);
        driver.nodeStarting(7, 0, CU_GRAPH_NODE_TYPE_GRAPH);
        driver.graphCreated(8);
        driver.nodeStarting(8, 0, CU_GRAPH_NODE_TYPE_MEMSET);
        driver.nodeCreated(8, 0);
        driver.nodeCloned(8, 0, 6);
        driver.nodeCreated(7, 0);
        driver.exit(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode, add);
        _exit(asked);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto nodes = recorded.read().historyOf<raw::GraphNode>();
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_EQ(nodes[0].node, 8ULL << 32);
    EXPECT_EQ(nodes[0].origin, 6ULL << 32);
    EXPECT_EQ(nodes[1].node, 7ULL << 32);
}

TEST(Callbacks, WhatIsSaidToAClosedPipeDoesNotEndTheJob) {
    const Recorded recorded([] {
        int ends[2] = {};
        if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) {
            _exit(1);
        }
        close(ends[0]);
        Driver driver;
        driver.createStream(kStream, 0);
        cupti::refused(cupti::Refusal::Callbacks);
        cupti::CuptiApi api = fakeCupti();
        api.subscribe = [](CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) {
            return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
        };
        cupti::setCuptiApi(api);
        _exit(Client::instance().subscribe() ? 1 : 0);
    });
    EXPECT_EQ(recorded.status, 0);
}

TEST(Callbacks, ARecycledStreamHandleIsAnotherStream) {
    const Recorded recorded([] {
        Driver driver;
        driver.createStream(kStream, CU_STREAM_NON_BLOCKING);
        driver.destroyStream(kStream);
        driver.createStream(kStream, 0);
        driver.beginCapture(kStream, 1);
        driver.endCapture(kStream, 1);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto spool = recorded.read();
    const auto streams = spool.historyOf<raw::Stream>();
    ASSERT_EQ(streams.size(), 3U);
    EXPECT_EQ(streams[0].id, streams[1].id);
    EXPECT_EQ(streams[1].life, static_cast<std::uint16_t>(raw::Life::Destroyed));
    EXPECT_NE(streams[0].id, streams[2].id);
    EXPECT_EQ(streams[0].flags, 1U);
    EXPECT_EQ(streams[0].priority, -2);
    EXPECT_EQ(streams[2].flags, 0U);
    EXPECT_EQ(spool.historyOf<raw::CaptureBegin>().at(0).stream, streams[2].id);
}

TEST(Callbacks, AllocationsAreKnownWhenTheyReturnAndFreesWhenTheyBegin) {
    const Recorded recorded([] {
        Driver driver;
        CUdeviceptr address = 0x7000;
        const cuMemAlloc_v2_params allocate{&address, 256};
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, allocate);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, allocate, 2); // out of memory: nothing to know
        const cuMemFree_v2_params release{0x7000};
        driver.enter(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, release);
        // The process dies inside the call: the free must be known already.
    });
    ASSERT_EQ(recorded.status, 0);
    const auto spool = recorded.read();
    const auto allocs = spool.historyOf<raw::Alloc>();
    ASSERT_EQ(allocs.size(), 1U);
    EXPECT_EQ(allocs[0].address, 0x7000U);
    EXPECT_EQ(allocs[0].bytes, 256U);
    EXPECT_EQ(allocs[0].device, 3U);
    const auto frees = spool.historyOf<raw::Free>();
    ASSERT_EQ(frees.size(), 1U);
    EXPECT_EQ(frees[0].allocation, allocs[0].allocation);
}

TEST(Callbacks, AFreeThatACaptureRefusesIsNone) {
    const Recorded recorded([] {
        Driver driver;
        CUdeviceptr address = 0x7000;
        driver.createStream(kStream, 0);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 256});
        driver.beginCapture(kStream, 1);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, cuMemFree_v2_params{0x7000}, 900);
        driver.endCapture(kStream, 1, 901);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, cuMemFree_v2_params{0x7000});
    });
    ASSERT_EQ(recorded.status, 0);
    EXPECT_EQ(recorded.read().historyOf<raw::Free>().size(), 1U);
}

TEST(Callbacks, MemoryAllocatedInACaptureBelongsToTheGraph) {
    const Recorded recorded([] {
        Driver driver;
        CUdeviceptr address = 0x9000;
        driver.createStream(kStream, 0);
        driver.beginCapture(kStream, 1);
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync, cuMemAllocAsync_params{&address, 64, kStream});
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync, cuMemFreeAsync_params{0x9000, kStream});
        driver.endCapture(kStream, 1);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto spool = recorded.read();
    ASSERT_EQ(spool.historyOf<raw::Alloc>().size(), 1U);
    EXPECT_EQ(spool.historyOf<raw::Alloc>()[0].kind, GD_RT_MEMORY_GRAPH);
    EXPECT_TRUE(spool.historyOf<raw::Free>().empty());
}

TEST(Callbacks, CallsMadeByTheCollectorItselfAreNotTheJobs) {
    const Recorded recorded([] {
        Driver driver;
        driver.createStream(kStream, 0);
        ThreadCalls::current().inside = true;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, cuStreamSynchronize_params{kStream}, 900);
        ThreadCalls::current().inside = false;
        cupti::onCallback(
            &Client::instance(), CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr);
    });
    ASSERT_EQ(recorded.status, 0);
    for (const auto& call : recorded.read().historyOf<raw::ApiCall>()) {
        EXPECT_NE(call.api, GD_API_STREAM_SYNCHRONIZE);
    }
}

TEST(Callbacks, AForkedChildIsLeftAlone) {
    const Recorded recorded([] {
        Driver driver;
        driver.createStream(kStream, 0);
        const pid_t child = fork();
        if (child == 0) { // locks may be held for ever here
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, cuStreamSynchronize_params{kStream}, 3);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        _exit(status);
    });
    ASSERT_EQ(recorded.status, 0);
    EXPECT_EQ(recorded.builder.segments().size(), 1U) << "the child has recorded nothing";
}

TEST(Callbacks, KernelParametersBecomePointersAndScalars) {
    const Recorded recorded([] {
        Driver driver;
        cupti::DriverApi api;
        static CUdeviceptr data = 0x7010;
        static float scale = 2.0F;
        static void* params[] = {&data, &scale};
        api.graphKernelNodeGetParams = [](CUgraphNode, CUDA_KERNEL_NODE_PARAMS* out) {
            out->func = handle<CUfunction>(0xf);
            out->gridDimX = 4;
            out->gridDimY = out->gridDimZ = 1;
            out->blockDimX = 128;
            out->blockDimY = out->blockDimZ = 1;
            out->kernelParams = params;
            return CUDA_SUCCESS;
        };
        api.funcGetParamInfo = [](CUfunction, std::size_t index, std::size_t* offset, std::size_t* bytes) {
            *offset = index * 8;
            *bytes = index == 0 ? 8 : 4;
            return index < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        };
        api.funcGetName = [](const char** name, CUfunction) {
            *name = "scale_all";
            return CUDA_SUCCESS;
        };
        cupti::setDriverApi(api);
        CUdeviceptr address = 0x7000;
        driver.both(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 256});
        driver.createStream(kStream, 0);
        driver.beginCapture(kStream, 1);
        driver.captureNode(kStream, 1, 0, CU_GRAPH_NODE_TYPE_KERNEL);
        driver.endCapture(kStream, 1);
    });
    ASSERT_EQ(recorded.status, 0);
    const auto spool = recorded.read();
    const auto kernels = spool.historyOf<raw::NodeKernel>();
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels[0].readable, 1U);
    EXPECT_EQ(kernels[0].paramCount, 2U);
    const auto pointers = spool.historyOf<raw::NodePointer>();
    ASSERT_EQ(pointers.size(), 1U);
    EXPECT_EQ(pointers[0].address, 0x7010U);
    EXPECT_EQ(pointers[0].param, 0U);
    const auto scalars = spool.historyOf<raw::NodeScalar>();
    ASSERT_EQ(scalars.size(), 1U);
    EXPECT_EQ(scalars[0].param, 1U);
    EXPECT_EQ(scalars[0].bytes, 4U);
    EXPECT_EQ(scalars[0].value, 0x40000000U); // 2.0f
}

TEST(Callbacks, AnEventKeepsItsNumberUntilItIsDestroyed) {
    const Recorded recorded([] {
        Driver driver;
        CUevent event = handle<CUevent>(0xe0);
        for (int i = 0; i < 2; ++i) {
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuEventCreate, cuEventCreate_params{&event, 2});
            driver.both(CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2, cuEventDestroy_v2_params{event});
        }
    });
    ASSERT_EQ(recorded.status, 0);
    const auto events = recorded.read().historyOf<raw::Event>();
    ASSERT_EQ(events.size(), 4U);
    EXPECT_EQ(events[0].flags, 2U);
    EXPECT_EQ(events[0].id, events[1].id);
    EXPECT_EQ(events[1].life, static_cast<std::uint16_t>(raw::Life::Destroyed));
    EXPECT_NE(events[1].id, events[2].id);
}

} // namespace
