// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/lane.h"
#include "gui/model/time_scale.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gd::gui {

// What one pixel of a lane shows.
struct Cell {
    std::int64_t busyNs = 0; // exact: events that cross an edge of the pixel count with their part
    std::int64_t spanNs = 0; // time that the pixel covers
    std::int64_t lastNs = -1; // duration of the last event, if it begins in the pixel
    std::uint32_t count = 0; // events that touch the pixel
    std::uint32_t longest = 0; // the longest of them; only with count > 0
    std::uint32_t last = 0; // the last of them; only with count > 0
};

// Reads a lane's cells from pixel 0 on, some at a time: into memory that stays near the processor. Costs
// O(log n) a pixel however many events there are. The lane must outlive it.
class CellReader {
public:
    CellReader(const Lane& lane, const TimeScale& scale);
    // The next pixels, as many as there are places.
    void read(std::span<Cell> cells);

private:
    static constexpr std::size_t kChunk = 128; // pixels whose memory is fetched at a time
    void readChunk(std::span<Cell> cells);
    void goTo(std::size_t event);
    void fill(Cell& cell, std::int64_t fromNs, std::int64_t toNs, std::size_t past) const;

    const Lane& m_lane;
    TimeScale m_scale;
    int m_x = 0; // pixel
    std::size_t m_blocks = 0; // that begin before its start
    std::size_t m_next = 0; // first event that can touch it
    std::int64_t m_nextStart = 0; // its times; after the last one: never
    std::int64_t m_nextEnd = 0;
};

// One cell a pixel, x from 0 to width - 1 of the scale.
std::vector<Cell> makeCells(const Lane& lane, const TimeScale& scale, int width);

// Steps of a quantity over time, such as bytes allocated.
class StepCurve {
public:
    struct Point {
        std::int64_t timeNs;
        std::int64_t value; // from timeNs until the next point; 0 before the first
    };
    // Points in order of time.
    explicit StepCurve(std::vector<Point> points);
    const std::vector<Point>& points() const { return m_points; }
    std::int64_t maximum() const { return m_maximum; }
    std::int64_t valueAt(std::int64_t timeNs) const;

    // Lowest and highest value inside each pixel.
    struct Range {
        std::int64_t low;
        std::int64_t high;
    };
    std::vector<Range> ranges(const TimeScale& scale, int width) const;

private:
    static constexpr std::size_t kBlock = 64;
    Range over(std::size_t from, std::size_t to) const;

    std::vector<Point> m_points;
    std::vector<Range> m_blocks; // of kBlock points
    std::int64_t m_maximum = 0;
};

} // namespace gd::gui
