// SPDX-License-Identifier: Apache-2.0
#include "gui/app/compare_window.h"

#include "analyzer/base/time.h"
#include "analyzer/report/compare/words.h"
#include "gui/app/keys.h"
#include "gui/app/physical_keys.h"
#include "gui/docks/change_delegate.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSettings>
#include <QSplitter>
#include <QStatusBar>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace gd::gui {

CompareWindow::CompareWindow(const Theme* theme, QWidget* parent)
    : QMainWindow(parent)
    , m_sidesSplit(new QSplitter(Qt::Vertical))
    , m_table(new QTreeView)
    , m_changes(new ChangeDelegate(theme != nullptr ? theme : &Theme::of(palette()), m_table))
    , m_forced(theme)
    , m_summary(new QLabel)
    , m_onlyChanges(new QCheckBox(tr("Only what &changed"))) {
    setWindowTitle(tr("GraphDoctor"));
    if (theme != nullptr)
        QApplication::setPalette(theme->palette());
    if (theme != nullptr) {
        QPalette box = theme->palette(); // its outline is made of the window's colour: none on a dark one
        box.setColor(QPalette::Window, theme->muted);
        m_onlyChanges->setPalette(box);
    }
    const Theme& colors = theme != nullptr ? *theme : Theme::of(palette());
    for (std::size_t side = 0; side < m_sides.size(); ++side) {
        auto* const panel = new QWidget;
        makeSide(side, panel, colors);
        m_sidesSplit->addWidget(panel);
    }
    setCentralWidget(m_sidesSplit);

    m_table->setModel(&m_model);
    m_table->setObjectName(QStringLiteral("compareView"));
    m_table->setAccessibleName(tr("What differs"));
    m_table->setUniformRowHeights(true);
    m_table->setAllColumnsShowFocus(true);
    m_table->setAlternatingRowColors(true);
    m_table->setItemDelegateForColumn(CompareModel::verdict, m_changes);
    m_table->header()->setStretchLastSection(false);
    m_table->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->header()->setSectionResizeMode(CompareModel::what, QHeaderView::Stretch);
    auto* const body = new QWidget;
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(4, 2, 4, 2);
    auto* const top = new QHBoxLayout;
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setWordWrap(true);
    top->addWidget(m_summary, 1);
    top->addWidget(m_onlyChanges);
    column->addLayout(top);
    column->addWidget(m_table, 1);
    auto* const dock = new QDockWidget(tr("Differences"), this);
    dock->setObjectName(QStringLiteral("differences"));
    dock->setWidget(body);
    dock->setFeatures(QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetFloatable);
    addDockWidget(Qt::BottomDockWidgetArea, dock);
    connect(m_onlyChanges, &QCheckBox::toggled, this, [this](bool only) {
        m_model.setOnlyChanges(only);
        unfold();
    });
    makeActions();
    m_summary->setText(tr("No traces are open."));
}

CompareWindow::~CompareWindow() = default;

void CompareWindow::makeSide(std::size_t number, QWidget* into, const Theme& theme) {
    Side& side = m_sides[number];
    side.timeline = new TimelineView;
    side.title = new QLabel;
    side.timeline->setTheme(theme);
    side.timeline->setAccessibleName(
        number == 0 ? tr("Timeline of the base") : tr("Timeline of the new trace"));
    side.title->setTextFormat(Qt::PlainText);
    side.title->setContentsMargins(6, 2, 6, 2);
    auto* const column = new QVBoxLayout(into);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(side.title);
    column->addWidget(side.timeline, 1);
    connect(side.timeline, &TimelineView::scaleChanged, this, [this, number] { follow(number); });
    // There is no panel of details here: what is selected is said below.
    connect(side.timeline, &TimelineView::eventSelected, this,
        [this, number] { statusBar()->showMessage(m_sides[number].timeline->selectionText()); });
}

void CompareWindow::both(const std::function<void(TimelineView*)>& what) {
    for (Side& side : m_sides)
        what(side.timeline);
}

TimelineView* CompareWindow::active() {
    return m_sides[1].timeline->hasFocus() ? m_sides[1].timeline : m_sides[0].timeline;
}

void CompareWindow::makeActions() {
    addKey(this, tr("&File"), tr("Quit"), {QKeySequence(Qt::CTRL | Qt::Key_Q)}, [this] { close(); });
    makeMoveActions();
    makeSelectActions();
    const QString panels = tr("&Panels");
    addKey(this, panels, tr("Go to the base"), {QKeySequence(Qt::ALT | Qt::Key_1)},
        [this] { m_sides[0].timeline->setFocus(); });
    addKey(this, panels, tr("Go to the new trace"), {QKeySequence(Qt::ALT | Qt::Key_2)},
        [this] { m_sides[1].timeline->setFocus(); });
    addKey(this, panels, tr("Go to the differences"), {QKeySequence(Qt::ALT | Qt::Key_3)},
        [this] { m_table->setFocus(); });
    addKey(this, panels, tr("Only what changed"), {Qt::Key_O}, [this] { m_onlyChanges->toggle(); });
    addKey(this, tr("&Help"), tr("Keys"), {Qt::Key_Question}, [this] { showKeys(this); });
}

