// SPDX-License-Identifier: Apache-2.0
// What a screen reader, a tooltip and the status bar say of the timeline's rows and events.
#include "analyzer/base/time.h"
#include "gui/timeline/timeline_view.h"

#include <QAccessible>
#include <QScrollBar>

#include <algorithm>

namespace gd::gui {

QString TimelineView::eventText(const EventKey& event) const {
    return tr("%1, %2, from %3 for %4")
        .arg(QString::fromStdString((*m_names)[event.name()].text), QString::fromStdString(event.row->title),
            QString::fromStdString(formatTime(event.startNs(), 1000)),
            QString::fromStdString(base::formatDuration(event.endNs() - event.startNs())));
}

QString TimelineView::selectionText() const {
    return m_selected ? eventText(m_selected) : QString();
}

QString TimelineView::lineText(int index) const {
    const RowLayout::Line& line = m_layout.lines()[static_cast<std::size_t>(index)];
    if (!line.row)
        return m_layout.isCollapsed(line.process) ? tr("%1, collapsed").arg(m_layout.heading(line.process))
                                                  : m_layout.heading(line.process);
    const QString title = QString::fromStdString(line.row->title);
    if (line.row->curve)
        return tr("%1, most %2")
            .arg(title, QString::fromStdString(base::formatBytes(line.row->curve->maximum())));
    std::int64_t from = line.row->lanes.front()->start(0);
    std::int64_t to = from;
    for (const auto& lane : line.row->lanes) {
        from = std::min(from, lane->start(0));
        to = std::max(to, lane->end(lane->size() - 1));
    }
    const QString text = tr("%1, %n event(s) from %2 for %3", nullptr, static_cast<int>(line.row->events()))
                             .arg(title, QString::fromStdString(formatTime(from, 1000)),
                                 QString::fromStdString(base::formatDuration(to - from)));
    const auto hits = m_hits.find(line.row.get());
    return hits == m_hits.end() ? text
                                : tr("%1; %n hit(s)", nullptr, static_cast<int>(hits->second)).arg(text);
}

QRect TimelineView::placeOf(int index) const {
    if (index < 0)
        return rectOf(m_selected).value_or(QRectF()).toAlignedRect() & viewport()->rect();
    const RowLayout::Line& line = m_layout.lines()[static_cast<std::size_t>(index)];
    return QRect(0, lineTop(line), viewport()->width(), line.height);
}

// Tells a screen reader what is selected now.
QString TimelineView::curveText(const QPoint& position) const {
    const int index = m_layout.lineAt(position.y() - rowsTop(), verticalScrollBar()->value());
    if (index < 0 || position.x() < plotLeft() || position.y() < rowsTop())
        return {};
    const RowPtr& row = m_layout.lines()[static_cast<std::size_t>(index)].row;
    if (!row || !row->curve)
        return {};
    const std::int64_t at = m_scale.nsAt(position.x() - plotLeft());
    return tr("%1: %2 at %3")
        .arg(QString::fromStdString(row->title),
            QString::fromStdString(base::formatBytes(row->curve->valueAt(at))),
            QString::fromStdString(formatTime(at, static_cast<std::int64_t>(m_scale.nsPerPx))));
}

void TimelineView::describeSelection() {
    QString text = selectionText();
    if (text.isEmpty() && m_currentLine >= 0)
        text = lineText(m_currentLine);
    setAccessibleDescription(text);
    QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&changed);
    const int focused = m_selected ? static_cast<int>(m_layout.lines().size()) : m_currentLine;
    if (!hasFocus() || focused < 0 || !QAccessible::isActive())
        return;
    QAccessibleEvent moved(this, QAccessible::Focus);
    moved.setChild(focused);
    QAccessible::updateAccessibility(&moved);
}

} // namespace gd::gui
