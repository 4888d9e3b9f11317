// SPDX-License-Identifier: Apache-2.0
#include "gui/model/compare_model.h"

#include "analyzer/report/compare/words.h"

#include <algorithm>

namespace gd::gui {
namespace {

constexpr quintptr kHeading = 0; // internal id of headings; lines have that of their heading + 1

QString sectionTitle(std::string_view section) {
    return QString::fromStdString(report::sectionText(section));
}

} // namespace

CompareModel::CompareModel(QObject* parent)
    : QAbstractItemModel(parent) { }

void CompareModel::setComparison(ComparisonPtr comparison) {
    beginResetModel();
    m_comparison = std::move(comparison);
    group();
    endResetModel();
}

void CompareModel::setOnlyChanges(bool only) {
    beginResetModel();
    m_onlyChanges = only;
    group();
    endResetModel();
}

void CompareModel::group() {
    m_groups.clear();
    if (!m_comparison)
        return;
    if (!m_comparison->notes.empty()) {
        Group notes{tr("What to bear in mind"), true, {}};
        for (std::size_t i = 0; i < m_comparison->notes.size(); ++i)
            notes.lines.push_back(i);
        m_groups.push_back(std::move(notes));
    }
    for (const std::string_view section : report::comparedSections()) {
        Group group{sectionTitle(section), false, {}};
        for (std::size_t i = 0; i < m_comparison->differences.size(); ++i) {
            const report::Difference& difference = m_comparison->differences[i];
            const bool isQuiet
                = difference.change == report::Change::same || difference.change == report::Change::unknown;
            if (difference.section == section && !(m_onlyChanges && isQuiet))
                group.lines.push_back(i);
        }
        if (!group.lines.empty())
            m_groups.push_back(std::move(group));
    }
}

const report::Difference* CompareModel::difference(const QModelIndex& index) const {
    if (!index.isValid() || index.internalId() == kHeading)
        return nullptr;
    const Group& group = m_groups[index.internalId() - 1];
    return group.isNotes ? nullptr
                         : &m_comparison->differences[group.lines[static_cast<std::size_t>(index.row())]];
}

QModelIndex CompareModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : kHeading);
}

QModelIndex CompareModel::parent(const QModelIndex& child) const {
    if (!child.isValid() || child.internalId() == kHeading)
        return {};
    return createIndex(static_cast<int>(child.internalId()) - 1, 0, kHeading);
}

int CompareModel::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid())
        return static_cast<int>(m_groups.size());
    if (parent.column() > 0 || parent.internalId() != kHeading)
        return 0;
    return static_cast<int>(m_groups[static_cast<std::size_t>(parent.row())].lines.size());
}

int CompareModel::columnCount(const QModelIndex&) const {
    return kColumns;
}

QVariant CompareModel::text(const report::Difference& difference, int column) const {
    const auto known = [](const std::string& text) {
        return text.empty() ? QStringLiteral("–") : QString::fromStdString(text);
    };
    switch (column) {
    case what: {
        const QString metric = QString::fromStdString(difference.metric);
        QString item = QString::fromStdString(difference.item);
        if (difference.section == "findings" && std::max(difference.baseCount, difference.newCount) > 1)
            item = tr("%1 (%2 times)").arg(item, QString::fromStdString(report::countsText(difference)));
        if (difference.section == "findings")
            return difference.reason.empty()
                ? item
                : tr("%1 – %2").arg(item, QString::fromStdString(difference.reason));
        const QString figure = difference.rank ? tr("%1, rank %2").arg(metric).arg(*difference.rank) : metric;
        return item.isEmpty() ? figure : tr("%1: %2").arg(item, figure);
    }
    case base:
        return known(difference.base ? report::differenceValue(difference, *difference.base) : "");
    case fresh:
        return known(difference.fresh ? report::differenceValue(difference, *difference.fresh) : "");
    case absolute:
        return known(report::absoluteText(difference));
    case relative:
        return known(report::relativeText(difference));
    default:
        return QString::fromStdString(report::changeText(difference.change));
    }
}

QVariant CompareModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid())
        return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant(index.column() == what || index.column() == verdict
                ? Qt::AlignLeft | Qt::AlignVCenter
                : Qt::AlignRight | Qt::AlignVCenter);
    if (index.internalId() == kHeading) {
        if (index.column() == what && role == Qt::DisplayRole)
            return m_groups[static_cast<std::size_t>(index.row())].title;
        return {};
    }
    const Group& group = m_groups[index.internalId() - 1];
    if (group.isNotes) {
        const QString note
            = QString::fromStdString(m_comparison->notes[group.lines[static_cast<std::size_t>(index.row())]]);
        if (index.column() == what && role == Qt::DisplayRole)
            return note;
        return role == Qt::ToolTipRole ? QVariant(note.toHtmlEscaped()) : QVariant();
    }
    const report::Difference& line = *difference(index);
    switch (role) {
    case Qt::DisplayRole:
        return text(line, index.column());
    case kChangeRole:
        return static_cast<int>(line.change);
    case Qt::ToolTipRole:
        if (index.column() == verdict && line.change == report::Change::unknown)
            return QString::fromStdString(line.reason).toHtmlEscaped();
        return index.column() == what ? QVariant(text(line, what).toString().toHtmlEscaped()) : QVariant();
    case Qt::AccessibleTextRole:
        if (index.column() == what)
            return tr("%1: base %2, new %3, %4")
                .arg(text(line, what).toString(), text(line, base).toString(), text(line, fresh).toString(),
                    text(line, verdict).toString());
        return {};
    default:
        return {};
    }
}

QVariant CompareModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    switch (section) {
    case what:
        return tr("Median of steady state");
    case base:
        return tr("Base");
    case fresh:
        return tr("New");
    case absolute:
        return tr("Difference");
    case relative:
        return tr("Relative");
    default:
        return tr("Verdict");
    }
}

} // namespace gd::gui
