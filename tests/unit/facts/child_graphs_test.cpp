// SPDX-License-Identifier: Apache-2.0
// unordered_access: nodes inside child graphs and conditional bodies.
#include "tests/unit/facts/facts_test_support.h"

namespace gd::facts {
namespace {

// A graph with two child graph nodes, each of which holds copies of the kernels of a captured graph, launched
// four times. The captured graphs are 1 and 2, the graph with the children is 3, their copies are 4 and 5.
class ChildGraphsTest : public testing::Test {
protected:
    static constexpr const char* kFill = "fill(int*, int const*, int)";
    static constexpr const char* kUse = "use(int*, int const*, int)";

    void SetUp() override {
        trace.graph(3, 500);
        trace.exec(3, 3, 600);
        for (int i = 0; i < 4; ++i)
            trace.replay(3, 1000 + 100 * i, 1010 + 100 * i, 1020 + 100 * i, 1090 + 100 * i);
        for (int i = 0; i < 2; ++i)
            holders[i] = trace.node({.graph = 3, .createdNs = 510 + i, .type = "graph"});
    }
    void edge(std::int64_t graph, std::int64_t from, std::int64_t to) {
        trace.sql("INSERT INTO graph_edge VALUES (1, " + std::to_string(graph) + ", " + std::to_string(from)
            + ", " + std::to_string(to) + ")");
    }
    // Captured graph `number` (1 or 2): it fills the workspace and uses it.
    void capture(std::int64_t number, std::int64_t workspace, std::int64_t count = 64) {
        trace.capturedGraph(number, 100 * number, 100 * number + 50, {kFill, kUse});
        const auto [fill, use] = nodesOf(number);
        trace.pointer(fill, workspace, 1, 0);
        trace.pointer(fill, 0x9000 * number, 1, 1);
        trace.pointer(use, 0xa000 * number, 1, 0);
        trace.pointer(use, workspace, 1, 1);
        for (const std::int64_t node : {fill, use})
            trace.sql("INSERT INTO node_scalar VALUES (1, " + std::to_string(node) + ", 2, 0, 4, "
                + std::to_string(count) + ")");
        edge(number, fill, use);
    }
    std::pair<std::int64_t, std::int64_t> nodesOf(std::int64_t graph) {
        const std::string of = "(node_id) FROM graph_node WHERE graph_id = " + std::to_string(graph);
        return {trace.number("SELECT MIN" + of), trace.number("SELECT MAX" + of)};
    }
    // Puts copies of a captured graph's nodes into the graph `copy`, inside `holder`.
    void put(std::int64_t number, std::int64_t copy, std::int64_t holder) {
        trace.graph(copy, 505);
        const auto [fill, use] = nodesOf(number);
        const auto add = [&](std::int64_t origin) {
            const std::int64_t id = trace.node({.graph = copy, .createdNs = 505});
            trace.sql("UPDATE graph_node SET name = NULL, shape_id = NULL, parent_node_id = "
                + std::to_string(holder) + ", origin_node_id = " + std::to_string(origin)
                + " WHERE node_id = " + std::to_string(id));
            return id;
        };
        const std::int64_t first = add(fill);
        edge(copy, first, add(use));
    }
    std::string found() {
        build(trace);
        return trace.text(
            "SELECT COALESCE((SELECT group_concat(substr(writer_name, 1, 6) || ' ' || "
            "other_role || ' ' || substr(other_name, 1, 6) || ' ' || pairs || ' ' || confidence) "
            "FROM unordered_access WHERE known), 'none')");
    }

