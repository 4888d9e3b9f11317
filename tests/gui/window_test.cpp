// SPDX-License-Identifier: Apache-2.0
// The window as a user drives it: keys and mouse, checked on its state and on what a screen reader gets.
#include "tests/gui/window_fixture.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QToolButton>

#include <gmock/gmock.h>

using namespace gd::gui;
using gd::test::Window;

TEST_F(Window, KeysAloneLeadFromTheTraceToTheLineThatBrokeTheCapture) {
    open("h200-item-deep");
    key(Qt::Key_N); // first finding
    EXPECT_EQ(view->selectedFinding(), 0);
    key(Qt::Key_3, Qt::AltModifier); // its details, source line first
    QWidget* focused = QApplication::focusWidget();
    ASSERT_EQ(focused, window.details()->view());
    EXPECT_THAT(spoken(focused), testing::HasSubstr("item_in_capture.py:29"));
}

TEST_F(Window, AFindingZoomsToItsIntervalWithContextAndBackspaceReturns) {
    open("h200-trace-sync-broken");
    const TimeScale before = view->scale();
    key(Qt::Key_N);
    const auto& finding = window.report()->report.findings.at(0);
    const double from = view->scale().xAt(*finding.startNs);
    const double to = view->scale().xAt(*finding.endNs);
    EXPECT_NEAR(from, view->plotWidth() / 3.0, 2);
    EXPECT_NEAR(to, view->plotWidth() * 2 / 3.0, 2);
    key(Qt::Key_Backspace);
    EXPECT_EQ(view->scale(), before);
}

TEST_F(Window, EnterOnEvidenceGoesToTheGapItself) {
    open("h200-trace-sync-broken");
    key(Qt::Key_N);
    key(Qt::Key_3, Qt::AltModifier);
    auto* const table = window.details()->view();
    DetailsModel& model = window.details()->model();
    int row = 0;
    while (row < model.rowCount()
        && !(model.row(model.index(row, 1))->key == "evidence"
            && model.row(model.index(row, 1))->startNs >= 0))
        ++row;
    ASSERT_LT(row, model.rowCount());
    const DetailRow evidence = *model.row(model.index(row, 1));
    table->setCurrentIndex(model.index(row, 1));
    key(Qt::Key_Return);
    EXPECT_NEAR(view->scale().xAt(evidence.startNs), view->plotWidth() / 3.0, 2);
    EXPECT_NEAR(view->scale().xAt(evidence.endNs), view->plotWidth() * 2 / 3.0, 2);
}

TEST_F(Window, ZoomAndPanKeysMoveTheView) {
    open("h200-trace-healthy");
    const TimeScale fit = view->scale();
    key(Qt::Key_W);
    EXPECT_LT(view->scale().nsPerPx, fit.nsPerPx);
    const std::int64_t start = view->scale().startNs;
    key(Qt::Key_D);
    EXPECT_GT(view->scale().startNs, start);
    key(Qt::Key_A);
    EXPECT_NEAR(static_cast<double>(view->scale().startNs), static_cast<double>(start), 2);
    key(Qt::Key_S);
    EXPECT_NEAR(view->scale().nsPerPx, fit.nsPerPx, fit.nsPerPx * 1e-9);
    key(Qt::Key_W);
    key(Qt::Key_0);
    EXPECT_EQ(view->scale(), fit);
}

TEST_F(Window, RowsAndEventsAreReachedByKeysAndSpoken) {
    open("h200-trace-healthy");
    key(Qt::Key_J);
    ASSERT_TRUE(view->selectedEvent());
    EXPECT_EQ(view->selectedEvent().row->kind, RowKind::step);
    const std::size_t first = view->selectedEvent().index;
    key(Qt::Key_Period);
    EXPECT_EQ(view->selectedEvent().index, first + 1);
    EXPECT_THAT(view->accessibleDescription().toStdString(), testing::StartsWith("step "));
    key(Qt::Key_Comma);
    EXPECT_EQ(view->selectedEvent().index, first);
    key(Qt::Key_J);
    EXPECT_NE(view->selectedEvent().row->kind, RowKind::step);
    key(Qt::Key_F);
    EXPECT_NEAR(view->scale().xAt((view->selectedEvent().startNs() + view->selectedEvent().endNs()) / 2),
        view->plotWidth() / 2.0, 2);
    key(Qt::Key_R);
    ASSERT_TRUE(view->area());
    EXPECT_EQ(view->area()->first, view->selectedEvent().startNs());
    key(Qt::Key_Escape);
    EXPECT_FALSE(view->area());
    EXPECT_FALSE(view->selectedEvent());
}

