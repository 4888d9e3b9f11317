// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/details_model.h"

#include <QDockWidget>

class QTableView;

namespace gd::gui {

class EmptyText;

// What is known of the selected finding or event, one fact a line. Enter on a source line opens it in the
// editor, on a time it goes there, on a rule it shows its page.
class DetailsDock : public QDockWidget {
    Q_OBJECT
public:
    explicit DetailsDock(QWidget* parent = nullptr);

    void setRows(std::vector<DetailRow> rows);
    void append(std::vector<DetailRow> rows);
    // Puts the focus on the source line, else on the first.
    void focusSource();
    DetailsModel& model() { return m_model; }
    QTableView* view() { return m_view; }

signals:
    void sourceWanted(const QString& file, qint64 line);
    void timeWanted(qint64 fromNs, qint64 toNs);
    void ruleWanted(const QString& id);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    DetailsModel m_model;
    QTableView* m_view;
    EmptyText* m_empty;
};

// Opens a source line: $VISUAL or $EDITOR where it is one that is known to work without a terminal, else what
// the desktop opens the file with. False: the file does not exist here or nothing opens it.
bool openInEditor(const QString& file, qint64 line);

} // namespace gd::gui
