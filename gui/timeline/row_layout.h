// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/load_tracks.h"
#include "gui/model/track_row.h"

#include <QString>

#include <set>
#include <vector>

namespace gd::gui {

// Where rows stand, in logical pixels below the ruler. Heights come from the font.
class RowLayout {
public:
    struct Line {
        RowPtr row; // null: the heading of a process
        std::int64_t process = 0;
        int y = 0;
        int height = 0;
        int laneHeight = 0; // of each lane of the row
    };

    void setProcesses(const std::vector<ProcessInfo>& processes);
    void add(const RowPtr& row);
    void clear();
    void toggle(std::int64_t process);
    bool isCollapsed(std::int64_t process) const { return m_collapsed.contains(process); }
    // Only rows whose title or process heading holds this text, in any case; empty: all.
    void setFilter(const QString& text);
    // Rows grow up to twice their height while all of them fit into `available`.
    void arrange(int fontHeight, int available);

    const std::vector<Line>& lines() const { return m_lines; }
    const std::vector<RowPtr>& rows() const { return m_rows; } // sorted, also those in collapsed processes
    int height() const { return m_height; }
    // Index of the line at this height, -1: none.
    int lineAt(int y) const;
    int lineOf(const RowPtr& row) const; // -1: not shown
    QString heading(std::int64_t process) const;

private:
    void place(int fontHeight, double growth);

    std::vector<ProcessInfo> m_processes;
    std::vector<RowPtr> m_rows;
    std::set<std::int64_t> m_collapsed;
    QString m_filter;
    std::vector<Line> m_lines;
    int m_height = 0;
};

} // namespace gd::gui
