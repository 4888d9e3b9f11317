// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/intervals.h"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace gd::facts {
namespace {

constexpr std::int64_t kSpan = 200;
using Bits = std::bitset<kSpan>;

std::vector<Interval> randomIntervals(std::mt19937& random) {
    std::uniform_int_distribution<std::int64_t> time(0, kSpan);
    std::vector<Interval> intervals(random() % 20);
    for (Interval& interval : intervals)
        interval = {time(random), time(random)};
    return intervals;
}

Bits bitsOf(const std::vector<Interval>& intervals) {
    Bits bits;
    for (const Interval& interval : intervals) {
        for (std::int64_t t = interval.startNs; t < interval.endNs; ++t)
            bits.set(static_cast<std::size_t>(t));
    }
    return bits;
}

bool isCanonical(const IntervalSet& set) {
    for (std::size_t i = 0; i < set.size(); ++i) {
        if (set[i].startNs >= set[i].endNs || (i > 0 && set[i].startNs <= set[i - 1].endNs))
            return false;
    }
    return true;
}

TEST(Intervals, UniteJoinsWhatTouchesAndDropsWhatIsEmpty) {
    EXPECT_EQ(unite({{5, 7}, {1, 3}, {3, 4}, {9, 9}, {12, 10}}), (IntervalSet{{1, 4}, {5, 7}}));
    EXPECT_TRUE(unite({}).empty());
}

TEST(Intervals, SubtractLeavesTheRestOnBothSides) {
    EXPECT_EQ(subtract({{0, 10}, {20, 30}}, {{3, 5}, {8, 22}}), (IntervalSet{{0, 3}, {5, 8}, {22, 30}}));
}

TEST(Intervals, CoveredCountsPartsOfTheEdges) {
    EXPECT_EQ(coveredNs({{0, 10}, {20, 30}}, 5, 25), 10);
    EXPECT_EQ(coveredNs({{0, 10}}, 10, 20), 0);
}

TEST(Intervals, AgreeWithCountingEveryNanosecond) {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        const std::vector<Interval> left = randomIntervals(random);
        const std::vector<Interval> right = randomIntervals(random);
        const IntervalSet a = unite(left);
        const IntervalSet b = unite(right);
        ASSERT_EQ(bitsOf(a), bitsOf(left));
        ASSERT_EQ(bitsOf(subtract(a, b)), bitsOf(left) & ~bitsOf(right));
        ASSERT_EQ(bitsOf(intersect(a, b)), bitsOf(left) & bitsOf(right));
        for (const IntervalSet& set : {a, subtract(a, b), intersect(a, b)})
            ASSERT_TRUE(isCanonical(set));
        const std::int64_t from = static_cast<std::int64_t>(random() % kSpan);
        const std::int64_t to = from + static_cast<std::int64_t>(random() % 50);
        const Bits window = bitsOf({{from, std::min(to, kSpan)}});
        ASSERT_EQ(
            coveredNs(a, from, std::min(to, kSpan)), static_cast<std::int64_t>((bitsOf(a) & window).count()));
        ASSERT_EQ(bitsOf(clip(a, from, std::min(to, kSpan))), bitsOf(a) & window);
    }
}

} // namespace
} // namespace gd::facts
