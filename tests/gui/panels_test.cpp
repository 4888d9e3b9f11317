// SPDX-License-Identifier: Apache-2.0
// Panels: empty ones say what to do, what the user arranged is there the next time, and their models stay
// sound while traces come and go.
#include "gui/app/compare_window.h"
#include "gui/docks/legend.h"
#include "tests/gui/window_fixture.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QStyle>
#include <QTableView>
#include <QToolButton>
#include <QTreeView>
#include <QWindow>

#include <gmock/gmock.h>

#include <cstdlib>
#include <list>

using namespace gd::gui;
using gd::test::Window;
using testing::HasSubstr;

namespace {

class Panels : public Window {
protected:
    // What the labels of a panel say, one a line, as far as they are shown.
    static std::string said(QDockWidget* dock) {
        dock->show();
        dock->raise();
        QCoreApplication::processEvents();
        std::string out;
        for (const QLabel* label : dock->findChildren<QLabel*>()) {
            if (label->isVisible() && !label->text().isEmpty())
                out += label->text().toStdString() + "\n";
        }
        return out;
    }
    std::string spokenRow() const { return view->accessibleDescription().toStdString(); }
};

class Arranged : public Window {
protected:
    Arranged() {
        ::setenv("XDG_CONFIG_HOME", files.path("config").c_str(), 1);
        QCoreApplication::setOrganizationName(QStringLiteral("graphdoctor"));
        QCoreApplication::setApplicationName(QStringLiteral("test"));
    }
    ~Arranged() override { ::unsetenv("XDG_CONFIG_HOME"); }
    static QDockWidget* differences(CompareWindow& of) {
        return of.findChild<QDockWidget*>(QStringLiteral("differences"));
    }
};

// Else a run on a real display would prove nothing.
TEST_F(Window, RunsOnThePlatformThatWasAskedFor) {
    open("h200-trace-healthy");
    EXPECT_EQ(QGuiApplication::platformName().toStdString(), std::getenv("QT_QPA_PLATFORM"));
    EXPECT_TRUE(window.windowHandle() != nullptr && window.windowHandle()->isExposed());
}

TEST_F(Panels, EmptyOnesSayWhatToDo) {
    window.resize(1400, 900);
    window.show();
    const auto hints = [this] {
        EXPECT_THAT(said(window.details()), HasSubstr("Select an event on the timeline (J, K, . and ,)"));
        EXPECT_THAT(said(window.statistics()), HasSubstr("Drag over the timeline, or press R"));
        EXPECT_THAT(said(window.graph()), HasSubstr("Select a replay, or a kernel of one, and press G"));
        EXPECT_THAT(said(window.hits()), HasSubstr("Press / and type a part of a name"));
    };
    hints(); // before a trace is opened
    EXPECT_THAT(said(window.findings()), HasSubstr("."));
    EXPECT_THAT(said(window.ranks()), HasSubstr("."));
    openPath(QString::fromStdString(files.path("missing.gdt")));
    hints();
    EXPECT_THAT(said(window.ranks()), HasSubstr("The trace cannot be shown."));
    open("h200-trace-healthy");
    hints();
    EXPECT_THAT(said(window.ranks()), HasSubstr("graphdoctor view A.gdt B.gdt"));
    // They give way to what there is, and come back.
    key(Qt::Key_J);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.details()->model().rowCount() > 0; }, 60'000));
    EXPECT_THAT(said(window.details()), testing::Not(HasSubstr("Select an event")));
    key(Qt::Key_Escape);
    EXPECT_THAT(said(window.details()), HasSubstr("Select an event"));
    key(Qt::Key_Slash);
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("no name is like this"));
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return said(window.hits()).find("No event has “no name is like this”") == 0; }, 60'000));
}

// Where there is no room for all, colours of what is not in the trace would push out those that are.
TEST_F(Panels, TheLegendNamesWhatTheTraceShows) {
    auto* const legend = window.findChild<Legend*>(QStringLiteral("legend"));
    ASSERT_NE(legend, nullptr);
    const auto words = [legend] {
        std::vector<std::string> out;
        for (const Legend::Entry& entry : legend->entries())
            out.push_back(entry.text.toStdString());
        return out;
    };
    EXPECT_THAT(words(), testing::IsSupersetOf({"GEMM", "NCCL", "memory"})); // no trace yet: all
    open("h200-trace-sync-broken");
    EXPECT_THAT(
        words(), testing::ElementsAre("GEMM", "other kernels", "replay", "idle gap", "host", "memory"));
    open("h200-trace-nccl-pair");
    EXPECT_THAT(words(), testing::IsSupersetOf({"NCCL", "waits in it"}));
    openPath(QString::fromStdString(files.path("missing.gdt")));
    EXPECT_THAT(words(), testing::Contains("attention"));
}

