// SPDX-License-Identifier: Apache-2.0
// Every interaction of the window as an action with its keys.
#include "gui/app/main_window.h"
#include "gui/app/physical_keys.h"

#include <QAction>
#include <QDialog>
#include <QDialogButtonBox>
#include <QMenuBar>
#include <QTableView>
#include <QTableWidget>
#include <QTreeView>
#include <QVBoxLayout>

namespace gd::gui {

QAction* MainWindow::addKey(
    const QString& menu, const QString& text, const QList<QKeySequence>& keys, std::function<void()> run) {
    QMenu* target = nullptr;
    for (QAction* entry : menuBar()->actions()) {
        if (entry->text() == menu)
            target = entry->menu();
    }
    if (target == nullptr)
        target = menuBar()->addMenu(menu);
    QAction* const action = target->addAction(text);
    action->setShortcuts(keys);
    connect(action, &QAction::triggered, this, std::move(run));
    return action;
}

void MainWindow::makeActions() {
    const QString file = tr("&File");
    addKey(file, tr("Open a trace …"), {QKeySequence::Open}, [this] { chooseTrace(); });
    addKey(file, tr("Open a spool folder …"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O)},
        [this] { chooseFolder(); });
    m_recent = menuBar()->actions().front()->menu()->addMenu(tr("Open again"));
    m_recent->setEnabled(false);
    addKey(file, tr("Quit"), {QKeySequence(Qt::CTRL | Qt::Key_Q)}, [this] { close(); });

    const QString move = tr("&Move");
    QAction* const in
        = addKey(move, tr("Zoom in"), {Qt::Key_W, Qt::Key_Plus}, [this] { m_timeline->zoom(0.7); });
    QAction* const out
        = addKey(move, tr("Zoom out"), {Qt::Key_S, Qt::Key_Minus}, [this] { m_timeline->zoom(1 / 0.7); });
    QAction* const earlier = addKey(move, tr("Earlier"), {Qt::Key_A}, [this] { m_timeline->pan(-0.2); });
    QAction* const later = addKey(move, tr("Later"), {Qt::Key_D}, [this] { m_timeline->pan(0.2); });
    new PhysicalKeys(this, {in, earlier, out, later}); // a child of the window
    addKey(move, tr("Show the whole trace"), {Qt::Key_0}, [this] { m_timeline->fitAll(); });
    addKey(move, tr("Back to the view before"), {Qt::Key_Backspace, QKeySequence(Qt::ALT | Qt::Key_Left)},
        [this] { m_timeline->back(); });
    addKey(move, tr("Centre the selection; again: fit it"), {Qt::Key_F},
        [this] { m_timeline->centreSelection(); });

    m_animate = addKey(move, tr("Move smoothly"), {}, [] {});
    m_animate->setCheckable(true);
    connect(m_animate, &QAction::toggled, m_timeline, &TimelineView::setAnimated);

    const QString select = tr("&Select");
    addKey(select, tr("Next finding"), {Qt::Key_N}, [this] { m_findings->step(1); });
    addKey(select, tr("Finding before"), {QKeySequence(Qt::SHIFT | Qt::Key_N)},
        [this] { m_findings->step(-1); });
    addKey(select, tr("Row below"), {Qt::Key_J}, [this] { m_timeline->stepRow(1); });
    addKey(select, tr("Row above"), {Qt::Key_K}, [this] { m_timeline->stepRow(-1); });
    addKey(select, tr("Next event in the row"), {Qt::Key_Period}, [this] { m_timeline->stepEvent(1); });
    addKey(select, tr("Event before in the row"), {Qt::Key_Comma}, [this] { m_timeline->stepEvent(-1); });
    addKey(select, tr("What the selection leads to: launch, kernel or replay, what depends on it"),
        {Qt::Key_BracketRight}, [this] { m_timeline->stepFlow(1); });
    addKey(select, tr("What the selection comes from"), {Qt::Key_BracketLeft},
        [this] { m_timeline->stepFlow(-1); });
    addKey(select, tr("Make the selected event an area"), {Qt::Key_R},
        [this] { m_timeline->areaOfSelection(); });
    addKey(select, tr("Collapse or expand the process of the row"), {Qt::Key_C},
        [this] { m_timeline->toggleProcess(); });
    addKey(
        select, tr("Pin the row to the top, or let it go"), {Qt::Key_P}, [this] { m_timeline->togglePin(); });
    addKey(select, tr("Graph of the selected replay or kernel"), {Qt::Key_G}, [this] { showGraph(); });
    addKey(
        select, tr("Compare the ranks in the step of the selection"), {Qt::Key_X}, [this] { showRanks(); });
    addKey(select, tr("Set or remove a mark"), {Qt::Key_M}, [this] { m_timeline->toggleMark(); });
    addKey(select, tr("Set or remove a mark and keep the marks beside the trace"),
        {QKeySequence(Qt::SHIFT | Qt::Key_M)}, [this] {
            m_timeline->toggleMark();
            keepMarks();
        });
    addKey(select, tr("Next mark"), {Qt::Key_B}, [this] { m_timeline->stepMark(1); });
    addKey(select, tr("Mark before"), {QKeySequence(Qt::SHIFT | Qt::Key_B)},
        [this] { m_timeline->stepMark(-1); });
    addKey(select, tr("Clear the selection"), {Qt::Key_Escape}, [this] {
        m_timeline->clearSelection();
        m_timeline->setFocus();
    });

