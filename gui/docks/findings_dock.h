// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/findings_filter.h"

#include <QDockWidget>

class QComboBox;
class QLabel;
class QLineEdit;
class QToolButton;
class QTreeView;

namespace gd::gui {

class EmptyText;

// The list of findings, and above it what it is filtered and ordered by; while findings are hidden the title
// and a line say so. Selecting one tells the window; Enter asks for its details.
class FindingsDock : public QDockWidget {
    Q_OBJECT
public:
    explicit FindingsDock(QWidget* parent = nullptr);

    void setReport(const ReportPtr& report);
    // Goes to a head, from 0; out of range: nothing happens. A filter that hides it is taken off.
    void select(int number);
    // From the head that is selected to the next that is shown; goes round.
    void step(int direction);
    void focusList();
    void focusFilter();
    void clearFilter();

    FindingsModel& model() { return m_model; }
    FindingsFilter* shown() { return m_filter; }
    QTreeView* view() { return m_view; }
    QLineEdit* text() { return m_text; }
    QComboBox* severity() { return m_severity; }
    QComboBox* order() { return m_order; }
    QString state() const; // what the line says of hidden findings, empty: nothing

signals:
    // `number` is the head that it belongs to.
    void selected(const gd::rules::Finding& finding, int number);
    void detailsWanted();
    void left(); // Escape where the filter is typed

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* makeFilterLine();
    void applyFilter();
    void showState();

    FindingsModel m_model;
    FindingsFilter* m_filter;
    QTreeView* m_view;
    QLineEdit* m_text;
    QComboBox* m_severity;
    QComboBox* m_order;
    QLabel* m_state;
    QToolButton* m_clear;
    EmptyText* m_empty;
    bool m_isJudged = false;
    bool m_isFiltering = false;
};

} // namespace gd::gui
