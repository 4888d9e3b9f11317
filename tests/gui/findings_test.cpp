// SPDX-License-Identifier: Apache-2.0
// The findings panel: what is found is filtered, ordered and walked, and never hidden without a word.
#include "gui/docks/findings_dock.h"
#include "tests/gui/window_fixture.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QDialog>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTableView>
#include <QTreeView>

#include <gmock/gmock.h>

using namespace gd::gui;
using gd::rules::Severity;
using gd::test::Window;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

gd::rules::Finding finding(const std::string& rule, Severity severity, const std::string& title,
    const std::string& message, const std::string& file, std::int64_t costNs) {
    gd::rules::Finding out;
    out.rule = rule;
    out.severity = severity;
    out.title = title;
    out.message = message;
    out.costNs = costNs;
    out.locations = {{file, 7, "f", "", "python"}};
    return out;
}

// Four findings, the second with one below it, and a rule that was not evaluated.
ReportPtr madeReport() {
    auto out = std::make_shared<Judgement>();
    auto& found = out->report.findings;
    found.push_back(
        finding("GD101", Severity::error, "A call breaks a capture", "cuMalloc failed", "train.py", 1));
    found.push_back(
        finding("GD301", Severity::warning, "The GPU idles", "graph step: idle 5 ms", "loop.py", 50));
    found.back().folded.push_back(
        finding("GD302", Severity::warning, "Host waits", "item() in the loop", "loss.py", 40));
    found.back().ranks = {gd::base::RankId(0), gd::base::RankId(3)};
    found.push_back(finding("GD501", Severity::warning, "Ranks differ", "rank 3 comes last", "data.py", 900));
    found.push_back(
        finding("GD301", Severity::info, "The GPU idles", "graph eval: idle 1 ms", "eval.py", 20));
    gd::rules::RuleOutcome rule;
    rule.id = "GD601";
    rule.title = "Memory is lost";
    rule.reason = "allocations were not recorded";
    rule.severity = Severity::warning;
    out->report.rules.push_back(rule);
    return out;
}

class FindingsPanel : public testing::Test {
protected:
    FindingsPanel() {
        dock.setReport(madeReport());
        dock.show();
    }
    std::vector<std::string> shown() {
        std::vector<std::string> out;
        const QAbstractItemModel& model = *dock.view()->model();
        for (int row = 0; row < model.rowCount(); ++row) {
            const QModelIndex head = model.index(row, 0);
            out.push_back(
                (head.data().isValid() ? head : head.siblingAtColumn(1)).data().toString().toStdString());
            for (int child = 0; child < model.rowCount(head); ++child)
                out.push_back("  " + model.index(child, 0, head).data().toString().toStdString());
        }
        return out;
    }
    std::vector<std::string> shownFor(const char* text) {
        dock.text()->setText(QString::fromUtf8(text));
        return shown();
    }

