// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/compare_model.h"
#include "gui/model/compare_session.h"
#include "gui/timeline/timeline_view.h"

#include <QMainWindow>

#include <array>
#include <functional>
#include <memory>

class QCheckBox;
class QLabel;
class QSplitter;
class QTreeView;

namespace gd::gui {

class ChangeDelegate;

// Two traces: their timelines one above the other, aligned at a step that both have and moved together, and
// below them what differs.
class CompareWindow : public QMainWindow {
    Q_OBJECT
public:
    // `theme` null: follows the desktop's palette.
    explicit CompareWindow(const Theme* theme, QWidget* parent = nullptr);
    ~CompareWindow() override;

    void setRulesFolder(const QString& folder) { m_rulesFolder = folder; }
    // Place and layout of the window are kept from now on.
    void useSettings();
    // Once. Not before the window has its size.
    void open(const QString& base, const QString& fresh);

    bool loaded() const { return m_loaded; } // everything is there, or one trace could not be opened
    const QString& failure() const { return m_failure; }
    TimelineView* baseTimeline() { return m_sides[0].timeline; }
    TimelineView* newTimeline() { return m_sides[1].timeline; }
    CompareModel& model() { return m_model; }
    QTreeView* table() { return m_table; }
    QSplitter* split() { return m_sidesSplit; }
    // The pair of steps that is shown, index into Alignment::pairs; -1: steps are not aligned.
    int pair() const { return m_pair; }
    // Shows a pair of steps; false: there is none of that index.
    bool showPair(int pair);
    // The pair with this number of the base's step.
    bool showStep(qint64 baseStep);
    void settle(); // waits until both timelines are painted as they will stay

signals:
    void compareLoaded();

protected:
    void changeEvent(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;

private:
    struct Side {
        TimelineView* timeline = nullptr;
        QLabel* title = nullptr;
        QString path;
        std::unique_ptr<TraceSession> session;
        bool finished = false;
    };
    void makeActions();
    void makeMoveActions();
    void makeSelectActions();
    void makeSide(std::size_t side, QWidget* into, const Theme& theme);
    void openSide(std::size_t side, const QString& path);
    void fail(const QString& sentence);
    void take(const ComparisonPtr& comparison);
    void unfold();
    void finishIfDone();
    // The other side shows what belongs to what this one shows.
    void follow(std::size_t moved);
    void both(const std::function<void(TimelineView*)>& what);
    TimelineView* active(); // the one with the focus, else the base's
    void fitAll();
    void showTitles();

    QString m_rulesFolder;
    std::array<Side, 2> m_sides; // base, new
    std::unique_ptr<CompareSession> m_session;
    CompareModel m_model;
    QSplitter* m_sidesSplit; // between the timelines
    QTreeView* m_table;
    ChangeDelegate* m_changes;
    const Theme* m_forced;
    bool m_keepsSettings = false;
    QLabel* m_summary;
    QCheckBox* m_onlyChanges;
    QString m_failure;
    bool m_loaded = false;
    bool m_following = false;
    int m_pair = -1;
    qint64 m_offsetNs = 0; // time in the new trace - time in the base of what stands above each other
};

} // namespace gd::gui