    const QString search = tr("Sea&rch");
    addKey(search, tr("Search event names"), {Qt::Key_Slash, QKeySequence::Find},
        [this] { m_search->focusText(); });
    addKey(search, tr("Next hit"), {QKeySequence::FindNext}, [this] { m_search->step(1); });
    addKey(search, tr("Hit before"), {QKeySequence::FindPrevious}, [this] { m_search->step(-1); });
    addKey(search, tr("Show only rows named"), {QKeySequence(Qt::CTRL | Qt::Key_P)},
        [this] { m_search->focusRows(); });

    const QString panels = tr("&Panels");
    addKey(panels, tr("Go to the timeline"), {QKeySequence(Qt::ALT | Qt::Key_1)},
        [this] { m_timeline->setFocus(); });
    addKey(panels, tr("Go to the findings"), {QKeySequence(Qt::ALT | Qt::Key_2)}, [this] {
        m_findings->show();
        m_findings->raise();
        m_findings->view()->setFocus();
    });
    addKey(panels, tr("Go to the details, source line first"), {QKeySequence(Qt::ALT | Qt::Key_3)}, [this] {
        m_details->show();
        m_details->raise();
        m_details->focusSource();
    });
    addKey(panels, tr("Go to the statistics of the area"), {QKeySequence(Qt::ALT | Qt::Key_4)}, [this] {
        m_stats->show();
        m_stats->raise();
        m_stats->view()->setFocus();
    });
    addKey(panels, tr("Copy the statistics as CSV"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C)},
        [this] { m_stats->copyCsv(); });
    for (QDockWidget* dock : {static_cast<QDockWidget*>(m_findings), static_cast<QDockWidget*>(m_details),
             static_cast<QDockWidget*>(m_stats), static_cast<QDockWidget*>(m_graph),
             static_cast<QDockWidget*>(m_ranks), m_issuesDock}) {
        for (QAction* entry : menuBar()->actions()) {
            if (entry->text() == panels)
                entry->menu()->addAction(dock->toggleViewAction());
        }
    }
    addKey(tr("&Help"), tr("Keys"), {Qt::Key_Question}, [this] { showShortcuts(); });
}

QString MainWindow::shortcutList() const {
    QString out;
    for (const QAction* menu : menuBar()->actions()) {
        for (const QAction* action : menu->menu()->actions()) {
            if (action->shortcuts().isEmpty())
                continue;
            const QString keys = QKeySequence::listToString(action->shortcuts(), QKeySequence::NativeText);
            out += QStringLiteral("%1\t%2\n").arg(keys, action->text());
        }
    }
    out += tr("Ctrl+wheel\tZoom at the pointer\n");
    out += tr("Shift+wheel, middle drag\tMove in time\n");
    out += tr("Left drag\tSelect an area\n");
    out += tr("Double click\tZoom to the event\n");
    return out;
}

void MainWindow::showShortcuts() {
    QDialog dialog(this);
    dialog.setWindowTitle(tr("Keys"));
    const QStringList lines = shortcutList().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    QTableWidget table(static_cast<int>(lines.size()), 2);
    table.setHorizontalHeaderLabels({tr("Keys"), tr("What they do")});
    table.setEditTriggers(QAbstractItemView::NoEditTriggers);
    for (int row = 0; row < lines.size(); ++row) {
        const QStringList parts = lines[row].split(QLatin1Char('\t'));
        for (int column = 0; column < 2; ++column)
            table.setItem(row, column, new QTableWidgetItem(parts.value(column)));
    }
    table.resizeColumnsToContents();
    auto* const column = new QVBoxLayout(&dialog);
    column->addWidget(&table);
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    column->addWidget(buttons);
    dialog.resize(560, 620);
    dialog.exec();
}

} // namespace gd::gui
