// SPDX-License-Identifier: Apache-2.0
// Which nodes of graphs carry the stack of the call that made them.
#include "collector/session/hooks.h"
#include "collector/session/session.h"
#include "tests/unit/session/session_test_support.h"

#include <gtest/gtest.h>

#include <map>

namespace gd::session {
namespace {

using test::RawSpool;
using test::SpoolBuilder;

constexpr std::uint64_t kGraph = 1;
constexpr std::uint64_t kExec = 2;

unsigned walks = 0;

// Each walk is another place.
void walkStacks() {
    static const StackWalker walker{[](std::uint64_t* addresses, unsigned) noexcept {
                                        addresses[0] = 0x1000 + ++walks;
                                        return 1U;
                                    },
        nullptr};
    setStackWalker(&walker);
}

void makeNode(std::uint64_t id, std::uint32_t type, gd_rt_life life = GD_RT_CREATED,
    std::uint64_t graph = kGraph, std::uint64_t origin = 0) {
    gd_rt_node node{};
    node.size = sizeof node;
    node.node = id;
    node.graph = graph;
    node.type = type;
    node.origin_node = origin;
    sink::node(life, node);
}

template <class Body> void during(std::uint32_t api, std::uint64_t stream, Body body) {
    gd_rt_api info{};
    info.size = sizeof info;
    info.api = api;
    info.stream = stream;
    sink::apiEnter(info);
    body();
    sink::apiExit(info, 0);
}

std::map<std::uint64_t, raw::StackRef> stacksOf(const RawSpool& raw) {
    std::map<std::uint64_t, raw::StackRef> stacks;
    for (const raw::GraphNode& node : raw.historyOf<raw::GraphNode>()) {
        stacks[node.node] = node.stack;
    }
    return stacks;
}

TEST(NodeStacks, CapturedWorkHasThatOfItsCallAndWhatOnlyOrdersHasNone) {
    SpoolBuilder spool;
    spool.run([] {
        walkStacks();
        during(GD_API_STREAM_BEGIN_CAPTURE, 7, [] {});
        during(GD_API_LAUNCH_KERNEL, 7, [] { makeNode(1, GD_RT_NODE_KERNEL); });
        during(GD_API_MEMCPY_HTOD_ASYNC, 7, [] { makeNode(2, GD_RT_NODE_MEMCPY); });
        during(GD_API_MEM_ALLOC_ASYNC, 7, [] { makeNode(3, GD_RT_NODE_MEM_ALLOC); });
        during(GD_API_EVENT_RECORD, 7, [] { makeNode(4, GD_RT_NODE_EVENT_RECORD); });
        during(GD_API_EVENT_RECORD, 7, [] { makeNode(5, GD_RT_NODE_EMPTY); });
    });
    const RawSpool raw = read(spool);
    const auto stacks = stacksOf(raw);
    for (const std::uint64_t node : {1U, 2U, 3U}) {
        EXPECT_NE(stacks.at(node), 0U) << node;
    }
    EXPECT_NE(stacks.at(1), stacks.at(2));
    EXPECT_EQ(stacks.at(4), 0U);
    EXPECT_EQ(stacks.at(5), 0U);
}

TEST(NodeStacks, NodesAddedByHandAndTheirGraphHaveOne) {
    SpoolBuilder spool;
    spool.run([] {
        walkStacks();
        during(GD_API_GRAPH_CREATE, 0, [] {
            gd_rt_graph graph{};
            graph.size = sizeof graph;
            graph.graph = kGraph;
            sink::graph(GD_RT_CREATED, graph);
        });
        during(GD_API_GRAPH_ADD_KERNEL_NODE, 0, [] { makeNode(1, GD_RT_NODE_KERNEL); });
        during(GD_API_GRAPH_ADD_MEMSET_NODE, 0, [] { makeNode(2, GD_RT_NODE_MEMSET); });
    });
    const RawSpool raw = read(spool);
    const auto stacks = stacksOf(raw);
    EXPECT_NE(stacks.at(1), 0U);
    EXPECT_NE(stacks.at(2), 0U);
    EXPECT_NE(stacks.at(1), stacks.at(2));
    ASSERT_EQ(raw.historyOf<raw::Graph>().size(), 1U);
    EXPECT_NE(raw.historyOf<raw::Graph>()[0].stack, 0U);
}

TEST(NodeStacks, NodesOfAnExecutableShareThatOfTheInstantiate) {
    SpoolBuilder spool;
    const int status = spool.run([] {
        walkStacks();
        during(GD_API_GRAPH_INSTANTIATE, 0, [] {
            gd_rt_exec exec{};
            exec.size = sizeof exec;
            exec.exec = kExec;
            exec.graph = kGraph;
            sink::exec(GD_RT_CREATED, exec);
            makeNode(20, GD_RT_NODE_KERNEL, GD_RT_CLONED, kExec, 1);
            makeNode(21, GD_RT_NODE_MEMCPY, GD_RT_CREATED, kExec);
        });
        _exit(walks == 1 ? 0 : 1);
    });
    EXPECT_EQ(status, 0);
    const auto stacks = stacksOf(read(spool));
    EXPECT_NE(stacks.at(20), 0U);
    EXPECT_EQ(stacks.at(20), stacks.at(21));
}

TEST(NodeStacks, ThousandsOfKernelsLeaveTheCopiesAmongThemTheirs) {
    SpoolBuilder spool;
    const int status = spool.run([] {
        walkStacks();
        for (std::uint64_t i = 1; i <= 10'000; ++i) {
            during(GD_API_LAUNCH_KERNEL, 7, [i] { makeNode(i, GD_RT_NODE_KERNEL); });
        }
        const unsigned kernels = walks;
        during(GD_API_MEMCPY_HTOD_ASYNC, 7, [] { makeNode(10'001, GD_RT_NODE_MEMCPY); });
        const bool isLimited = kernels >= 4000 && currentSession()->stacksLeftOut == 10'000 - kernels;
        _exit(isLimited && walks == kernels + 1 ? 0 : 1);
    });
    EXPECT_EQ(status, 0);
    EXPECT_NE(stacksOf(read(spool)).at(10'001), 0U);
}

} // namespace
} // namespace gd::session
