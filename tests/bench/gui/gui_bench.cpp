// SPDX-License-Identifier: Apache-2.0
// The viewer's figures, without a display:
//   gui_bench [--check] [EVENTS]          synthetic rows: memory, strips, painting, panning, search
//   gui_bench [--check] --trace FILE.gdt  opening a file: first row, all rows, longest stop of the event
//   loop,
//                                         resident bytes, search, details
//   gui_bench --make FILE.gdt [EVENTS]    writes such a file
// --check: fails when a budget is missed, with 5 x slack for times (the machine may be busy).
#include "gui/model/search.h"
#include "gui/timeline/timeline_view.h"
#include "tests/bench/gui/figures.h"
#include "tests/bench/gui/trace_bench.h"

#include <QApplication>
#include <QImage>
#include <QPainter>
#include <QStyleFactory>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>

namespace {

using namespace gd::gui;
using namespace gd::bench;

// 64 streams of kernels of 1 to 9 us with gaps below 1 us, and one of 3 ms every 2,000: all alike, so that no
// zoom is easy.
std::vector<RowPtr> makeRows(std::size_t events, NameTable& names) {
    constexpr std::size_t kRows = 64;
    std::mt19937_64 random(1);
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < 500; ++i)
        ids.push_back(names.intern("kernel_" + std::to_string(i) + "_gemm", static_cast<Category>(i % 3)));
    std::vector<RowPtr> rows;
    for (std::size_t r = 0; r < kRows; ++r) {
        LaneBuilder builder;
        builder.reserve(events / kRows);
        std::int64_t t = 0;
        for (std::size_t i = 0; i < events / kRows; ++i) {
            const auto duration = static_cast<std::int64_t>(1000 + random() % 8000);
            builder.add({t, duration, ids[random() % ids.size()], static_cast<std::uint32_t>(i)});
            t += duration + static_cast<std::int64_t>(random() % 1000) + (i % 2000 == 1999 ? 3'000'000 : 0);
        }
        TrackRow row;
        row.kind = RowKind::stream;
        row.process = 1;
        row.device = 0;
        row.number = static_cast<std::int64_t>(r);
        row.title = "stream " + std::to_string(r);
        row.slices.push_back({"kernel", 1});
        row.lanes = std::move(builder).build().lanes;
        rows.push_back(std::make_shared<const TrackRow>(std::move(row)));
    }
    return rows;
}

double paintMs(TimelineView& view) {
    QImage image(view.viewport()->size() * view.devicePixelRatioF(), QImage::Format_ARGB32_Premultiplied);
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
        const double start = threadMs();
        view.viewport()->render(&image);
        best = std::min(best, threadMs() - start);
    }
    return best;
}

void benchView(Figures& figures, const std::vector<RowPtr>& rows, const std::shared_ptr<NameTable>& names,
    int width, int height, double paintBudget) {
    TimelineView view;
    view.resize(width, height);
    view.show();
    TraceInfo info;
    info.processes.push_back({1, 1, -1, 0, 0});
    for (const RowPtr& row : rows)
        info.endNs = std::max(info.endNs, row->lanes[0]->end(row->lanes[0]->size() - 1));
    info.processes[0].endNs = info.endNs;
    std::size_t count = 0;
    for (const RowPtr& row : rows)
        count += row->events();
    view.setTrace(info, names);
    for (const RowPtr& row : rows)
        view.addRow(row);
    view.settle();
    std::printf("\n%d x %d\n", width, height);
    double worstPaint = 0, worstDetail = 0, worstWork = 0;
    for (const double share : {1.0, 0.3, 0.1, 0.01, 1e-3, 1e-4, 1e-5}) {
        const auto span = static_cast<std::int64_t>(static_cast<double>(info.endNs) * share);
        const std::int64_t from = (info.endNs - span) / 2;
        double detail = 1e9, work = 1e9;
        for (int i = 0; i < 3; ++i) {
            // Another scale each time: nothing of the strips before can be used again.
            const int made = view.strips().made();
            const auto start = Clock::now();
            const double before = programMs();
            view.showInterval(from, from + span + i * std::max<std::int64_t>(1, span / 50), 0);
            view.settle();
            detail = std::min(detail, msSince(start));
            work = std::min(work, programMs() - before);
            figures.require(view.strips().made() > made, "a zoom needs new strips");
        }
        const double paint = paintMs(view);
        std::printf("  %9.3f %% of the trace: new detail %7.2f ms (processor %7.2f ms), paint %6.2f ms\n",
            share * 100, detail, work, paint);
        worstPaint = std::max(worstPaint, paint);
        worstDetail = std::max(worstDetail, detail);
        worstWork = std::max(worstWork, work);
    }
    figures.print("  paint in the GUI thread (processor time), worst zoom", worstPaint, paintBudget, "ms");
    // 10 M events have 50 ms; of a larger trace the time of the memory alone is more.
    const double size = std::max(1.0, static_cast<double>(count) / 1e7);
    if (!figures.check)
        figures.print("  new detail after a zoom, worst", worstDetail, 50 * size, "ms");
    // On a machine that others use too, what two cores would need for the same work.
    figures.print("  new detail after a zoom, processor time / 2, worst", worstWork / 2, 50 * size, "ms");
    const int made = view.strips().made();
    for (int i = 0; i < 8; ++i)
        view.pan(0.1);
    figures.print(
        "  strips made by panning inside the fetched span", view.strips().made() - made, 0, "", false);
}

void benchSynthetic(std::size_t events, Figures& figures) {
    auto names = std::make_shared<NameTable>();
    auto start = Clock::now();
    const auto rows = makeRows(events, *names);
    std::printf("%zu events in %zu rows, made in %.0f ms\n", events, rows.size(), msSince(start));
    std::size_t bytes = 0, count = 0;
    for (const RowPtr& row : rows) {
        bytes += row->lanes[0]->bytes();
        count += row->events();
    }
    figures.print(
        "resident bytes an event", static_cast<double>(bytes) / static_cast<double>(count), 40, "B", false);
    const std::atomic<bool> stop = false;
    start = Clock::now();
    const auto marked = namesWith(*names, "kernel_77");
    const auto hit = searchEvents(rows, marked, {}, 0, 1, stop);
    figures.print("search over all events, first hit and count", msSince(start), 100, "ms");
    figures.require(static_cast<bool>(hit.hit), "the name is found");
    benchView(figures, rows, names, 1920, 1080, 8);
    benchView(figures, rows, names, 3840, 2160, 16);
}

} // namespace

int main(int argc, char** argv) {
    ::setenv("QT_QPA_PLATFORM", "offscreen", 0);
    QApplication application(argc, argv);
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    std::size_t events = 10'000'000;
    QString trace, made;
    gd::bench::Figures figures;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--check") == 0)
            figures.check = true;
        else if (std::strcmp(argv[i], "--trace") == 0 && i + 1 < argc)
            trace = QString::fromLocal8Bit(argv[++i]);
        else if (std::strcmp(argv[i], "--make") == 0 && i + 1 < argc)
            made = QString::fromLocal8Bit(argv[++i]);
        else
            events = std::strtoull(argv[i], nullptr, 10);
    }
    events = std::max<std::size_t>(events, 640);
    if (!made.isEmpty())
        makeTrace(made.toStdString(), events);
    else if (!trace.isEmpty())
        benchTrace(trace, figures);
    else
        benchSynthetic(events, figures);
    return figures.check && !figures.good ? 1 : 0;
}
