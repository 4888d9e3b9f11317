// SPDX-License-Identifier: Apache-2.0
// The search in the window: hits by row, beside the rows' titles and in a panel of their own.
#include "tests/gui/window_fixture.h"

#include <QAbstractItemModelTester>
#include <QTableView>

#include <gmock/gmock.h>

using namespace gd::gui;
using gd::test::Window;
using testing::HasSubstr;

namespace {

class Searched : public Window {
protected:
    // Types into the search field and waits for the answer to the whole text.
    void look(const QString& text) {
        view->setFocus(); // in the field '/' is a letter
        key(Qt::Key_Slash);
        QSignalSpy counted(window.search(), &SearchBar::counted);
        QTest::keyClicks(QApplication::focusWidget(), text);
        ASSERT_TRUE(QTest::qWaitFor(
            [&] { return !counted.isEmpty() && counted.back().at(0).toString() == text; }, 10'000));
    }
    // By the rows themselves.
    std::map<const TrackRow*, std::int64_t> countedByHand(const std::string& text) const {
        std::map<const TrackRow*, std::int64_t> out;
        for (const RowPtr& row : view->layout().rows()) {
            for (const auto& lane : row->lanes) {
                for (std::size_t i = 0; i < lane->size() && row->kind != RowKind::comm; ++i) {
                    if (names(lane->name(i)).find(text) != std::string::npos)
                        ++out[row.get()];
                }
            }
        }
        return out;
    }
    std::string names(std::uint32_t id) const { return view->nameOf(id); }
};

TEST_F(Searched, EachRowSaysHowManyHitsItHas) {
    open("h200-trace-nccl-pair");
    QAbstractItemModelTester tester(
        &window.hits()->model(), QAbstractItemModelTester::FailureReportingMode::Fatal);
    EXPECT_THAT(window.hits()->summary().toStdString(), HasSubstr("Press /"));
    look(QStringLiteral("nccl"));
    const auto expected = countedByHand("nccl");
    ASSERT_GT(expected.size(), 1U);
    std::map<const TrackRow*, std::int64_t> shown;
    std::int64_t sum = 0;
    for (int i = 0; i < window.hits()->model().rowCount(); ++i) {
        const SearchResult::OfRow& of = *window.hits()->model().hits(window.hits()->model().index(i, 0));
        shown[of.row.get()] = of.count;
        sum += of.count;
        // Beside the row's title too, for those who cannot see it.
        EXPECT_THAT(view->lineText(view->layout().lineOf(of.row)).toStdString(),
            testing::EndsWith("; " + std::to_string(of.count) + " hit(s)"));
    }
    EXPECT_EQ(shown, expected);
    EXPECT_THAT(window.hits()->summary().toStdString(), HasSubstr(std::to_string(sum) + " hit(s) in "));
    look(QStringLiteral("nothing like it"));
    EXPECT_EQ(window.hits()->model().rowCount(), 0);
    EXPECT_THAT(window.hits()->summary().toStdString(), HasSubstr("No event has"));
    for (int i = 0; i < static_cast<int>(view->layout().lines().size()); ++i)
        EXPECT_THAT(view->lineText(i).toStdString(), testing::Not(HasSubstr("hit")));
}

TEST_F(Searched, FromTheFieldDownToARowAndToItsFirstHit) {
    open("h200-trace-nccl-pair");
    look(QStringLiteral("nccl"));
    key(Qt::Key_Down);
    ASSERT_EQ(QApplication::focusWidget(), window.hits()->view());
    EXPECT_THAT(spoken(window.hits()->view()), testing::ContainsRegex("^rank 0, process .*, [0-9]+ hit.s.$"));
    key(Qt::Key_Down); // to the second row of the list
    const RowPtr row = window.hits()->model().hits(window.hits()->model().index(1, 0))->row;
    QSignalSpy searched(window.search(), &SearchBar::searched);
    key(Qt::Key_Return);
    ASSERT_TRUE(searched.count() > 0 || searched.wait(10'000));
    ASSERT_TRUE(view->selectedEvent());
    EXPECT_EQ(view->selectedEvent().row, row);
    EXPECT_THAT(names(view->selectedEvent().name()), HasSubstr("nccl"));
    // It is the first one of the row.
    for (std::size_t i = 0; i < view->selectedEvent().index; ++i)
        EXPECT_THAT(names(view->selectedEvent().in().name(i)), testing::Not(HasSubstr("nccl")));
}

} // namespace
