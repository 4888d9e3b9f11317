// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/node_order.h"

#include <gtest/gtest.h>

#include <random>

namespace gd::facts {
namespace {

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

TEST(NodeOrder, AlongAStreamEverythingIsOrdered) {
    const auto order = NodeOrder::of(4, {{0, 1}, {1, 2}, {2, 3}});
    ASSERT_TRUE(order);
    EXPECT_TRUE(order->ordered(0, 3));
    EXPECT_TRUE(order->ordered(3, 0));
}

TEST(NodeOrder, BranchesAreNotOrderedUntilTheyMeet) {
    // 0 forks into 1-3 and 2-4, which meet in 5.
    const auto order = NodeOrder::of(6, {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}});
    ASSERT_TRUE(order);
    EXPECT_FALSE(order->ordered(1, 2));
    EXPECT_FALSE(order->ordered(1, 4));
    EXPECT_FALSE(order->ordered(3, 4));
    EXPECT_TRUE(order->ordered(0, 4));
    EXPECT_TRUE(order->ordered(1, 5));
    EXPECT_TRUE(order->ordered(2, 5));
}

TEST(NodeOrder, WithoutEdgesNothingIsOrdered) {
    const auto order = NodeOrder::of(2, {});
    ASSERT_TRUE(order);
    EXPECT_FALSE(order->ordered(0, 1));
}

TEST(NodeOrder, ACircleIsNoOrder) {
    EXPECT_FALSE(NodeOrder::of(3, {{0, 1}, {1, 2}, {2, 1}}));
}

// Against a walk over the edges from each node, on random graphs.
TEST(NodeOrder, AgreesWithAWalkOverTheEdges) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        constexpr std::int32_t kNodes = 24;
        Edges edges;
        std::vector<std::vector<bool>> reaches(kNodes, std::vector<bool>(kNodes));
        for (std::int32_t to = 0; to < kNodes; ++to) {
            for (std::int32_t from = 0; from < to; ++from) {
                if (random() % 12 == 0)
                    edges.emplace_back(from, to);
            }
        }
        for (std::int32_t to = 0; to < kNodes; ++to) {
            for (const auto& [from, target] : edges) {
                if (target != to)
                    continue;
                reaches[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = true;
                for (std::int32_t earlier = 0; earlier < from; ++earlier) {
                    if (reaches[static_cast<std::size_t>(earlier)][static_cast<std::size_t>(from)])
                        reaches[static_cast<std::size_t>(earlier)][static_cast<std::size_t>(to)] = true;
                }
            }
        }
        const auto order = NodeOrder::of(kNodes, edges);
        ASSERT_TRUE(order);
        for (std::size_t a = 0; a < kNodes; ++a) {
            for (std::size_t b = a + 1; b < kNodes; ++b)
                EXPECT_EQ(order->ordered(a, b), reaches[a][b]) << round << ": " << a << ", " << b;
        }
    }
}

} // namespace
} // namespace gd::facts
