// SPDX-License-Identifier: Apache-2.0
#include "gui/app/main_window.h"

#include "gui/app/issues_bar.h"
#include "gui/docks/legend.h"

#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QFontDatabase>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QStatusBar>
#include <QTableView>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace gd::gui {
namespace {

std::vector<Legend::Entry> legendEntries() {
    return {{MainWindow::tr("GEMM"), Category::gemm}, {MainWindow::tr("attention"), Category::attention},
        {MainWindow::tr("other kernels"), Category::compute}, {MainWindow::tr("NCCL"), Category::comm},
        {MainWindow::tr("waits in it"), Category::comm, true}, {MainWindow::tr("copy"), Category::copy},
        {MainWindow::tr("fill"), Category::fill}, {MainWindow::tr("replay"), Category::replay},
        {MainWindow::tr("idle gap"), Category::gap, true}, {MainWindow::tr("host"), Category::host},
        {MainWindow::tr("memory"), Category::memory}};
}

// Those that rows of this trace show.
std::vector<Legend::Entry> legendEntriesOf(
    const std::vector<RowPtr>& rows, const ShownCategories& categories) {
    const bool hasWaits
        = std::any_of(rows.begin(), rows.end(), [](const RowPtr& row) { return row->matches != nullptr; });
    std::vector<Legend::Entry> out;
    for (const Legend::Entry& entry : legendEntries()) {
        const bool isWait = entry.category == Category::comm && entry.isHatched;
        if (isWait ? hasWaits : categories.test(static_cast<std::size_t>(entry.category)))
            out.push_back(entry);
    }
    return out;
}

} // namespace

MainWindow::MainWindow(const Theme* theme, QWidget* parent)
    : QMainWindow(parent)
    , m_timeline(new TimelineView)
    , m_minimap(new Minimap(m_timeline))
    , m_search(new SearchBar)
    , m_issuesBar(new IssuesBar)
    , m_issuesDock(new QDockWidget(tr("Notes on the trace"), this))
    , m_issueList(new QListWidget)
    , m_findings(new FindingsDock(this))
    , m_details(new DetailsDock(this))
    , m_stats(new StatsDock(this))
    , m_graph(new GraphDock(theme != nullptr ? theme : &Theme::of(palette()), this))
    , m_ranks(new RanksDock(theme != nullptr ? theme : &Theme::of(palette()), this))
    , m_hits(new HitsDock(this))
    , m_state(new QLabel)
    , m_legend(new Legend(theme != nullptr ? *theme : Theme::of(palette()), legendEntries()))
    , m_forced(theme) {
    setWindowTitle(tr("GraphDoctor"));
    setAcceptDrops(true);
    if (theme != nullptr)
        QApplication::setPalette(theme->palette());
    m_timeline->setTheme(theme != nullptr ? *theme : Theme::of(palette()));

    m_minimap->setTheme(theme != nullptr ? *theme : Theme::of(palette()));

    auto* const middle = new QWidget;
    auto* const column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_issuesBar);
    column->addWidget(m_minimap);
    column->addWidget(m_timeline, 1);
    setCentralWidget(middle);

    m_issuesDock->setObjectName(QStringLiteral("issues"));
    m_issueList->setWordWrap(true);
    m_issueList->setAccessibleName(tr("Notes on the trace"));
    m_issuesDock->setWidget(m_issueList);
    addDockWidget(Qt::BottomDockWidgetArea, m_findings);
    addDockWidget(Qt::BottomDockWidgetArea, m_details);
    addDockWidget(Qt::BottomDockWidgetArea, m_issuesDock);
    tabifyDockWidget(m_findings, m_ranks);
    tabifyDockWidget(m_findings, m_hits);
    tabifyDockWidget(m_findings, m_issuesDock);
    tabifyDockWidget(m_details, m_stats);
    tabifyDockWidget(m_details, m_graph);
    m_details->raise();
    m_issuesDock->hide();
    m_findings->raise();
    statusBar()->addWidget(m_state, 1);
    m_legend->setObjectName(QStringLiteral("legend"));
    statusBar()->addPermanentWidget(m_legend);
    statusBar()->addPermanentWidget(m_search);

    connectDocks();
    makeActions();
    showEmptyState();
    // Tab goes through the panels as they stand: what is found, why, and figures.
    QWidget* const order[] = {m_timeline, m_findings->text(), m_findings->severity(), m_findings->order(),
        m_findings->view(), m_hits->view(), m_issueList, m_details->view(), m_stats->view(), m_graph->view(),
        m_search->text(), m_search->rows()};
    for (std::size_t i = 1; i < std::size(order); ++i)
        setTabOrder(order[i - 1], order[i]);
}

MainWindow::~MainWindow() = default;

