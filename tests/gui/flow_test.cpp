// SPDX-License-Identifier: Apache-2.0
// What events hang together with: steps along the flow, arrows, waits of collectives; and rows kept in sight.
#include "tests/gui/window_fixture.h"

#include <gmock/gmock.h>

using namespace gd::gui;
using gd::test::Window;

namespace {

class FlowWalk : public Window {
protected:
    // Place of the selected event, such as "kernel 5 of 1".
    std::string selected() const {
        const EventKey& event = view->selectedEvent();
        if (!event)
            return "";
        const TrackRow::Place place = event.row->place(event.in().row(event.index));
        return place.table + " " + std::to_string(place.rowId) + " of " + std::to_string(event.row->process);
    }
    bool step(Qt::Key bracket, const std::string& wanted) {
        key(bracket);
        return QTest::qWaitFor([&] { return selected() == wanted; }, 60'000);
    }
    void select(std::int64_t process, const std::string& table, std::int64_t row, std::int64_t startNs) {
        const EventKey event = view->findEvent(process, table, row, startNs);
        ASSERT_TRUE(event);
        view->selectEvent(event);
    }
    std::size_t arrows(FlowKind kind) const {
        return static_cast<std::size_t>(std::count_if(view->flow().begin(), view->flow().end(),
            [&](const TimelineView::Arrow& arrow) { return arrow.kind == kind; }));
    }
    RowPtr rowOf(RowKind kind, std::int64_t process) const {
        for (const RowPtr& row : view->layout().rows()) {
            if (row->kind == kind && row->process == process)
                return row;
        }
        return nullptr;
    }
};

TEST_F(FlowWalk, BracketsLeadFromTheLaunchOverTheReplayAlongTheGraphAndBack) {
    open("h200-trace-nccl-pair");
    select(1, "replay", 1, 1'230'303'386);
    ASSERT_TRUE(step(Qt::Key_BracketLeft, "api_call 419 of 1")) << selected();
    EXPECT_TRUE(step(Qt::Key_BracketRight, "replay 1 of 1")) << selected();
    EXPECT_TRUE(step(Qt::Key_BracketRight, "kernel 5 of 1")) << selected();
    EXPECT_TRUE(step(Qt::Key_BracketRight, "kernel 6 of 1")) << selected(); // over an event record's node
    EXPECT_TRUE(step(Qt::Key_BracketRight, "kernel 7 of 1")) << selected();
    EXPECT_TRUE(step(Qt::Key_BracketLeft, "kernel 6 of 1")) << selected();
    EXPECT_TRUE(step(Qt::Key_BracketLeft, "kernel 5 of 1")) << selected();
    EXPECT_TRUE(step(Qt::Key_BracketLeft, "replay 1 of 1")) << selected();
}

TEST_F(FlowWalk, ANodesKernelNamesItselfInTheReplaysBeforeAndAfter) {
    open("h200-trace-nccl-pair");
    DetailsModel& details = window.details()->model();
    const auto startOf = [&](const char* key) {
        const int row = details.find(key);
        return row < 0 ? -1 : details.row(details.index(row, 1))->startNs;
    };
    select(1, "kernel", 5, 1'230'303'386); // of the first replay
    ASSERT_TRUE(QTest::qWaitFor([&] { return startOf("same kernel after") >= 0; }, 10'000));
    EXPECT_EQ(startOf("same kernel before"), -1);
    const std::int64_t second = startOf("same kernel after");
    EXPECT_GT(second, 1'230'303'386);
    // From there back again.
    const RowPtr row = view->selectedEvent().row;
    const Lane& lane = *row->lanes[0];
    view->selectEvent({row, 0, lane.lowerBound(second)});
    ASSERT_TRUE(QTest::qWaitFor([&] { return startOf("same kernel before") == 1'230'303'386; }, 10'000));
}

TEST_F(FlowWalk, AnEagerKernelComesFromItsCallAndLeadsToTheNextOnItsStream) {
    open("h200-trace-nccl-pair");
    select(1, "kernel", 5, 1'230'303'386); // of a graph: no call of its own
    ASSERT_TRUE(QTest::qWaitFor([&] { return !view->flow().empty(); }, 60'000));
    EXPECT_EQ(arrows(FlowKind::launch), 0U);
    select(1, "memcpy", 4, 1'147'420'860);
    ASSERT_TRUE(QTest::qWaitFor([&] { return arrows(FlowKind::launch) == 1; }, 60'000));
    EXPECT_TRUE(step(Qt::Key_BracketLeft, "api_call 184 of 1")) << selected();
    EXPECT_TRUE(step(Qt::Key_BracketRight, "memcpy 4 of 1")) << selected();
    // Single launches of kernels were not recorded here: said, and the stream's order is still there.
    select(1, "kernel", 8, 1'239'358'305);
    ASSERT_TRUE(QTest::qWaitFor([&] { return arrows(FlowKind::dependency) == 2; }, 60'000));
    EXPECT_EQ(arrows(FlowKind::launch), 0U);
    EXPECT_GE(window.details()->model().find("flow"), 0);
    EXPECT_TRUE(step(Qt::Key_BracketRight, "kernel 9 of 1")) << selected();
}

TEST_F(FlowWalk, CollectivesAreJoinedAcrossRanks) {
    open("h200-trace-nccl-pair");
    select(1, "kernel", 5, 1'230'303'386);
    ASSERT_TRUE(QTest::qWaitFor([&] { return arrows(FlowKind::collective) == 1; }, 60'000));
    EXPECT_GE(window.details()->model().find("other ranks"), 0);
    const auto other = std::find_if(view->flow().begin(), view->flow().end(),
        [](const TimelineView::Arrow& arrow) { return arrow.kind == FlowKind::collective; });
    EXPECT_EQ(other->other.row->process, 2);
    EXPECT_EQ(other->other.startNs(), 1'232'558'136);
    // The calls too, eager ones and captured ones each in their order.
    select(2, "nccl_op", 22, 1'149'344'541);
    ASSERT_TRUE(QTest::qWaitFor([&] { return arrows(FlowKind::collective) == 1; }, 60'000)) << selected();
    EXPECT_EQ(view->flow().front().other.startNs(), 1'149'210'392);
}

TEST_F(FlowWalk, ArrowsAreDrawnOverTheRows) {
    open("h200-trace-nccl-pair");
    view->showInterval(1'229'000'000, 1'241'000'000, 0.05);
    select(1, "replay", 1, 1'230'303'386);
    view->settle();
    const QImage without = view->viewport()->grab().toImage();
    ASSERT_TRUE(QTest::qWaitFor([&] { return view->flow().size() >= 4; }, 60'000));
    EXPECT_NE(view->viewport()->grab().toImage(), without);
    key(Qt::Key_Escape);
    EXPECT_TRUE(view->flow().empty());
}

TEST_F(FlowWalk, AWaitIsHatchedAndATransferSolid) {
    open("h200-trace-nccl-pair");
    const RowPtr comm = rowOf(RowKind::comm, 1);
    ASSERT_NE(comm, nullptr);
    EXPECT_EQ(comm->title, "Communication");
    // The first kernel of the first replay: 2.25 ms until the other rank comes, then 2.56 ms together.
    view->showInterval(1'230'303'386, 1'230'303'386 + 4'815'842, 0.1);
    view->settle();
    const int y = yOf(RowKind::comm);
    ASSERT_GT(y, 0);
    const QImage image = view->viewport()->grab().toImage();
    const auto lightPixels = [&](std::int64_t from, std::int64_t to) {
        int light = 0;
        const int first = view->plotLeft() + static_cast<int>(view->scale().xAt(from)) + 4;
        const int last = view->plotLeft() + static_cast<int>(view->scale().xAt(to)) - 4;
        for (int x = first; x < last; ++x)
            light += image.pixelColor(x, y + view->fontMetrics().height() / 2 - 1).lightness() > 220 ? 1 : 0;
        return std::make_pair(light, last - first);
    };
    const auto [waiting, waitWidth] = lightPixels(1'230'303'386, 1'232'558'136);
    const auto [moving, moveWidth] = lightPixels(1'232'558'136, 1'230'303'386 + 4'815'842);
    EXPECT_GT(waiting, waitWidth / 3);
    EXPECT_LT(moving, moveWidth / 10);
}

TEST_F(FlowWalk, PinnedRowsStayWhileOthersScroll) {
    open("h200-trace-nccl-pair");
    window.resize(1400, 760);
    QCoreApplication::processEvents();
    const RowPtr comm = rowOf(RowKind::comm, 2);
    view->selectEvent({comm, 0, 0});
    key(Qt::Key_P);
    const auto& first = view->layout().lines().front();
    EXPECT_EQ(first.row, comm);
    EXPECT_TRUE(first.pinned);
    view->verticalScrollBar()->setValue(view->verticalScrollBar()->maximum());
    EXPECT_EQ(view->lineTop(first), view->rowsTop());
    // It can be clicked there, and let go.
    const int x = view->plotLeft() + static_cast<int>(view->scale().xAt(comm->lanes[0]->start(0)));
    EXPECT_EQ(view->itemAt({x, view->lineTop(first) + 2 + first.laneHeight / 2}).row, comm);
    key(Qt::Key_P);
    EXPECT_NE(view->layout().lines().front().row, comm);
}

TEST_F(FlowWalk, ACollapsedRankIsOneStripOfItsBusyTime) {
    open("h200-trace-nccl-pair");
    const std::size_t all = view->layout().lines().size();
    view->selectEvent({rowOf(RowKind::step, 1), 0, 0});
    key(Qt::Key_C);
    ASSERT_LT(view->layout().lines().size(), all);
    const auto& lines = view->layout().lines();
    const auto heading = std::find_if(
        lines.begin(), lines.end(), [](const RowLayout::Line& line) { return line.process == 1; });
    ASSERT_NE(heading->busy, nullptr);
    view->showInterval(1'230'303'386, 1'230'303'386 + 4'815'842, 0.3);
    view->settle();
    const QImage image = view->viewport()->grab().toImage();
    const int y = view->lineTop(*heading) + heading->height / 2;
    const int x = view->plotLeft() + view->plotWidth() / 2;
    const QColor pixel = image.pixelColor(x, y);
    EXPECT_TRUE(pixel == Theme::light().bar(Category::comm) || pixel == Theme::light().bar(Category::replay))
        << "a kernel of a replay runs here, not " << pixel.name().toStdString();
    // And between the kernels before it and the replay nothing does.
    const int idle = view->plotLeft() + static_cast<int>(view->scale().xAt(1'229'300'000));
    EXPECT_EQ(image.pixelColor(idle, y), Theme::light().background);
    key(Qt::Key_C);
    EXPECT_EQ(view->layout().lines().size(), all);
}

TEST_F(FlowWalk, AnimationEndsWhereTheViewSaysItIs) {
    open("h200-trace-healthy");
    view->setAnimated(true);
    const TimeScale before = view->scale();
    press(Qt::Key_W); // nothing has moved yet
    EXPECT_LT(view->scale().nsPerPx, before.nsPerPx);
    view->settle();
    const QImage soon = view->viewport()->grab().toImage();
    QImage late = soon;
    for (int alike = 0; alike < 2;) {
        QTest::qWait(50); // several moves, as long as there are any
        const QImage now = view->viewport()->grab().toImage();
        alike = now == late && now != soon ? alike + 1 : 0;
        late = now;
    }
    QTest::qWait(100);
    EXPECT_EQ(view->viewport()->grab().toImage(), late);
}

TEST(ReadFlow, ARankThatNeverMadeACallOfACommunicatorIsNamed) {
    gd::test::TraceFiles files;
    std::string sql
        = "INSERT INTO process (process_id, pid, rank, world_size, role, start_ns, end_ns, ended) VALUES "
          "(2, 101, 1, 3, 'primary', 0, 1000000, 'closed'), (3, 102, 2, 3, 'primary', 0, 1000000, 'closed');"
          "UPDATE process SET rank = 0, world_size = 3 WHERE process_id = 1;";
    for (const int process : {1, 2, 3})
        sql += fmt::format("INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) VALUES "
                           "({0}, 9, 3, {0} - 1, 1);",
            process);
    int op = 0;
    for (const auto& [process, kind] :
        std::initializer_list<std::pair<int, const char*>>{{1, "all_reduce"}, {2, "all_reduce"},
            {3, "all_reduce"}, {1, "all_gather"}, {3, "all_gather"}, {1, "reduce"}, {3, "broadcast"}}) {
        ++op;
        sql += fmt::format(
            "INSERT INTO nccl_op (process_id, op_id, comm_hash, kind, count, dtype, message_bytes, "
            "thread_id, time_ns, source) VALUES ({}, {}, 9, '{}', 1, 'float32', 4, 1, {}, 'runtime');",
            process, op, kind, 10 * op);
    }
    auto db = gd::Db::openReadOnly(files.made(sql).toStdString()).value();
    const auto of = [&db](std::int64_t row) { return readFlow(db, {"nccl_op", row}, nullptr).value(); };
    EXPECT_EQ(of(1).out.size(), 2U);
    EXPECT_TRUE(of(1).notes.empty());
    ASSERT_EQ(of(4).out.size(), 1U);
    EXPECT_EQ(of(4).out[0].end.text, "all_gather, rank 2");
    EXPECT_EQ(of(4).out[0].end.startNs, 50);
    EXPECT_THAT(of(4).notes, testing::ElementsAre(testing::EndsWith("never this one: 1")));
    EXPECT_TRUE(of(6).out.empty());
    EXPECT_THAT(of(6).notes, testing::ElementsAre(testing::HasSubstr("of other kinds")));
}

} // namespace
