// SPDX-License-Identifier: Apache-2.0
// Level of detail against brute force: what a pixel shows is exactly what lies in it.
#include "gui/model/lod.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace gd::gui;

namespace {

struct Track {
    std::vector<Event> events;
    std::shared_ptr<const Lane> lane;
};

// Times are multiples of `unit` and up to two units more or less, so that every digit of them counts.
Track randomTrack(std::mt19937& random, std::int64_t unit) {
    Track track;
    LaneBuilder builder;
    const auto exact
        = [&](std::int64_t units) { return units * unit + static_cast<std::int64_t>(random() % 3); };
    std::int64_t t = static_cast<std::int64_t>(random() % 1000);
    const std::size_t count = 1 + random() % 800;
    const bool dense = random() % 2 == 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t dur = random() % 12 == 0 ? 0 : exact(1 + static_cast<std::int64_t>(random() % 90));
        track.events.push_back({t, dur, 0, static_cast<std::uint32_t>(i)});
        builder.add(track.events.back());
        t += dur
            + (dense ? static_cast<std::int64_t>(random() % 3)
                     : exact(static_cast<std::int64_t>(random() % 400)));
    }
    track.lane = std::move(builder).build().lanes.front();
    return track;
}

// The time of [from, to) that events cover, and those that touch it.
Cell bruteForce(const Track& track, std::int64_t from, std::int64_t to) {
    Cell cell;
    cell.spanNs = to - from;
    std::int64_t longest = -1;
    for (const Event& event : track.events) {
        const std::int64_t end = event.startNs + event.durNs;
        const bool touches = event.startNs < to && (end > from || event.startNs >= from);
        if (!touches)
            continue;
        ++cell.count;
        cell.last = event.row;
        cell.lastNs = event.startNs >= from ? event.durNs : -1;
        cell.busyNs += std::max<std::int64_t>(0, std::min(end, to) - std::max(event.startNs, from));
        if (event.durNs > longest) {
            longest = event.durNs;
            cell.longest = event.row;
        }
    }
    return cell;
}

} // namespace

namespace {

void expectBruteForce(const Cell& cell, const Cell& expected) {
    EXPECT_EQ(cell.spanNs, expected.spanNs);
    EXPECT_EQ(cell.count, expected.count);
    EXPECT_EQ(cell.busyNs, expected.busyNs);
    if (expected.count > 0) {
        EXPECT_EQ(cell.last, expected.last);
        EXPECT_EQ(cell.lastNs, expected.lastNs);
        EXPECT_EQ(cell.longest, expected.longest);
    }
}

// `unit` ns: above 2^32 / 90 times are beyond 32 bits in some blocks of a lane, above 2^32 in all.
void compareWithBruteForce(std::uint32_t seed, std::int64_t unit) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> zoom(-2, 4.5);
    for (int round = 0; round < 150; ++round) {
        const Track track = randomTrack(random, unit);
        const std::int64_t end = track.events.back().startNs + track.events.back().durNs;
        TimeScale scale;
        scale.nsPerPx
            = std::max(TimeScale::kMinNsPerPx, std::pow(10.0, zoom(random)) * static_cast<double>(unit));
        scale.startNs = static_cast<std::int64_t>((random() + (static_cast<std::uint64_t>(random()) << 32U))
                            % static_cast<std::uint64_t>(end + 200))
            - 100;
        const int width = 1 + static_cast<int>(random() % 300);
        const auto cells = makeCells(*track.lane, scale, width);
        ASSERT_EQ(cells.size(), static_cast<std::size_t>(width));
        // Read in two parts they are the same.
        CellReader reader(*track.lane, scale);
        std::vector<Cell> parts(cells.size());
        const std::size_t first = random() % cells.size();
        reader.read(std::span(parts).first(first));
        reader.read(std::span(parts).subspan(first));
        for (int x = 0; x < width; ++x) {
            SCOPED_TRACE("round " + std::to_string(round) + " pixel " + std::to_string(x));
            const std::int64_t from = scale.nsAt(x);
            const std::int64_t to = std::max(scale.nsAt(x + 1), from + 1);
            const Cell expected = bruteForce(track, from, to);
            expectBruteForce(cells[static_cast<std::size_t>(x)], expected);
            expectBruteForce(parts[static_cast<std::size_t>(x)], expected);
            if (testing::Test::HasFailure())
                return;
        }
    }
}

} // namespace

