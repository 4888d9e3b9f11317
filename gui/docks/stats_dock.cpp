// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/stats_dock.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace gd::gui {

namespace {

// Names get the width that the figures leave, but never too little to be read.
class NamesTable : public QTableView {
public:
    NamesTable() {
        connect(horizontalHeader(), &QHeaderView::sectionResized, this, [this](int section) {
            if (section != StatsModel::name)
                fitNames();
        });
    }
    void resizeEvent(QResizeEvent* event) override {
        QTableView::resizeEvent(event);
        fitNames();
    }

private:
    void fitNames() {
        const QHeaderView* const header = horizontalHeader();
        const int others = header->length() - header->sectionSize(StatsModel::name);
        setColumnWidth(
            StatsModel::name, std::max(fontMetrics().averageCharWidth() * 28, viewport()->width() - others));
    }
};

} // namespace

StatsDock::StatsDock(QWidget* parent)
    : QDockWidget(tr("Selection"), parent)
    , m_sorted(new QSortFilterProxyModel(this))
    , m_view(new NamesTable)
    , m_summary(new QLabel)
    , m_stop(std::make_shared<std::atomic<bool>>(false)) {
    setObjectName(QStringLiteral("selection"));
    m_sorted->setSourceModel(&m_model);
    m_sorted->setSortRole(Qt::UserRole);
    m_view->setModel(m_sorted);
    m_view->setAccessibleName(tr("Statistics of the selected area"));
    m_view->setSortingEnabled(true);
    m_view->sortByColumn(StatsModel::sum, Qt::DescendingOrder);
    m_view->setShowGrid(false);
    m_view->setAlternatingRowColors(true);
    m_view->setTabKeyNavigation(false);
    m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_view->verticalHeader()->hide();
    m_view->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setWordWrap(true);
    auto* const copy = new QPushButton(tr("Copy as CSV"));
    connect(copy, &QPushButton::clicked, this, &StatsDock::copyCsv);
    auto* const body = new QWidget;
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    auto* const top = new QHBoxLayout;
    top->addWidget(m_summary, 1);
    top->addWidget(copy);
    column->addLayout(top);
    column->addWidget(m_view);
    setWidget(body);
    showSummary();
}

StatsDock::~StatsDock() {
    *m_stop = true;
    m_pool.clear();
    m_pool.waitForDone();
}

void StatsDock::count(std::vector<RowPtr> rows, std::int64_t fromNs, std::int64_t toNs,
    std::shared_ptr<const NameTable> names) {
    *m_stop = true;
    m_pool.clear();
    m_stop = std::make_shared<std::atomic<bool>>(false);
    m_pool.start([this, rows = std::move(rows), fromNs, toNs, names = std::move(names), stop = m_stop] {
        SelectionStats stats = selectionStats(rows, fromNs, toNs, *stop);
        if (*stop)
            return;
        m_mail.post([this, stats = std::move(stats), names, stop]() mutable {
            if (*stop)
                return;
            m_model.setStats(std::move(stats), names);
            showMoved();
            emit counted();
        });
    });
}

void StatsDock::setMoved(std::int64_t fromNs, std::int64_t toNs, const MovedBytes& bytes) {
    m_movedFromNs = fromNs;
    m_movedToNs = toNs;
    m_moved = bytes;
    showMoved();
}

void StatsDock::showMoved() {
    const SelectionStats& stats = m_model.stats();
    if (stats.fromNs == m_movedFromNs && stats.toNs == m_movedToNs)
        m_model.setMoved(m_moved);
    showSummary();
}

void StatsDock::clear() {
    *m_stop = true;
    m_model.setStats({}, nullptr);
    showSummary();
}

void StatsDock::showSummary() {
    const QString text = m_model.summary();
    m_summary->setText(
        text.isEmpty() ? tr("Drag over the timeline, or press R on an event, to select an area.") : text);
}

void StatsDock::copyCsv() const {
    QGuiApplication::clipboard()->setText(m_model.csv());
}

} // namespace gd::gui
