// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/findings_dock.h"

#include "gui/docks/empty_text.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include <set>

namespace gd::gui {

FindingsDock::FindingsDock(QWidget* parent)
    : QDockWidget(tr("Findings"), parent)
    , m_filter(new FindingsFilter(&m_model, this))
    , m_view(new QTreeView)
    , m_text(new QLineEdit)
    , m_severity(new QComboBox)
    , m_order(new QComboBox)
    , m_state(new QLabel)
    , m_clear(new QToolButton)
    , m_empty(new EmptyText(m_view)) {
    setObjectName(QStringLiteral("findings"));
    m_view->setObjectName(QStringLiteral("findingsView"));
    m_view->setAccessibleName(tr("Findings"));
    m_view->setModel(m_filter);
    m_view->setUniformRowHeights(true);
    m_view->setAllColumnsShowFocus(true);
    m_view->header()->setStretchLastSection(false);
    m_view->header()->setSectionResizeMode(FindingsModel::title, QHeaderView::Stretch);
    auto* const body = new QWidget;
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    column->addWidget(makeFilterLine());
    column->addWidget(m_view, 1);
    setWidget(body);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this,
        [this](const QModelIndex& index) {
            const QModelIndex source = m_filter->mapToSource(index);
            const rules::Finding* finding = m_model.finding(source);
            if (finding != nullptr && !m_isFiltering)
                emit selected(*finding, m_model.numberOf(source));
        });
    connect(m_view, &QTreeView::activated, this, &FindingsDock::detailsWanted);
    showState();
}

QWidget* FindingsDock::makeFilterLine() {
    auto* const line = new QWidget;
    auto* const row = new QHBoxLayout(line);
    row->setContentsMargins(4, 2, 4, 0);
    m_text->setObjectName(QStringLiteral("findingsFilter"));
    m_text->setPlaceholderText(tr("Filter by words or rule  (Ctrl+Shift+F)"));
    m_text->setAccessibleName(tr("Show only findings with these words"));
    m_text->setClearButtonEnabled(true);
    m_text->installEventFilter(this);
    m_severity->setObjectName(QStringLiteral("findingsSeverity"));
    m_severity->setAccessibleName(tr("Show only findings from this severity on"));
    m_severity->addItem(tr("all severities"), static_cast<int>(rules::Severity::info));
    m_severity->addItem(tr("from warnings on"), static_cast<int>(rules::Severity::warning));
    m_severity->addItem(tr("errors only"), static_cast<int>(rules::Severity::error));
    m_order->setObjectName(QStringLiteral("findingsOrder"));
    m_order->setAccessibleName(tr("Order of the findings"));
    using Order = FindingsFilter::Order;
    for (const auto& [text, order] :
        {std::pair(tr("what to fix first"), Order::weight), std::pair(tr("by rule"), Order::rule),
            std::pair(tr("by cost"), Order::cost), std::pair(tr("by source line"), Order::place)})
        m_order->addItem(text, static_cast<int>(order));
    m_clear->setText(tr("Show all"));
    row->addWidget(m_text, 1);
    row->addWidget(m_severity);
    row->addWidget(m_order);
    row->addWidget(m_state);
    row->addWidget(m_clear);
    connect(m_text, &QLineEdit::textChanged, this, &FindingsDock::applyFilter);
    connect(m_severity, &QComboBox::currentIndexChanged, this, &FindingsDock::applyFilter);
    connect(m_order, &QComboBox::currentIndexChanged, this,
        [this] { m_filter->setOrder(static_cast<Order>(m_order->currentData().toInt())); });
    connect(m_clear, &QToolButton::clicked, this, &FindingsDock::clearFilter);
    return line;
}

void FindingsDock::setReport(const ReportPtr& report) {
    m_model.setReport(report);
    m_isJudged = report != nullptr;
    // Whose a finding is, where it could be of more than one.
    std::set<base::RankId> ranks;
    for (int i = 0; i < m_model.findingCount(); ++i) {
        const rules::Finding& finding = *m_model.finding(m_model.indexOfFinding(i));
        ranks.insert(finding.ranks.begin(), finding.ranks.end());
    }
    const bool several = ranks.size() > 1 || (!ranks.empty() && report->report.processes.size() > 1);
    m_view->setColumnHidden(FindingsModel::ranks, !several);
    for (const int column :
        {FindingsModel::severity, FindingsModel::place, FindingsModel::cost, FindingsModel::ranks})
        m_view->resizeColumnToContents(column);
    showState();
}

// A filter hides; it selects nothing, so that the timeline stays where it is while one types.
void FindingsDock::applyFilter() {
    const QPersistentModelIndex current = m_filter->mapToSource(m_view->currentIndex());
    m_isFiltering = true;
    m_filter->setText(m_text->text());
    m_filter->setLeast(static_cast<rules::Severity>(m_severity->currentData().toInt()));
    const QModelIndex still = m_filter->mapFromSource(current);
    if (still.isValid())
        m_view->setCurrentIndex(still);
    else
        m_view->selectionModel()->clear();
    m_isFiltering = false;
    if (m_filter->isActive()) // what fits may stand below what does not
        m_view->expandAll();
    showState();
}

void FindingsDock::clearFilter() {
    m_text->clear();
    m_severity->setCurrentIndex(0);
}

// The title says it too: the panel may stand behind another one.
void FindingsDock::showState() {
    const int all = m_model.findingCount();
    const int shown = m_filter->shownCount();
    setWindowTitle(
        shown == all ? tr("Findings (%1)").arg(all) : tr("Findings (%1 of %2)").arg(shown).arg(all));
    m_state->setText(shown == all ? QString() : tr("%n hidden", nullptr, all - shown));
    m_state->setVisible(shown != all);
    m_clear->setVisible(m_filter->isActive());
    m_text->setAccessibleDescription(m_state->text());
    m_empty->say(m_filter->rowCount() > 0 ? QString()
            : all > 0                     ? tr("No finding fits the filter.")
            : m_isJudged                  ? tr("Nothing was found.")
                                          : tr("Findings stand here once a trace is read."));
}

QString FindingsDock::state() const {
    return m_state->text();
}

void FindingsDock::select(int number) {
    const QModelIndex source = m_model.indexOfFinding(number);
    if (!source.isValid())
        return;
    if (!m_filter->mapFromSource(source).isValid())
        clearFilter();
    m_view->setCurrentIndex(m_filter->mapFromSource(source));
}

void FindingsDock::step(int direction) {
    const int count = m_filter->shownCount();
    if (count == 0)
        return;
    QModelIndex current = m_view->currentIndex();
    if (current.parent().isValid())
        current = current.parent();
    const bool none = m_model.finding(m_filter->mapToSource(current)) == nullptr;
    const int next = none ? (direction > 0 ? 0 : count - 1) : (current.row() + direction + count) % count;
    m_view->setCurrentIndex(m_filter->index(next, 0));
}

void FindingsDock::focusList() {
    show();
    raise();
    m_view->setFocus();
}

void FindingsDock::focusFilter() {
    show();
    raise();
    m_text->setFocus();
    m_text->selectAll();
}

bool FindingsDock::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride
        && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept(); // elsewhere it clears the selection
        return true;
    }
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Escape) {
            emit left();
            return true;
        }
        if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Down) {
            m_view->setFocus();
            if (!m_view->currentIndex().isValid() && m_filter->rowCount() > 0)
                m_view->setCurrentIndex(m_filter->index(0, 0));
            return true;
        }
    }
    return QDockWidget::eventFilter(watched, event);
}

} // namespace gd::gui
