// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/findings_dock.h"

#include <QHeaderView>
#include <QTreeView>

namespace gd::gui {

FindingsDock::FindingsDock(QWidget* parent)
    : QDockWidget(tr("Findings"), parent)
    , m_view(new QTreeView(this)) {
    setObjectName(QStringLiteral("findings"));
    m_view->setObjectName(QStringLiteral("findingsView"));
    m_view->setAccessibleName(tr("Findings"));
    m_view->setModel(&m_model);
    m_view->setUniformRowHeights(true);
    m_view->setAllColumnsShowFocus(true);
    m_view->header()->setStretchLastSection(false);
    m_view->header()->setSectionResizeMode(FindingsModel::title, QHeaderView::Stretch);
    setWidget(m_view);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this,
        [this](const QModelIndex& index) {
            if (const rules::Finding* finding = m_model.finding(index))
                emit selected(*finding, index.parent().isValid() ? index.parent().row() : index.row());
        });
    connect(m_view, &QTreeView::activated, this, &FindingsDock::detailsWanted);
}

void FindingsDock::setReport(const ReportPtr& report) {
    m_model.setReport(report);
    for (const int column : {FindingsModel::severity, FindingsModel::place, FindingsModel::cost})
        m_view->resizeColumnToContents(column);
    setWindowTitle(tr("Findings (%1)").arg(m_model.findingCount()));
}

void FindingsDock::select(int number) {
    const QModelIndex index = m_model.indexOfFinding(number);
    if (index.isValid())
        m_view->setCurrentIndex(index);
}

void FindingsDock::step(int direction) {
    const int count = m_model.findingCount();
    if (count == 0)
        return;
    QModelIndex current = m_view->currentIndex();
    if (current.parent().isValid())
        current = current.parent();
    const bool none = m_model.finding(current) == nullptr;
    const int next = none ? (direction > 0 ? 0 : count - 1) : (current.row() + direction + count) % count;
    select(next);
}

} // namespace gd::gui