    FindingsDock dock;
    QAbstractItemModelTester plain{&dock.model(), QAbstractItemModelTester::FailureReportingMode::Fatal};
    QAbstractItemModelTester filtered{dock.shown(), QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(FindingsPanel, WordsAndRuleIdsFilterWithWhatHangsTogether) {
    const std::vector<std::string> all
        = {"E GD101", "W GD301", "  W GD302", "W GD501", "I GD301", "1 rule(s) not evaluated", "  GD601"};
    EXPECT_EQ(shown(), all);
    EXPECT_THAT(shownFor("gd301"), ElementsAre("W GD301", "  W GD302", "I GD301"));
    EXPECT_THAT(shownFor("idle  EVAL"), ElementsAre("I GD301")); // both words, any case
    EXPECT_THAT(shownFor("item()"), ElementsAre("W GD301", "  W GD302")); // its head stays with it
    EXPECT_THAT(shownFor("train.py:7"), ElementsAre("E GD101"));
    EXPECT_THAT(shownFor("allocations"), ElementsAre("1 rule(s) not evaluated", "  GD601"));
    EXPECT_THAT(shownFor("nothing like it"), testing::IsEmpty());
    EXPECT_EQ(shownFor("  "), all);
}

TEST_F(FindingsPanel, TheSeverityFilters) {
    dock.severity()->setCurrentIndex(1);
    EXPECT_THAT(shown(),
        ElementsAre("E GD101", "W GD301", "  W GD302", "W GD501", "1 rule(s) not evaluated", "  GD601"));
    dock.severity()->setCurrentIndex(2);
    EXPECT_THAT(shown(), ElementsAre("E GD101"));
}

TEST_F(FindingsPanel, WhatIsHiddenIsSaid) {
    EXPECT_EQ(dock.windowTitle(), QStringLiteral("Findings (4)"));
    EXPECT_EQ(dock.state(), QString());
    dock.text()->setText(QStringLiteral("GD301"));
    EXPECT_EQ(dock.windowTitle(), QStringLiteral("Findings (2 of 4)"));
    EXPECT_EQ(dock.state(), QStringLiteral("2 hidden"));
    EXPECT_EQ(dock.text()->accessibleDescription(), QStringLiteral("2 hidden"));
    for (QWidget* field : std::initializer_list<QWidget*>{dock.text(), dock.severity(), dock.order()})
        EXPECT_FALSE(field->accessibleName().isEmpty());
    // Another trace, the same filter: it is still said.
    dock.setReport(nullptr);
    EXPECT_EQ(dock.windowTitle(), QStringLiteral("Findings (0)"));
    dock.setReport(madeReport());
    EXPECT_EQ(dock.windowTitle(), QStringLiteral("Findings (2 of 4)"));
    dock.clearFilter();
    EXPECT_EQ(dock.windowTitle(), QStringLiteral("Findings (4)"));
}

TEST_F(FindingsPanel, StepsGoThroughWhatIsShownInItsOrder) {
    std::vector<int> picked;
    QObject::connect(
        &dock, &FindingsDock::selected, [&](const auto&, int number) { picked.push_back(number); });
    dock.text()->setText(QStringLiteral("GD301"));
    for (int i = 0; i < 3; ++i)
        dock.step(1);
    dock.step(-1);
    EXPECT_THAT(picked, ElementsAre(1, 3, 1, 3));
    // Typing hides the selected one and selects nothing else.
    dock.text()->setText(QStringLiteral("GD101"));
    EXPECT_EQ(picked.size(), 4U);
    // One that is hidden is picked on the timeline: the filter goes, so that it can be seen.
    dock.select(2);
    EXPECT_EQ(picked.back(), 2);
    EXPECT_EQ(dock.text()->text(), QString());
    EXPECT_EQ(dock.view()->currentIndex().data().toString(), QStringLiteral("W GD501"));
}

TEST_F(FindingsPanel, FindingsCanBeOrdered) {
    const auto heads = [this](FindingsFilter::Order order) {
        dock.order()->setCurrentIndex(dock.order()->findData(static_cast<int>(order)));
        std::vector<std::string> out;
        for (const std::string& line : shown()) {
            if (line[0] != ' ')
                out.push_back(line);
        }
        return out;
    };
    const std::string rules = "1 rule(s) not evaluated"; // always below
    EXPECT_THAT(
        heads(FindingsFilter::Order::rule), ElementsAre("E GD101", "W GD301", "I GD301", "W GD501", rules));
    EXPECT_THAT(
        heads(FindingsFilter::Order::cost), ElementsAre("W GD501", "W GD301", "I GD301", "E GD101", rules));
    EXPECT_THAT(
        heads(FindingsFilter::Order::place), ElementsAre("W GD501", "I GD301", "W GD301", "E GD101", rules));
    EXPECT_THAT(
        heads(FindingsFilter::Order::weight), ElementsAre("E GD101", "W GD301", "W GD501", "I GD301", rules));
}

TEST_F(FindingsPanel, RanksStandBesideWhatSeveralOfThemHave) {
    EXPECT_FALSE(dock.view()->isColumnHidden(FindingsModel::ranks));
    EXPECT_EQ(dock.model().index(1, FindingsModel::ranks, {}).data().toString(), QStringLiteral("0, 3"));
    EXPECT_EQ(dock.model().index(0, FindingsModel::ranks, {}).data().toString(), QStringLiteral("–"));
}

// Two ranks have the same finding each for itself: only the column tells them apart.
TEST_F(Window, RanksStandBesideFindingsOfOneRankEach) {
    open("h200-nccl-late");
    const FindingsModel& model = window.findings()->model();
    ASSERT_EQ(model.findingCount(), 2);
    EXPECT_FALSE(window.findings()->view()->isColumnHidden(FindingsModel::ranks));
    std::set<std::string> ranks;
    for (int i = 0; i < 2; ++i)
        ranks.insert(model.index(i, FindingsModel::ranks, {}).data().toString().toStdString());
    EXPECT_EQ(ranks, (std::set<std::string>{"0", "1"}));
    open("h200-item-deep"); // one process: nothing to tell apart
    ASSERT_GT(model.findingCount(), 0);
    EXPECT_TRUE(window.findings()->view()->isColumnHidden(FindingsModel::ranks));
}

TEST_F(Window, FindingsAreFilteredByKeys) {
    open("h200-trace-sync-broken");
    const int all = window.findings()->model().findingCount();
    ASSERT_GT(all, 0);
    key(Qt::Key_F, Qt::ControlModifier | Qt::ShiftModifier);
    ASSERT_EQ(QApplication::focusWidget(), window.findings()->text());
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("no such words"));
    EXPECT_EQ(window.findings()->shown()->shownCount(), 0);
    EXPECT_THAT(window.findings()->windowTitle().toStdString(), HasSubstr("(0 of "));
    EXPECT_EQ(view->selectedFinding(), -1);
    key(Qt::Key_Escape); // leaves, and the filter stays
    EXPECT_EQ(QApplication::focusWidget(), view);
    key(Qt::Key_N);
    EXPECT_EQ(view->selectedFinding(), -1);
    key(Qt::Key_F, Qt::ControlModifier | Qt::ShiftModifier);
    QTest::keyClicks(QApplication::focusWidget(), QStringLiteral("gd302")); // replaces what stood there
    key(Qt::Key_Return);
    EXPECT_EQ(QApplication::focusWidget(), window.findings()->view());
    EXPECT_THAT(spoken(window.findings()->view()), HasSubstr("GD302"));
    EXPECT_EQ(view->selectedFinding(), 0);
}

TEST_F(Window, EnterOnTheRuleShowsItsPage) {
    open("h200-trace-sync-broken");
    key(Qt::Key_N);
    key(Qt::Key_3, Qt::AltModifier);
    DetailsModel& details = window.details()->model();
    window.details()->view()->setCurrentIndex(details.index(details.find("rule"), 1));
    key(Qt::Key_Return);
    auto* const dialog = window.findChild<QDialog*>(QStringLiteral("rulePage"));
    ASSERT_NE(dialog, nullptr);
    EXPECT_THAT(dialog->findChild<QPlainTextEdit*>()->toPlainText().toStdString(),
        testing::AllOf(
            HasSubstr("-- rule: GD302 sync-between-replays"), HasSubstr("-- why:"), HasSubstr("-- test:")));
    QTest::keyClick(dialog, Qt::Key_Escape);
    EXPECT_FALSE(dialog->isVisible());
}

} // namespace
