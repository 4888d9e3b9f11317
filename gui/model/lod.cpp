// SPDX-License-Identifier: Apache-2.0
#include "gui/model/lod.h"

#include <algorithm>
#include <array>
#include <limits>

namespace gd::gui {

CellReader::CellReader(const Lane& lane, const TimeScale& scale)
    : m_lane(lane)
    , m_scale(scale)
    , m_blocks(lane.blocksBefore(scale.nsAt(0), 0)) {
    goTo(lane.firstEndingAfter(scale.nsAt(0)));
}

void CellReader::read(std::span<Cell> cells) {
    for (std::size_t at = 0; at < cells.size(); at += kChunk)
        readChunk(cells.subspan(at, std::min(kChunk, cells.size() - at)));
}

void CellReader::goTo(std::size_t event) {
    m_next = event;
    const bool is = event < m_lane.size();
    m_nextStart = is ? m_lane.start(event) : std::numeric_limits<std::int64_t>::max();
    m_nextEnd = is ? m_nextStart + m_lane.duration(event) : m_nextStart;
}

// Two passes: the first finds the block of each pixel's end and asks for its memory, which is there when the
// second needs it. One after the other, each pixel would wait for memory several times.
void CellReader::readChunk(std::span<Cell> cells) {
    std::array<std::int64_t, kChunk + 1> edges; // of pixels
    std::array<std::size_t, kChunk> blocks; // that begin before the end of each
    edges[0] = m_scale.nsAt(m_x);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        edges[i + 1] = m_scale.nsAt(++m_x);
        const std::size_t before = i == 0 ? m_blocks : blocks[i - 1];
        // As far as the pixel before went.
        const std::size_t guess = i < 2 ? before : 2 * before - blocks[i - 2];
        blocks[i] = m_lane.blocksBefore(std::max(edges[i + 1], edges[i] + 1), guess);
        if (blocks[i] != before)
            m_lane.expectBlock(blocks[i]);
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::int64_t from = edges[i];
        const std::int64_t to = std::max(edges[i + 1], from + 1);
        Cell& cell = cells[i];
        cell = {};
        cell.spanNs = to - from;
        // Events that ended before this pixel were passed by the pixel before, except the last it touched.
        while (m_nextEnd <= from && m_nextStart < from)
            goTo(m_next + 1);
        if (m_nextStart >= to)
            continue;
        const std::size_t past = m_nextEnd >= to ? m_next + 1 : m_lane.lowerBoundIn(blocks[i], to);
        fill(cell, from, to, past);
        // Its last event may reach into the next pixel. Below 1 ns a pixel the next one covers the same time.
        if (edges[i + 1] >= to && past - 1 > m_next)
            goTo(past - 1);
    }
    if (!cells.empty())
        m_blocks = blocks[cells.size() - 1];
}

void CellReader::fill(Cell& cell, std::int64_t fromNs, std::int64_t toNs, std::size_t past) const {
    const std::size_t last = past - 1;
    const std::int64_t lastStart = last == m_next ? m_nextStart : m_lane.start(last);
    const std::int64_t lastNs = last == m_next ? m_nextEnd - m_nextStart : m_lane.duration(last);
    cell.busyNs = (last == m_next ? lastNs : m_lane.busy(m_next, past))
        - std::max<std::int64_t>(0, std::min(fromNs, m_nextEnd) - m_nextStart)
        - std::max<std::int64_t>(0, lastStart + lastNs - std::max(toNs, lastStart));
    cell.count = static_cast<std::uint32_t>(past - m_next);
    cell.longest = static_cast<std::uint32_t>(last == m_next ? last : m_lane.longest(m_next, past));
    m_lane.expectName(cell.longest);
    cell.last = static_cast<std::uint32_t>(last);
    if (lastStart >= fromNs)
        cell.lastNs = lastNs;
}

std::vector<Cell> makeCells(const Lane& lane, const TimeScale& scale, int width) {
    std::vector<Cell> cells(static_cast<std::size_t>(std::max(0, width)));
    CellReader(lane, scale).read(cells);
    return cells;
}

StepCurve::StepCurve(std::vector<Point> points)
    : m_points(std::move(points)) {
    for (std::size_t i = 0; i < m_points.size(); ++i) {
        const std::int64_t value = m_points[i].value;
        m_maximum = std::max(m_maximum, value);
        if (i % kBlock == 0)
            m_blocks.push_back({value, value});
        Range& block = m_blocks.back();
        block = {std::min(block.low, value), std::max(block.high, value)};
    }
}

std::int64_t StepCurve::valueAt(std::int64_t timeNs) const {
    const auto after = std::upper_bound(m_points.begin(), m_points.end(), timeNs,
        [](std::int64_t t, const Point& point) { return t < point.timeNs; });
    return after == m_points.begin() ? 0 : (after - 1)->value;
}

StepCurve::Range StepCurve::over(std::size_t from, std::size_t to) const {
    Range out = {m_points[from].value, m_points[from].value};
    std::size_t i = from;
    while (i < to) {
        Range part = {m_points[i].value, m_points[i].value};
        if (i % kBlock == 0 && i + kBlock <= to) {
            part = m_blocks[i / kBlock];
            i += kBlock;
        } else {
            ++i;
        }
        out = {std::min(out.low, part.low), std::max(out.high, part.high)};
    }
    return out;
}

std::vector<StepCurve::Range> StepCurve::ranges(const TimeScale& scale, int width) const {
    std::vector<Range> out;
    out.reserve(static_cast<std::size_t>(std::max(0, width)));
    const auto later = [](const Point& point, std::int64_t t) { return point.timeNs < t; };
    auto at = std::lower_bound(m_points.begin(), m_points.end(), scale.nsAt(0), later);
    for (int x = 0; x < width; ++x) {
        const std::int64_t to = std::max(scale.nsAt(x + 1), scale.nsAt(x) + 1);
        const auto past = std::lower_bound(at, m_points.end(), to, later);
        // The value on entry counts unless a point lies exactly on the pixel's start.
        const std::int64_t entry = at == m_points.begin() ? 0 : (at - 1)->value;
        Range range = {entry, entry};
        if (past != at) {
            range = over(static_cast<std::size_t>(at - m_points.begin()),
                static_cast<std::size_t>(past - m_points.begin()));
            if (at->timeNs > scale.nsAt(x))
                range = {std::min(range.low, entry), std::max(range.high, entry)};
        }
        out.push_back(range);
        at = past;
    }
    return out;
}

} // namespace gd::gui
