// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

// Graph 1 with its executable 2; `place` is where node 10 is looked for.
class NodePlaceTest : public testing::Test {
protected:
    std::int64_t place() {
        build(trace);
        return trace.number("SELECT stack_id FROM node_place WHERE node_id = 10");
    }
    // Where PyTorch's thread for backward passes comes from: no line of the job.
    std::int64_t backward() {
        const std::int64_t stack
            = trace.stack({"at::native::copy_kernel_cuda", "torch::autograd::Engine::thread_main"},
                "/opt/torch/lib/libtorch_cuda.so");
        trace.sql("INSERT INTO stack_frame (stack_id, language, position, function, module, inlined) VALUES ("
            + std::to_string(stack) + ", 'native', 9, NULL, '/lib/x86_64-linux-gnu/libstdc++.so.6', 0), ("
            + std::to_string(stack) + ", 'native', 10, NULL, '/lib/x86_64-linux-gnu/libc.so.6', 0)");
        return stack;
    }

    TraceBuilder trace{200 * kMs};
    std::int64_t begins = trace.stack({"capture_all@3"});
    std::int64_t copies = trace.stack({"feed@16"});
};

TEST_F(NodePlaceTest, WhatWasCapturedLiesWhereItWasCalled) {
    trace.capture(10, {.graph = 1, .beginStack = begins, .endNs = 90});
    trace.graph(1, 10, 1);
    trace.node({.id = 10, .graph = 1, .capture = 1, .stack = copies, .type = "memcpy"});
    EXPECT_EQ(place(), copies);
}

TEST_F(NodePlaceTest, WithoutAStackWhereTheCaptureBegan) {
    trace.capture(10, {.graph = 1, .beginStack = begins, .endNs = 90});
    trace.graph(1, 10, 1);
    trace.node({.id = 10, .graph = 1, .capture = 1, .type = "mem_alloc"});
    EXPECT_EQ(place(), begins);
}

TEST_F(NodePlaceTest, AStackOfLibrariesAloneSaysLessThanTheCapture) {
    trace.capture(10, {.graph = 1, .beginStack = begins, .endNs = 90});
    trace.graph(1, 10, 1);
    trace.node({.id = 10, .graph = 1, .capture = 1, .thread = 2, .stack = backward(), .type = "memcpy"});
    EXPECT_EQ(place(), begins);
}

TEST_F(NodePlaceTest, AStackOfLibrariesAloneIsBetterThanNone) {
    trace.graph(1, 10);
    const std::int64_t stack = backward();
    trace.node({.id = 10, .graph = 1, .thread = 2, .stack = stack, .type = "memcpy"});
    EXPECT_EQ(place(), stack);
}

TEST_F(NodePlaceTest, OfAGraphMadeByCallsItsInstantiate) {
    trace.graph(1, 10);
    trace.node({.id = 10, .graph = 1, .type = "memcpy"});
    trace.exec(2, 1, 20, std::nullopt, begins);
    EXPECT_EQ(place(), begins);
}

TEST_F(NodePlaceTest, AtLeastTheLaunch) {
    trace.graph(1, 10);
    trace.node({.id = 10, .graph = 1, .type = "memcpy"});
    trace.exec(2, 1, 20);
    trace.replay(2, 100, 110, 120, 130, {.stack = begins});
    EXPECT_EQ(place(), begins);
}

TEST_F(NodePlaceTest, ACloneIsAsItsOriginalWasMade) {
    trace.graph(1, 10);
    trace.graph(3, 10);
    trace.node({.id = 9, .graph = 3, .stack = copies, .type = "memcpy"});
    trace.node({.id = 10, .graph = 1, .stack = begins, .type = "memcpy"});
    trace.sql("UPDATE graph_node SET origin_node_id = 9 WHERE node_id = 10");
    EXPECT_EQ(place(), copies);
}

// Two fills of the same bytes on two branches of a graph that was made by calls.
class PlaceOfTwoNodes : public NodePlaceTest {
protected:
    std::int64_t placeOf(std::int64_t earlier, std::int64_t later) {
        trace.graph(1, 10);
        trace.node({.id = 5, .graph = 1, .createdNs = 10, .name = "first"});
        trace.node({.id = 6, .graph = 1, .stack = earlier, .createdNs = 20, .type = "memset"});
        trace.node({.id = 7, .graph = 1, .stack = later, .createdNs = 30, .type = "memset"});
        trace.sql("UPDATE graph_node SET dst = 4096, bytes = 256 WHERE type = 'memset'");
        trace.sql("INSERT INTO graph_edge VALUES (1, 1, 5, 6), (1, 1, 5, 7)");
        trace.exec(2, 1, 40, std::nullopt, begins);
        for (int i = 0; i < 4; ++i)
            trace.replay(2, 100 + 100 * i, 110 + 100 * i, 120 + 100 * i, 130 + 100 * i);
        build(trace);
        return trace.number("SELECT stack_id FROM unordered_access WHERE known");
    }
};

TEST_F(PlaceOfTwoNodes, TheLaterOne) {
    EXPECT_EQ(placeOf(trace.stack({"clear@7"}), copies), copies);
}

TEST_F(PlaceOfTwoNodes, ElseTheOther) {
    EXPECT_EQ(placeOf(copies, backward()), copies);
}

TEST_F(PlaceOfTwoNodes, ElseTheInstantiate) {
    EXPECT_EQ(placeOf(0, 0), begins);
}

} // namespace
} // namespace gd::facts
