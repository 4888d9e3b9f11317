// SPDX-License-Identifier: Apache-2.0
// Every interaction of the window as an action with its keys.
#include "gui/app/keys.h"
#include "gui/app/main_window.h"
#include "gui/app/physical_keys.h"

#include <QAction>
#include <QListWidget>
#include <QMenu>
#include <QTableView>
#include <QTreeView>

namespace gd::gui {

void MainWindow::makeActions() {
    makeFileActions();
    makeMoveActions();
    makeSelectActions();
    makeMarkActions();
    makeSearchActions();
    makePanelActions();
    addKey(this, tr("&Help"), tr("Keys"), {Qt::Key_Question}, [this] { showKeys(this); });
}

void MainWindow::makeFileActions() {
    const QString file = tr("&File");
    addKey(this, file, tr("Open a trace …"), {QKeySequence::Open}, [this] { chooseTrace(); });
    addKey(this, file, tr("Open a spool folder …"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O)},
        [this] { chooseFolder(); });
    addKey(this, file, tr("Compare with another trace …"), {QKeySequence(Qt::CTRL | Qt::Key_D)},
        [this] { chooseOther(); });
    m_recent = menuOf(this, file)->addMenu(tr("Open again"));
    m_recent->setEnabled(false);
    addKey(this, file, tr("Quit"), {QKeySequence(Qt::CTRL | Qt::Key_Q)}, [this] { close(); });
}

void MainWindow::makeMoveActions() {
    const QString move = tr("&Move");
    const auto add = [&](const QString& text, const QList<QKeySequence>& keys, std::function<void()> run) {
        return addKey(this, move, text, keys, std::move(run));
    };
    QAction* const in = add(tr("Zoom in"), {Qt::Key_W, Qt::Key_Plus}, [this] { m_timeline->zoom(0.7); });
    QAction* const out
        = add(tr("Zoom out"), {Qt::Key_S, Qt::Key_Minus}, [this] { m_timeline->zoom(1 / 0.7); });
    QAction* const earlier = add(tr("Earlier"), {Qt::Key_A}, [this] { m_timeline->pan(-0.2); });
    QAction* const later = add(tr("Later"), {Qt::Key_D}, [this] { m_timeline->pan(0.2); });
    new PhysicalKeys(this, {in, earlier, out, later}); // a child of the window
    add(tr("Show the whole trace"), {Qt::Key_0}, [this] { m_timeline->fitAll(); });
    add(tr("Back to the view before"), {Qt::Key_Backspace, QKeySequence(Qt::ALT | Qt::Key_Left)},
        [this] { m_timeline->back(); });
    add(tr("Centre the selection, again: fit it; without one: fit the area"), {Qt::Key_F},
        [this] { m_timeline->centreSelection(); });
    m_onlyUsedRows = add(tr("Hide rows that have nothing in view"), {Qt::Key_H}, [] {});
    m_onlyUsedRows->setCheckable(true);
    connect(m_onlyUsedRows, &QAction::toggled, m_timeline, &TimelineView::setOnlyUsedRows);
    m_animate = add(tr("Move smoothly"), {}, [] {});
    m_animate->setCheckable(true);
    connect(m_animate, &QAction::toggled, m_timeline, &TimelineView::setAnimated);
}

void MainWindow::makeSelectActions() {
    const QString select = tr("&Select");
    const auto add = [&](const QString& text, const QKeySequence& key, std::function<void()> run) {
        addKey(this, select, text, {key}, std::move(run));
    };
    add(tr("Next finding"), Qt::Key_N, [this] { m_findings->step(1); });
    add(tr("Finding before"), Qt::SHIFT | Qt::Key_N, [this] { m_findings->step(-1); });
    add(tr("Row below"), Qt::Key_J, [this] { m_timeline->stepRow(1); });
    add(tr("Row above"), Qt::Key_K, [this] { m_timeline->stepRow(-1); });
    add(tr("Next event in the row"), Qt::Key_Period, [this] { m_timeline->stepEvent(1); });
    add(tr("Event before in the row"), Qt::Key_Comma, [this] { m_timeline->stepEvent(-1); });
    add(tr("What the selection leads to: launch, kernel or replay, what depends on it"), Qt::Key_BracketRight,
        [this] { m_timeline->stepFlow(1); });
    add(tr("What the selection comes from"), Qt::Key_BracketLeft, [this] { m_timeline->stepFlow(-1); });
    add(tr("Make the selected event an area"), Qt::Key_R, [this] { m_timeline->areaOfSelection(); });
    add(tr("Collapse or expand the process of the row"), Qt::Key_C, [this] { m_timeline->toggleProcess(); });
    add(tr("Pin the row to the top, or let it go"), Qt::Key_P, [this] { m_timeline->togglePin(); });
    add(tr("Graph of the selected replay or kernel"), Qt::Key_G, [this] { showGraph(); });
    add(tr("Compare the ranks in the step of the selection"), Qt::Key_X, [this] { showRanks(); });
    add(tr("Clear the selection"), Qt::Key_Escape, [this] {
        m_timeline->clearSelection();
        m_timeline->setFocus();
    });
}

