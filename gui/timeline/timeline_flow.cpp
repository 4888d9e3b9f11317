// SPDX-License-Identifier: Apache-2.0
// Arrows of the selection, and steps along them.
#include "gui/timeline/timeline_view.h"

#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace gd::gui {

void TimelineView::setFlow(const Flow& flow) {
    m_flow.clear();
    for (const bool out : {false, true}) {
        for (const Flow::Link& link : out ? flow.out : flow.in) {
            const EventKey other
                = findEvent(link.end.process, link.end.place.table, link.end.place.rowId, link.end.startNs);
            if (other)
                m_flow.push_back({other, link.kind, out});
        }
    }
    m_flowKnown = true;
    viewport()->update();
    if (const int direction = std::exchange(m_flowStep, 0); direction != 0)
        stepFlow(direction);
}

void TimelineView::stepFlow(int direction) {
    if (!m_selected)
        return;
    if (!m_flowKnown) {
        m_flowStep = direction;
        return;
    }
    const auto next = std::find_if(
        m_flow.begin(), m_flow.end(), [&](const Arrow& arrow) { return arrow.out == (direction > 0); });
    if (next != m_flow.end())
        selectEvent(EventKey(next->other)); // selecting clears the arrows
}

std::optional<QRectF> TimelineView::rectOf(const EventKey& event) const {
    const int index = m_layout.lineOf(event.row);
    if (index < 0)
        return std::nullopt;
    const RowLayout::Line& line = m_layout.lines()[static_cast<std::size_t>(index)];
    const int y = lineTop(line) + 2 + static_cast<int>(event.lane) * line.laneHeight;
    // Far outside is as good as anywhere: the numbers stay small enough to draw with.
    const double from = std::clamp(m_shown.xAt(event.startNs()), -1e4, 1e4 + plotWidth());
    const double to = std::clamp(m_shown.xAt(event.endNs()), from + 1, 1e4 + 1 + plotWidth());
    return QRectF(plotLeft() + from, y, to - from, std::max(1, line.laneHeight - 1));
}

void TimelineView::paintFlow(QPainter& painter) {
    const auto own = m_selected ? rectOf(m_selected) : std::nullopt;
    if (!own)
        return;
    painter.setRenderHint(QPainter::Antialiasing);
    for (const Arrow& arrow : m_flow) {
        if (const auto other = rectOf(arrow.other))
            paintArrow(painter, arrow.out ? *own : *other, arrow.out ? *other : *own, arrow.kind);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

// A launch leaves from the call's start, everything else from where the work ends; ranks of a collective are
// joined at their starts, dashed and without a head, for none comes before the other.
void TimelineView::paintArrow(QPainter& painter, const QRectF& from, const QRectF& to, FlowKind kind) {
    const bool together = kind == FlowKind::collective;
    const bool within = kind == FlowKind::child || together;
    const double startX = kind == FlowKind::dependency ? from.right() : from.left();
    const bool down = from.center().y() <= to.center().y();
    const QPointF start(
        startX, within || kind == FlowKind::launch ? (down ? from.bottom() : from.top()) : from.center().y());
    const QPointF end(to.left(), to.center().y());
    const double bend = std::clamp(std::abs(end.x() - start.x()) / 2, 12.0, 120.0);
    QPainterPath path(start);
    path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(m_theme->background, 3.5));
    painter.drawPath(path);
    painter.setPen(QPen(m_theme->selection, 1.5, together ? Qt::DashLine : Qt::SolidLine));
    painter.drawPath(path);
    if (together)
        return;
    painter.setBrush(m_theme->selection);
    painter.setPen(Qt::NoPen);
    painter.drawPolygon(QPolygonF({end, end + QPointF(-8, -4), end + QPointF(-8, 4)}));
}

} // namespace gd::gui