void CompareWindow::makeMoveActions() {
    const QString move = tr("&Move");
    const auto add = [&](const QString& text, const QList<QKeySequence>& keys, std::function<void()> run) {
        return addKey(this, move, text, keys, std::move(run));
    };
    add(tr("Next step"), {Qt::Key_N}, [this] { showPair(m_pair + 1); });
    add(tr("Step before"), {QKeySequence(Qt::SHIFT | Qt::Key_N)}, [this] { showPair(m_pair - 1); });
    add(tr("This step"), {Qt::Key_F}, [this] { showPair(m_pair); });
    add(tr("Both traces as a whole"), {Qt::Key_0}, [this] { fitAll(); });
    QAction* const in = add(tr("Zoom in"), {Qt::Key_W, Qt::Key_Plus}, [this] { active()->zoom(0.7); });
    QAction* const out = add(tr("Zoom out"), {Qt::Key_S, Qt::Key_Minus}, [this] { active()->zoom(1 / 0.7); });
    QAction* const earlier = add(tr("Earlier"), {Qt::Key_A}, [this] { active()->pan(-0.2); });
    QAction* const later = add(tr("Later"), {Qt::Key_D}, [this] { active()->pan(0.2); });
    new PhysicalKeys(this, {in, earlier, out, later}); // a child of the window
    add(tr("Back to the view before"), {Qt::Key_Backspace, QKeySequence(Qt::ALT | Qt::Key_Left)},
        [this] { active()->back(); });
}

void CompareWindow::makeSelectActions() {
    const QString select = tr("&Select");
    const auto add = [&](const QString& text, const QKeySequence& key, std::function<void()> run) {
        addKey(this, select, text, {key}, std::move(run));
    };
    add(tr("Row below"), Qt::Key_J, [this] { active()->stepRow(1); });
    add(tr("Row above"), Qt::Key_K, [this] { active()->stepRow(-1); });
    add(tr("Next event in the row"), Qt::Key_Period, [this] { active()->stepEvent(1); });
    add(tr("Event before in the row"), Qt::Key_Comma, [this] { active()->stepEvent(-1); });
    add(tr("Make the selected event an area"), Qt::Key_R, [this] { active()->areaOfSelection(); });
    add(tr("Collapse or expand the process of the row"), Qt::Key_C, [this] { active()->toggleProcess(); });
    add(tr("Pin the row to the top, or let it go"), Qt::Key_P, [this] { active()->togglePin(); });
    add(tr("Clear the selection"), Qt::Key_Escape, [this] {
        TimelineView* const view = active();
        view->clearSelection();
        view->setFocus();
    });
}

void CompareWindow::open(const QString& base, const QString& fresh) {
    setWindowTitle(
        tr("%1 and %2 – GraphDoctor").arg(QFileInfo(base).fileName(), QFileInfo(fresh).fileName()));
    m_summary->setText(tr("Comparing …"));
    openSide(0, base);
    openSide(1, fresh);
    m_session = std::make_unique<CompareSession>(
        m_rulesFolder.isEmpty() ? installedRules() : m_rulesFolder.toStdString());
    connect(m_session.get(), &CompareSession::compared, this, &CompareWindow::take);
    connect(m_session.get(), &CompareSession::failed, this, &CompareWindow::fail);
    m_session->compare(base, fresh);
    showTitles();
}

void CompareWindow::openSide(std::size_t number, const QString& path) {
    Side& side = m_sides[number];
    side.path = path;
    side.session = std::make_unique<TraceSession>();
    side.session->setFindings(false);
    side.timeline->setEmptyText(tr("Opening %1 …").arg(path));
    TraceSession* const session = side.session.get();
    TimelineView* const timeline = side.timeline;
    connect(session, &TraceSession::opened, timeline,
        [timeline, session](const TraceInfo& info) { timeline->setTrace(info, session->names()); });
    connect(session, &TraceSession::rowLoaded, timeline, &TimelineView::addRow);
    connect(session, &TraceSession::failed, this, [this, timeline](const QString& text) {
        timeline->setEmptyText(tr("This trace cannot be shown.\n\n%1.").arg(text));
        fail(text);
    });
    connect(session, &TraceSession::finished, this, [this, number] {
        Side& done = m_sides[number];
        done.finished = true;
        if (done.timeline->layout().rows().empty() && m_failure.isEmpty())
            done.timeline->setEmptyText(tr("There are no events in this trace."));
        finishIfDone();
    });
    session->open(path);
}

void CompareWindow::fail(const QString& sentence) {
    if (m_failure.isEmpty())
        m_failure = sentence;
    m_summary->setText(tr("The traces cannot be compared: %1").arg(m_failure));
    finishIfDone();
}

void CompareWindow::take(const ComparisonPtr& comparison) {
    m_model.setComparison(comparison);
    unfold();
    m_summary->setText(tr("Steps: %1. A difference counts from %2 % on and beyond the spread of the values.")
                           .arg(QString::fromStdString(report::alignmentText(comparison->alignment)))
                           .arg(comparison->options.thresholdPercent));
    finishIfDone();
}

