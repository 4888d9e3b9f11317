// SPDX-License-Identifier: Apache-2.0
#include "gui/model/findings_filter.h"

#include <QRegularExpression>

#include <algorithm>
#include <utility>

namespace gd::gui {

FindingsFilter::FindingsFilter(FindingsModel* findings, QObject* parent)
    : QSortFilterProxyModel(parent)
    , m_findings(findings) {
    setRecursiveFilteringEnabled(true);
    setAutoAcceptChildRows(true);
    setSortRole(FindingsModel::kSortRole);
    setSourceModel(findings);
}

void FindingsFilter::setText(const QString& text) {
    m_words = text.split(QRegularExpression(QStringLiteral("\\s+")), Qt::SkipEmptyParts);
    invalidateFilter();
}

void FindingsFilter::setLeast(rules::Severity least) {
    m_least = least;
    invalidateFilter();
}

void FindingsFilter::setOrder(Order order) {
    switch (order) {
    case Order::weight:
        return sort(-1);
    case Order::rule:
        return sort(FindingsModel::severity);
    case Order::cost:
        return sort(FindingsModel::cost, Qt::DescendingOrder);
    case Order::place:
        return sort(FindingsModel::place);
    }
}

// The heading of rules stays below the findings, and what is equal as the report has it.
bool FindingsFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
    const bool isFalling = sortOrder() == Qt::DescendingOrder;
    const auto order = [this](const QModelIndex& index) {
        return std::pair(m_findings->finding(index) == nullptr, index.row());
    };
    const auto a = order(left), b = order(right);
    if (a.first != b.first)
        return isFalling ? b.first < a.first : a.first < b.first;
    const QVariant x = left.data(FindingsModel::kSortRole), y = right.data(FindingsModel::kSortRole);
    if (x == y)
        return isFalling ? b.second < a.second : a.second < b.second;
    return QVariant::compare(x, y) == QPartialOrdering::Less;
}

int FindingsFilter::shownCount() const {
    int count = 0;
    for (int row = 0; row < rowCount(); ++row)
        count += m_findings->finding(mapToSource(index(row, 0))) != nullptr ? 1 : 0;
    return count;
}

bool FindingsFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
    const QModelIndex index = m_findings->index(row, 0, parent);
    const auto severity = m_findings->severityOf(index);
    if (!severity) // the heading of rules: stays with what is below it
        return !isActive();
    const QString text = index.data(FindingsModel::kTextRole).toString();
    return *severity >= m_least && std::all_of(m_words.begin(), m_words.end(), [&text](const QString& word) {
        return text.contains(word, Qt::CaseInsensitive);
    });
}

} // namespace gd::gui
