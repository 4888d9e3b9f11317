// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/app/search_bar.h"
#include "gui/docks/details_dock.h"
#include "gui/docks/findings_dock.h"
#include "gui/docks/graph_dock.h"
#include "gui/docks/hits_dock.h"
#include "gui/docks/ranks_dock.h"
#include "gui/docks/stats_dock.h"
#include "gui/timeline/minimap.h"
#include "gui/timeline/timeline_view.h"

#include <QMainWindow>

#include <functional>
#include <memory>
#include <optional>

class QLabel;
class QMenu;
class QListWidget;

namespace gd::gui {

class CompareWindow;
class IssuesBar;
class Legend;

// The window: the timeline in the middle, docks around it, one trace at a time. Every interaction is a
// QAction with its shortcut, so that the list of keys (?) is always the true one.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    // `theme` null: follows the desktop's palette.
    explicit MainWindow(const Theme* theme, QWidget* parent = nullptr);
    ~MainWindow() override;

    // Replaces the trace that is shown. Not to be called before the window has its size.
    void openTrace(const QString& path) { openJob({path}); }
    // Traces of several hosts or ranks of one job, shown as one.
    void openJob(const QStringList& paths);
    // The next traces use the rules of this folder.
    void setRulesFolder(const QString& folder) { m_rulesFolder = folder; }

    // Window places, recent files and choices of the user; kept from now on, until then nothing is written.
    void useSettings();
    const QMenu* recent() const { return m_recent; } // traces that were opened before, the last one first
    bool loaded() const { return m_loaded; } // everything is there, or the trace could not be opened
    const QString& failure() const { return m_failure; } // why not, empty: it could
    TimelineView* timeline() { return m_timeline; }
    FindingsDock* findings() { return m_findings; }
    DetailsDock* details() { return m_details; }
    GraphDock* graph() { return m_graph; }
    RanksDock* ranks() { return m_ranks; }
    StatsDock* statistics() { return m_stats; }
    SearchBar* search() { return m_search; }
    HitsDock* hits() { return m_hits; }
    Minimap* minimap() { return m_minimap; }
    const ReportPtr& report() const { return m_report; }
    // Sentences of the issues bar, the worst first.
    const QStringList& issues() const { return m_issues; }
    // The steps of the trace as intervals of the timeline's step rows; false: no such step.
    bool showStep(qint64 number);
    CompareWindow* compareWith(const QString& other); // this trace is the base

signals:
    void traceLoaded();
    void ranksAnswered(); // the step that was asked for is shown, or why not

protected:
    void changeEvent(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    bool focusNextPrevChild(bool next) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeActions();
    void makeFileActions();
    void makeMoveActions();
    void makeSelectActions();
    void makeMarkActions();
    void makeSearchActions();
    void makePanelActions();
    void connectDocks();
    void connectSession();
    void addIssue(const QString& sentence, bool grave);
    void takeReport(const ReportPtr& report);
    void showEmptyState();
    void showGraph(); // of the selected event
    void connectRanks();
    std::optional<qint64> stepOfSelection() const;
    void showRanks(); // of the step of the selected finding or event, else of the view
    // Marks live in TRACE.marks, one time in ns a line, so that the trace itself stays as it is.
    void keepMarks();
    void loadMarks();
    void chooseTrace();
    void chooseFolder();
    void addRecent();
    void fillRecent();
    void chooseOther(); // to compare with
    void showHits(const QString& text, const SearchResult& result);
    void showRule(const QString& id);
    void paintIssuesBar();
    void openSource(const QString& file, qint64 line);

    QString m_rulesFolder;
    std::unique_ptr<TraceSession> m_session;
    ReportPtr m_report;
    QString m_failure;
    QStringList m_paths;
    QString m_path; // the first of them
    QStringList m_issues; // grave ones first, each in the order they came
    int m_graveIssues = 0;
    bool m_loaded = false;

    TimelineView* m_timeline;
    Minimap* m_minimap;
    SearchBar* m_search;
    IssuesBar* m_issuesBar;
    QDockWidget* m_issuesDock;
    QListWidget* m_issueList;
    FindingsDock* m_findings;
    DetailsDock* m_details;
    StatsDock* m_stats;
    GraphDock* m_graph;
    RanksDock* m_ranks;
    HitsDock* m_hits;
    QLabel* m_state; // in the status bar, likewise:
    Legend* m_legend;
    QMenu* m_recent = nullptr;
    QAction* m_animate = nullptr;
    QAction* m_onlyUsedRows = nullptr;
    bool m_keepsSettings = false;
    const Theme* m_forced;
};

} // namespace gd::gui
