// SPDX-License-Identifier: Apache-2.0
// Keys: the list of them in both windows, a key for each panel, and what the window remembers.
#include "gui/app/compare_window.h"
#include "gui/app/keys.h"
#include "tests/gui/window_fixture.h"

#include <QDialog>
#include <QDropEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMimeData>
#include <QPointer>
#include <QStatusBar>
#include <QTableView>
#include <QTableWidget>
#include <QTreeView>

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

using namespace gd::gui;
using gd::test::Window;
using testing::HasSubstr;

namespace {

std::string linesOf(QMainWindow& window) {
    return keysOf(&window).join(QLatin1Char('\n')).toStdString();
}

// What '?' shows, as text; empty: no list.
std::string shownKeys(QMainWindow& window) {
    auto* const dialog = window.findChild<QDialog*>(QStringLiteral("keys"));
    if (dialog == nullptr)
        return {};
    const auto* const table = dialog->findChild<QTableWidget*>();
    QStringList out;
    for (int row = 0; row < table->rowCount(); ++row)
        out += table->item(row, 0)->text() + QLatin1Char('\t') + table->item(row, 1)->text();
    return out.join(QLatin1Char('\n')).toStdString();
}

// Every action that a key can start is in the list, and no key starts two.
void checkList(QMainWindow& window) {
    const std::string list = linesOf(window);
    std::set<QString> taken;
    for (const QAction* action : window.findChildren<QAction*>()) {
        for (const QKeySequence& key : action->shortcuts()) {
            EXPECT_TRUE(taken.insert(key.toString()).second) << key.toString().toStdString();
            EXPECT_THAT(list, HasSubstr(action->text().remove(QLatin1Char('&')).toStdString()));
            EXPECT_THAT(list, HasSubstr(key.toString(QKeySequence::NativeText).toStdString()));
        }
    }
    EXPECT_GT(taken.size(), 15U);
}

TEST_F(Window, TheQuestionMarkListsEveryKeyOfItsActions) {
    checkList(window);
    open("h200-trace-healthy");
    key(Qt::Key_Question);
    EXPECT_EQ(shownKeys(window), linesOf(window));
    for (const char* word :
        {"Next finding", "Zoom in", "Back to the view before", "Filter the findings", "Ctrl+wheel"})
        EXPECT_THAT(shownKeys(window), HasSubstr(word));
    QTest::keyClick(window.findChild<QDialog*>(QStringLiteral("keys")), Qt::Key_Escape);
    EXPECT_TRUE(QTest::qWaitFor([&] { return shownKeys(window).empty(); }, 10'000));
}

TEST_F(Window, TheComparisonListsItsKeysToo) {
    CompareWindow compared(&Theme::light());
    compared.setRulesFolder(QStringLiteral(GD_RULES));
    checkList(compared);
    compared.resize(1200, 800);
    compared.show();
    compared.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&compared));
    compared.baseTimeline()->setFocus();
    QTest::keyClick(compared.focusWidget(), Qt::Key_Question);
    EXPECT_EQ(shownKeys(compared), linesOf(compared));
    for (const char* word : {"Next step", "Go to the differences", "Only what changed"})
        EXPECT_THAT(shownKeys(compared), HasSubstr(word));
}

TEST_F(Window, EachPanelHasItsKey) {
    open("h200-trace-nccl-pair");
    for (QDockWidget* dock : window.findChildren<QDockWidget*>())
        dock->hide();
    for (const auto& [digit, widget] :
        std::initializer_list<std::pair<Qt::Key, QWidget*>>{{Qt::Key_2, window.findings()->view()},
            {Qt::Key_3, window.details()->view()}, {Qt::Key_4, window.statistics()->view()},
            {Qt::Key_5, window.graph()->view()}, {Qt::Key_7, window.hits()->view()}, {Qt::Key_1, view}}) {
        key(digit, Qt::AltModifier);
        EXPECT_EQ(QApplication::focusWidget(), widget) << digit;
        EXPECT_FALSE(widget->visibleRegion().isEmpty()) << digit;
    }
    key(Qt::Key_6, Qt::AltModifier);
    EXPECT_TRUE(window.ranks()->isAncestorOf(QApplication::focusWidget()));
    key(Qt::Key_8, Qt::AltModifier);
    EXPECT_NE(qobject_cast<QListWidget*>(QApplication::focusWidget()), nullptr);
}

class Remembered : public Window {
protected:
    Remembered() {
        ::setenv("XDG_CONFIG_HOME", files.path("config").c_str(), 1);
        QCoreApplication::setOrganizationName(QStringLiteral("graphdoctor"));
        QCoreApplication::setApplicationName(QStringLiteral("test"));
        window.useSettings();
    }
    ~Remembered() override { ::unsetenv("XDG_CONFIG_HOME"); }
    static std::vector<std::string> recent(MainWindow& of) {
        std::vector<std::string> out;
        for (const QAction* action : of.recent()->actions())
            out.push_back(action->toolTip().toStdString());
        return out;
    }
};

TEST_F(Remembered, RecentTracesAreOfferedAndDroppedOnesOpened) {
    const QString first = files.fixture("h200-trace-healthy");
    openPath(first);
    openPath(QString::fromStdString(files.path("missing.gdt"))); // not kept
    const QString second = files.fixture("h200-trace-sync-broken");
    QMimeData dropped;
    dropped.setUrls({QUrl::fromLocalFile(second)});
    QDragEnterEvent enter({}, Qt::CopyAction, &dropped, Qt::LeftButton, {});
    QApplication::sendEvent(&window, &enter);
    EXPECT_TRUE(enter.isAccepted());
    QSignalSpy done(&window, &MainWindow::traceLoaded);
    QDropEvent drop({}, Qt::CopyAction, &dropped, Qt::LeftButton, {});
    QApplication::sendEvent(&window, &drop);
    ASSERT_TRUE(done.count() == 1 || done.wait(60'000));
    EXPECT_THAT(recent(window), testing::ElementsAre(second.toStdString(), first.toStdString()));
    // Another window knows them too, and one click opens it.
    MainWindow other(&Theme::light());
    other.useSettings();
    other.setRulesFolder(QStringLiteral(GD_RULES));
    ASSERT_EQ(recent(other).size(), 2U);
    QSignalSpy opened(&other, &MainWindow::traceLoaded);
    other.recent()->actions().at(1)->trigger();
    ASSERT_TRUE(opened.count() == 1 || opened.wait(60'000));
    EXPECT_EQ(other.failure().toStdString(), "");
}

TEST_F(Remembered, AJobOfSeveralFilesIsOfferedAsAWhole) {
    const auto rank = [this](int number) {
        return files.made(
            "DELETE FROM process; INSERT INTO process (process_id, pid, rank, world_size, role, "
            "host, start_ns, end_ns, ended) VALUES (1, 10"
            + std::to_string(number) + ", " + std::to_string(number)
            + ", 2, 'primary', 'h', 0, 3000000, 'closed');");
    };
    const QString first = rank(0), second = rank(1);
    window.show();
    QSignalSpy done(&window, &MainWindow::traceLoaded);
    window.openJob({first, second});
    ASSERT_TRUE(done.count() == 1 || done.wait(60'000));
    ASSERT_EQ(window.failure().toStdString(), "");
    openPath(first); // one of them alone is another entry
    EXPECT_THAT(recent(window),
        testing::ElementsAre(first.toStdString(), first.toStdString() + "\n" + second.toStdString()));
    MainWindow other(&Theme::light());
    other.useSettings();
    other.setRulesFolder(QStringLiteral(GD_RULES));
    QSignalSpy opened(&other, &MainWindow::traceLoaded);
    ASSERT_EQ(recent(other).size(), 2U);
    EXPECT_THAT(other.recent()->actions().at(1)->text().toStdString(), HasSubstr(", ")); // both can be read
    other.recent()->actions().at(1)->trigger();
    ASSERT_TRUE(opened.count() == 1 || opened.wait(60'000));
    EXPECT_EQ(other.failure().toStdString(), "");
    EXPECT_EQ(other.timeline()->info().processes.size(), 2U);
}

TEST_F(Window, DroppedThingsThatAreNoFilesAreLeftAlone) {
    open("h200-trace-healthy");
    QMimeData dropped;
    dropped.setUrls({QUrl(QStringLiteral("https://example.org/a.gdt"))});
    QDragEnterEvent enter({}, Qt::CopyAction, &dropped, Qt::LeftButton, {});
    enter.ignore();
    QApplication::sendEvent(&window, &enter);
    EXPECT_FALSE(enter.isAccepted());
    QDropEvent drop({}, Qt::CopyAction, &dropped, Qt::LeftButton, {});
    QApplication::sendEvent(&window, &drop);
    EXPECT_TRUE(window.loaded());
    EXPECT_FALSE(view->layout().rows().empty());
}

TEST_F(Window, AnotherTraceIsComparedFromTheMenu) {
    open("h200-trace-sync-healthy");
    CompareWindow* const compared = window.compareWith(files.fixture("h200-trace-sync-broken"));
    QSignalSpy done(compared, &CompareWindow::compareLoaded);
    ASSERT_TRUE(compared->loaded() || done.wait(60'000));
    EXPECT_EQ(compared->failure().toStdString(), "");
    EXPECT_GE(compared->pair(), 0);
    // What is selected is said below: there is no panel of details.
    compared->baseTimeline()->stepRow(0);
    EXPECT_EQ(compared->statusBar()->currentMessage(), compared->baseTimeline()->selectionText());
    EXPECT_FALSE(compared->statusBar()->currentMessage().isEmpty());
    const QPointer<CompareWindow> there(compared);
    EXPECT_TRUE(compared->close());
    EXPECT_TRUE(QTest::qWaitFor([&] { return there.isNull(); }, 10'000));
}

} // namespace
