// SPDX-License-Identifier: Apache-2.0
#include "gui/model/stats_model.h"

#include "analyzer/base/time.h"
#include "gui/model/words.h"

#include <algorithm>

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

void StatsModel::setMoved(const MovedBytes& bytes) {
    for (NameStats& line : m_stats.names) {
        const auto at = line.kind == RowKind::stream ? bytes.find((*m_names)[line.name].text) : bytes.end();
        line.movedBytes = at == bytes.end() ? -1 : at->second;
    }
    if (rowCount() > 0)
        emit dataChanged(index(0, moved), index(rowCount() - 1, moved));
}

QString StatsModel::summary() const {
    const std::int64_t wall = m_stats.toNs - m_stats.fromNs;
    if (wall <= 0)
        return {};
    if (m_stats.busyNs < 0)
        return tr("wall %1; device work was not recorded").arg(duration(wall));
    const double share = 100.0 * static_cast<double>(m_stats.busyNs) / static_cast<double>(wall);
    const QString text = tr("wall %1, device busy %2 (%3 %), idle %4")
                             .arg(duration(wall), duration(m_stats.busyNs), QString::number(share, 'f', 1),
                                 duration(wall - m_stats.busyNs));
    std::int64_t bytes = 0;
    for (const NameStats& line : m_stats.names)
        bytes += std::max<std::int64_t>(0, line.movedBytes);
    return bytes == 0 ? text : tr("%1; moved %2").arg(text, QString::fromStdString(base::formatBytes(bytes)));
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
    case p99:
        return time(line.p99Ns);
    default:
        if (role == Qt::UserRole)
            return QVariant(static_cast<qlonglong>(line.movedBytes));
        return line.movedBytes < 0 ? QStringLiteral("–")
                                   : QString::fromStdString(base::formatBytes(line.movedBytes));
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
    case p99:
        return tr("p99");
    default:
        return tr("Moved");
    }
}

} // namespace gd::gui
