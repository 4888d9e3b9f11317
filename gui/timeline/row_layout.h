// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/load_tracks.h"
#include "gui/model/track_row.h"

#include <QFontMetrics>
#include <QSize>
#include <QString>

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace gd::gui {

// Where rows stand, in logical pixels below the ruler. Heights come from the font. Pinned rows come first and
// stay where they are while the others scroll, unless they would fill more than half of the height.
class RowLayout {
public:
    struct Line {
        RowPtr row; // null: the heading of a process
        std::int64_t process = 0;
        int y = 0;
        int height = 0;
        int laneHeight = 0; // of each lane of the row
        bool pinned = false; // does not scroll
        RowPtr busy; // heading of a collapsed process: when its device works
    };

    void setProcesses(const std::vector<ProcessInfo>& processes);
    void add(const RowPtr& row);
    void clear();
    void toggle(std::int64_t process);
    void togglePin(const RowPtr& row);
    bool isPinned(const RowPtr& row) const;
    int pinnedHeight() const { return m_pinnedHeight; } // of the lines that do not scroll
    bool isCollapsed(std::int64_t process) const { return m_collapsed.contains(process); }
    // Only rows whose title or process heading holds this text, in any case; empty: all.
    void setFilter(const QString& text);
    // Only rows that have something between these times, and pinned ones; nullopt: all.
    void setSpan(std::optional<std::pair<std::int64_t, std::int64_t>> span) { m_span = span; }
    // Rows grow up to twice their height while all of them fit into `available`.
    void arrange(int fontHeight, int available);

    const std::vector<Line>& lines() const { return m_lines; }
    const std::vector<RowPtr>& rows() const { return m_rows; } // sorted, also those in collapsed processes
    int height() const { return m_height; }
    // Index of the line that is seen at this height when the rows are scrolled so far, -1: none.
    int lineAt(int y, int scroll) const;
    int lineOf(const RowPtr& row) const; // -1: not shown
    QString heading(std::int64_t process) const;

private:
    void place(int fontHeight, double growth);
    void placeRow(const RowPtr& row, bool pinned, int fontHeight, double growth);
    RowPtr busyRow(std::int64_t process);
    bool isWanted(const TrackRow& row, const QString& heading) const;

    std::vector<ProcessInfo> m_processes;
    std::vector<RowPtr> m_rows;
    std::set<std::int64_t> m_collapsed;
    std::map<std::int64_t, RowPtr> m_busy; // of collapsed processes, as far as rows have come
    std::vector<RowPtr> m_pinned; // in the order in which they were pinned
    int m_pinnedHeight = 0;
    QString m_filter;
    std::optional<std::pair<std::int64_t, std::int64_t>> m_span;
    std::vector<Line> m_lines;
    int m_height = 0;
};

// The title of a row as it is drawn in its room: whole where it fits, on several lines if there is room for
// them; else without its middle, on one line.
QString fittedTitle(const QString& title, const QFontMetrics& font, const QSize& room);

} // namespace gd::gui
