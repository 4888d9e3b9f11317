// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/details.h"

#include <QAbstractTableModel>

#include <vector>

namespace gd::gui {

// Key and value of what is selected.
class DetailsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    void append(std::vector<DetailRow> rows);
    void setRows(std::vector<DetailRow> rows);
    const DetailRow* row(const QModelIndex& index) const;
    // First row with this key, -1: none.
    int find(const std::string& key) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<DetailRow> m_rows;
};

} // namespace gd::gui