void MainWindow::connectDocks() {
    connect(m_findings, &FindingsDock::selected, this, [this](const rules::Finding& finding, int number) {
        m_details->setRows(findingDetails(finding, m_report->evidence));
        m_details->raise();
        m_timeline->selectFinding(number);
    });
    connect(m_findings, &FindingsDock::detailsWanted, m_details, &DetailsDock::focusSource);
    connect(m_timeline, &TimelineView::findingPicked, m_findings, &FindingsDock::select);
    connect(m_timeline, &TimelineView::eventSelected, this, [this](const EventKey& event) {
        if (event && m_session)
            m_session->requestDetails(event);
        else
            m_details->setRows({});
    });
    connect(m_timeline, &TimelineView::areaChanged, this, [this] {
        const auto area = m_timeline->area();
        if (!area || !m_session) {
            m_stats->clear();
            return;
        }
        m_stats->count(m_timeline->layout().rows(), area->first, area->second, m_session->names());
        m_stats->raise();
        m_session->requestMoved(area->first, area->second);
    });
    connect(m_graph->view(), &GraphView::picked, this, [this](std::size_t node) {
        const TimeScale& scale = m_timeline->scale();
        if (m_session)
            m_session->requestNode(m_graph->view()->graph(), node, scale.nsAt(m_timeline->plotWidth() / 2.0));
    });
    connectRanks();
    connect(m_search, &SearchBar::found, m_timeline, &TimelineView::selectEvent);
    connect(m_search, &SearchBar::rowFilterChanged, m_timeline, &TimelineView::setFilter);
    connect(m_search, &SearchBar::rowWanted, this, [this] {
        m_timeline->setFocus();
        m_timeline->firstRow();
    });
    connect(m_search, &SearchBar::left, m_timeline, qOverload<>(&QWidget::setFocus));
    connect(m_search, &SearchBar::counted, this, &MainWindow::showHits);
    connect(m_search, &SearchBar::hitsWanted, this, [this] {
        m_hits->show();
        m_hits->raise();
        m_hits->view()->setFocus();
    });
    connect(m_hits, &HitsDock::rowWanted, m_search, &SearchBar::goTo);
    connect(m_findings, &FindingsDock::left, m_timeline, qOverload<>(&QWidget::setFocus));
    connect(m_details, &DetailsDock::sourceWanted, this, &MainWindow::openSource);
    connect(m_details, &DetailsDock::ruleWanted, this, &MainWindow::showRule);
    connect(m_details, &DetailsDock::timeWanted, m_timeline,
        [this](qint64 from, qint64 to) { m_timeline->showInterval(from, to, 1.0 / 3); });
    connect(m_issuesBar, &QToolButton::clicked, this, [this] {
        m_issuesDock->show();
        m_issuesDock->raise();
        m_issueList->setFocus();
    });
}

void MainWindow::openJob(const QStringList& paths) {
    m_session = std::make_unique<TraceSession>();
    if (!m_rulesFolder.isEmpty())
        m_session->setRulesFolder(m_rulesFolder.toStdString());
    m_paths = paths;
    m_path = paths.front();
    m_report.reset();
    m_failure.clear();
    m_issues.clear();
    m_graveIssues = 0;
    m_loaded = false;
    m_issueList->clear();
    m_issuesBar->hide();
    m_findings->setReport(nullptr);
    m_minimap->setReport(nullptr);
    m_stats->clear();
    m_graph->setReason(tr("Select a replay, or a kernel of one, and press G to see its graph."));
    m_search->setTrace(nullptr, nullptr);
    m_details->setRows({});
    m_timeline->setTrace({}, m_session->names());
    m_legend->setEntries(legendEntries());
    m_ranks->setSteps({}, tr("The trace is being read …"));
    const QString name = QFileInfo(m_path).fileName();
    setWindowTitle(
        tr("%1 – GraphDoctor")
            .arg(paths.size() == 1
                    ? name
                    : tr("%1 and %n more", nullptr, static_cast<int>(paths.size() - 1)).arg(name)));
    showEmptyState();
    connectSession();
    m_session->openJob(paths);
}

