// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/mailbox.h"
#include "gui/model/stats_model.h"
#include "gui/model/workers.h"

#include <QDockWidget>

#include <atomic>

class QLabel;
class QSortFilterProxyModel;
class QTableView;

namespace gd::gui {

// Statistics of the selected area, counted by a worker; the newest area wins.
class StatsDock : public QDockWidget {
    Q_OBJECT
public:
    explicit StatsDock(QWidget* parent = nullptr);
    ~StatsDock() override;

    void count(std::vector<RowPtr> rows, std::int64_t fromNs, std::int64_t toNs,
        std::shared_ptr<const NameTable> names);
    void clear();
    // Bytes that were moved in this area: shown once it is counted, and only while it is the present one.
    void setMoved(std::int64_t fromNs, std::int64_t toNs, const MovedBytes& bytes);
    StatsModel& model() { return m_model; }
    QTableView* view() { return m_view; }
    void copyCsv() const; // to the clipboard

signals:
    void counted();

private:
    void showSummary();
    void showMoved();

    StatsModel m_model;
    QSortFilterProxyModel* m_sorted;
    QTableView* m_view;
    QLabel* m_summary;
    std::int64_t m_movedFromNs = 0, m_movedToNs = 0; // area of m_moved
    MovedBytes m_moved;
    Mailbox m_mail;
    Workers m_pool{1};
    std::shared_ptr<std::atomic<bool>> m_stop;
};

} // namespace gd::gui
