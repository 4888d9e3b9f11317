// SPDX-License-Identifier: Apache-2.0
// Statistics of an area and the search, against brute force over the same events.
#include "gui/model/search.h"
#include "gui/model/selection_stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

using namespace gd::gui;

namespace {

struct World {
    NameTable names;
    std::vector<RowPtr> rows;
    std::vector<std::vector<Event>> events; // by row
};

void fill(World& world, std::mt19937& random, RowKind kind) {
    TrackRow row;
    row.kind = kind;
    row.number = static_cast<std::int64_t>(world.rows.size());
    row.slices.push_back({"kernel", 1});
    LaneBuilder builder;
    std::vector<Event> events;
    std::int64_t t = static_cast<std::int64_t>(random() % 100);
    for (std::uint32_t i = 0; i < 1 + random() % 300; ++i) {
        const std::uint32_t name
            = world.names.intern("name" + std::to_string(random() % 7), Category::compute);
        events.push_back({t, static_cast<std::int64_t>(random() % 60), name, i});
        builder.add(events.back());
        t += static_cast<std::int64_t>(random() % 80);
    }
    row.lanes = std::move(builder).build().lanes;
    world.rows.push_back(std::make_shared<const TrackRow>(std::move(row)));
    world.events.push_back(std::move(events));
}

const std::atomic<bool> kGo = false;

} // namespace

TEST(SelectionStats, EqualBruteForce) {
    std::mt19937 random(9);
    for (int round = 0; round < 60; ++round) {
        World world;
        fill(world, random, RowKind::stream);
        fill(world, random, RowKind::stream);
        fill(world, random, RowKind::host);
        const auto from = static_cast<std::int64_t>(random() % 5000);
        const std::int64_t to = from + 1 + static_cast<std::int64_t>(random() % 8000);
        const SelectionStats stats = selectionStats(world.rows, from, to, kGo);
        std::set<std::int64_t> busy;
        std::map<std::pair<RowKind, std::uint32_t>, std::vector<std::int64_t>> durations;
        for (std::size_t r = 0; r < world.rows.size(); ++r) {
            for (const Event& event : world.events[r]) {
                const std::int64_t end = event.startNs + event.durNs;
                const bool touches = event.startNs < to && (end > from || event.startNs >= from);
                if (!touches)
                    continue;
                durations[{world.rows[r]->kind, event.name}].push_back(event.durNs);
                for (std::int64_t t = std::max(from, event.startNs); t < std::min(to, end); ++t) {
                    if (world.rows[r]->kind == RowKind::stream)
                        busy.insert(t);
                }
            }
        }
        ASSERT_EQ(stats.busyNs, static_cast<std::int64_t>(busy.size()));
        ASSERT_EQ(stats.names.size(), durations.size());
        for (const NameStats& line : stats.names) {
            auto& values = durations[{line.kind, line.name}];
            std::sort(values.begin(), values.end());
            ASSERT_EQ(line.count, static_cast<std::int64_t>(values.size()));
            std::int64_t sum = 0;
            for (const std::int64_t value : values)
                sum += value;
            ASSERT_EQ(line.sumNs, sum);
            ASSERT_EQ(line.medianNs, values[values.size() / 2]);
            // No more than 1 % are longer than the p99.
            const auto longer = values.end() - std::upper_bound(values.begin(), values.end(), line.p99Ns);
            ASSERT_LE(static_cast<double>(longer), 0.01 * static_cast<double>(values.size()));
        }
        ASSERT_TRUE(std::is_sorted(stats.names.begin(), stats.names.end(),
            [](const NameStats& a, const NameStats& b) { return a.sumNs > b.sumNs; }));
    }
}

TEST(SelectionStats, LaunchesWithoutDeviceTimesAreNoBusyTime) {
    World world;
    TrackRow row;
    row.kind = RowKind::replay;
    row.measured = false;
    LaneBuilder builder;
    builder.add({0, 100, world.names.intern("launch", Category::host), 0});
    row.lanes = std::move(builder).build().lanes;
    const auto shared = std::make_shared<const TrackRow>(std::move(row));
    EXPECT_EQ(selectionStats({shared}, 0, 1000, kGo).busyNs, -1);
    EXPECT_EQ(selectionStats({}, 0, 1000, kGo).busyNs, -1);
}

TEST(SelectionStats, CsvQuotesNames) {
    World world;
    TrackRow row;
    row.kind = RowKind::stream;
    LaneBuilder builder;
    builder.add({0, 100, world.names.intern("f<\"a\", b>", Category::compute), 0});
    row.lanes = std::move(builder).build().lanes;
    const auto stats = selectionStats({std::make_shared<const TrackRow>(std::move(row))}, 0, 1000, kGo);
    EXPECT_EQ(statsCsv(stats, world.names),
        "kind,name,count,sum_ns,median_ns,p99_ns,moved_bytes\ndevice,\"f<\"\"a\"\", b>\",1,100,100,100,\n");
}