// All lines; sentences have no figures beside them and may take their place.
void CompareWindow::unfold() {
    m_table->expandAll();
    for (int group = 0; group < m_model.rowCount(); ++group) {
        const QModelIndex heading = m_model.index(group, 0, {});
        for (int row = 0; row < m_model.rowCount(heading); ++row)
            m_table->setFirstColumnSpanned(
                row, heading, m_model.difference(m_model.index(row, 0, heading)) == nullptr);
    }
}

void CompareWindow::finishIfDone() {
    const bool answered = m_model.comparison() != nullptr || !m_failure.isEmpty();
    if (m_loaded || !answered || !m_sides[0].finished || !m_sides[1].finished)
        return;
    m_loaded = true;
    if (m_model.comparison()) {
        // The first pair of steady state says more than the first of all, which is warm-up.
        const auto& pairs = m_model.comparison()->alignment.pairs;
        if (!showPair(static_cast<int>(pairs.size()) / 2))
            fitAll();
    }
    m_sides[0].timeline->setFocus();
    emit compareLoaded();
}

bool CompareWindow::showPair(int pair) {
    if (!m_model.comparison() || pair < 0
        || pair >= static_cast<int>(m_model.comparison()->alignment.pairs.size()))
        return false;
    const report::StepPair& steps = m_model.comparison()->alignment.pairs[static_cast<std::size_t>(pair)];
    m_pair = pair;
    m_offsetNs = steps.newStartNs - steps.baseStartNs;
    const std::int64_t length
        = std::max(steps.baseEndNs - steps.baseStartNs, steps.newEndNs - steps.newStartNs);
    m_sides[0].timeline->showInterval(steps.baseStartNs, steps.baseStartNs + length, 0.1);
    follow(0);
    showTitles();
    return true;
}

bool CompareWindow::showStep(qint64 baseStep) {
    if (!m_model.comparison())
        return false;
    const auto& pairs = m_model.comparison()->alignment.pairs;
    const auto at = std::find_if(
        pairs.begin(), pairs.end(), [&](const report::StepPair& pair) { return pair.baseStep == baseStep; });
    return at != pairs.end() && showPair(static_cast<int>(at - pairs.begin()));
}

void CompareWindow::fitAll() {
    const TraceInfo& base = m_sides[0].timeline->info();
    const TraceInfo& fresh = m_sides[1].timeline->info();
    if (m_pair < 0)
        m_offsetNs = fresh.startNs - base.startNs;
    m_sides[0].timeline->showInterval(std::min<std::int64_t>(base.startNs, fresh.startNs - m_offsetNs),
        std::max<std::int64_t>(base.endNs, fresh.endNs - m_offsetNs), 0.01);
    follow(0);
}

void CompareWindow::follow(std::size_t moved) {
    if (m_following)
        return;
    m_following = true;
    TimeScale scale = m_sides[moved].timeline->scale();
    scale.startNs += moved == 0 ? m_offsetNs : -m_offsetNs;
    m_sides[1 - moved].timeline->follow(scale);
    m_following = false;
}

void CompareWindow::showTitles() {
    const auto number = [this](std::size_t side) -> QString {
        if (m_pair < 0)
            return {};
        const report::StepPair& pair
            = m_model.comparison()->alignment.pairs[static_cast<std::size_t>(m_pair)];
        const std::int64_t length
            = side == 0 ? pair.baseEndNs - pair.baseStartNs : pair.newEndNs - pair.newStartNs;
        return tr(" – step %1, %2 on the host")
            .arg(side == 0 ? pair.baseStep : pair.newStep)
            .arg(QString::fromStdString(base::formatDuration(length)));
    };
    m_sides[0].title->setText(tr("Base: %1%2").arg(m_sides[0].path, number(0)));
    m_sides[1].title->setText(tr("New: %1%2").arg(m_sides[1].path, number(1)));
}

void CompareWindow::useSettings() {
    m_keepsSettings = true;
    const QSettings settings;
    restoreGeometry(settings.value(QStringLiteral("compareGeometry")).toByteArray());
    restoreState(settings.value(QStringLiteral("compareLayout")).toByteArray());
    m_sidesSplit->restoreState(settings.value(QStringLiteral("compareSplit")).toByteArray());
}

void CompareWindow::closeEvent(QCloseEvent* event) {
    if (m_keepsSettings) {
        QSettings settings;
        settings.setValue(QStringLiteral("compareGeometry"), saveGeometry());
        settings.setValue(QStringLiteral("compareLayout"), saveState());
        settings.setValue(QStringLiteral("compareSplit"), m_sidesSplit->saveState());
    }
    QMainWindow::closeEvent(event);
}

// The timelines follow the palette themselves.
void CompareWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_forced == nullptr) {
        m_changes->setTheme(&Theme::of(palette()));
        m_table->viewport()->update();
    }
}

void CompareWindow::settle() {
    QApplication::processEvents();
    both([](TimelineView* timeline) { timeline->settle(); });
}

} // namespace gd::gui