// An edge that passes other layers would seem to end at a node that hides a part of it.
TEST_F(Panels, NoEdgeOfAGraphRunsBehindANodeThatItOnlyPasses) {
    open("h200-trace-nccl-pair");
    RowPtr replays;
    for (const RowPtr& row : view->layout().rows()) {
        if (row->kind == RowKind::replay && row->measured)
            replays = row;
    }
    ASSERT_TRUE(replays);
    view->selectEvent({replays, 0, 0});
    key(Qt::Key_G);
    GraphView* const graph = window.graph()->view();
    ASSERT_TRUE(QTest::qWaitFor([&] { return graph->graph() != nullptr; }, 60'000));
    const GraphDrawing& drawing = *graph->graph();
    int passing = 0;
    for (const auto& [from, to] : drawing.edges) {
        passing += drawing.nodes[to].layer > drawing.nodes[from].layer + 1 ? 1 : 0;
        const QPainterPath path = graph->pathOf(from, to);
        EXPECT_EQ(path.currentPosition().toPoint().y(), graph->nodeRect(to).center().y());
        for (int percent = 0; percent <= 100; ++percent) {
            const QPoint point = path.pointAtPercent(percent / 100.0).toPoint();
            EXPECT_TRUE(graph->rect().contains(point));
            for (std::size_t node = 0; node < drawing.nodes.size(); ++node) {
                if (node != from && node != to) {
                    ASSERT_FALSE(graph->nodeRect(node).contains(point)) << from << " " << to << " " << node;
                }
            }
        }
    }
    EXPECT_GT(passing, 0);
    // The room around the drawing looks like its ground.
    QWidget* const room = graph->parentWidget();
    room->resize(graph->width() + 50, graph->height() + 50);
    const QImage image = room->grab().toImage();
    EXPECT_EQ(image.pixelColor(image.width() - 5, image.height() - 5), Theme::light().background);
    // Whose graph it is, in the words of the timeline.
    const std::string heading = view->layout().heading(replays->process).toStdString();
    EXPECT_THAT(said(window.graph()), HasSubstr("of " + heading + ": 14 nodes, 17 edges"));
}

// Memory is no kind of work, and must not look like one.
TEST_F(Panels, MemoryHasAColourOfItsOwn) {
    for (const Theme* theme : {&Theme::light(), &Theme::dark()}) {
        for (int c = 0; c < kCategories; ++c) {
            if (const auto category = static_cast<Category>(c); category != Category::memory) {
                EXPECT_NE(theme->bar(category), theme->bar(Category::memory));
            }
        }
    }
    open("h200-trace-sync-broken");
    const QImage image = view->viewport()->grab().toImage();
    int found = 0;
    for (int x = view->plotLeft(); x < image.width(); ++x)
        found += image.pixelColor(x, yOf(RowKind::memory)) == Theme::light().bar(Category::memory) ? 1 : 0;
    EXPECT_GT(found, 0);
}

TEST_F(Panels, EveryTextOfTheDetailsIsWhole) {
    open("h200-trace-sync-broken");
    QTableView* const table = window.details()->view();
    key(Qt::Key_N);
    for (const int width : {1400, 1000, 800, 1900, 1250}) {
        window.resize(width, 800);
        QCoreApplication::processEvents();
        const int margin = table->style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, table) + 1;
        const int room = table->columnWidth(1) - 2 * margin;
        ASSERT_GT(table->model()->rowCount(), 5);
        int wrapped = 0;
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            QString text = table->model()->index(row, 1).data().toString();
            text.replace(QLatin1String("::"), QStringLiteral("::\u200b"));
            text.replace(QLatin1String("/"), QStringLiteral("/\u200b"));
            const int needed = table->fontMetrics()
                                   .boundingRect(QRect(0, 0, room, 10'000), Qt::TextWordWrap, text)
                                   .height();
            EXPECT_GE(table->rowHeight(row), needed) << "at " << width << ": " << text.toStdString();
            EXPECT_LT(table->rowHeight(row), needed + table->fontMetrics().height()) // no empty line
                << "at " << width << ": " << text.toStdString();
            wrapped += needed > table->fontMetrics().height() ? 1 : 0;
        }
        EXPECT_GT(wrapped, 1);
    }
    // A long name of C++ has places to break at, so that none of it is left out.
    window.resize(1000, 800);
    window.details()->setRows({{"source",
        "gdt::model::TransformerLayer<float>::betweenTheBranchesOfTheLayer(gdt::model::"
        "PassOfTheStage const&, gdt::model::TransformerLayer<float>::Slot const&)",
        {}, 0, -1, -1, {}}});
    QCoreApplication::processEvents();
    const int width = table->fontMetrics().horizontalAdvance(table->model()->index(0, 1).data().toString());
    EXPECT_GE(table->rowHeight(0), (width / table->columnWidth(1) + 1) * table->fontMetrics().height());
}

TEST_F(Panels, NoneKeepsTheWindowFromBeingSmall) {
    window.resize(640, 480);
    window.show();
    EXPECT_LE(window.minimumSizeHint().width(), 640);
    EXPECT_EQ(window.width(), 640);
}

TEST_F(Panels, RowsOfMemoryAreReachedByKeysAndSpoken) {
    open("h200-trace-nccl-pair");
    const auto isMemory = [this] {
        const int line = view->currentLine();
        const auto& lines = view->layout().lines();
        return line >= 0 && lines[static_cast<std::size_t>(line)].row
            && lines[static_cast<std::size_t>(line)].row->kind == RowKind::memory;
    };
    for (std::size_t i = 0; i < view->layout().lines().size() && !isMemory(); ++i)
        key(Qt::Key_J);
    ASSERT_TRUE(isMemory());
    const int line = view->currentLine();
    EXPECT_FALSE(view->selectedEvent());
    EXPECT_EQ(window.details()->model().rowCount(), 0);
    EXPECT_THAT(spokenRow(), testing::MatchesRegex("Memory.*, most .*iB"));
    EXPECT_EQ(spoken(view), spokenRow());
    EXPECT_TRUE(view->viewport()->rect().contains(view->placeOf(line).center()));
    for (const auto k : {Qt::Key_F, Qt::Key_R, Qt::Key_BracketLeft, Qt::Key_BracketRight, Qt::Key_G})
        key(k); // there is no event, and none of these makes one up
    EXPECT_FALSE(view->selectedEvent());
    EXPECT_FALSE(view->area());
    view->setFocus();
    key(Qt::Key_J);
    EXPECT_EQ(view->currentLine(), line + 1);
    key(Qt::Key_K);
    EXPECT_EQ(view->currentLine(), line);
    EXPECT_TRUE(isMemory());
    key(Qt::Key_K);
    EXPECT_EQ(view->currentLine(), line - 1);
    EXPECT_TRUE(view->selectedEvent());
}

TEST_F(Panels, TheIssuesBarIsCutToTheWindowAndCountsTheRest) {
    openPath(files.made(
        "INSERT INTO trace_issue VALUES (1, NULL, 'data_loss', 'ring_full', 7, 'first: a long sentence that "
        "says "
        "which records were dropped of which process, when that was, why it was, and R&D of what to do about "
        "it');"
        "INSERT INTO trace_issue VALUES (2, NULL, 'error', 'a', 1, 'second: an error');"
        "INSERT INTO trace_issue VALUES (3, NULL, 'error', 'b', 1, 'third: another error');"
        "INSERT INTO track VALUES (2, 1, 'api_call', NULL, NULL, 1, 'main', 1, 1, 1);"
        "INSERT INTO api_call (api_call_id, track_id, process_id, thread_id, api_id, start_ns, end_ns)"
        " VALUES (1, 2, 1, 1, 1, 10, 20);"));
    // Errors first, and those in their order.
    const QStringList issues = window.issues();
    ASSERT_GE(issues.size(), 3);
    EXPECT_EQ(issues[0].toStdString(), "second: an error");
    EXPECT_EQ(issues[1].toStdString(), "third: another error");
    openPath(files.made("INSERT INTO trace_issue VALUES (1, NULL, 'error', 'a', 1, 'a long sentence that "
                        "says which records were "
                        "dropped of which process, when that was, why it was, and R&D of what to do about "
                        "it, more than fits');"
                        "INSERT INTO trace_issue VALUES (2, NULL, 'error', 'b', 1, 'another');"));
    auto* const bar = window.findChild<QToolButton*>(QStringLiteral("issuesBar"));
    for (const int width : {1900, 800, 660}) {
        window.resize(width, 600);
        QCoreApplication::processEvents();
        const QString shown = bar->text().replace(QLatin1String("&&"), QLatin1String("&"));
        EXPECT_LE(bar->fontMetrics().horizontalAdvance(shown), bar->width()) << width;
        EXPECT_THAT(shown.toStdString(), testing::EndsWith("more)"));
        EXPECT_THAT(shown.toStdString(), testing::StartsWith("a long sentence that says"));
        EXPECT_EQ(shown.contains(QChar(0x2026)), width < 1000) << shown.toStdString();
    }
    EXPECT_THAT(bar->accessibleName().toStdString(), testing::EndsWith("more than fits"));
}

TEST_F(Panels, ModelsAreSoundWhileTracesComeAndGo) {
    std::list<QAbstractItemModelTester> testers;
    const auto test = [&testers](QAbstractItemModel* model) {
        testers.emplace_back(model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    };
    for (QAbstractItemModel* model : std::initializer_list<QAbstractItemModel*>{&window.findings()->model(),
             window.findings()->view()->model(), &window.details()->model(), &window.statistics()->model(),
             window.statistics()->view()->model(), &window.hits()->model(), &window.ranks()->model(),
             window.ranks()->view()->model()})
        test(model);
    for (const char* fixture : {"h200-trace-nccl-pair", "h200-trace-sync-broken", "h200-trace-nccl-pair"}) {
        open(fixture);
        key(Qt::Key_N);
        for (const char* words : {"GD", "nothing like it", ""}) {
            window.findings()->text()->setText(QString::fromUtf8(words));
            QCoreApplication::processEvents();
        }
        window.findings()->order()->setCurrentIndex(1);
        view->setFocus();
        key(Qt::Key_J);
        key(Qt::Key_J);
        ASSERT_TRUE(view->selectedEvent());
        ASSERT_TRUE(QTest::qWaitFor([&] { return window.details()->model().rowCount() > 0; }, 60'000));
        QSignalSpy counted(window.statistics(), &StatsDock::counted);
        view->setArea(view->info().startNs, view->info().endNs);
        ASSERT_TRUE(counted.count() > 0 || counted.wait(60'000));
        window.statistics()->view()->sortByColumn(1, Qt::AscendingOrder);
        key(Qt::Key_X);
        window.search()->text()->setText(QStringLiteral("e"));
        ASSERT_TRUE(QTest::qWaitFor([&] { return window.hits()->model().rowCount() > 0; }, 60'000));
        EXPECT_GT(window.statistics()->model().rowCount(), 0);
        EXPECT_GT(window.findings()->model().rowCount(), 0);
        window.search()->text()->clear();
    }
    openPath(QString::fromStdString(files.path("missing.gdt")));
    for (const auto* model : std::initializer_list<const QAbstractItemModel*>{&window.findings()->model(),
             &window.details()->model(), &window.statistics()->model(), &window.hits()->model()})
        EXPECT_EQ(model->rowCount(), 0);
}

TEST_F(Arranged, TheComparisonIsAsItWasLeft) {
    QList<int> sizes;
    QSize size;
    {
        CompareWindow first(&Theme::light());
        first.useSettings();
        first.resize(1100, 850);
        first.show();
        EXPECT_EQ(first.dockWidgetArea(differences(first)), Qt::BottomDockWidgetArea);
        first.addDockWidget(Qt::RightDockWidgetArea, differences(first));
        first.split()->setSizes({200, 500});
        QCoreApplication::processEvents();
        sizes = first.split()->sizes();
        size = first.size();
        ASSERT_NE(sizes[0], sizes[1]);
        EXPECT_TRUE(first.close());
    }
    CompareWindow again(&Theme::light());
    again.useSettings();
    again.show();
    QCoreApplication::processEvents();
    EXPECT_EQ(again.dockWidgetArea(differences(again)), Qt::RightDockWidgetArea);
    EXPECT_EQ(again.size(), size);
    EXPECT_EQ(again.split()->sizes(), sizes);
    CompareWindow plain(&Theme::light()); // one that keeps nothing is as it always is
    EXPECT_EQ(plain.dockWidgetArea(differences(plain)), Qt::BottomDockWidgetArea);
}

} // namespace
