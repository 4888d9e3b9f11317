// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/moved.h"
#include "gui/model/selection_stats.h"

#include <QAbstractTableModel>

#include <memory>

namespace gd::gui {

// Statistics of the selected area, one name a line. Qt::UserRole gives the numbers, for sorting.
class StatsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { kind, name, count, sum, median, p99, moved, kColumns };

    using QAbstractTableModel::QAbstractTableModel;
    void setStats(SelectionStats stats, std::shared_ptr<const NameTable> names);
    // Of the same area: what is known only from the trace's file.
    void setMoved(const MovedBytes& bytes);
    const SelectionStats& stats() const { return m_stats; }
    // "wall 3.1 ms, device busy 1.2 ms (39 %), idle 1.9 ms; moved 4.00 MiB"; empty without an area.
    QString summary() const;
    QString csv() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    SelectionStats m_stats;
    std::shared_ptr<const NameTable> m_names;
};

} // namespace gd::gui
