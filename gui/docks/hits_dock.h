// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/hits_model.h"

#include <QDockWidget>

class QLabel;
class QTableView;

namespace gd::gui {

// Hits of the search by row of the timeline. Enter goes to the first one of a row.
class HitsDock : public QDockWidget {
    Q_OBJECT
public:
    explicit HitsDock(QWidget* parent = nullptr);

    // `text` is what was looked for, empty: nothing.
    void setHits(
        const QString& text, const SearchResult& result, std::function<QString(std::int64_t)> heading);
    HitsModel& model() { return m_model; }
    QTableView* view() { return m_view; }
    QString summary() const;

signals:
    void rowWanted(const gd::gui::RowPtr& row);

private:
    HitsModel m_model;
    QLabel* m_summary;
    QTableView* m_view;
};

} // namespace gd::gui
