// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/ranks/step_comparison.h"

#include <QAbstractTableModel>

#include <memory>

namespace gd::gui {

using StepPtr = std::shared_ptr<const report::StepComparison>;

// Where the lanes of a step stand beside each other: at their true times (one host only), each from the start
// of its step, or so that all end a chosen collective together.
struct RankAlignment {
    enum class At { clock, stepStart, collective };
    At at = At::stepStart;
    std::size_t collective = 0; // index into StepComparison::collectives

    bool operator==(const RankAlignment&) const = default;
};

// The ranks of one step, a line each, with what sets them apart. Lines are in the order of the comparison.
class RanksModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        rank,
        strip, // drawn by LaneDelegate: kLaneRole
        later, // at the chosen collective after the first; without one the start of the step's work
        duration,
        work,
        communication,
        wait,
        exposed,
        gaps,
        idle,
        heldUp,
        kColumns
    };
    static constexpr int kSortRole = Qt::UserRole; // a number; ranks that do not know it come last
    static constexpr int kLaneRole = Qt::UserRole + 1; // index of the lane, an int

    explicit RanksModel(QObject* parent = nullptr);
    void setStep(StepPtr step); // null: none
    void setAlignment(const RankAlignment& alignment);

    const StepPtr& step() const { return m_step; }
    const RankAlignment& alignment() const { return m_alignment; }
    // Time of a lane that stands at 0. Lanes without a part in the chosen collective start with their step.
    qint64 originOf(std::size_t lane) const;
    // From the earliest start to the latest end of all lanes, beside their origins.
    std::pair<qint64, qint64> span() const;
    bool isSlowest(std::size_t lane) const;
    // "all_reduce 3 of communicator 00ab, 4.00 MiB: apart by 1.2 ms"
    QString collectiveText(std::size_t collective) const;
    // What a screen reader, or a tooltip, says of a lane.
    QString laneText(std::size_t lane) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::optional<qint64> valueOf(const report::RankLane& lane, std::size_t index, int column) const;
    std::optional<qint64> arrivalOf(std::size_t lane) const;
    QVariant cellText(std::size_t index, int column) const;

    StepPtr m_step;
    RankAlignment m_alignment;
};

} // namespace gd::gui
