// SPDX-License-Identifier: Apache-2.0
#include "gui/model/graph_drawing.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

using namespace gd::gui;

namespace {

GraphDrawing randomGraph(std::mt19937& random) {
    GraphDrawing drawing;
    const std::size_t count = 1 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
        GraphDrawing::Node node;
        node.id = static_cast<std::int64_t>(i);
        node.timeNs = random() % 5 == 0 ? -1 : static_cast<std::int64_t>(random() % 100);
        drawing.nodes.push_back(node);
    }
    for (std::size_t to = 1; to < count; ++to) {
        for (std::size_t k = 0; k < random() % 4; ++k)
            drawing.edges.emplace_back(random() % to, to);
    }
    return drawing;
}

} // namespace

TEST(GraphDrawing, EdgesLeadToLaterLayersAndNoTwoNodesShareAPlace) {
    std::mt19937 random(13);
    for (int round = 0; round < 200; ++round) {
        GraphDrawing drawing = randomGraph(random);
        const std::size_t edges = drawing.edges.size();
        arrangeGraph(drawing);
        EXPECT_EQ(drawing.edges.size(), edges);
        std::set<std::pair<std::size_t, std::size_t>> places;
        for (const auto& node : drawing.nodes) {
            EXPECT_LT(node.layer, drawing.layers);
            EXPECT_LT(node.column, drawing.columns);
            EXPECT_TRUE(places.insert({node.layer, node.column}).second);
        }
        for (const auto& [from, to] : drawing.edges)
            EXPECT_LT(drawing.nodes[from].layer, drawing.nodes[to].layer);
    }
}

TEST(GraphDrawing, TheCriticalPathHasTheLargestSum) {
    std::mt19937 random(17);
    for (int round = 0; round < 200; ++round) {
        GraphDrawing drawing = randomGraph(random);
        arrangeGraph(drawing);
        std::vector<std::int64_t> best(drawing.nodes.size(), -1);
        const std::function<std::int64_t(std::size_t)> from = [&](std::size_t node) {
            if (best[node] < 0) {
                std::int64_t after = 0;
                for (const auto& [a, b] : drawing.edges) {
                    if (a == node)
                        after = std::max(after, from(b));
                }
                best[node] = after + std::max<std::int64_t>(0, drawing.nodes[node].timeNs);
            }
            return best[node];
        };
        std::int64_t longest = 0, critical = 0;
        for (std::size_t i = 0; i < drawing.nodes.size(); ++i) {
            longest = std::max(longest, from(i));
            if (drawing.nodes[i].critical)
                critical += std::max<std::int64_t>(0, drawing.nodes[i].timeNs);
        }
        EXPECT_EQ(critical, longest);
    }
}

TEST(GraphDrawing, ACircleInABadTraceDoesNotHang) {
    GraphDrawing drawing;
    drawing.nodes.resize(3);
    drawing.edges = {{0, 1}, {1, 2}, {2, 1}};
    arrangeGraph(drawing);
    for (const auto& [from, to] : drawing.edges)
        EXPECT_LT(drawing.nodes[from].layer, drawing.nodes[to].layer);
}

TEST(GraphDrawing, RunsOfKernelsOfOneRangeBecomeOneNode) {
    GraphDrawing drawing;
    const auto add = [&](const char* type, const char* name, const char* range, std::int64_t timeNs) {
        GraphDrawing::Node node;
        node.id = static_cast<std::int64_t>(drawing.nodes.size());
        node.type = type;
        node.name = name;
        node.range = range;
        node.timeNs = timeNs;
        drawing.nodes.push_back(node);
    };
    add("kernel", "a", "forward", 10); // 0
    add("kernel", "b", "forward", -1); // 1: with 0
    add("kernel", "ncclDevKernel_AllReduce", "forward", 5); // 2: stays itself
    add("kernel", "c", "forward", 7); // 3: after it, another run
    add("kernel", "d", "backward", 1); // 4: another range
    add("kernel", "e", "backward", 2); // 5: with 4
    add("memcpy", "memcpy", "backward", 3); // 6: stays itself
    add("kernel", "f", "backward", 4); // 7: beside 6
    add("kernel", "g", "backward", 8); // 8: two lead here
    drawing.edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {5, 7}, {6, 8}, {7, 8}};
    drawing.selected = 5;
    groupRuns(drawing);
    std::vector<std::pair<std::int64_t, std::size_t>> nodes; // first and how many
    for (const auto& node : drawing.nodes)
        nodes.emplace_back(node.id, node.members);
    EXPECT_EQ(nodes,
        (std::vector<std::pair<std::int64_t, std::size_t>>{
            {0, 2}, {2, 1}, {3, 1}, {4, 2}, {6, 1}, {7, 1}, {8, 1}}));
    EXPECT_EQ(drawing.nodes[0].timeNs, 10);
    EXPECT_EQ(drawing.nodes[3].timeNs, 3);
    EXPECT_EQ(drawing.selected, 3U);
    EXPECT_EQ(drawing.edges,
        (std::vector<std::pair<std::size_t, std::size_t>>{
            {0, 1}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {4, 6}, {5, 6}}));
}

// Whatever the graph: no time and no kernel is lost, what leads somewhere still does, and no circle comes up.
TEST(GraphDrawing, GroupingKeepsTimesKernelsAndOrder) {
    std::mt19937 random(23);
    for (int round = 0; round < 200; ++round) {
        GraphDrawing drawing = randomGraph(random);
        for (auto& node : drawing.nodes) {
            node.type = random() % 4 == 0 ? "memcpy" : "kernel";
            node.range = random() % 2 == 0 ? "x" : "y";
        }
        const GraphDrawing before = drawing;
        groupRuns(drawing);
        EXPECT_EQ(drawing.totalNs(), before.totalNs());
        std::size_t members = 0;
        for (const auto& node : drawing.nodes)
            members += node.members;
        EXPECT_EQ(members, before.nodes.size());
        const std::size_t edges = drawing.edges.size();
        GraphDrawing plain = before;
        arrangeGraph(plain);
        arrangeGraph(drawing);
        EXPECT_EQ(drawing.edges.size(), edges) << "an edge closed a circle";
        std::int64_t critical = 0, plainCritical = 0;
        for (const auto& node : drawing.nodes)
            critical += node.critical ? std::max<std::int64_t>(0, node.timeNs) : 0;
        for (const auto& node : plain.nodes)
            plainCritical += node.critical ? std::max<std::int64_t>(0, node.timeNs) : 0;
        EXPECT_EQ(critical, plainCritical);
    }
}
