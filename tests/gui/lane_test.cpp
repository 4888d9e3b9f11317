// SPDX-License-Identifier: Apache-2.0
#include "gui/model/lane.h"

#include <gtest/gtest.h>

#include <random>

using namespace gd::gui;

namespace {

// Times are multiples of `unit`.
std::vector<Event> randomEvents(
    std::mt19937& random, std::size_t count, bool overlapping, std::int64_t unit = 1) {
    std::vector<Event> out;
    std::int64_t t = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto dur = static_cast<std::int64_t>(random() % 10 == 0 ? 0 : random() % 50) * unit;
        out.push_back({t, dur, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)});
        t += overlapping ? static_cast<std::int64_t>(random() % 30) * unit
                         : dur + static_cast<std::int64_t>(random() % 20) * unit;
    }
    return out;
}

LaneBuilder::Built build(const std::vector<Event>& events) {
    LaneBuilder builder;
    for (const Event& event : events)
        builder.add(event);
    return std::move(builder).build();
}

} // namespace

TEST(Lane, LanesAreSortedDisjointAndKeepEveryEvent) {
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        // Times that fit into 32 bits, those of which some do, and none.
        const std::int64_t unit = round % 3 == 0 ? 1 : round % 3 == 1 ? 20'000'000 : 7'000'000'000;
        auto events = randomEvents(random, 1 + random() % 400, true, unit);
        if (round % 2 == 1)
            std::shuffle(events.begin(), events.end(), random);
        const auto built = build(events);
        std::vector<bool> seen(events.size());
        for (const auto& lane : built.lanes) {
            for (std::size_t i = 0; i < lane->size(); ++i) {
                if (i > 0) {
                    ASSERT_LE(lane->end(i - 1), lane->start(i));
                }
                ASSERT_FALSE(seen[lane->row(i)]);
                seen[lane->row(i)] = true;
                const auto original = std::find_if(
                    events.begin(), events.end(), [&](const Event& e) { return e.row == lane->row(i); });
                ASSERT_EQ(lane->start(i), original->startNs);
                ASSERT_EQ(lane->duration(i), original->durNs);
            }
        }
        EXPECT_EQ(built.leftOut, 0U);
        EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](bool s) { return s; }));
    }
}

TEST(Lane, NestedRangesStackAndSiblingsShareALane) {
    const auto built = build({{0, 100, 0, 0}, {10, 20, 0, 1}, {40, 20, 0, 2}, {100, 5, 0, 3}});
    ASSERT_EQ(built.lanes.size(), 2U);
    EXPECT_EQ(built.lanes[0]->size(), 2U);
    EXPECT_EQ(built.lanes[1]->size(), 2U);
}

TEST(Lane, MoreThanTheMostLanesAreCountedNotLostSilently) {
    std::vector<Event> events;
    for (std::uint32_t i = 0; i < LaneBuilder::kMaxLanes + 10; ++i)
        events.push_back({i, 1'000'000, 0, i});
    const auto built = build(events);
    EXPECT_EQ(built.lanes.size(), LaneBuilder::kMaxLanes);
    EXPECT_EQ(built.leftOut, 10U);
}

TEST(Lane, SearchesAgreeWithBruteForce) {
    std::mt19937 random(11);
    for (int round = 0; round < 60; ++round) {
        const std::int64_t unit = round % 3 == 0 ? 1 : round % 3 == 1 ? 20'000'000 : 7'000'000'000;
        // Whole blocks and broken ones.
        const std::size_t count = round % 4 == 0 ? 16 * (1 + random() % 9) : 1 + random() % 3000;
        const auto built = build(randomEvents(random, count, false, unit));
        const Lane& lane = *built.lanes.front();
        for (int probe = 0; probe < 60; ++probe) {
            std::size_t from = random() % lane.size();
            std::size_t to = random() % lane.size();
            if (from > to)
                std::swap(from, to);
            ++to;
            std::size_t longest = from;
            for (std::size_t i = from; i < to; ++i) {
                if (lane.duration(i) > lane.duration(longest))
                    longest = i;
            }
            ASSERT_EQ(lane.longest(from, to), longest);
            std::int64_t busy = 0;
            for (std::size_t i = from; i < to; ++i)
                busy += lane.duration(i);
            ASSERT_EQ(lane.busy(from, to), busy);
            const auto wanted = static_cast<std::int64_t>(random() % 60) * unit;
            std::size_t next = from;
            while (next < to && lane.duration(next) < wanted)
                ++next;
            ASSERT_EQ(lane.nextAtLeast(from, to, wanted), next);
            const std::int64_t t
                = lane.start(random() % lane.size()) + static_cast<std::int64_t>(random() % 5) - 2;
            const std::size_t bound = lane.lowerBound(t);
            ASSERT_TRUE(bound == lane.size() || lane.start(bound) >= t);
            ASSERT_TRUE(bound == 0 || lane.start(bound - 1) < t);
            const std::size_t blocks = lane.blocksBefore(t, random() % (lane.size() + 3));
            ASSERT_EQ(blocks, lane.blocksBefore(t, 0));
            ASSERT_EQ(lane.lowerBoundIn(blocks, t), bound);
            const std::size_t ending = lane.firstEndingAfter(t);
            ASSERT_TRUE(ending == lane.size() || lane.end(ending) > t || lane.start(ending) >= t);
            ASSERT_TRUE(ending == 0 || (lane.end(ending - 1) <= t && lane.start(ending - 1) < t));
        }
    }
}

TEST(Lane, HoldsEventsLongerThan32Bits) {
    const std::int64_t hours = 36'000'000'000'000;
    const auto built = build({{5, hours, 0, 0}, {hours + 6, 3, 0, 1}});
    ASSERT_EQ(built.lanes.size(), 1U);
    EXPECT_EQ(built.lanes[0]->duration(0), hours);
    EXPECT_EQ(built.lanes[0]->duration(1), 3);
}

// 18 bytes an event, and 16 more only for those whose times are far apart.
TEST(Lane, StaysBelowItsMemoryBudget) {
    std::mt19937 random(3);
    const auto built = build(randomEvents(random, 200'000, false));
    EXPECT_LE(
        static_cast<double>(built.lanes[0]->bytes()) / static_cast<double>(built.lanes[0]->size()), 18.0);
    const auto wide = build(randomEvents(random, 200'000, false, 7'000'000'000));
    EXPECT_LE(static_cast<double>(wide.lanes[0]->bytes()) / static_cast<double>(wide.lanes[0]->size()), 40.0);
}