void MainWindow::connectSession() {
    TraceSession* const session = m_session.get();
    connect(session, &TraceSession::opened, this, [this](const TraceInfo& info) {
        m_timeline->setTrace(info, m_session->names());
        addRecent();
    });
    connect(session, &TraceSession::importing, this, [this](int percent) {
        m_timeline->setEmptyText(tr("Importing %1 into the cache folder: %2 %").arg(m_path).arg(percent));
    });
    connect(session, &TraceSession::rowLoaded, m_timeline, &TimelineView::addRow);
    connect(session, &TraceSession::tracksLoaded, this, [this](const ShownCategories& shown) {
        m_state->setText(tr("Looking for findings …"));
        m_search->setTrace(m_timeline, m_session->names());
        m_legend->setEntries(legendEntriesOf(m_timeline->layout().rows(), shown));
        loadMarks();
        showEmptyState();
    });
    connect(session, &TraceSession::reportReady, this, &MainWindow::takeReport);
    connect(session, &TraceSession::noted, this, [this](const QString& text) { addIssue(text, true); });
    connect(session, &TraceSession::remarked, this, [this](const QString& text) { addIssue(text, false); });
    connect(session, &TraceSession::stepsToCompare, m_ranks, &RanksDock::setSteps);
    connect(session, &TraceSession::ranksReady, m_ranks, &RanksDock::setStep);
    connect(session, &TraceSession::ranksReady, this, &MainWindow::ranksAnswered);
    connect(session, &TraceSession::ranksRefused, m_ranks, &RanksDock::setReason);
    connect(session, &TraceSession::ranksRefused, this, &MainWindow::ranksAnswered);
    connect(session, &TraceSession::failed, this, [this](const QString& text) {
        m_failure = text;
        m_ranks->setSteps({}, tr("The trace cannot be shown."));
        m_timeline->setTrace({}, m_session->names());
    });
    connect(session, &TraceSession::detailsReady, this,
        [this](const EventKey& event, const std::vector<DetailRow>& rows) {
            if (event == m_timeline->selectedEvent())
                m_details->setRows(rows);
        });
    connect(session, &TraceSession::flowReady, this, [this](const EventKey& event, const Flow& flow) {
        if (event != m_timeline->selectedEvent())
            return;
        m_details->append(flowDetails(flow));
        m_timeline->setFlow(flow);
    });
    connect(session, &TraceSession::movedReady, m_stats, &StatsDock::setMoved);
    connect(session, &TraceSession::graphReady, m_graph, &GraphDock::setGraph);
    connect(session, &TraceSession::graphRefused, m_graph, &GraphDock::setReason);
    connect(session, &TraceSession::nodeFound, this, [this](qint64 kernel, qint64 startNs) {
        const GraphPtr& graph = m_graph->view()->graph();
        const EventKey event = graph && kernel >= 0
            ? m_timeline->findEvent(graph->process, "kernel", kernel, startNs)
            : EventKey();
        if (event)
            m_timeline->selectEvent(event);
        else
            statusBar()->showMessage(tr("No replay in this trace recorded this node by itself"), 8000);
    });
    connect(session, &TraceSession::finished, this, [this] {
        m_loaded = true;
        std::size_t events = 0;
        for (const RowPtr& row : m_timeline->layout().rows())
            events += row->events();
        m_state->setText(m_failure.isEmpty() ? tr("%1 events in %2 rows · N next finding · ? keys")
                                                   .arg(events)
                                                   .arg(m_timeline->layout().rows().size())
                                             : QString());
        showEmptyState();
        emit traceLoaded();
    });
}

void MainWindow::takeReport(const ReportPtr& report) {
    m_report = report;
    m_timeline->setReport(report);
    m_findings->setReport(report);
    m_minimap->setReport(report);
    for (const report::Issue& issue : report->report.issues) {
        if (issue.severity != "info")
            addIssue(QString::fromStdString(issue.detail), issue.severity == "error");
    }
    bool deviceWork = false;
    for (const RowPtr& row : m_timeline->layout().rows())
        deviceWork = deviceWork || row->kind == RowKind::stream || row->kind == RowKind::replay;
    if (!deviceWork && !m_timeline->layout().rows().empty())
        addIssue(tr("No GPU work is in this trace: it was recorded with activity off, or the job never "
                    "reached the GPU; "
                    "graphdoctor report tells what was looked at"),
            false);
}

void MainWindow::addIssue(const QString& sentence, bool grave) {
    m_issues.insert(grave ? m_graveIssues++ : m_issues.size(), sentence);
    m_issueList->clear();
    m_issueList->addItems(m_issues);
    paintIssuesBar();
    const QString more
        = m_issues.size() > 1 ? tr(" (%n more)", nullptr, static_cast<int>(m_issues.size() - 1)) : QString();
    m_issuesBar->say(m_issues.front(), more);
}

// The desktop's palette may change while the window is open.
void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() != QEvent::PaletteChange || m_forced != nullptr)
        return;
    const Theme& theme = Theme::of(palette());
    m_timeline->setTheme(theme);
    m_minimap->setTheme(theme);
    m_graph->view()->setTheme(theme);
    m_ranks->setTheme(theme);
    m_legend->setTheme(theme);
    paintIssuesBar();
}

