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
