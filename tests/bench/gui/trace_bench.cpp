// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/gui/trace_bench.h"

#include "analyzer/facts/facts.h"
#include "analyzer/store/trace.h"
#include "gui/app/main_window.h"

#include <QApplication>
#include <QEventLoop>
#include <QImage>
#include <QLineEdit>
#include <QTimer>

#include <fstream>
#include <random>

namespace gd::bench {
namespace {

using namespace gd::gui;

constexpr std::int64_t kStreams = 64;
constexpr std::int64_t kNames = 500;

void fill(Db& db, std::int64_t events) {
    db.exec("INSERT OR REPLACE INTO meta VALUES ('format', 'graphdoctor.trace/1'), ('start_unix_ns', '0');"
            "INSERT INTO track VALUES (1000, 1, 'api_call', NULL, NULL, 1, 'main', NULL, NULL, 0);")
        .value();
    auto string = db.prepare("INSERT INTO string VALUES (?, ?)").value();
    auto shape = db.prepare("INSERT INTO kernel_shape VALUES (?, ?, 1, 1, 1, 128, 1, 1, 0, 0, 32)").value();
    for (std::int64_t i = 1; i <= kNames; ++i) {
        string.runWith(i, "kernel_" + std::to_string(i) + (i % 3 == 0 ? "_gemm" : "_add")).value();
        shape.runWith(i, i).value();
    }
    auto kernel = db.prepare("INSERT INTO kernel VALUES (?, ?, ?, ?, ?, ?, NULL)").value();
    auto track = db.prepare("INSERT INTO track VALUES (?, 1, 'kernel', 0, ?, NULL, 'k', ?, ?, ?)").value();
    std::mt19937_64 random(1);
    const std::int64_t each = events / kStreams;
    std::int64_t row = 0, last = 0;
    for (std::int64_t s = 1; s <= kStreams; ++s) {
        track.runWith(s, s, row + 1, row + each, each).value();
        std::int64_t t = 1'000'000;
        for (std::int64_t i = 0; i < each; ++i) {
            const auto duration = static_cast<std::int64_t>(1000 + random() % 8000);
            ++row;
            kernel.runWith(row, s, t, duration, static_cast<std::int64_t>(1 + random() % kNames), row)
                .value();
            t += duration + static_cast<std::int64_t>(random() % 1000) + (i % 2000 == 1999 ? 3'000'000 : 0);
        }
        last = std::max(last, t);
    }
    auto call = db.prepare("INSERT INTO api_call (api_call_id, track_id, process_id, thread_id, api_id, "
                           "start_ns, end_ns, result, correlation) VALUES (?, 1000, 1, 1, ?, ?, ?, 0, ?)")
                    .value();
    const auto api
        = db.queryInt64("SELECT api_id FROM api WHERE name = 'cuLaunchKernel'").value().value_or(1);
    const std::int64_t calls = std::max<std::int64_t>(1, row / 10);
    for (std::int64_t i = 1; i <= calls; ++i) {
        const std::int64_t start = last / (calls + 1) * i;
        call.runWith(i, api, start, start + 2000, i * 10).value();
    }
    db.exec("UPDATE track SET first_rowid = 1, last_rowid = " + std::to_string(calls)
          + ", row_count = " + std::to_string(calls)
          + " WHERE track_id = 1000;"
            "INSERT INTO process (process_id, pid, role, start_ns, end_ns, ended) VALUES (1, 100, 'primary', "
            "0, "
          + std::to_string(last) + ", 'closed');")
        .value();
}

double residentBytes() {
    std::ifstream file("/proc/self/statm");
    double all = 0, resident = 0;
    file >> all >> resident;
    return resident * 4096;
}

// Runs the loop until `ready` or for a minute.
template <class F> double msUntil(F&& ready) {
    const auto start = Clock::now();
    while (!ready() && msSince(start) < 60'000)
        QApplication::processEvents(QEventLoop::WaitForMoreEvents, 50);
    return msSince(start);
}

void benchAnswers(MainWindow& window, Figures& figures) {
    TimelineView* const view = window.timeline();
    double search = 0;
    for (const char* text : {"kernel_77", "kernel_499_gemm", "nothing like it"}) {
        bool done = false;
        const auto connection
            = QObject::connect(window.search(), &SearchBar::searched, [&done] { done = true; });
        window.search()->text()->setText(QString::fromLatin1(text));
        search = std::max(search, msUntil([&] { return done; }));
        QObject::disconnect(connection);
    }
    figures.print("search: first hits after the last letter, slowest of three", search, 100, "ms");
    double details = 0;
    const auto& rows = view->layout().rows();
    for (std::size_t i = 0; i < rows.size(); i += std::max<std::size_t>(1, rows.size() / 8)) {
        if (rows[i]->lanes.empty())
            continue;
        view->clearSelection(); // and with it the details
        view->selectEvent({rows[i], 0, rows[i]->lanes[0]->size() / 2});
        const DetailsModel& model = window.details()->model();
        details = std::max(details, msUntil([&] { return model.find("row") >= 0; }));
    }
    figures.require(details > 0, "details are asked for");
    figures.print("details after a click, slowest of some", details, 50, "ms");
}

// Of the window with the trace: a tenth of it, moved inside the fetched span and painted each time.
void benchPanning(MainWindow& window, Figures& figures) {
    TimelineView* const view = window.timeline();
    const std::int64_t all = view->info().endNs - view->info().startNs;
    view->showInterval(view->info().startNs + all * 4 / 10, view->info().startNs + all / 2, 0);
    view->settle();
    const int made = view->strips().made();
    QImage image(view->viewport()->size(), QImage::Format_ARGB32_Premultiplied);
    view->viewport()->render(&image); // its memory is there
    double paint = 0;
    for (int i = 0; i < 8; ++i) {
        view->pan(0.1);
        const double start = threadMs();
        view->viewport()->render(&image);
        paint = std::max(paint, threadMs() - start);
    }
    figures.print("painting while panning, slowest of eight", paint, 8, "ms");
    figures.print("strips made by it", view->strips().made() - made, 0, "", false);
}

} // namespace

void makeTrace(const std::string& path, std::size_t events) {
    auto trace = store::NewTrace::create(path, true).value();
    trace.db().exec("BEGIN").value();
    fill(trace.db(), static_cast<std::int64_t>(events));
    trace.db().exec("COMMIT").value();
    // What the viewer draws does not depend on facts; none of them keeps this about the viewer.
    store::FactsBuilder facts;
    facts.version = facts::kFactsVersion;
    facts.build = [](Db&) { return Result<void>(); };
    trace.buildFacts(facts).value();
    trace.finish().value();
}

void benchTrace(const QString& path, Figures& figures) {
    MainWindow window(&Theme::light());
    if (const char* rules = std::getenv("GD_RULES"))
        window.setRulesFolder(QString::fromLocal8Bit(rules));
    window.resize(1920, 1080);
    window.show();
    QApplication::processEvents();
    const double before = residentBytes();
    double longest = 0, longestWork = 0, first = -1, tracks = -1;
    const auto start = Clock::now();
    auto last = start;
    double lastWork = threadMs();
    // The distance of two is how long the loop was not free. Each millisecond: one that fires as often as it
    // can keeps a core busy, which the threads that read do not get.
    QTimer tick;
    tick.setTimerType(Qt::PreciseTimer);
    QObject::connect(&tick, &QTimer::timeout, [&] {
        longest = std::max(longest, msSince(last));
        longestWork = std::max(longestWork, threadMs() - lastWork);
        last = Clock::now();
        lastWork = threadMs();
    });
    tick.start(1);
    QObject::connect(window.timeline(), &TimelineView::rowsChanged, [&] {
        first = first < 0 ? msSince(start) : first;
        tracks = msSince(start);
    });
    QEventLoop loop;
    QObject::connect(&window, &MainWindow::traceLoaded, &loop, &QEventLoop::quit);
    window.openTrace(path);
    loop.exec();
    tick.stop();
    const double all = msSince(start);
    std::size_t events = 0;
    for (const RowPtr& row : window.timeline()->layout().rows())
        events += row->events();
    std::printf("%s: %zu events in %zu rows, %d findings\n", path.toLocal8Bit().constData(), events,
        window.timeline()->layout().rows().size(), window.findings()->model().findingCount());
    figures.require(window.failure().isEmpty() && events > 0, "the trace is shown");
    // Budgets are those of 10 M events: a larger trace may take longer in proportion.
    const double size = std::max(1.0, static_cast<double>(events) / 11e6);
    figures.print("first row on screen", first, 1000, "ms");
    figures.print("all rows on screen", tracks, 5000 * size, "ms");
    std::printf("%-58s %10.2f ms\n", "findings too", all);
    // On a machine that others use too, only what the thread itself worked can be judged.
    figures.print("longest work without returning to the event loop", longestWork, 16, "ms");
    if (figures.check)
        std::printf("%-58s %10.2f ms\n", "longest stop of the event loop, others' work included", longest);
    else
        figures.print("longest stop of the event loop while loading", longest, 16, "ms");
    // SQLite's page cache and the window's own memory weigh on a small trace only.
    if (events >= 1'000'000)
        figures.print("resident bytes an event, of the whole program",
            (residentBytes() - before) / static_cast<double>(events), 40, "B", false);
    benchAnswers(window, figures);
    benchPanning(window, figures);
}

} // namespace gd::bench