TEST(Search, WalksEveryHitInOrderOfTimeBothWaysAndGoesRound) {
    std::mt19937 random(21);
    for (int round = 0; round < 20; ++round) {
        World world;
        fill(world, random, RowKind::stream);
        fill(world, random, RowKind::host);
        const auto marked = namesWith(world.names, "NAME3");
        std::vector<std::int64_t> expected;
        for (const auto& events : world.events) {
            for (const Event& event : events) {
                if (world.names[event.name].text == "name3")
                    expected.push_back(event.startNs);
            }
        }
        std::sort(expected.begin(), expected.end());
        for (const int direction : {1, -1}) {
            EventKey at;
            const std::int64_t begin = direction > 0 ? -1 : 1'000'000'000;
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const auto result = searchEvents(world.rows, marked, at, begin, direction, kGo);
                ASSERT_TRUE(result.hit);
                ASSERT_EQ(result.count, static_cast<std::int64_t>(expected.size()));
                const std::size_t place = direction > 0 ? i : expected.size() - 1 - i;
                ASSERT_EQ(result.hit.startNs(), expected[place]);
                ASSERT_EQ(result.position, static_cast<std::int64_t>(place) + 1);
                at = result.hit;
            }
            if (!expected.empty()) {
                const auto again = searchEvents(world.rows, marked, at, begin, direction, kGo);
                ASSERT_EQ(again.hit.startNs(), direction > 0 ? expected.front() : expected.back());
            }
        }
        EXPECT_FALSE(searchEvents(world.rows, namesWith(world.names, "nothing"), {}, 0, 1, kGo).hit);
        EXPECT_EQ(namesWith(world.names, ""), std::vector<bool>(world.names.size()));
    }
}

namespace {

// A row of two lanes with many more events than are looked at one by one; every fourth part of it has a name
// an event.
RowPtr longRow(World& world, std::mt19937& random, std::size_t events) {
    TrackRow row;
    row.kind = RowKind::stream;
    LaneBuilder builder;
    std::int64_t t = static_cast<std::int64_t>(random() % 100);
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < 40; ++i)
        ids.push_back(world.names.intern("name" + std::to_string(i), Category::compute));
    for (std::size_t i = 0; i < events; ++i) {
        const bool isRare = i / 16384 % 4 == 3;
        const std::uint32_t name = isRare ? world.names.intern("rare" + std::to_string(i), Category::compute)
                                          : ids[random() % (i / 16384 % 2 == 0 ? 40 : 20)];
        builder.add({t, static_cast<std::int64_t>(random() % 40), name, static_cast<std::uint32_t>(i)});
        t += static_cast<std::int64_t>(random() % 40); // often none: equal starts
    }
    row.lanes = std::move(builder).build().lanes;
    return std::make_shared<const TrackRow>(std::move(row));
}

} // namespace

TEST(Search, AgreesWithBruteForceInLongRows) {
    std::mt19937 random(33);
    World world;
    for (const std::size_t events : {3000U, 90'000U, 200'000U})
        world.rows.push_back(longRow(world, random, events));
    for (const char* text : {"name7", "name35", "rare5", "rare", "name"}) {
        const auto marked = namesWith(world.names, text);
        std::vector<std::tuple<std::int64_t, std::size_t, std::size_t, std::size_t>> hits;
        for (std::size_t r = 0; r < world.rows.size(); ++r) {
            for (std::size_t l = 0; l < world.rows[r]->lanes.size(); ++l) {
                const Lane& lane = *world.rows[r]->lanes[l];
                for (std::size_t i = 0; i < lane.size(); ++i) {
                    if (marked[lane.name(i)])
                        hits.emplace_back(lane.start(i), r, l, i);
                }
            }
        }
        std::sort(hits.begin(), hits.end());
        ASSERT_FALSE(hits.empty());
        const auto keyOf = [&](std::size_t place) {
            const auto& [start, r, l, i] = hits[place];
            return EventKey{world.rows[r], l, i};
        };
        for (int probe = 0; probe < 40; ++probe) {
            const std::size_t place = random() % hits.size();
            const int direction = probe % 2 == 0 ? 1 : -1;
            // From a hit, and from its time: all that start then are ahead.
            const auto step = searchEvents(world.rows, marked, keyOf(place), 0, direction, kGo);
            const std::size_t next
                = (place + hits.size() + (direction > 0 ? 1 : hits.size() - 1)) % hits.size();
            ASSERT_EQ(step.count, static_cast<std::int64_t>(hits.size()));
            ASSERT_EQ(step.hit, keyOf(next)) << text;
            ASSERT_EQ(step.position, static_cast<std::int64_t>(next) + 1);
            const std::int64_t time = std::get<0>(hits[place]);
            const auto jump = searchEvents(world.rows, marked, {}, time, direction, kGo);
            std::size_t there = place;
            if (direction > 0) {
                while (there > 0 && std::get<0>(hits[there - 1]) == time)
                    --there;
            } else {
                while (there + 1 < hits.size() && std::get<0>(hits[there + 1]) == time)
                    ++there;
            }
            ASSERT_EQ(jump.hit, keyOf(there)) << text;
            ASSERT_EQ(jump.position, static_cast<std::int64_t>(there) + 1);
        }
    }
}
