// SPDX-License-Identifier: Apache-2.0
#include "gui/model/lod.h"

#include <algorithm>

namespace gd::gui {

std::vector<Cell> makeCells(const Lane& lane, const TimeScale& scale, int width) {
    std::vector<Cell> cells(static_cast<std::size_t>(std::max(0, width)));
    std::size_t next = lane.firstEndingAfter(scale.nsAt(0)); // first event that can touch the pixel
    std::int64_t edge = scale.nsAt(0);
    std::size_t before = 0; // events of the pixel before: a guess for this one
    for (std::size_t x = 0; x < cells.size(); ++x) {
        const std::int64_t from = edge;
        edge = scale.nsAt(static_cast<double>(x + 1));
        const std::int64_t to = std::max(edge, from + 1);
        Cell& cell = cells[x];
        cell.spanNs = to - from;
        // Events that ended before this pixel were passed by the pixel before, except the last it touched.
        while (next < lane.size() && lane.end(next) <= from && lane.start(next) < from)
            ++next;
        const std::size_t past = lane.lowerBoundFrom(next, next + before, to);
        before = past - next;
        if (past == next)
            continue;
        std::int64_t busy = lane.busy(next, past);
        busy -= std::max<std::int64_t>(0, std::min(from, lane.end(next)) - lane.start(next));
        busy -= std::max<std::int64_t>(0, lane.end(past - 1) - std::max(to, lane.start(past - 1)));
        cell.busyNs = busy;
        cell.count = static_cast<std::uint32_t>(past - next);
        cell.longest = static_cast<std::uint32_t>(lane.longest(next, past));
        cell.last = static_cast<std::uint32_t>(past - 1);
        if (lane.start(past - 1) >= from)
            cell.lastNs = lane.duration(past - 1);
        lane.expect(cell.longest, past + before);
        // Its last event may reach into the next pixel. Below 1 ns a pixel the next one covers the same time.
        if (edge >= to)
            next = past - 1;
    }
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
