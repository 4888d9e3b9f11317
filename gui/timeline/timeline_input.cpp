// SPDX-License-Identifier: Apache-2.0
// Pointer, wheel and size of the timeline. Keys are actions of the window.
#include "gui/timeline/timeline_view.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <cmath>

namespace gd::gui {
namespace {

constexpr int kNearPx = 3; // an event this near to the pointer is meant
constexpr int kSnapPx = 5;

} // namespace

EventKey TimelineView::itemAt(const QPoint& position) const {
    if (position.x() < plotLeft() || position.y() < rowsTop())
        return {};
    const int index = m_layout.lineAt(position.y() - rowsTop(), verticalScrollBar()->value());
    if (index < 0)
        return {};
    const RowLayout::Line& line = m_layout.lines()[static_cast<std::size_t>(index)];
    if (!line.row || line.row->lanes.empty())
        return {};
    const int lane = (position.y() - lineTop(line) - 2) / std::max(1, line.laneHeight);
    if (lane < 0 || lane >= static_cast<int>(line.row->lanes.size()))
        return {};
    const Lane& events = *line.row->lanes[static_cast<std::size_t>(lane)];
    const double x = position.x() - plotLeft();
    // The event under the pixel's start, else the longest of those near.
    const std::int64_t at = m_scale.nsAt(x);
    std::size_t first = events.firstEndingAfter(at);
    if (first < events.size() && events.start(first) <= at)
        return {line.row, static_cast<std::size_t>(lane), first};
    first = events.firstEndingAfter(m_scale.nsAt(x - kNearPx));
    const std::size_t past = events.lowerBound(m_scale.nsAt(x + kNearPx) + 1);
    if (first >= past)
        return {};
    return {line.row, static_cast<std::size_t>(lane), events.longest(first, past)};
}

std::int64_t TimelineView::snapped(int x, int y) const {
    const double plot = x - plotLeft();
    std::int64_t best = m_scale.nsAt(plot);
    double distance = kSnapPx;
    const EventKey event = itemAt({x, y});
    if (!event)
        return best;
    for (const std::int64_t edge : {event.startNs(), event.endNs()}) {
        const double away = std::abs(m_scale.xAt(edge) - plot);
        if (away <= distance) {
            distance = away;
            best = edge;
        }
    }
    return best;
}

void TimelineView::resizeEvent(QResizeEvent*) {
    if (m_fitted && m_info.endNs > m_info.startNs)
        setScale(TimeScale::fit(m_info.startNs, m_info.endNs, plotWidth(), 0.01), Motion::direct);
    rearrange();
}

void TimelineView::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange)
        setTheme(Theme::of(palette()));
    if (event->type() == QEvent::FontChange) {
        m_labels.clear();
        rearrange();
    }
    QAbstractScrollArea::changeEvent(event);
}

void TimelineView::focusInEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void TimelineView::focusOutEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

void TimelineView::scrollContentsBy(int, int) {
    requestStrips();
    viewport()->update();
}

void TimelineView::wheelEvent(QWheelEvent* event) {
    const QPoint delta = event->angleDelta();
    if (event->modifiers() & Qt::ControlModifier) {
        m_fitted = false;
        const double x = std::max(0.0, event->position().x() - plotLeft());
        setScale(m_scale.zoomed(std::pow(0.8, delta.y() / 120.0), x), Motion::direct);
    } else if ((event->modifiers() & Qt::ShiftModifier) || delta.x() != 0) {
        m_fitted = false;
        const int along = delta.x() != 0 ? delta.x() : delta.y();
        setScale(m_scale.panned(-along), Motion::direct);
    } else {
        verticalScrollBar()->setValue(verticalScrollBar()->value() - delta.y() / 2);
    }
    event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
    m_dragStart = event->pos();
    m_dragScale = m_scale;
    m_moved = false;
    m_drag = Drag::none;
    if (event->pos().x() < plotLeft())
        return;
    if (event->button() == Qt::MiddleButton)
        m_drag = Drag::pan;
    else if (event->button() == Qt::LeftButton) {
        m_drag = Drag::area;
        m_dragNs = snapped(event->pos().x(), event->pos().y());
        // Near an edge of the area there is: that edge moves.
        if (const int edge = areaEdgeAt(event->pos().x()); edge >= 0)
            m_dragNs = edge == 0 ? m_area->second : m_area->first;
    }
}

int TimelineView::areaEdgeAt(int x) const {
    if (!m_area || x < plotLeft())
        return -1;
    const double plot = x - plotLeft();
    if (std::abs(m_scale.xAt(m_area->first) - plot) <= kSnapPx)
        return 0;
    return std::abs(m_scale.xAt(m_area->second) - plot) <= kSnapPx ? 1 : -1;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
    if (m_drag == Drag::none)
        viewport()->setCursor(areaEdgeAt(event->pos().x()) >= 0 ? Qt::SplitHCursor : Qt::ArrowCursor);
    if (m_drag == Drag::none || (!m_moved && (event->pos() - m_dragStart).manhattanLength() < 4))
        return;
    m_moved = true;
    if (m_drag == Drag::pan) {
        m_fitted = false;
        setScale(m_dragScale.panned(m_dragStart.x() - event->pos().x()), Motion::direct);
    } else {
        setArea(m_dragNs, snapped(event->pos().x(), event->pos().y()));
    }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
    const bool click = !m_moved && event->button() == Qt::LeftButton;
    m_drag = Drag::none;
    if (!click)
        return;
    if (const int finding = findingAt(event->pos()); finding >= 0) {
        emit findingPicked(finding);
        return;
    }
    if (event->pos().x() < plotLeft() && event->pos().y() >= rowsTop()) {
        m_currentLine = m_layout.lineAt(event->pos().y() - rowsTop(), verticalScrollBar()->value());
        if (m_currentLine >= 0 && !m_layout.lines()[static_cast<std::size_t>(m_currentLine)].row)
            toggleProcess();
        viewport()->update();
        return;
    }
    selectEvent(itemAt(event->pos()));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
    m_drag = Drag::none;
    if (const EventKey item = itemAt(event->pos()))
        showInterval(item.startNs(), item.endNs(), 0.25);
}

bool TimelineView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* const help = static_cast<QHelpEvent*>(event);
        QString text;
        if (const int finding = findingAt(help->pos()); finding >= 0)
            text = QString::fromStdString(
                m_report->report.findings[static_cast<std::size_t>(finding)].message);
        else if (const EventKey item = itemAt(help->pos()))
            text = eventText(item);
        else if (const QString value = curveText(help->pos()); !value.isEmpty())
            text = value;
        else if (const int line = m_layout.lineAt(help->pos().y() - rowsTop(), verticalScrollBar()->value());
                 line >= 0 && help->pos().x() < plotLeft() && help->pos().y() >= rowsTop())
            text = lineText(line); // whose title may not fit
        QToolTip::showText(help->globalPos(), text.toHtmlEscaped(), viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

} // namespace gd::gui
