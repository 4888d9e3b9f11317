// SPDX-License-Identifier: Apache-2.0
#include "gui/model/ranks_model.h"

#include "analyzer/base/time.h"

#include <QFont>

#include <algorithm>
#include <limits>

namespace gd::gui {
namespace {

QString durationText(qint64 ns) {
    return QString::fromStdString(base::formatDuration(ns));
}

} // namespace

RanksModel::RanksModel(QObject* parent)
    : QAbstractTableModel(parent) { }

void RanksModel::setStep(StepPtr step) {
    beginResetModel();
    m_step = std::move(step);
    m_alignment = {};
    if (m_step && m_step->oneClock)
        m_alignment.at = RankAlignment::At::clock;
    endResetModel();
}

void RanksModel::setAlignment(const RankAlignment& alignment) {
    if (!m_step
        || (alignment.at == RankAlignment::At::collective
            && alignment.collective >= m_step->collectives.size()))
        return;
    m_alignment = alignment;
    if (rowCount() > 0)
        emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
    emit headerDataChanged(Qt::Horizontal, later, later);
}

qint64 RanksModel::originOf(std::size_t lane) const {
    const report::RankLane& own = m_step->lanes[lane];
    if (m_alignment.at == RankAlignment::At::clock) {
        qint64 first = own.startNs;
        for (const report::RankLane& other : m_step->lanes)
            first = std::min<qint64>(first, other.startNs);
        return first;
    }
    if (m_alignment.at == RankAlignment::At::collective) {
        for (const report::Arrival& arrival : m_step->collectives[m_alignment.collective].arrivals) {
            if (arrival.lane == lane)
                return own.comm[arrival.work].endNs;
        }
    }
    return own.startNs;
}

std::pair<qint64, qint64> RanksModel::span() const {
    qint64 from = std::numeric_limits<qint64>::max();
    qint64 to = std::numeric_limits<qint64>::min();
    for (std::size_t i = 0; m_step && i < m_step->lanes.size(); ++i) {
        from = std::min<qint64>(from, m_step->lanes[i].startNs - originOf(i));
        to = std::max<qint64>(to, m_step->lanes[i].endNs - originOf(i));
    }
    return from < to ? std::pair(from, to) : std::pair<qint64, qint64>(0, 1);
}

bool RanksModel::isSlowest(std::size_t lane) const {
    return m_step && m_step->slowest == lane;
}

QString RanksModel::collectiveText(std::size_t collective) const {
    const report::Collective& one = m_step->collectives[collective];
    const QString hash
        = QStringLiteral("%1").arg(static_cast<std::uint64_t>(one.commHash) >> 32, 8, 16, QLatin1Char('0'));
    const QString who = one.kind == "send" ? tr("message") : QString::fromStdString(one.kind);
    const QString apart
        = one.skewNs ? tr("apart by %1").arg(durationText(*one.skewNs)) : tr("clocks not related");
    return tr("%1. %2 of %3, communicator %4: %5")
        .arg(collective + 1)
        .arg(who, QString::fromStdString(base::formatBytes(one.bytes)), hash, apart);
}

QString RanksModel::laneText(std::size_t lane) const {
    const report::RankLane& own = m_step->lanes[lane];
    const auto known
        = [](const std::optional<std::int64_t>& ns) { return ns ? durationText(*ns) : tr("not known"); };
    QString text
        = tr("%1: %2 from its start to its end; work %3, communication %4, of this waiting %5, idle %6")
              .arg(cellText(lane, rank).toString(), durationText(own.endNs - own.startNs),
                  known(own.computeNs), known(own.commNs), known(own.waitNs), known(own.idleNs));
    if (isSlowest(lane))
        text += tr("; slowest: %1").arg(QString::fromStdString(m_step->slowestWhy));
    if (!own.reason.empty())
        text += QStringLiteral("; ") + QString::fromStdString(own.reason);
    return text;
}

std::optional<qint64> RanksModel::arrivalOf(std::size_t lane) const {
    if (m_alignment.at == RankAlignment::At::collective) {
        const report::Collective& one = m_step->collectives[m_alignment.collective];
        std::optional<qint64> own, first;
        for (const report::Arrival& arrival : one.arrivals) {
            const qint64 start = m_step->lanes[arrival.lane].comm[arrival.work].startNs;
            first = std::min(start, first.value_or(start));
            if (arrival.lane == lane)
                own = start;
        }
        return own && one.skewNs ? std::optional(*own - *first) : std::nullopt;
    }
    if (!m_step->oneClock || m_step->lanes[lane].deviceId < 0)
        return std::nullopt;
    qint64 first = std::numeric_limits<qint64>::max();
    for (const report::RankLane& other : m_step->lanes) {
        if (other.deviceId >= 0)
            first = std::min<qint64>(first, other.firstWorkNs);
    }
    return m_step->lanes[lane].firstWorkNs - first;
}

std::optional<qint64> RanksModel::valueOf(const report::RankLane& lane, std::size_t index, int column) const {
    switch (column) {
    case rank:
        return lane.rank ? *lane.rank : lane.processId;
    case later:
        return arrivalOf(index);
    case strip:
    case duration:
        return lane.endNs - lane.startNs;
    case work:
        return lane.computeNs;
    case communication:
        return lane.commNs;
    case wait:
        return lane.waitNs;
    case exposed:
        return lane.exposedCommNs;
    case gaps:
        return lane.gapNs;
    case idle:
        return lane.idleNs;
    default:
        return lane.heldUpNs;
    }
}

QVariant RanksModel::cellText(std::size_t index, int column) const {
    const report::RankLane& own = m_step->lanes[index];
    if (column == rank) {
        const QString name = own.rank ? tr("rank %1").arg(*own.rank) : tr("process %1").arg(own.processId);
        return isSlowest(index) ? tr("%1 – slowest").arg(name) : name;
    }
    if (column == strip)
        return {};
    const auto value = valueOf(own, index, column);
    if (!value)
        return QStringLiteral("–");
    return column == later && *value > 0 ? QStringLiteral("+") + durationText(*value) : durationText(*value);
}

int RanksModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !m_step ? 0 : static_cast<int>(m_step->lanes.size());
}

int RanksModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : kColumns;
}

QVariant RanksModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || !m_step)
        return {};
    const auto row = static_cast<std::size_t>(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return cellText(row, index.column());
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
        // Tooltips take markup for what it is not.
        if (role == Qt::ToolTipRole)
            return laneText(row).toHtmlEscaped();
        return index.column() == rank || index.column() == strip ? QVariant(laneText(row)) : QVariant();
    case Qt::TextAlignmentRole:
        return QVariant(
            index.column() <= strip ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignRight | Qt::AlignVCenter);
    case Qt::FontRole:
        if (isSlowest(row)) {
            QFont bold;
            bold.setBold(true);
            return bold;
        }
        return {};
    case kSortRole:
        return valueOf(m_step->lanes[row], row, index.column()).value_or(-1);
    case kLaneRole:
        return index.row();
    default:
        return {};
    }
}

QVariant RanksModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole))
        return {};
    const bool tip = role == Qt::ToolTipRole;
    const bool atCollective = m_alignment.at == RankAlignment::At::collective;
    switch (section) {
    case rank:
        return tr("Rank");
    case strip:
        return tip
            ? tr("What the device does: work, transfer, waiting inside communication (hatched), nothing")
            : tr("Step on the device");
    case later:
        return tip
            ? (atCollective ? tr("How much later than the first rank it comes to the chosen collective")
                            : tr("How much later than the first rank its device begins to work"))
            : tr("Comes later");
    case duration:
        return tip ? tr("From the end of the step before to the end of its own work") : tr("Duration");
    case work:
        return tip ? tr("Kernels, copies and fills without communication") : tr("Work");
    case communication:
        return tip ? tr("Communication, also behind other work") : tr("Comm.");
    case wait:
        return tip ? tr("Inside communication, before the last rank that it needs had come")
                   : tr("NCCL wait");
    case exposed:
        return tip ? tr("Communication while nothing else runs") : tr("Exposed");
    case gaps:
        return tip ? tr("Idle before replays") : tr("Gaps");
    case idle:
        return tip ? tr("Nothing runs on the device") : tr("Idle");
    default:
        return tip ? tr("What the others would gain if it came no later than the next to last")
                   : tr("Holds up");
    }
}

} // namespace gd::gui
