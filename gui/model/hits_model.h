// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/search.h"

#include <QAbstractTableModel>
#include <QString>

#include <functional>
#include <vector>

namespace gd::gui {

// In which rows of the timeline a search found how much, in their order.
class HitsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { row, count, kColumns };

    using QAbstractTableModel::QAbstractTableModel;
    // `heading` names a process, where there are several; it may be null.
    void setHits(std::vector<SearchResult::OfRow> hits, std::function<QString(std::int64_t)> heading);
    const SearchResult::OfRow* hits(const QModelIndex& index) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QString titleOf(const SearchResult::OfRow& hits) const;

    std::vector<SearchResult::OfRow> m_hits;
    std::function<QString(std::int64_t)> m_heading;
};

} // namespace gd::gui