    TraceBuilder trace;
    std::int64_t holders[2] = {};
};

TEST_F(ChildGraphsTest, OneWorkspaceInTwoThatNothingOrders) {
    capture(1, 0x1000);
    capture(2, 0x1000);
    trace.sql("UPDATE graph_node SET stack_id = " + std::to_string(trace.stack({"make_solver"}))
        + " WHERE graph_id IN (1, 2)");
    put(1, 4, holders[0]);
    put(2, 5, holders[1]);
    EXPECT_EQ(found(), "fill(i uses use(in 2 medium");
    EXPECT_EQ(trace.number("SELECT exec_id FROM unordered_access"), 3);
    EXPECT_EQ(trace.number("SELECT writer_param FROM unordered_access"), 0);
    EXPECT_EQ(trace.number("SELECT other_param FROM unordered_access"), 1);
    EXPECT_EQ(trace.number("SELECT writer_holder_id FROM unordered_access"), holders[0]);
    EXPECT_EQ(trace.number("SELECT other_holder_id FROM unordered_access"), holders[1]);
    EXPECT_EQ(trace.number("SELECT stack_id FROM unordered_access"),
        trace.number("SELECT stack_id FROM graph_node WHERE graph_id = 1"));
}

TEST_F(ChildGraphsTest, OneThatWaitsForTheOther) {
    capture(1, 0x1000);
    capture(2, 0x1000);
    put(1, 4, holders[0]);
    put(2, 5, holders[1]);
    edge(3, holders[0], holders[1]);
    EXPECT_EQ(found(), "none");
}

TEST_F(ChildGraphsTest, EachWithAWorkspaceOfItsOwn) {
    capture(1, 0x1000);
    capture(2, 0x2000);
    put(1, 4, holders[0]);
    put(2, 5, holders[1]);
    EXPECT_EQ(found(), "none");
}

TEST_F(ChildGraphsTest, OtherNumbersMayMeanAnotherPart) {
    capture(1, 0x1000, 64);
    capture(2, 0x1000, 65);
    put(1, 4, holders[0]);
    put(2, 5, holders[1]);
    EXPECT_EQ(found(), "none");
}

TEST_F(ChildGraphsTest, OneGraphTwiceHadItsParametersSetInBetween) {
    capture(1, 0x1000);
    put(1, 4, holders[0]);
    put(1, 5, holders[1]);
    EXPECT_EQ(found(), "none");
}

TEST_F(ChildGraphsTest, NorIsKnownWhatKernelsUseWhoseParametersWereSet) {
    capture(1, 0x1000);
    capture(2, 0x1000);
    put(1, 4, holders[0]);
    trace.call(1, GD_API_GRAPH_KERNEL_NODE_SET_PARAMS, 450, 451);
    put(2, 5, holders[1]);
    EXPECT_EQ(found(), "none");
}

TEST_F(ChildGraphsTest, AChildGraphBesideAFill) {
    capture(1, 0x1000);
    put(1, 4, holders[0]);
    const std::int64_t fill = trace.node({.graph = 3, .createdNs = 520, .type = "memset", .name = "memset"});
    trace.sql("UPDATE graph_node SET dst = 4096, bytes = 64 WHERE node_id = " + std::to_string(fill));
    EXPECT_EQ(found(), "memset uses fill(i 1 medium,memset uses use(in 1 medium");
    EXPECT_TRUE(trace.isNull("SELECT writer_holder_id FROM unordered_access"));
    EXPECT_EQ(trace.number("SELECT other_holder_id FROM unordered_access"), holders[0]);
}

TEST_F(ChildGraphsTest, AChildGraphBehindAFill) {
    capture(1, 0x1000);
    put(1, 4, holders[0]);
    const std::int64_t fill = trace.node({.graph = 3, .createdNs = 520, .type = "memset", .name = "memset"});
    trace.sql("UPDATE graph_node SET dst = 4096, bytes = 64 WHERE node_id = " + std::to_string(fill));
    edge(3, fill, holders[0]);
    EXPECT_EQ(found(), "none");
}

TEST_F(ChildGraphsTest, AChildOfAChildRunsWhereThatRuns) {
    capture(1, 0x1000);
    capture(2, 0x1000);
    put(1, 4, holders[0]);
    trace.graph(6, 506);
    const std::int64_t inner = trace.node({.graph = 6, .createdNs = 506, .type = "graph"});
    trace.sql("UPDATE graph_node SET parent_node_id = " + std::to_string(holders[1])
        + " WHERE node_id = " + std::to_string(inner));
    put(2, 5, inner);
    EXPECT_EQ(found(), "fill(i uses use(in 2 medium");
    EXPECT_EQ(trace.number("SELECT other_holder_id FROM unordered_access"), holders[1]);
    edge(3, holders[0], holders[1]);
    EXPECT_EQ(found(), "none");
}

TEST_F(ChildGraphsTest, BodiesOfOneConditionalNodeNeverRunTogether) {
    capture(1, 0x1000);
    capture(2, 0x1000);
    put(1, 4, holders[0]);
    put(2, 5, holders[0]);
    EXPECT_EQ(found(), "none");
}

TEST_F(ChildGraphsTest, WithoutAnyEdgeKernelsSayNothing) {
    capture(1, 0x1000);
    capture(2, 0x1000);
    put(1, 4, holders[0]);
    put(2, 5, holders[1]);
    trace.sql("DELETE FROM graph_edge");
    EXPECT_EQ(found(), "none");
    EXPECT_EQ(trace.number("SELECT COUNT(*) FROM unordered_access"), 0);
}

TEST_F(ChildGraphsTest, KernelsThatDoNotSayWhatTheyWrite) {
    capture(1, 0x1000);
    capture(2, 0x1000);
    put(1, 4, holders[0]);
    put(2, 5, holders[1]);
    trace.sql("UPDATE graph_node SET name = 'gemm' WHERE graph_id IN (1, 2)");
    EXPECT_EQ(found(), "none");
}

} // namespace
} // namespace gd::facts