TEST_F(Window, ClickingAnEventFillsTheDetails) {
    open("h200-trace-sync-broken");
    const int y = yOf(RowKind::gap);
    ASSERT_GT(y, 0);
    RowPtr row;
    for (const RowPtr& r : view->layout().rows()) {
        if (r->kind == RowKind::gap)
            row = r;
    }
    const Lane& gaps = *row->lanes[0];
    const std::size_t index = gaps.longest(0, gaps.size());
    const int x
        = view->plotLeft() + static_cast<int>(view->scale().xAt((gaps.start(index) + gaps.end(index)) / 2));
    QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, QPoint(x, y));
    ASSERT_TRUE(view->selectedEvent());
    EXPECT_EQ(view->selectedEvent().row, row);
    DetailsModel& details = window.details()->model();
    ASSERT_TRUE(QTest::qWaitFor([&] { return details.find("cause") >= 0; }, 60'000));
    EXPECT_EQ(details.row(details.index(details.find("cause"), 1))->value, "host_other"); // its longest gap
}

TEST_F(Window, DraggingSelectsAnAreaAndItsEdgesSnapToEvents) {
    open("h200-trace-sync-broken");
    RowPtr row;
    for (const RowPtr& r : view->layout().rows()) {
        if (r->kind == RowKind::gap)
            row = r;
    }
    const Lane& gaps = *row->lanes[0];
    view->showInterval(gaps.start(5), gaps.end(5), 0.3);
    view->settle();
    const int y = yOf(RowKind::gap);
    const int from = view->plotLeft() + static_cast<int>(view->scale().xAt(gaps.start(5))) + 3;
    const int to = view->plotLeft() + static_cast<int>(view->scale().xAt(gaps.end(5))) - 3;
    QTest::mousePress(view->viewport(), Qt::LeftButton, {}, QPoint(from, y));
    QTest::mouseMove(view->viewport(), QPoint((from + to) / 2, y));
    QTest::mouseMove(view->viewport(), QPoint(to, y));
    QTest::mouseRelease(view->viewport(), Qt::LeftButton, {}, QPoint(to, y));
    ASSERT_TRUE(view->area());
    EXPECT_EQ(view->area()->first, gaps.start(5));
    EXPECT_EQ(view->area()->second, gaps.end(5));
    key(Qt::Key_0);
    key(Qt::Key_F); // no event is selected: the area fills the view
    EXPECT_NEAR(view->scale().xAt(gaps.start(5)), view->plotWidth() * 0.1, 2);
    EXPECT_NEAR(view->scale().xAt(gaps.end(5)), view->plotWidth() * 0.9, 2);
}

TEST_F(Window, PanningInsideTheFetchedSpanTouchesNoWorker) {
    open("h200-trace-healthy");
    for (int i = 0; i < 3; ++i)
        key(Qt::Key_W);
    view->settle();
    const int made = view->strips().made();
    for (int i = 0; i < 4; ++i) {
        view->pan(0.2);
        QCoreApplication::processEvents();
    }
    EXPECT_TRUE(view->strips().idle());
    EXPECT_EQ(view->strips().made(), made);
    view->pan(0.5);
    view->settle();
    EXPECT_GT(view->strips().made(), made);
}

TEST_F(Window, AGapIsHatchedBackgroundAndTheFindingHasItsMarker) {
    open("h200-trace-sync-broken");
    key(Qt::Key_N);
    const auto& finding = window.report()->report.findings.at(0);
    RowPtr row;
    for (const RowPtr& r : view->layout().rows()) {
        if (r->kind == RowKind::gap)
            row = r;
    }
    const Lane& gaps = *row->lanes[0];
    const std::size_t gap = gaps.firstEndingAfter(*finding.startNs + 1);
    view->showInterval(gaps.start(gap), gaps.end(gap), 0.2);
    view->settle();
    const QImage image = view->viewport()->grab().toImage();
    // Streams are empty over the gap: only background, grid and the veil of the finding.
    const int middle = view->plotLeft()
        + static_cast<int>(view->scale().xAt(gaps.start(gap) + (gaps.end(gap) - gaps.start(gap)) / 3));
    const QColor replay = image.pixelColor(middle, yOf(RowKind::replay));
    EXPECT_GT(replay.lightness(), 220) << "a replay is painted over idle time";
    // Hatched: both background and the gap's colour occur, background more often.
    int red = 0, light = 0;
    for (int x = middle; x < middle + 60; ++x) {
        const QColor pixel = image.pixelColor(x, yOf(RowKind::gap));
        (pixel.lightness() > 200 ? light : red) += 1;
    }
    EXPECT_GT(red, 3);
    EXPECT_GT(light, red);
    // The marker's colour occurs in the findings' row at every zoom.
    for (const double margin : {0.33, 0.49, 0.499}) {
        view->showInterval(*finding.startNs, *finding.endNs, margin);
        view->settle();
        const QImage strip = view->viewport()->grab().toImage();
        bool found = false;
        for (int y = 0; y < view->rowsTop() && !found; ++y) {
            for (int x = view->plotLeft(); x < strip.width() && !found; ++x)
                found = strip.pixelColor(x, y) == Theme::light().warning;
        }
        EXPECT_TRUE(found) << margin;
    }
}

TEST_F(Window, AnAreaIsCountedAndCopiedAsCsv) {
    open("h200-trace-sync-broken");
    QSignalSpy counted(window.statistics(), &StatsDock::counted);
    view->setArea(view->info().startNs, view->info().endNs);
    ASSERT_TRUE(counted.count() == 1 || counted.wait(60'000));
    const SelectionStats& stats = window.statistics()->model().stats();
    std::int64_t gaps = 0, kernels = 0;
    for (const NameStats& line : stats.names) {
        gaps += line.kind == RowKind::gap ? line.count : 0;
        kernels += line.kind == RowKind::stream ? line.count : 0;
    }
    EXPECT_EQ(gaps, 54); // as many as table replay_gap has rows
    EXPECT_EQ(kernels, 63);
    EXPECT_GT(stats.busyNs, 0);
    EXPECT_LT(stats.busyNs, stats.toNs - stats.fromNs);
    // Names can be read, also where the panel is narrow.
    QTableView* const table = window.statistics()->view();
    EXPECT_GE(table->columnWidth(StatsModel::name), table->fontMetrics().averageCharWidth() * 28);
    // Sorted by numbers, not by their text: the largest sum stands on top.
    const QAbstractItemModel* sorted = window.statistics()->view()->model();
    const auto sum
        = [sorted](int row) { return sorted->index(row, StatsModel::sum).data(Qt::UserRole).toLongLong(); };
    for (int row = 1; row < sorted->rowCount(); ++row)
        ASSERT_GE(sum(row - 1), sum(row));
    EXPECT_THAT(
        window.statistics()->model().csv().toStdString(), testing::StartsWith("kind,name,count,sum_ns"));
    QAbstractItemModelTester tester(
        &window.statistics()->model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
    view->clearSelection();
    EXPECT_EQ(window.statistics()->model().rowCount(), 0);
}

TEST_F(Window, AnAreaSaysWhatItsCopiesAndFillsMoved) {
    const QString path = files.fixture("h200-trace-nccl-pair");
    openPath(path);
    view->setArea(view->info().startNs, view->info().endNs);
    auto trace = gd::Db::openReadOnly(path.toStdString()).value();
    std::map<std::string, std::int64_t> moved;
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return window.statistics()->model().summary().contains(QStringLiteral("moved")); }, 10'000));
    for (const NameStats& line : window.statistics()->model().stats().names) {
        if (line.movedBytes >= 0)
            moved[view->nameOf(line.name)] = line.movedBytes;
    }
    std::int64_t all = 0;
    for (const auto& [name, bytes] : moved)
        all += bytes;
    EXPECT_EQ(all,
        trace.queryInt64("SELECT (SELECT sum(bytes) FROM memcpy) + (SELECT sum(bytes) FROM memset)").value());
    EXPECT_EQ(moved["memset"], trace.queryInt64("SELECT sum(bytes) FROM memset").value());
}

TEST_F(Window, SearchGoesFromHitToHit) {
    open("h200-trace-sync-broken");
    QSignalSpy searched(window.search(), &SearchBar::searched);
    key(Qt::Key_Slash);
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("Idle: host busy"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return static_cast<bool>(view->selectedEvent()); }, 60'000));
    EXPECT_EQ(view->selectedEvent().row->kind, RowKind::gap);
    const std::int64_t first = view->selectedEvent().startNs();
    searched.clear();
    key(Qt::Key_Return);
    ASSERT_TRUE(searched.count() > 0 || searched.wait(60'000));
    EXPECT_GT(view->selectedEvent().startNs(), first);
    searched.clear();
    key(Qt::Key_Return, Qt::ShiftModifier);
    ASSERT_TRUE(searched.count() > 0 || searched.wait(60'000));
    EXPECT_EQ(view->selectedEvent().startNs(), first);
    key(Qt::Key_Escape);
    EXPECT_EQ(QApplication::focusWidget(), view);
}

TEST_F(Window, OnlyRowsWithTheTextStay) {
    open("h200-trace-nccl-pair");
    const std::size_t all = view->layout().lines().size();
    key(Qt::Key_P, Qt::ControlModifier);
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("steps"));
    EXPECT_EQ(view->layout().lines().size(), 4U); // two ranks, a heading and a row each
    EXPECT_LT(view->layout().lines().size(), all);
    key(Qt::Key_Return); // goes there
    EXPECT_EQ(QApplication::focusWidget(), view);
    ASSERT_TRUE(view->selectedEvent());
    EXPECT_EQ(view->selectedEvent().row->kind, RowKind::step);
    key(Qt::Key_P, Qt::ControlModifier);
    key(Qt::Key_Escape);
    key(Qt::Key_J);
    EXPECT_EQ(view->layout().rows().size(), all - 2);
}

TEST_F(Window, TheMinimapShowsBusyTimeAndMovesTheTimeline) {
    open("h200-trace-sync-broken");
    Minimap* const map = window.minimap();
    // It counts once while there are no rows yet, and again as they come.
    const auto most = [map] {
        return map->busy().empty() ? 0.F : *std::max_element(map->busy().begin(), map->busy().end());
    };
    ASSERT_TRUE(QTest::qWaitFor([&] { return most() > 0; }, 60'000));
    EXPECT_EQ(map->busy().back(), 0); // the device is idle at the end
    for (int i = 0; i < 6; ++i)
        key(Qt::Key_W);
    QTest::mouseClick(map, Qt::LeftButton, {}, QPoint(map->width() / 4, 5));
    const std::int64_t middle = view->scale().nsAt(view->plotWidth() / 2.0);
    const double wanted = static_cast<double>(view->info().startNs)
        + static_cast<double>(view->info().endNs - view->info().startNs) / 4;
    EXPECT_NEAR(static_cast<double>(middle), wanted, 0.02 * static_cast<double>(view->info().endNs));
}

TEST_F(Window, AReplayShowsItsGraphAndNodesAndEventsLeadToEachOther) {
    open("h200-trace-nccl-pair");
    RowPtr replays;
    for (const RowPtr& row : view->layout().rows()) {
        if (row->kind == RowKind::replay && row->measured)
            replays = row;
    }
    view->selectEvent({replays, 0, 0});
    key(Qt::Key_G);
    GraphView* const graph = window.graph()->view();
    ASSERT_TRUE(QTest::qWaitFor([&] { return graph->graph() != nullptr; }, 60'000));
    EXPECT_EQ(graph->graph()->nodes.size(), 14U);
    EXPECT_EQ(graph->graph()->edges.size(), 17U);
    EXPECT_GT(graph->graph()->totalNs(), 0);
    // A kernel node leads to its kernel, and that kernel back to its node.
    std::size_t node = 0;
    while (node < 14 && graph->graph()->nodes[node].timeNs <= 0)
        ++node;
    ASSERT_LT(node, 14U);
    QTest::mouseClick(graph, Qt::LeftButton, {}, graph->nodeRect(node).center());
    ASSERT_TRUE(QTest::qWaitFor(
        [&] { return view->selectedEvent() && view->selectedEvent().row->kind == RowKind::stream; }, 60'000));
    const std::string name = graph->graph()->nodes[node].name;
    QSignalSpy again(graph, &GraphView::shown);
    key(Qt::Key_G);
    ASSERT_TRUE(again.count() > 0 || again.wait(60'000));
    ASSERT_TRUE(graph->graph()->selected);
    EXPECT_EQ(*graph->graph()->selected, node);
    EXPECT_THAT(graph->accessibleDescription().toStdString(), testing::StartsWith(name));
    // Arrow keys walk along an edge.
    const QString before = graph->accessibleDescription();
    key(Qt::Key_Right);
    EXPECT_NE(graph->accessibleDescription(), before);
    // A call has no graph, and that is said.
    for (const RowPtr& row : view->layout().rows()) {
        if (row->kind == RowKind::host)
            view->selectEvent({row, 0, 0});
    }
    key(Qt::Key_G);
    EXPECT_TRUE(QTest::qWaitFor([&] { return graph->graph() == nullptr; }, 60'000));
}

TEST_F(Window, MarksAreKeptBesideTheTraceAndReached) {
    const QString path = files.fixture("h200-trace-healthy");
    openPath(path);
    key(Qt::Key_J); // first step
    key(Qt::Key_M, Qt::ShiftModifier);
    const std::int64_t first = view->selectedEvent().startNs();
    for (int i = 0; i < 20; ++i)
        key(Qt::Key_Period);
    key(Qt::Key_M, Qt::ShiftModifier);
    const std::int64_t second = view->selectedEvent().startNs();
    EXPECT_THAT(view->marks(), testing::ElementsAre(first, second));
    key(Qt::Key_M); // the same place again: gone, but only here
    EXPECT_THAT(view->marks(), testing::ElementsAre(first));
    openPath(path);
    EXPECT_THAT(view->marks(), testing::ElementsAre(first, second));
    for (int i = 0; i < 4; ++i)
        key(Qt::Key_W);
    view->pan(-100);
    key(Qt::Key_B);
    EXPECT_NEAR(view->scale().xAt(first), view->plotWidth() / 2.0, 1);
    key(Qt::Key_B);
    EXPECT_NEAR(view->scale().xAt(second), view->plotWidth() / 2.0, 1);
    key(Qt::Key_B, Qt::ShiftModifier);
    EXPECT_NEAR(view->scale().xAt(first), view->plotWidth() / 2.0, 1);
}

TEST_F(Window, WithoutATraceItSaysWhatToDo) {
    window.resize(900, 600);
    window.show();
    EXPECT_TRUE(window.failure().isEmpty());
    openPath(QString::fromStdString(files.path("missing.gdt")));
    EXPECT_THAT(window.failure().toStdString(), testing::HasSubstr("missing.gdt"));
    openPath(files.made(""));
    EXPECT_TRUE(window.failure().isEmpty());
    for (const auto k :
        {Qt::Key_N, Qt::Key_J, Qt::Key_F, Qt::Key_R, Qt::Key_C, Qt::Key_0, Qt::Key_Backspace, Qt::Key_Period})
        key(k); // none of them may fall over
}

TEST_F(Window, DataLossStandsInABarAboveTheTimeline) {
    openPath(files.made(
        "INSERT INTO trace_issue VALUES (1, NULL, 'data_loss', 'ring_full', 7, '7 records were dropped');"
        "INSERT INTO track VALUES (2, 1, 'api_call', NULL, NULL, 1, 'main', 1, 1, 1);"
        "INSERT INTO api_call (api_call_id, track_id, process_id, thread_id, api_id, start_ns, end_ns)"
        " VALUES (1, 2, 1, 1, 1, 10, 20);"));
    EXPECT_THAT(
        window.issues().join(QLatin1Char('\n')).toStdString(), testing::HasSubstr("7 records were dropped"));
    EXPECT_THAT(window.issues().join(QLatin1Char('\n')).toStdString(), testing::HasSubstr("No GPU work"));
    EXPECT_TRUE(window.findChild<QToolButton*>(QStringLiteral("issuesBar"))->isVisible());
}

TEST_F(Window, ClosesWhileATraceIsLoading) {
    const QString path = files.fixture("h200-trace-nccl-pair");
    for (int i = 0; i < 5; ++i) {
        MainWindow other(&Theme::dark());
        other.setRulesFolder(QStringLiteral(GD_RULES));
        other.resize(800, 600);
        other.show();
        other.openTrace(path);
        if (i % 2 == 0)
            QCoreApplication::processEvents();
        if (i % 2 == 0 && other.loaded())
            continue; // this machine kept us from closing it before
        EXPECT_FALSE(other.loaded());
        QSignalSpy late(&other, &MainWindow::traceLoaded);
        EXPECT_TRUE(other.close());
        EXPECT_EQ(late.count(), 0);
    }
    // What was closed has stopped: the next one loads as if nothing had been.
    open("h200-trace-healthy");
    EXPECT_EQ(window.failure().toStdString(), "");
    EXPECT_FALSE(view->layout().rows().empty());
}

TEST_F(Window, WalksAllFindingsAndCloses) {
    open("h200-fault-rank-divergent-capture");
    const int count = window.findings()->model().findingCount();
    ASSERT_GT(count, 3);
    for (int i = 0; i < count; ++i) {
        key(Qt::Key_N);
        EXPECT_EQ(view->selectedFinding(), i);
        EXPECT_GE(window.details()->model().find("why"), 0);
        EXPECT_FALSE(window.grab().toImage().isNull());
    }
    EXPECT_TRUE(window.close());
}

// Nobody chose a theme: a desktop that turns dark takes the open window with it.
TEST(WindowTheme, FollowsTheDesktop) {
    const QPalette before = QApplication::palette();
    QApplication::setPalette(Theme::light().palette());
    {
        MainWindow window(nullptr);
        window.resize(900, 600);
        window.show();
        window.graph()->raise();
        const auto grounds = [&window] {
            QCoreApplication::processEvents();
            std::vector<QColor> out;
            for (QWidget* part : std::initializer_list<QWidget*>{
                     window.timeline()->viewport(), window.minimap(), window.graph()->view()})
                out.push_back(part->grab().toImage().pixelColor(0, 0));
            return out;
        };
        EXPECT_THAT(grounds(), testing::Each(Theme::light().background));
        QApplication::setPalette(Theme::dark().palette());
        EXPECT_THAT(grounds(), testing::Each(Theme::dark().background));
    }
    QApplication::setPalette(before);
}

TEST_F(Window, RanksThatAreNotInTheTraceAreNamed) {
    openPath(files.made("UPDATE process SET rank = 2, world_size = 4;"));
    EXPECT_THAT(window.issues().join(QLatin1Char('\n')).toStdString(),
        testing::AllOf(testing::HasSubstr("of the job's 4 ranks these are not in this trace: 0, 1, 3"),
            testing::HasSubstr("no NCCL data: none of the 4 ranks")));
}