TEST(Lod, EveryPixelEqualsBruteForce) {
    compareWithBruteForce(42, 1);
}

TEST(Lod, EveryPixelEqualsBruteForceWhereSomeTimesNeedMoreThan32Bits) {
    compareWithBruteForce(43, 3'000'000);
    compareWithBruteForce(44, 60'000'000);
}

TEST(Lod, EveryPixelEqualsBruteForceWhereAllTimesNeedMoreThan32Bits) {
    compareWithBruteForce(45, 5'000'000'000);
}

TEST(Lod, ZoomingOutNeverPaintsIdleTimeAsWork) {
    // Ten events of 1 us, then 3 ms of nothing, and so on: 0.33 % busy.
    LaneBuilder builder;
    std::int64_t busy = 0;
    for (std::int64_t block = 0; block < 100; ++block) {
        for (std::int64_t i = 0; i < 10; ++i) {
            builder.add({block * 3'010'000 + i * 1000, 1000, 0, 0});
            busy += 1000;
        }
    }
    const auto lane = std::move(builder).build().lanes.front();
    for (const int width : {1, 7, 100, 1920, 3840}) {
        const auto cells = makeCells(*lane, TimeScale::fit(0, 301'000'000, width), width);
        std::int64_t sum = 0;
        for (const Cell& cell : cells) {
            sum += cell.busyNs;
            ASSERT_LE(cell.busyNs, cell.spanNs);
        }
        EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(busy), 1000);
    }
}

TEST(Lod, APixelWithoutEventsIsEmpty) {
    LaneBuilder builder;
    builder.add({0, 10, 0, 0});
    builder.add({90, 10, 0, 1});
    const auto lane = std::move(builder).build().lanes.front();
    const auto cells = makeCells(*lane, TimeScale{0, 10}, 12);
    EXPECT_EQ(cells[0].busyNs, 10);
    for (std::size_t x = 1; x < 9; ++x)
        EXPECT_EQ(cells[x].count, 0U);
    EXPECT_EQ(cells[9].busyNs, 10);
    EXPECT_EQ(cells[10].count, 0U);
}

TEST(StepCurve, RangesEqualBruteForce) {
    std::mt19937 random(5);
    for (int round = 0; round < 100; ++round) {
        std::vector<StepCurve::Point> points;
        std::int64_t t = static_cast<std::int64_t>(random() % 50);
        const std::size_t count = 1 + random() % 900;
        for (std::size_t i = 0; i < count; ++i) {
            points.push_back({t, static_cast<std::int64_t>(random() % 1000)});
            t += static_cast<std::int64_t>(random() % 20);
        }
        const StepCurve curve(points);
        const TimeScale scale{
            static_cast<std::int64_t>(random() % 200) - 100, 1.0 + static_cast<double>(random() % 300)};
        const auto ranges = curve.ranges(scale, 60);
        for (int x = 0; x < 60; ++x) {
            const std::int64_t from = scale.nsAt(x);
            const std::int64_t to = std::max(scale.nsAt(x + 1), from + 1);
            // The value just after `from` and every value set later in the pixel.
            std::int64_t low = std::numeric_limits<std::int64_t>::max(),
                         high = std::numeric_limits<std::int64_t>::min();
            bool exact = false;
            for (const auto& point : points) {
                if (point.timeNs >= from && point.timeNs < to) {
                    low = std::min(low, point.value);
                    high = std::max(high, point.value);
                    exact = exact || point.timeNs == from;
                }
            }
            if (!exact) {
                std::int64_t entry = 0;
                for (const auto& point : points) {
                    if (point.timeNs < from)
                        entry = point.value;
                }
                low = std::min(low, entry);
                high = std::max(high, entry);
            }
            ASSERT_EQ(ranges[static_cast<std::size_t>(x)].low, low) << round << " " << x;
            ASSERT_EQ(ranges[static_cast<std::size_t>(x)].high, high) << round << " " << x;
        }
    }
}
