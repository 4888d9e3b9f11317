// SPDX-License-Identifier: Apache-2.0
// The viewer in Chinese: nothing of it stays English but what the trace, the rules and the command line say.
#include "gui/app/language.h"
#include "gui/model/words.h"
#include "tests/gui/window_fixture.h"

#include <QMenuBar>
#include <QTranslator>

#include <gmock/gmock.h>

#include <set>

using namespace gd::gui;

namespace {

bool isChinese(const QString& text) {
    return std::any_of(text.begin(), text.end(), [](QChar c) { return c.script() == QChar::Script_Han; });
}

class Chinese : public gd::test::Window {
protected:
    void SetUp() override {
        if (!languages().contains(QStringLiteral("zh_CN")))
            GTEST_SKIP() << "built without lrelease (Debian: qt6-l10n-tools)";
        ASSERT_TRUE(speak(QStringLiteral("zh_CN")));
    }
    void TearDown() override {
        for (QTranslator* translator : QCoreApplication::instance()->findChildren<QTranslator*>())
            delete translator; // removes itself
    }
};

TEST_F(Chinese, MenusPanelsAndRowsSpeakIt) {
    gd::gui::MainWindow chinese(&Theme::light());
    for (const QAction* menu : chinese.menuBar()->actions()) {
        EXPECT_TRUE(isChinese(menu->text())) << menu->text().toStdString();
        for (const QAction* action : menu->menu()->actions())
            EXPECT_TRUE(action->isSeparator() || isChinese(action->text())) << action->text().toStdString();
    }
    for (const QDockWidget* dock : chinese.findChildren<QDockWidget*>())
        EXPECT_TRUE(isChinese(dock->windowTitle())) << dock->windowTitle().toStdString();
    open("h200-trace-nccl-pair");
    for (const RowPtr& row : view->layout().rows())
        EXPECT_TRUE(isChinese(QString::fromStdString(row->title))) << row->title;
    EXPECT_TRUE(window.showStep(3));
    EXPECT_TRUE(isChinese(QString::fromStdString(stepName(3)).section(QLatin1Char(' '), 0, 0)));
    EXPECT_TRUE(isChinese(view->selectionText())) << view->selectionText().toStdString();
}

TEST_F(Chinese, DetailsOfEveryKindOfEventSpeakIt) {
    open("h200-trace-nccl-pair");
    const std::set<std::string> same = {"rank", "API"}; // are called so in Chinese too
    std::set<std::string> checked;
    for (const RowPtr& row : view->layout().rows()) {
        if (row->curve || !checked.insert(row->slices.front().table).second)
            continue;
        DetailsModel& details = window.details()->model();
        QSignalSpy flow(&details, &QAbstractItemModel::modelReset);
        view->selectEvent({row, 0, 0});
        ASSERT_TRUE(QTest::qWaitFor([&] { return details.find("row") >= 0; }, 60'000));
        for (int i = 0; i < details.rowCount(); ++i) {
            const QString key = details.index(i, 0).data().toString();
            EXPECT_TRUE(key.isEmpty() || isChinese(key) || same.contains(key.toStdString()))
                << key.toStdString() << " of " << row->slices.front().table;
        }
    }
    EXPECT_GE(checked.size(), 6U);
    key(Qt::Key_N);
    for (int i = 0; i < window.details()->model().rowCount(); ++i) {
        const QString key = window.details()->model().index(i, 0).data().toString();
        EXPECT_TRUE(key.isEmpty() || isChinese(key) || same.contains(key.toStdString())) << key.toStdString();
    }
}

TEST(English, CountsHaveTheirPlurals) {
    if (languages().size() < 2)
        GTEST_SKIP() << "built without lrelease (Debian: qt6-l10n-tools)";
    EXPECT_EQ(languages().count(QStringLiteral("en")), 1);
    ASSERT_TRUE(speak(QStringLiteral("en")));
    const auto rules = [](int count) {
        return QCoreApplication::translate(
            "gd::gui::FindingsModel", "%n rule(s) not evaluated", nullptr, count)
            .toStdString();
    };
    EXPECT_EQ(rules(1), "1 rule not evaluated");
    EXPECT_EQ(rules(4), "4 rules not evaluated");
    for (QTranslator* translator : QCoreApplication::instance()->findChildren<QTranslator*>())
        delete translator; // removes itself
}

} // namespace
