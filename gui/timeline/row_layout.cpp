// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/row_layout.h"

#include <QCoreApplication>

#include <algorithm>

namespace gd::gui {

void RowLayout::setProcesses(const std::vector<ProcessInfo>& processes) {
    m_processes = processes;
}

void RowLayout::add(const RowPtr& row) {
    const auto place = std::upper_bound(
        m_rows.begin(), m_rows.end(), row, [](const RowPtr& a, const RowPtr& b) { return *a < *b; });
    m_rows.insert(place, row);
    m_busy.erase(row->process);
}

void RowLayout::clear() {
    m_processes.clear();
    m_rows.clear();
    m_collapsed.clear();
    m_busy.clear();
    m_pinned.clear();
    m_pinnedHeight = 0;
    m_lines.clear();
    m_height = 0;
}

void RowLayout::toggle(std::int64_t process) {
    if (m_collapsed.erase(process) == 0)
        m_collapsed.insert(process);
}

void RowLayout::togglePin(const RowPtr& row) {
    if (std::erase(m_pinned, row) == 0)
        m_pinned.push_back(row);
}

bool RowLayout::isPinned(const RowPtr& row) const {
    return std::find(m_pinned.begin(), m_pinned.end(), row) != m_pinned.end();
}

void RowLayout::setFilter(const QString& text) {
    m_filter = text;
}

void RowLayout::arrange(int fontHeight, int available) {
    place(fontHeight, 1);
    if (m_height > 0 && m_height < available)
        place(fontHeight, std::min(2.0, static_cast<double>(available) / m_height));
    if (m_pinnedHeight <= available / 2)
        return;
    m_pinnedHeight = 0;
    for (Line& line : m_lines)
        line.pinned = false;
}

void RowLayout::placeRow(const RowPtr& row, bool pinned, int fontHeight, double growth) {
    const int lanes = std::max<int>(1, static_cast<int>(row->lanes.size()));
    // Deep rows get thin lanes: the shape shows, names come with the pointer or a closer look. Calls of
    // several communicators are moments, which have no room for a name anyway.
    const int plain = row->curve                      ? 2 * fontHeight
        : row->kind == RowKind::commCall && lanes > 1 ? std::max(4, (fontHeight + 2) / lanes)
        : lanes <= 4                                  ? fontHeight + 2
                                                      : std::max(3, 5 * fontHeight / lanes);
    const int lane = static_cast<int>(plain * growth);
    m_lines.push_back({row, row->process, m_height, lanes * lane + 5, lane, pinned, nullptr});
    m_height += m_lines.back().height;
}

// Shares the lanes of the rows: only the object is new.
RowPtr RowLayout::busyRow(std::int64_t process) {
    RowPtr& known = m_busy[process];
    if (known)
        return known;
    TrackRow busy;
    busy.kind = RowKind::busy;
    busy.process = process;
    for (const RowPtr& row : m_rows) {
        if (row->process == process && showsDeviceWork(row->kind, row->measured))
            busy.lanes.insert(busy.lanes.end(), row->lanes.begin(), row->lanes.end());
    }
    if (!busy.lanes.empty())
        known = std::make_shared<const TrackRow>(std::move(busy));
    return known;
}

bool RowLayout::isWanted(const TrackRow& row, const QString& heading) const {
    if (!m_filter.isEmpty() && !heading.contains(m_filter, Qt::CaseInsensitive)
        && !QString::fromStdString(row.title).contains(m_filter, Qt::CaseInsensitive))
        return false;
    if (!m_span || row.curve)
        return true;
    return std::any_of(row.lanes.begin(), row.lanes.end(), [this](const auto& lane) {
        const std::size_t first = lane->firstEndingAfter(m_span->first);
        return first < lane->size() && lane->start(first) < m_span->second;
    });
}

void RowLayout::place(int fontHeight, double growth) {
    m_lines.clear();
    m_height = 0;
    for (const RowPtr& row : m_pinned)
        placeRow(row, true, fontHeight, growth);
    m_pinnedHeight = m_height;
    for (const ProcessInfo& process : m_processes) {
        const QString title = heading(process.id);
        const std::size_t headingAt = m_lines.size();
        const bool collapsed = m_processes.size() > 1 && isCollapsed(process.id);
        if (m_processes.size() > 1) {
            m_lines.push_back({nullptr, process.id, m_height, fontHeight + 6, fontHeight + 4, false,
                collapsed ? busyRow(process.id) : nullptr});
            m_height += m_lines.back().height;
        }
        std::size_t shown = 0;
        for (const RowPtr& row : m_rows) {
            if (row->process != process.id || collapsed || isPinned(row))
                continue;
            if (!isWanted(*row, title))
                continue;
            placeRow(row, false, fontHeight, growth);
            ++shown;
        }
        if (shown == 0 && !m_filter.isEmpty() && m_lines.size() > headingAt && !isCollapsed(process.id)) {
            m_height = m_lines[headingAt].y;
            m_lines.resize(headingAt);
        }
    }
}

int RowLayout::lineAt(int y, int scroll) const {
    const int at = y < m_pinnedHeight ? y : y + scroll;
    const auto after = std::upper_bound(
        m_lines.begin(), m_lines.end(), at, [](int value, const Line& line) { return value < line.y; });
    if (after == m_lines.begin())
        return -1;
    const Line& line = *(after - 1);
    return at < line.y + line.height ? static_cast<int>(after - m_lines.begin()) - 1 : -1;
}

int RowLayout::lineOf(const RowPtr& row) const {
    const auto at = std::find_if(
        m_lines.begin(), m_lines.end(), [&](const Line& line) { return row && line.row == row; });
    return at == m_lines.end() ? -1 : static_cast<int>(at - m_lines.begin());
}

QString RowLayout::heading(std::int64_t process) const {
    for (const ProcessInfo& info : m_processes) {
        if (info.id != process)
            continue;
        const QString pid = QCoreApplication::translate("gd::gui::RowLayout", "process %1").arg(info.pid);
        return info.rank < 0
            ? pid
            : QCoreApplication::translate("gd::gui::RowLayout", "rank %1, %2").arg(info.rank).arg(pid);
    }
    return {};
}

QString fittedTitle(const QString& title, const QFontMetrics& font, const QSize& room) {
    const QRect needed = font.boundingRect(QRect(QPoint(0, 0), room), Qt::TextWordWrap, title);
    return needed.width() <= room.width() && needed.height() <= room.height()
        ? title
        : font.elidedText(title, Qt::ElideMiddle, room.width());
}

} // namespace gd::gui
