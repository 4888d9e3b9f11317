// SPDX-License-Identifier: Apache-2.0
// Ranks beside each other, two traces beside each other, several traces as one job: models and key walks.
#include "gui/app/compare_window.h"
#include "gui/app/main_window.h"
#include "gui/app/options.h"
#include "tests/gui/trace_files.h"

#include <QAbstractItemModelTester>
#include <QAccessible>
#include <QCheckBox>
#include <QComboBox>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>
#include <QTest>
#include <QTreeView>

#include <gmock/gmock.h>

#include <cstdlib>

using namespace gd::gui;
using testing::HasSubstr;

namespace {

// One rank of two whose step 7 lasts from 1000 to 2000 on the device, with an all-reduce that ends at 1900.
std::string rankSql(int process, int rank, std::int64_t arrivesNs, const std::string& host = "h") {
    const auto both = [&](const char* text) {
        return fmt::format(fmt::runtime(text), fmt::arg("p", process), fmt::arg("r", rank),
            fmt::arg("host", host), fmt::arg("track", process * 10), fmt::arg("kernel", process * 100),
            fmt::arg("at", arrivesNs), fmt::arg("dur", 1'900'000 - arrivesNs));
    };
    return both(
        "DELETE FROM process WHERE process_id = {p};"
        "INSERT INTO process (process_id, pid, rank, world_size, role, host, start_ns, end_ns, ended) "
        "VALUES ({p}, 10{r}, {r}, 2, 'primary', '{host}', 0, 3000000, 'closed');"
        "INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) VALUES ({p}, 77, 2, {r}, 1);"
        "INSERT INTO nccl_op VALUES ({p}, 1, 77, 'all_reduce', 1, 'f', 4096, NULL, 7, 1, 1001000, NULL, "
        "NULL, "
        "NULL, 'runtime', NULL);"
        "INSERT INTO track VALUES ({track}, {p}, 'kernel', 0, 7, NULL, 's', {kernel}, {kernel} + 1, 2);"
        "INSERT INTO kernel VALUES ({kernel}, {track}, 1000000, {at} - 1000000, 1, NULL, NULL), "
        "({kernel} + 1, {track}, {at}, {dur}, 2, NULL, NULL);");
}
// What the facts of a trace made of SQL would say of it.
std::string stepFacts(int process) {
    return fmt::format(
        "INSERT INTO step (process_id, step, start_ns, end_ns, method, kind, replays, captures) "
        "VALUES ({0}, 7, 1000000, 2000000, 'known_range', 'steady', 0, 0);"
        "INSERT INTO device_busy VALUES ({0}, 0, 7, 1, 1000000, 2000000, 0, 0, 0, 0, 0, 0, 0, 'node', 0, 1, "
        "NULL);",
        process);
}
const std::string kNames
    = "INSERT INTO string VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce');"
      "INSERT INTO kernel_shape VALUES (1, 1, 1,1,1,1,1,1,0,0,0), (2, 2, 1,1,1,1,1,1,0,0,0);";

class Compared : public testing::Test {
protected:
    template <class W> void showWindow(W& window) {
        window.setRulesFolder(QStringLiteral(GD_RULES));
        window.resize(1400, 900);
        window.show();
        window.activateWindow();
        ASSERT_TRUE(QTest::qWaitForWindowActive(&window, 60'000));
    }
    void open(MainWindow& window, const QStringList& paths) {
        showWindow(window);
        QSignalSpy done(&window, &MainWindow::traceLoaded);
        window.openJob(paths);
        ASSERT_TRUE(done.count() == 1 || done.wait(60'000));
        window.timeline()->setFocus();
        QCoreApplication::processEvents();
    }
    void open(CompareWindow& window, const QString& base, const QString& fresh) {
        showWindow(window);
        QSignalSpy done(&window, &CompareWindow::compareLoaded);
        window.open(base, fresh);
        ASSERT_TRUE(done.count() == 1 || done.wait(60'000));
        QCoreApplication::processEvents();
    }
    static void key(QWidget& window, Qt::Key k, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        QWidget* target = window.focusWidget() != nullptr ? window.focusWidget() : &window;
        QTest::keyClick(target, k, modifiers);
        QCoreApplication::processEvents();
    }
    static std::string spoken(QWidget* focused) {
        QAccessibleInterface* face = QAccessible::queryAccessibleInterface(focused);
        QAccessibleInterface* child = face->focusChild();
        return (child != nullptr ? child : face)->text(QAccessible::Name).toStdString();
    }
    // X, and wait for the worker's answer.
    static void compareRanks(MainWindow& window) {
        QSignalSpy answered(&window, &MainWindow::ranksAnswered);
        key(window, Qt::Key_X);
        ASSERT_TRUE(answered.count() > 0 || answered.wait(60'000));
    }
    QString twoRanks(const std::string& secondHost = "h") {
        return files.made(kNames + rankSql(1, 0, 1'200'000) + rankSql(2, 1, 1'700'000, secondHost),
            stepFacts(1) + stepFacts(2));
    }

    gd::test::TraceFiles files;
};

StepPtr madeStep() {
    auto step = std::make_shared<gd::report::StepComparison>();
    step->step = 3;
    for (int rank = 0; rank < 3; ++rank) {
        gd::report::RankLane lane;
        lane.processId = 10 + rank;
        lane.rank = 2 - rank; // not in the order of their names
        lane.deviceId = 0;
        lane.startNs = 1000 + rank * 10;
        lane.endNs = 2000 + rank * 100;
        lane.firstWorkNs = 1100 + rank * 50;
        lane.comm.push_back({1, 1500 + rank * 100, 1900, 5, "all_reduce", 64, -1, 0});
        if (rank == 1)
            lane.waitNs = 77;
        step->lanes.push_back(lane);
    }
    gd::report::Collective one;
    one.kind = "all_reduce";
    one.arrivals = {{0, 0}, {1, 0}, {2, 0}};
    one.skewNs = 200;
    step->collectives.push_back(one);
    step->slowest = 2;
    step->slowestWhy = "rank 0 comes last";
    return step;
}

TEST(RanksModel, SaysWhatSetsTheRanksApart) {
    RanksModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setStep(madeStep());
    ASSERT_EQ(model.rowCount(), 3);
    const auto text
        = [&](int row, int column) { return model.index(row, column).data().toString().toStdString(); };
    EXPECT_EQ(text(0, RanksModel::rank), "rank 2");
    EXPECT_EQ(text(2, RanksModel::rank), "rank 0 – slowest");
    EXPECT_EQ(text(0, RanksModel::later), "0 ns");
    EXPECT_EQ(text(2, RanksModel::later), "+100 ns"); // work begins at 1200 instead of 1100
    EXPECT_EQ(text(2, RanksModel::duration), "1.18 us");
    EXPECT_EQ(text(0, RanksModel::wait), "–"); // not known is not 0
    EXPECT_EQ(text(1, RanksModel::wait), "77 ns");
    EXPECT_THAT(model.laneText(2).toStdString(), HasSubstr("slowest: rank 0 comes last"));
    EXPECT_THAT(model.collectiveText(0).toStdString(), HasSubstr("apart by 200 ns"));
    model.setStep(nullptr);
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(RanksModel, AlignsAtClockStepAndCollective) {
    RanksModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setStep(madeStep());
    EXPECT_EQ(model.alignment().at, RankAlignment::At::clock);
    EXPECT_EQ(model.originOf(2), 1000);
    EXPECT_EQ(model.span(), (std::pair<qint64, qint64>(0, 1200)));
    model.setAlignment({RankAlignment::At::stepStart, 0});
    EXPECT_EQ(model.originOf(2), 1020);
    EXPECT_EQ(model.span(), (std::pair<qint64, qint64>(0, 1180)));
    QSignalSpy changed(&model, &RanksModel::dataChanged);
    model.setAlignment({RankAlignment::At::collective, 0});
    EXPECT_EQ(changed.count(), 1);
    EXPECT_EQ(model.originOf(2), 1900); // all end it together
    EXPECT_EQ(model.index(2, RanksModel::later).data().toString(), QStringLiteral("+200 ns"));
    model.setAlignment({RankAlignment::At::collective, 9}); // there is none
    EXPECT_EQ(model.alignment().collective, 0u);
    // Without a common clock the true times say nothing.
    auto apart = std::make_shared<gd::report::StepComparison>(*madeStep());
    apart->oneClock = false;
    model.setStep(apart);
    EXPECT_EQ(model.alignment().at, RankAlignment::At::stepStart);
    EXPECT_EQ(model.index(2, RanksModel::later).data().toString(), QStringLiteral("–"));
}

TEST_F(Compared, KeysLeadFromAStepToTheRankThatHoldsItUp) {
    MainWindow window(&Theme::light());
    open(window, {twoRanks()});
    key(window, Qt::Key_J); // the heading of the first rank
    key(window, Qt::Key_J); // its step
    ASSERT_TRUE(window.timeline()->selectedEvent());
    compareRanks(window);
    RanksDock& ranks = *window.ranks();
    QAbstractItemModelTester tester(
        ranks.view()->model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
    ASSERT_NE(ranks.model().step(), nullptr) << ranks.summary().toStdString();
    EXPECT_EQ(ranks.stepBox()->value(), 7);
    EXPECT_EQ(ranks.summary().toStdString(),
        "Slowest: rank 1 comes last: the others would gain 500 us of 1.00 ms.");
    EXPECT_EQ(QApplication::focusWidget(), ranks.view());
    EXPECT_THAT(spoken(ranks.view()), HasSubstr("rank 0: 1.00 ms from its start to its end"));
    key(window, Qt::Key_Down);
    EXPECT_THAT(spoken(ranks.view()), HasSubstr("rank 1"));
    EXPECT_THAT(spoken(ranks.view()), HasSubstr("slowest"));
    // Sorted by wait: the one that waits most comes last, then first.
    ranks.view()->sortByColumn(RanksModel::wait, Qt::DescendingOrder);
    EXPECT_EQ(ranks.view()->model()->index(0, RanksModel::wait).data().toString(), QStringLiteral("500 us"));
    // At the end of the collective.
    ASSERT_EQ(ranks.alignmentBox()->count(), 3);
    ranks.setAlignmentChoice(2);
    EXPECT_EQ(ranks.model().originOf(1), 1'900'000);
    // Enter goes to the rank on the timeline.
    window.timeline()->fitAll();
    key(window, Qt::Key_Return);
    EXPECT_NEAR(window.timeline()->scale().xAt(1'000'000), window.timeline()->plotWidth() * 0.1, 2);
}

TEST_F(Compared, AFindingLeadsToItsStep) {
    MainWindow window(&Theme::dark());
    open(window, {files.fixture("h200-trace-nccl-pair")});
    ASSERT_NE(window.report(), nullptr);
    ASSERT_FALSE(window.report()->report.findings.empty());
    key(window, Qt::Key_N);
    compareRanks(window);
    const StepPtr& step = window.ranks()->model().step();
    ASSERT_NE(step, nullptr) << window.ranks()->summary().toStdString();
    EXPECT_EQ(step->lanes.size(), 2u);
    const auto& finding = window.report()->report.findings[0];
    if (finding.step) {
        EXPECT_EQ(step->step, *finding.step);
    }
}

// Recorded on an H200: kernels of NCCL name no call, and are matched by their order on the stream.
TEST_F(Compared, CollectivesOfARecordedTraceLineUp) {
    MainWindow window(&Theme::light());
    open(window, {files.fixture("h200-trace-nccl-pair")});
    window.ranks()->show();
    QSignalSpy answered(&window, &MainWindow::ranksAnswered);
    window.ranks()->wantStep(1);
    ASSERT_TRUE(answered.wait(60'000));
    const StepPtr& step = window.ranks()->model().step();
    ASSERT_NE(step, nullptr);
    ASSERT_GE(step->collectives.size(), 3u) << window.ranks()->notes().toStdString();
    EXPECT_EQ(step->collectives[0].kind, "all_reduce");
    EXPECT_EQ(step->collectives[1].kind, "all_gather");
    EXPECT_EQ(step->collectives[2].kind, "reduce_scatter");
    for (const auto& lane : step->lanes) {
        EXPECT_TRUE(lane.waitNs.has_value());
        EXPECT_LE(*lane.waitNs, *lane.commNs);
    }
}

TEST_F(Compared, WithoutSeveralRanksItSaysWhatToDo) {
    MainWindow window(&Theme::light());
    open(window, {files.fixture("h200-trace-healthy")});
    key(window, Qt::Key_X);
    EXPECT_THAT(window.ranks()->summary().toStdString(), HasSubstr("There is no step that two ranks"));
    EXPECT_FALSE(window.ranks()->stepBox()->isEnabled());
}

TEST_F(Compared, ClocksOfTwoHostsAreNotPutOnOneScale) {
    MainWindow window(&Theme::light());
    open(window, {twoRanks("other")});
    key(window, Qt::Key_J);
    compareRanks(window);
    EXPECT_EQ(window.ranks()->model().alignment().at, RankAlignment::At::stepStart);
    EXPECT_THAT(window.ranks()->notes().toStdString(), HasSubstr("clocks of the hosts are not fitted"));
}

TEST_F(Compared, TracesOfTwoRanksOpenAsOneJob) {
    const std::string first = "DELETE FROM process;" + kNames + rankSql(1, 0, 1'200'000);
    const std::string second = "DELETE FROM process;" + kNames + rankSql(1, 1, 1'700'000, "other");
    MainWindow window(&Theme::light());
    open(window, {files.made(first), files.made(second)});
    EXPECT_EQ(window.failure().toStdString(), "");
    ASSERT_EQ(window.timeline()->info().processes.size(), 2u);
    EXPECT_EQ(window.timeline()->info().processes[1].rank, 1);
    EXPECT_THAT(window.issues().join(QLatin1Char('\n')).toStdString(),
        HasSubstr("the clocks of h, other are not fitted"));
    EXPECT_THAT(window.windowTitle().toStdString(), HasSubstr("and 1 more"));
}

TEST_F(Compared, TracesThatDoNotBelongTogetherAreASentence) {
    const QString once = files.made(kNames + rankSql(1, 0, 1'200'000));
    const QString again = files.made(kNames + rankSql(1, 0, 1'200'000));
    for (const auto& [paths, word] : {std::pair(QStringList{once, again}, "both hold rank 0"),
             std::pair(QStringList{once, once}, "is named twice"),
             std::pair(QStringList{once, QStringLiteral("/nowhere.gdt")}, "/nowhere.gdt")}) {
        MainWindow window(&Theme::light());
        open(window, paths);
        EXPECT_THAT(window.failure().toStdString(), HasSubstr(word));
    }
}

TEST(CompareModel, GroupsLinesAndLeavesOutWhatDidNotChange) {
    using namespace gd::report;
    auto comparison = std::make_shared<Comparison>();
    comparison->notes = {"commands differ"};
    const auto line = [](const char* section, const char* item, Change change, double base, double fresh) {
        Difference d;
        d.section = section;
        d.item = item;
        d.metric = "duration";
        d.unit = "ns";
        d.base = Spread::exactly(base);
        d.fresh = Spread::exactly(fresh);
        d.change = change;
        return d;
    };
    comparison->differences = {line("steps", "", Change::worse, 1000, 1200),
        line("kernels", "gemm", Change::same, 5, 5), line("kernels", "norm", Change::better, 50, 40)};
    comparison->differences.push_back(line("findings", "GD301 title", Change::different, 5, 15));
    comparison->differences.back().baseCount = 1;
    comparison->differences.back().newCount = 3;
    CompareModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setComparison(comparison);
    ASSERT_EQ(model.rowCount(), 4); // notes, steps, kernels, findings
    EXPECT_EQ(
        model.index(0, 0, model.index(3, 0)).data().toString(), QStringLiteral("GD301 title (1 / 3 times)"));
    const QModelIndex steps = model.index(1, 0);
    EXPECT_EQ(steps.data().toString(), QStringLiteral("Steps"));
    EXPECT_EQ(model.index(0, CompareModel::absolute, steps).data().toString(), QStringLiteral("+200 ns"));
    EXPECT_EQ(model.index(0, CompareModel::relative, steps).data().toString(), QStringLiteral("+20.0 %"));
    EXPECT_EQ(model.index(0, CompareModel::verdict, steps).data().toString(), QStringLiteral("worse"));
    EXPECT_EQ(model.difference(steps), nullptr);
    const QModelIndex kernels = model.index(2, 0);
    EXPECT_EQ(model.rowCount(kernels), 2);
    EXPECT_EQ(model.index(0, 0, kernels).data().toString(), QStringLiteral("gemm: duration"));
    model.setOnlyChanges(true);
    EXPECT_EQ(model.rowCount(model.index(2, 0)), 1);
    model.setComparison(nullptr);
    EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(Compared, TwoTimelinesMoveTogetherStepByStep) {
    CompareWindow window(&Theme::light());
    open(window, files.fixture("h200-trace-sync-healthy"), files.fixture("h200-trace-sync-broken"));
    QAbstractItemModelTester tester(&window.model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
    ASSERT_EQ(window.failure().toStdString(), "");
    ASSERT_NE(window.model().comparison(), nullptr);
    const auto& pairs = window.model().comparison()->alignment.pairs;
    ASSERT_GT(pairs.size(), 3u);
    TimelineView& base = *window.baseTimeline();
    TimelineView& fresh = *window.newTimeline();
    const auto aligned = [&] {
        const auto& pair = pairs[static_cast<std::size_t>(window.pair())];
        EXPECT_NEAR(base.scale().xAt(pair.baseStartNs), fresh.scale().xAt(pair.newStartNs), 1);
        EXPECT_EQ(base.scale().nsPerPx, fresh.scale().nsPerPx);
    };
    const int start = window.pair();
    aligned();
    key(window, Qt::Key_N);
    EXPECT_EQ(window.pair(), start + 1);
    aligned();
    key(window, Qt::Key_N, Qt::ShiftModifier);
    key(window, Qt::Key_W);
    key(window, Qt::Key_D);
    aligned();
    key(window, Qt::Key_2, Qt::AltModifier); // the new trace leads
    EXPECT_TRUE(fresh.hasFocus());
    key(window, Qt::Key_A);
    key(window, Qt::Key_S);
    aligned();
    key(window, Qt::Key_0);
    EXPECT_LE(base.scale().xAt(base.info().startNs), base.plotWidth());
    aligned();
    key(window, Qt::Key_F);
    const auto& pair = pairs[static_cast<std::size_t>(window.pair())];
    EXPECT_NEAR(base.scale().xAt(pair.baseStartNs), base.plotWidth() * 0.1, 2);
    // The differences by keys: the gap that the broken one has.
    key(window, Qt::Key_3, Qt::AltModifier);
    EXPECT_TRUE(window.table()->hasFocus());
    const auto* gaps = window.model().comparison()->find("gaps", "", "before replays, a step");
    ASSERT_NE(gaps, nullptr);
    EXPECT_EQ(gaps->change, gd::report::Change::worse) << gaps->reason;
}

// A sentence is not cut off beside columns that are empty in its line.
TEST_F(Compared, NotesTakeTheWholeWidth) {
    CompareWindow window(&Theme::light());
    open(window, files.fixture("h200-trace-sync-healthy"), files.fixture("h200-trace-sync-broken"));
    ASSERT_EQ(window.failure().toStdString(), "");
    const QTreeView* const table = window.table();
    for (const bool only : {false, true}) {
        window.findChild<QCheckBox*>()->setChecked(only);
        const QModelIndex notes = window.model().index(0, 0, {});
        ASSERT_GT(window.model().rowCount(notes), 0);
        EXPECT_TRUE(table->isFirstColumnSpanned(0, notes));
        const QModelIndex figures = window.model().index(1, 0, {});
        ASSERT_GT(window.model().rowCount(figures), 0);
        EXPECT_FALSE(table->isFirstColumnSpanned(0, figures));
    }
}

TEST_F(Compared, WhatCannotBeComparedIsSaid) {
    {
        CompareWindow window(&Theme::light());
        open(window, files.fixture("h200-trace-healthy"), QStringLiteral("/nowhere.gdt"));
        EXPECT_THAT(window.failure().toStdString(), HasSubstr("/nowhere.gdt"));
        EXPECT_FALSE(window.baseTimeline()->layout().rows().empty()); // the other is shown all the same
    }
    CompareWindow window(&Theme::light());
    open(window, files.fixture("h200-trace-healthy"), files.made("")); // no steps
    EXPECT_EQ(window.failure().toStdString(), "");
    EXPECT_EQ(window.pair(), -1);
    EXPECT_FALSE(window.showPair(0));
    key(window, Qt::Key_N);
    key(window, Qt::Key_W);
    EXPECT_THAT(window.model().comparison()->notes, testing::Contains(HasSubstr("has no steps")));
}

TEST_F(Compared, SpoolsAreComparedLikeTraces) {
    ::setenv("XDG_CACHE_HOME", files.path("cache").c_str(), 1);
    const QString spool = files.spool("h200-item-deep");
    for (const QString& other : {files.spool("h200-item-plain"), spool}) {
        CompareWindow window(&Theme::light());
        open(window, spool, other);
        EXPECT_EQ(window.failure().toStdString(), "");
        EXPECT_FALSE(window.newTimeline()->layout().rows().empty());
        const ComparisonPtr& comparison = window.model().comparison();
        ASSERT_NE(comparison, nullptr);
        EXPECT_EQ(comparison->fresh.tracePath, other.toStdString());
        EXPECT_FALSE(comparison->base.findings.empty());
    }
    ::unsetenv("XDG_CACHE_HOME");
}

TEST_F(Compared, WithoutRulesFindingsAreLeftOutAndThatIsSaid) {
    const QString trace = files.fixture("h200-trace-sync-broken");
    CompareSession session(files.path("no-rules"));
    ComparisonPtr comparison;
    QObject::connect(
        &session, &CompareSession::compared, [&](const ComparisonPtr& answer) { comparison = answer; });
    QSignalSpy done(&session, &CompareSession::compared);
    session.compare(trace, trace);
    ASSERT_TRUE(done.wait(60'000));
    EXPECT_THAT(comparison->notes,
        testing::Contains(testing::AllOf(HasSubstr("Findings are not compared"), HasSubstr("no-rules"))));
    EXPECT_THAT(comparison->differences,
        testing::Not(testing::Contains(testing::Field(&gd::report::Difference::section, "findings"))));
    EXPECT_FALSE(comparison->differences.empty());
}

TEST(ViewOptions, OfSeveralTraces) {
    const auto job = parseOptions({"a.gdt", "b.gdt", "--view", "ranks:5"});
    ASSERT_TRUE(job);
    EXPECT_EQ(job->traces.size(), 2u);
    EXPECT_EQ(job->views.at(0).what, FirstView::What::ranks);
    const auto compare = parseOptions({"--compare", "a.gdt", "b.gdt"});
    ASSERT_TRUE(compare);
    EXPECT_TRUE(compare->compare);
    for (const auto& [arguments, word] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--compare", "a.gdt"}, "two traces"}, {{"--compare", "a", "b", "c"}, "not 3"},
             {{"--compare", "a", "b", "--view", "finding:1"}, "only --view step:N"},
             {{"a", "--view", "ranks:x"}, "number"}}) {
        const auto options = parseOptions(arguments);
        ASSERT_FALSE(options) << word;
        EXPECT_THAT(options.error().message, HasSubstr(word));
    }
}

} // namespace
