// SPDX-License-Identifier: Apache-2.0
#include "gui/model/details_model.h"

#include "gui/model/words.h"

#include <iterator>

namespace gd::gui {

void DetailsModel::setRows(std::vector<DetailRow> rows) {
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

void DetailsModel::append(std::vector<DetailRow> rows) {
    if (rows.empty())
        return;
    const int first = rowCount();
    beginInsertRows({}, first, first + static_cast<int>(rows.size()) - 1);
    m_rows.insert(m_rows.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
    endInsertRows();
}

const DetailRow* DetailsModel::row(const QModelIndex& index) const {
    return index.isValid() ? &m_rows[static_cast<std::size_t>(index.row())] : nullptr;
}

int DetailsModel::find(const std::string& key) const {
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        if (m_rows[i].key == key)
            return static_cast<int>(i);
    }
    return -1;
}

int DetailsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int DetailsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : 2;
}

QVariant DetailsModel::data(const QModelIndex& index, int role) const {
    const DetailRow* detail = row(index);
    if (detail == nullptr)
        return {};
    const QString key = detail->key.empty() ? QString() : Words::tr(detail->key.c_str());
    const QString value = QString::fromStdString(detail->value);
    if (role == Qt::DisplayRole)
        return index.column() == 0 ? key : value;
    if (role == Qt::AccessibleTextRole)
        return key.isEmpty() ? value : QStringLiteral("%1: %2").arg(key, value);
    if (role == Qt::ToolTipRole && index.column() == 1)
        return value.toHtmlEscaped();
    return {};
}

QVariant DetailsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    return section == 0 ? tr("What") : tr("Value");
}

} // namespace gd::gui