void MainWindow::makeMarkActions() {
    const QString select = tr("&Select");
    addKey(this, select, tr("Set or remove a mark"), {Qt::Key_M}, [this] { m_timeline->toggleMark(); });
    addKey(this, select, tr("Set or remove a mark and keep the marks beside the trace"),
        {QKeySequence(Qt::SHIFT | Qt::Key_M)}, [this] {
            m_timeline->toggleMark();
            keepMarks();
        });
    addKey(this, select, tr("Next mark"), {Qt::Key_B}, [this] { m_timeline->stepMark(1); });
    addKey(this, select, tr("Mark before"), {QKeySequence(Qt::SHIFT | Qt::Key_B)},
        [this] { m_timeline->stepMark(-1); });
}

void MainWindow::makeSearchActions() {
    const QString search = tr("Sea&rch");
    addKey(this, search, tr("Search event names"), {Qt::Key_Slash, QKeySequence::Find},
        [this] { m_search->focusText(); });
    addKey(this, search, tr("Next hit"), {QKeySequence::FindNext}, [this] { m_search->step(1); });
    addKey(this, search, tr("Hit before"), {QKeySequence::FindPrevious}, [this] { m_search->step(-1); });
    addKey(this, search, tr("Show only rows named"), {QKeySequence(Qt::CTRL | Qt::Key_P)},
        [this] { m_search->focusRows(); });
    addKey(this, search, tr("Filter the findings"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_F)},
        [this] { m_findings->focusFilter(); });
}

void MainWindow::makePanelActions() {
    const QString panels = tr("&Panels");
    const auto add = [&](const QString& text, Qt::Key digit, QDockWidget* dock, QWidget* focused) {
        addKey(this, panels, text, {QKeySequence(Qt::ALT | digit)}, [dock, focused] {
            if (dock != nullptr) {
                dock->show();
                dock->raise();
            }
            focused->setFocus();
        });
    };
    add(tr("Go to the timeline"), Qt::Key_1, nullptr, m_timeline);
    add(tr("Go to the findings"), Qt::Key_2, m_findings, m_findings->view());
    addKey(this, panels, tr("Go to the details, source line first"), {QKeySequence(Qt::ALT | Qt::Key_3)},
        [this] {
            m_details->show();
            m_details->raise();
            m_details->focusSource();
        });
    add(tr("Go to the statistics of the area"), Qt::Key_4, m_stats, m_stats->view());
    add(tr("Go to the graph"), Qt::Key_5, m_graph, m_graph->view());
    addKey(this, panels, tr("Go to the comparison of ranks"), {QKeySequence(Qt::ALT | Qt::Key_6)}, [this] {
        m_ranks->show();
        m_ranks->raise();
        m_ranks->focusTable();
    });
    add(tr("Go to the hits of the search"), Qt::Key_7, m_hits, m_hits->view());
    add(tr("Go to the notes on the trace"), Qt::Key_8, m_issuesDock, m_issueList);
    addKey(this, panels, tr("Copy the statistics as CSV"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C)},
        [this] { m_stats->copyCsv(); });
    menuOf(this, panels)->addSeparator();
    for (const QDockWidget* dock : findChildren<QDockWidget*>())
        menuOf(this, panels)->addAction(dock->toggleViewAction());
}

} // namespace gd::gui
