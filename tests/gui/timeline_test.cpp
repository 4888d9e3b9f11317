// SPDX-License-Identifier: Apache-2.0
// The timeline by itself, with rows and findings made up: what is in sight, and what is not hidden.
#include "gui/timeline/timeline_view.h"

#include <QApplication>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>

#include <gmock/gmock.h>

using namespace gd::gui;
using gd::rules::Severity;

namespace {

constexpr std::int64_t kEnd = 1'000'000;

RowPtr row(std::int64_t process, std::int64_t number) {
    LaneBuilder lanes;
    lanes.add({100'000, 300'000, 0, TrackRow::encode(0, number)});
    TrackRow out;
    out.kind = RowKind::stream;
    out.process = process;
    out.device = 0;
    out.number = number;
    out.title = "stream " + std::to_string(number);
    out.slices = {{"kernel", 1}};
    out.lanes = std::move(lanes).build().lanes;
    return std::make_shared<const TrackRow>(std::move(out));
}

gd::rules::Finding finding(
    std::int64_t startNs, std::int64_t endNs, std::int64_t process, Severity severity = Severity::warning) {
    gd::rules::Finding out;
    out.rule = "GD301";
    out.severity = severity;
    out.startNs = startNs;
    out.endNs = endNs;
    out.processId = gd::base::ProcessId(process);
    out.processes = {out.processId};
    return out;
}

// Eight ranks of ten rows each, far more than fit.
class Timeline : public testing::Test {
protected:
    Timeline() {
        view.setTheme(Theme::light());
        view.resize(1000, 400);
        view.show();
        names->intern("k", Category::compute);
        TraceInfo info;
        info.endNs = kEnd;
        for (std::int64_t process = 1; process <= 8; ++process)
            info.processes.push_back({process, 100 + process, process - 1, 0, kEnd});
        view.setTrace(info, names);
        for (std::int64_t process = 1; process <= 8; ++process) {
            for (std::int64_t number = 0; number < 10; ++number)
                view.addRow(row(process, number));
        }
        QCoreApplication::processEvents();
    }
    void report(std::vector<gd::rules::Finding> findings) {
        auto made = std::make_shared<Judgement>();
        made->report.findings = std::move(findings);
        view.setReport(made);
    }
    // Lines of a process that are wholly in sight, its heading first.
    std::vector<const RowLayout::Line*> seen(std::int64_t process) const {
        std::vector<const RowLayout::Line*> out;
        for (const RowLayout::Line& line : view.layout().lines()) {
            const int top = view.lineTop(line);
            if (line.process == process && !line.pinned
                && top >= view.rowsTop() + view.layout().pinnedHeight()
                && top + line.height <= view.viewport()->height())
                out.push_back(&line);
        }
        return out;
    }
    QImage drawn() {
        view.settle();
        return view.viewport()->grab().toImage();
    }

