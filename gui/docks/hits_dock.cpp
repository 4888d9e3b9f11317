// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/hits_dock.h"

#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

namespace gd::gui {

HitsDock::HitsDock(QWidget* parent)
    : QDockWidget(tr("Hits"), parent)
    , m_summary(new QLabel)
    , m_view(new QTableView) {
    setObjectName(QStringLiteral("hits"));
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setWordWrap(true);
    m_view->setObjectName(QStringLiteral("hitsView"));
    m_view->setAccessibleName(tr("Hits of the search by row"));
    m_view->setModel(&m_model);
    m_view->setShowGrid(false);
    m_view->setAlternatingRowColors(true);
    m_view->setTabKeyNavigation(false);
    m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_view->verticalHeader()->hide();
    m_view->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
    m_view->horizontalHeader()->setSectionResizeMode(HitsModel::row, QHeaderView::Stretch);
    auto* const body = new QWidget;
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(4, 2, 4, 0);
    column->addWidget(m_summary);
    column->addWidget(m_view, 1);
    setWidget(body);
    connect(m_view, &QTableView::activated, this, [this](const QModelIndex& index) {
        if (const SearchResult::OfRow* hits = m_model.hits(index))
            emit rowWanted(hits->row);
    });
    setHits({}, {}, {});
}

void HitsDock::setHits(
    const QString& text, const SearchResult& result, std::function<QString(std::int64_t)> heading) {
    m_model.setHits(result.rows, std::move(heading));
    if (text.isEmpty())
        m_summary->setText(tr("Press / and type a part of a name: here stands how often each row has it."));
    else if (result.count == 0)
        m_summary->setText(tr("No event has “%1” in its name.").arg(text));
    else
        m_summary->setText(tr("“%1”: %n hit(s) in %2 rows", nullptr, static_cast<int>(result.count))
                               .arg(text)
                               .arg(result.rows.size()));
    if (m_model.rowCount() > 0)
        m_view->setCurrentIndex(m_model.index(0, 0));
}

QString HitsDock::summary() const {
    return m_summary->text();
}

} // namespace gd::gui
