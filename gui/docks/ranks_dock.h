// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/ranks_model.h"
#include "gui/timeline/theme.h"

#include <QDockWidget>
#include <QStyledItemDelegate>

#include <vector>

class QComboBox;
class QLabel;
class QSortFilterProxyModel;
class QSpinBox;
class QTableView;

namespace gd::gui {

// Draws the lane of a rank into its cell, all cells to one scale.
class LaneDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    LaneDelegate(const RanksModel* model, const Theme* theme, QObject* parent);
    void paint(
        QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void setTheme(const Theme* theme) { m_theme = theme; }

private:
    const RanksModel* m_model;
    const Theme* m_theme;
};

class Legend;

// The ranks of one step beside each other: choose the step and what they are aligned at; Enter on a rank goes
// to its step on the timeline.
class RanksDock : public QDockWidget {
    Q_OBJECT
public:
    RanksDock(const Theme* theme, QWidget* parent);

    // Steps there are to choose from, ascending; empty with a reason.
    void setSteps(const std::vector<qint64>& steps, const QString& reason);
    bool hasSteps() const { return !m_steps.empty(); }
    void setStep(const StepPtr& step);
    void setReason(const QString& text); // instead of a step
    void wantStep(qint64 number); // as the user does: the nearest there is
    void setTheme(const Theme& theme);
    void focusTable(); // the step's box until there is one
    // The choice of the box "aligned at", from 0.
    void setAlignmentChoice(int choice);

    RanksModel& model() { return m_model; }
    QTableView* view() { return m_view; }
    QSpinBox* stepBox() { return m_step; }
    QComboBox* alignmentBox() { return m_align; }
    QString summary() const;
    QString notes() const;

signals:
    void stepWanted(qint64 step);
    void laneWanted(qint64 process, qint64 fromNs, qint64 toNs);

private:
    void showStep();
    void applyChoice();

    RanksModel m_model;
    QSortFilterProxyModel* m_sorted;
    LaneDelegate* m_delegate;
    QSpinBox* m_step;
    QComboBox* m_align;
    QLabel* m_summary;
    QLabel* m_notes;
    QTableView* m_view;
    Legend* m_legend;
    std::vector<qint64> m_steps;
    qint64 m_wanted = -1;
    bool m_focusWhenShown = false;
};

} // namespace gd::gui
