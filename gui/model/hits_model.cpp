// SPDX-License-Identifier: Apache-2.0
#include "gui/model/hits_model.h"

#include <utility>

namespace gd::gui {

void HitsModel::setHits(std::vector<SearchResult::OfRow> hits, std::function<QString(std::int64_t)> heading) {
    beginResetModel();
    m_hits = std::move(hits);
    m_heading = std::move(heading);
    endResetModel();
}

const SearchResult::OfRow* HitsModel::hits(const QModelIndex& index) const {
    return index.isValid() ? &m_hits[static_cast<std::size_t>(index.row())] : nullptr;
}

int HitsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_hits.size());
}

int HitsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : kColumns;
}

QString HitsModel::titleOf(const SearchResult::OfRow& hits) const {
    const QString title = QString::fromStdString(hits.row->title);
    return m_heading ? QStringLiteral("%1 · %2").arg(m_heading(hits.row->process), title) : title;
}

QVariant HitsModel::data(const QModelIndex& index, int role) const {
    const SearchResult::OfRow* const at = hits(index);
    if (at == nullptr)
        return {};
    if (role == Qt::TextAlignmentRole && index.column() == count)
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::DisplayRole)
        return index.column() == row ? QVariant(titleOf(*at)) : QVariant(static_cast<qint64>(at->count));
    if (role == Qt::AccessibleTextRole)
        return tr("%1, %n hit(s)", nullptr, static_cast<int>(at->count)).arg(titleOf(*at));
    return {};
}

QVariant HitsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    return section == row ? tr("Row") : tr("Hits");
}

} // namespace gd::gui
