// SPDX-License-Identifier: Apache-2.0
#include "gui/docks/details_dock.h"

#include "gui/docks/empty_text.h"

#include <QDesktopServices>
#include <QFileInfo>
#include <QHeaderView>
#include <QProcess>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QUrl>

namespace gd::gui {
namespace {

constexpr int kBetweenRows = 3; // pixels under a text: else the next one reads on from it

// Leaves room under a text. Names of C++ and paths may be broken at their joints.
class WrappedText : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        return QStyledItemDelegate::sizeHint(option, index) + QSize(0, kBetweenRows);
    }

protected:
    void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
        QStyledItemDelegate::initStyleOption(option, index);
        option->text.replace(QStringLiteral("::"), QStringLiteral("::\u200b"));
        option->text.replace(QStringLiteral("/"), QStringLiteral("/\u200b"));
        option->displayAlignment = Qt::AlignLeft | Qt::AlignTop;
    }
};

} // namespace

DetailsDock::DetailsDock(QWidget* parent)
    : QDockWidget(tr("Details"), parent)
    , m_view(new QTableView(this))
    , m_empty(new EmptyText(m_view)) {
    setObjectName(QStringLiteral("details"));
    m_view->setObjectName(QStringLiteral("detailsView"));
    m_view->setAccessibleName(tr("Details"));
    m_view->setModel(&m_model);
    m_view->setWordWrap(true);
    m_view->setItemDelegate(new WrappedText(m_view));
    m_view->setShowGrid(false);
    m_view->setAlternatingRowColors(true);
    m_view->setTabKeyNavigation(false);
    m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_view->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    // One that comes and goes would change the width of the texts, and so the lines that they need.
    m_view->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    m_view->verticalHeader()->hide();
    m_view->horizontalHeader()->hide();
    m_view->horizontalHeader()->setStretchLastSection(true);
    setWidget(m_view);
    // The width of the texts decides how many lines they need.
    connect(
        m_view->horizontalHeader(), &QHeaderView::sectionResized, m_view, &QTableView::resizeRowsToContents);
    setRows({});
    connect(m_view, &QTableView::activated, this, [this](const QModelIndex& index) {
        const DetailRow* row = m_model.row(index);
        if (row == nullptr)
            return;
        if (!row->file.empty())
            emit sourceWanted(QString::fromStdString(row->file), row->line);
        else if (!row->rule.empty())
            emit ruleWanted(QString::fromStdString(row->rule));
        else if (row->startNs >= 0)
            emit timeWanted(row->startNs, row->endNs);
    });
}

void DetailsDock::setRows(std::vector<DetailRow> rows) {
    m_empty->say(
        rows.empty() ? tr("Select an event on the timeline (J, K, . and ,) or a finding (N).") : QString());
    m_model.setRows(std::move(rows));
    m_view->resizeColumnToContents(0);
    m_view->resizeRowsToContents();
}

void DetailsDock::append(std::vector<DetailRow> rows) {
    const int first = m_model.rowCount();
    m_model.append(std::move(rows));
    for (int row = first; row < m_model.rowCount(); ++row)
        m_view->resizeRowToContents(row);
}

void DetailsDock::focusSource() {
    const int row = std::max(0, m_model.find("source"));
    m_view->setFocus();
    m_view->setCurrentIndex(m_model.index(row, 1));
}

void DetailsDock::resizeEvent(QResizeEvent* event) {
    QDockWidget::resizeEvent(event);
    m_view->resizeRowsToContents();
}

bool openInEditor(const QString& file, qint64 line) {
    if (!QFileInfo::exists(file))
        return false;
    for (const char* variable : {"VISUAL", "EDITOR"}) {
        QStringList words = QProcess::splitCommand(qEnvironmentVariable(variable));
        if (words.isEmpty())
            continue;
        const QString program = words.takeFirst();
        const QString name = QFileInfo(program).fileName();
        const QString place = QStringLiteral("%1:%2").arg(file).arg(line);
        if (name == QLatin1String("code") || name == QLatin1String("codium"))
            words << QStringLiteral("--goto") << place;
        else if (name == QLatin1String("kate") || name == QLatin1String("kwrite"))
            words << QStringLiteral("--line") << QString::number(line) << file;
        else if (name == QLatin1String("subl") || name == QLatin1String("zed"))
            words << place;
        else if (name.startsWith(QLatin1String("gvim")) || name == QLatin1String("gedit")
            || name == QLatin1String("emacsclient") || name == QLatin1String("emacs"))
            words << QStringLiteral("+%1").arg(line) << file;
        else
            continue; // it may need a terminal
        return QProcess::startDetached(program, words);
    }
    return QDesktopServices::openUrl(QUrl::fromLocalFile(file));
}

} // namespace gd::gui
