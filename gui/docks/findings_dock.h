// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/findings_model.h"

#include <QDockWidget>

class QTreeView;

namespace gd::gui {

// The list of findings. Selecting one tells the window; Enter asks for its details.
class FindingsDock : public QDockWidget {
    Q_OBJECT
public:
    explicit FindingsDock(QWidget* parent = nullptr);

    void setReport(const ReportPtr& report);
    // Goes to a head, from 0; out of range: nothing happens.
    void select(int number);
    // From the head that is selected; goes round.
    void step(int direction);
    FindingsModel& model() { return m_model; }
    QTreeView* view() { return m_view; }

signals:
    // `number` is the head that it belongs to.
    void selected(const gd::rules::Finding& finding, int number);
    void detailsWanted();

private:
    FindingsModel m_model;
    QTreeView* m_view;
};

} // namespace gd::gui