    std::shared_ptr<NameTable> names = std::make_shared<NameTable>();
    TimelineView view;
};

TEST_F(Timeline, AFindingBringsTheRowsOfItsRankIntoSight) {
    ASSERT_LT(seen(5).size(), 2U);
    report({finding(500'000, 600'000, 5), finding(100'000, 200'000, 1)});
    view.selectFinding(0);
    ASSERT_EQ(seen(5).size(), 11U);
    EXPECT_EQ(seen(5).front()->row, nullptr); // the heading stands above them
    view.selectFinding(1);
    EXPECT_EQ(seen(1).size(), 11U);
    // What is in sight already stays where it is.
    const int before = view.verticalScrollBar()->value();
    view.showProcess(1);
    EXPECT_EQ(view.verticalScrollBar()->value(), before);
}

TEST_F(Timeline, RowsWithNothingInViewAreLeftOutAndComeBack) {
    // An event late in one row of rank 4; all others have theirs from 100 to 400 us.
    LaneBuilder lanes;
    lanes.add({800'000, 50'000, 0, 0});
    TrackRow late;
    late.kind = RowKind::host;
    late.process = 4;
    late.title = "late";
    late.slices = {{"api_call", 0}};
    late.lanes = std::move(lanes).build().lanes;
    const auto made = std::make_shared<const TrackRow>(std::move(late));
    view.addRow(made);
    const auto shown = [&] {
        return std::count_if(view.layout().lines().begin(), view.layout().lines().end(),
            [](const RowLayout::Line& line) { return line.row != nullptr; });
    };
    view.setOnlyUsedRows(true);
    EXPECT_EQ(shown(), 81);
    view.showInterval(700'000, 900'000, 0);
    ASSERT_EQ(shown(), 1);
    EXPECT_GE(view.layout().lineOf(made), 0);
    view.selectEvent({made, 0, 0});
    EXPECT_EQ(view.currentLine(), view.layout().lineOf(made));
    // To where it has nothing: it goes, the others are back, and so is the event when it is selected again.
    view.showInterval(150'000, 350'000, 0);
    EXPECT_EQ(shown(), 80);
    EXPECT_EQ(view.layout().lineOf(made), -1);
    view.selectEvent({made, 0, 0});
    EXPECT_GE(view.layout().lineOf(made), 0);
    EXPECT_EQ(view.currentLine(), view.layout().lineOf(made));
    // What stood at the top stays there.
    view.fitAll();
    view.showProcess(6);
    const auto top = [&] { return view.lineTop(*seen(6).front()); };
    const int before = top();
    view.showInterval(50'000, 950'000, 0);
    EXPECT_EQ(top(), before);
    view.setOnlyUsedRows(false);
    EXPECT_EQ(top(), before);
    view.showInterval(700'000, 900'000, 0);
    EXPECT_EQ(shown(), 81);
}

TEST_F(Timeline, APinnedRowOfTheRankDoesNotStandForItsRows) {
    const auto& lines = view.layout().lines();
    const auto last = std::find_if(lines.begin(), lines.end(),
        [](const RowLayout::Line& line) { return line.row && line.process == 7; });
    view.selectEvent({last->row, 0, 0});
    view.togglePin();
    view.verticalScrollBar()->setValue(0);
    report({finding(500'000, 600'000, 7)});
    view.selectFinding(0);
    EXPECT_EQ(seen(7).size(), 10U);
}

TEST_F(Timeline, MarkersOfOneMomentStandBesideEachOther) {
    std::vector<gd::rules::Finding> findings;
    for (int i = 0; i < 6; ++i)
        findings.push_back(finding(500'000, 500'010, 1, i < 3 ? Severity::error : Severity::info));
    findings.push_back(finding(kEnd, kEnd, 1)); // at the very end, where there is no room to the right
    findings.push_back(finding(kEnd, kEnd, 1));
    report(findings);
    view.fitAll();
    const auto boxes = view.markers();
    ASSERT_EQ(boxes.size(), findings.size());
    for (int a = 0; a < 6; ++a) {
        for (int b = 0; b < a; ++b)
            EXPECT_FALSE(boxes.at(a).adjusted(0.1, 0, -0.1, 0).intersects(boxes.at(b))) << a << " " << b;
    }
    // The first of the report stands at its time, and each can be clicked.
    EXPECT_NEAR(boxes.at(0).left(), view.plotLeft() + view.scale().xAt(500'000), 1e-6);
    QSignalSpy picked(&view, &TimelineView::findingPicked);
    for (int i = 0; i < 6; ++i) {
        QTest::mouseClick(view.viewport(), Qt::LeftButton, {}, boxes.at(i).center().toPoint());
        ASSERT_EQ(picked.count(), i + 1);
        EXPECT_EQ(picked.back()[0].toInt(), i);
    }
    // The one that is selected takes the place at its time.
    view.selectFinding(4);
    EXPECT_NEAR(view.markers().at(4).left(), view.plotLeft() + view.scale().xAt(500'000), 1e-6);
    // Nothing leaves the view, however many there are.
    report(std::vector<gd::rules::Finding>(300, finding(500'000, 500'010, 1)));
    view.fitAll();
    EXPECT_EQ(view.markers().size(), 300U);
    for (const auto& [number, box] : view.markers())
        EXPECT_TRUE(QRectF(view.viewport()->rect()).contains(box)) << number;
}

TEST_F(Timeline, TheVeilLiesOverTheRanksThatHaveTheFinding) {
    view.resize(1000, 1400);
    report({finding(500'000, 600'000, 2)});
    view.selectFinding(0);
    // The colour of most pixels from a time on: lines of the ruler are in between.
    const auto ground = [&](const QImage& image, int y, std::int64_t ns) {
        std::map<QRgb, int> counts;
        for (int i = 0; i < 20; ++i)
            ++counts[image.pixel(view.plotLeft() + static_cast<int>(view.scale().xAt(ns)) + i, y)];
        return std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
            return a.second < b.second;
        })->first;
    };
    const auto isVeiled = [&](std::int64_t process) {
        const RowLayout::Line* const line = seen(process).at(1);
        const int y = view.lineTop(*line) + line->height / 2;
        const QImage image = drawn();
        return ground(image, y, 520'000) != ground(image, y, 450'000);
    };
    ASSERT_GE(seen(3).size(), 2U);
    EXPECT_TRUE(isVeiled(2));
    EXPECT_FALSE(isVeiled(3));
    auto both = finding(500'000, 600'000, 2);
    both.processes.push_back(gd::base::ProcessId(3));
    report({both});
    view.selectFinding(0);
    EXPECT_TRUE(isVeiled(2));
    EXPECT_TRUE(isVeiled(3));
}

TEST_F(Timeline, ACurveSaysItsValueAtThePointer) {
    TrackRow memory;
    memory.kind = RowKind::memory;
    memory.process = 1;
    memory.title = "Memory";
    memory.curve = std::make_shared<const StepCurve>(
        std::vector<StepCurve::Point>{{100'000, 1 << 20}, {500'000, 3 << 20}, {900'000, 0}});
    const auto curve = std::make_shared<const TrackRow>(std::move(memory));
    view.addRow(curve);
    view.fitAll();
    QCoreApplication::processEvents();
    const auto at = std::find_if(view.layout().lines().begin(), view.layout().lines().end(),
        [&](const RowLayout::Line& line) { return line.row == curve; });
    ASSERT_NE(at, view.layout().lines().end());
    view.verticalScrollBar()->setValue(0);
    const auto textAt = [&](std::int64_t ns) {
        return view
            .curveText({view.plotLeft() + static_cast<int>(view.scale().xAt(ns)),
                view.lineTop(*at) + at->height / 2})
            .toStdString();
    };
    EXPECT_THAT(textAt(50'000), testing::StartsWith("Memory: 0 B at "));
    EXPECT_THAT(textAt(300'000), testing::StartsWith("Memory: 1.00 MiB at "));
    EXPECT_THAT(textAt(700'000), testing::StartsWith("Memory: 3.00 MiB at 70"));
    EXPECT_EQ(view.curveText({view.plotLeft() - 5, view.lineTop(*at) + 2}).toStdString(), "");
    EXPECT_EQ(view.curveText({view.plotLeft() + 50, view.lineTop(*(at - 1)) + 2}).toStdString(), "");
}

TEST(FittedTitle, IsWholeWhereItsRowHasTheLines) {
    const QString title = QStringLiteral("Memory, device 0: the framework's blocks");
    const QFontMetrics font(QApplication::font());
    const int whole = font.horizontalAdvance(title);
    EXPECT_EQ(fittedTitle(title, font, {whole + 2, font.height()}), title);
    EXPECT_EQ(fittedTitle(title, font, {whole * 3 / 4, 2 * font.height()}), title);
    const QString cut = fittedTitle(title, font, {whole * 3 / 4, font.height()});
    EXPECT_TRUE(cut.contains(QChar(0x2026))) << cut.toStdString();
    EXPECT_LE(font.horizontalAdvance(cut), whole * 3 / 4);
    EXPECT_TRUE(fittedTitle(title, font, {whole / 4, 2 * font.height()}).contains(QChar(0x2026)));
}

} // namespace
