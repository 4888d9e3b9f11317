// SPDX-License-Identifier: Apache-2.0
#include "gui/model/stats_model.h"

#include "analyzer/base/time.h"
#include "gui/model/words.h"

namespace gd::gui {
namespace {

QString duration(std::int64_t ns) {
    return QString::fromStdString(base::formatDuration(ns));
}

[[maybe_unused]] constexpr const char* kKinds[]
    = {QT_TRANSLATE_NOOP("gd::gui::Words", "step"), QT_TRANSLATE_NOOP("gd::gui::Words", "range"),
        QT_TRANSLATE_NOOP("gd::gui::Words", "replay"), QT_TRANSLATE_NOOP("gd::gui::Words", "gap"),
        QT_TRANSLATE_NOOP("gd::gui::Words", "device"), QT_TRANSLATE_NOOP("gd::gui::Words", "communication"),
        QT_TRANSLATE_NOOP("gd::gui::Words", "memory"), QT_TRANSLATE_NOOP("gd::gui::Words", "call")};

} // namespace

void StatsModel::setStats(SelectionStats stats, std::shared_ptr<const NameTable> names) {
    beginResetModel();
    m_stats = std::move(stats);
    m_names = std::move(names);
    endResetModel();
}

QString StatsModel::summary() const {
    const std::int64_t wall = m_stats.toNs - m_stats.fromNs;
    if (wall <= 0)
        return {};
    if (m_stats.busyNs < 0)
        return tr("wall %1; device work was not recorded").arg(duration(wall));
    const double share = 100.0 * static_cast<double>(m_stats.busyNs) / static_cast<double>(wall);
    return tr("wall %1, device busy %2 (%3 %), idle %4")
        .arg(duration(wall), duration(m_stats.busyNs), QString::number(share, 'f', 1),
            duration(wall - m_stats.busyNs));
}

QString StatsModel::csv() const {
    return m_names ? QString::fromStdString(statsCsv(m_stats, *m_names)) : QString();
}

int StatsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_stats.names.size());
}

int StatsModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : kColumns;
}

QVariant StatsModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || !m_names)
        return {};
    const NameStats& line = m_stats.names[static_cast<std::size_t>(index.row())];
    const QString text = QString::fromStdString((*m_names)[line.name].text);
    if (role == Qt::TextAlignmentRole)
        return QVariant(
            index.column() <= name ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignRight | Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && index.column() == name)
        return text.toHtmlEscaped();
    if (role != Qt::DisplayRole && role != Qt::UserRole)
        return {};
    const auto time = [role](std::int64_t ns) {
        return role == Qt::UserRole ? QVariant(static_cast<qlonglong>(ns)) : QVariant(duration(ns));
    };
    switch (index.column()) {
    case kind:
        return Words::tr(rowKindName(line.kind).c_str());
    case name:
        return text;
    case count:
        return QVariant(static_cast<qlonglong>(line.count));
    case sum:
        return time(line.sumNs);
    case median:
        return time(line.medianNs);
    default:
        return time(line.p99Ns);
    }
}

QVariant StatsModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    switch (section) {
    case kind:
        return tr("Kind");
    case name:
        return tr("Name");
    case count:
        return tr("Count");
    case sum:
        return tr("Sum");
    case median:
        return tr("Median");
    default:
        return tr("p99");
    }
}

} // namespace gd::gui