void MainWindow::paintIssuesBar() {
    const Theme& theme = m_forced != nullptr ? *m_forced : Theme::of(palette());
    const QColor color = m_graveIssues > 0 ? theme.error : theme.warning;
    m_issuesBar->setStyleSheet(
        QStringLiteral("QToolButton { background: %1; color: %2; border: none; padding: 3px; }")
            .arg(color.name(), labelOn(color).name()));
}

// What the timeline says while it has no rows: never nothing.
void MainWindow::showEmptyState() {
    QString text;
    if (!m_failure.isEmpty())
        text = tr("This trace cannot be shown.\n\n%1.").arg(m_failure);
    else if (!m_session)
        text = tr("No trace is open.\n\nDrop a .gdt file here, or press Ctrl+O. "
                  "A trace is made by: graphdoctor run -- your program");
    else if (!m_loaded)
        text = tr("Opening %1 …").arg(m_path);
    else
        text = tr("There are no events in this trace.\n\nThe job never used a runtime that GraphDoctor "
                  "follows, or recording "
                  "was off. graphdoctor report %1 tells more.")
                   .arg(m_path);
    m_timeline->setEmptyText(text);
}

bool MainWindow::showStep(qint64 number) {
    const QString name = QString::fromStdString(stepName(number));
    for (const RowPtr& row : m_timeline->layout().rows()) {
        if (row->kind != RowKind::step)
            continue;
        for (std::size_t lane = 0; lane < row->lanes.size(); ++lane) {
            const Lane& events = *row->lanes[lane];
            for (std::size_t i = 0; i < events.size(); ++i) {
                const QString text = QString::fromStdString((*m_session->names())[events.name(i)].text);
                if (text != name && !text.startsWith(name + QLatin1Char(' ')))
                    continue;
                m_timeline->selectEvent({row, lane, i});
                m_timeline->showInterval(events.start(i), events.end(i), 0.1);
                return true;
            }
        }
    }
    return false;
}

void MainWindow::showGraph() {
    m_graph->show();
    m_graph->raise();
    if (m_session && m_timeline->selectedEvent())
        m_session->requestGraph(m_timeline->selectedEvent());
    m_graph->view()->setFocus();
}

// Processes in the order in which the timeline shows them.
void MainWindow::showHits(const QString& text, const SearchResult& result) {
    const auto& processes = m_timeline->info().processes;
    const auto placeOf = [&processes](const SearchResult::OfRow& of) {
        return std::find_if(processes.begin(), processes.end(),
            [&](const ProcessInfo& process) { return process.id == of.row->process; });
    };
    SearchResult shown = result;
    std::stable_sort(shown.rows.begin(), shown.rows.end(),
        [&](const auto& a, const auto& b) { return placeOf(a) < placeOf(b); });
    std::function<QString(std::int64_t)> heading;
    if (processes.size() > 1)
        heading = [this](std::int64_t process) { return m_timeline->layout().heading(process); };
    m_hits->setHits(text, shown, std::move(heading));
    m_timeline->setHits(shown.rows);
}

void MainWindow::showRule(const QString& id) {
    if (!m_report || !m_report->rulePages.contains(id.toStdString())) {
        statusBar()->showMessage(tr("There is no rule %1 here").arg(id), 8000);
        return;
    }
    auto* const dialog = new QDialog(this); // deletes itself
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("rulePage"));
    dialog->setWindowTitle(tr("Rule %1").arg(id));
    auto* const text = new QPlainTextEdit(QString::fromStdString(m_report->rulePages.at(id.toStdString())));
    text->setAccessibleName(dialog->windowTitle());
    text->setReadOnly(true);
    text->setTextInteractionFlags(Qt::TextSelectableByKeyboard | Qt::TextSelectableByMouse);
    text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    text->setTabChangesFocus(true);
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    auto* const column = new QVBoxLayout(dialog);
    column->addWidget(text);
    column->addWidget(buttons);
    dialog->resize(text->fontMetrics().averageCharWidth() * 100, size().height() * 3 / 4);
    text->setFocus();
    dialog->open();
}

void MainWindow::openSource(const QString& file, qint64 line) {
    if (!openInEditor(file, line))
        statusBar()->showMessage(tr("%1:%2 cannot be opened here").arg(file).arg(line), 8000);
}

// Panels behind another one's tab count as visible to Qt, but nobody sees them.
bool MainWindow::focusNextPrevChild(bool next) {
    for (int tries = 0; tries < 50; ++tries) {
        if (!QMainWindow::focusNextPrevChild(next))
            return false;
        const QWidget* at = focusWidget();
        while (at != nullptr && qobject_cast<const QDockWidget*>(at) == nullptr)
            at = at->parentWidget();
        if (at == nullptr || !at->visibleRegion().isEmpty())
            break;
    }
    return true;
}

} // namespace gd::gui
