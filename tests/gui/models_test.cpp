// SPDX-License-Identifier: Apache-2.0
// Models and the session that fills them, on traces recorded on an H200 and on files that are no good.
#include "gui/model/details_model.h"
#include "gui/model/findings_model.h"
#include "gui/model/spool_cache.h"
#include "gui/model/trace_session.h"
#include "tests/gui/trace_files.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QSignalSpy>

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

using namespace gd::gui;

namespace {

// A session run to its end.
struct Loaded {
    explicit Loaded(const QString& path) {
        session.setRulesFolder(GD_RULES);
        QObject::connect(&session, &TraceSession::opened, [this](const TraceInfo& got) { info = got; });
        QObject::connect(
            &session, &TraceSession::rowLoaded, [this](const RowPtr& row) { rows.push_back(row); });
        QObject::connect(
            &session, &TraceSession::reportReady, [this](const ReportPtr& got) { report = got; });
        QObject::connect(
            &session, &TraceSession::failed, [this](const QString& text) { failure = text.toStdString(); });
        QObject::connect(&session, &TraceSession::noted,
            [this](const QString& text) { notes.push_back(text.toStdString()); });
        QSignalSpy done(&session, &TraceSession::finished);
        session.open(path);
        EXPECT_TRUE(done.count() == 1 || done.wait(60'000));
    }
    const TrackRow* row(RowKind kind) const {
        for (const RowPtr& r : rows) {
            if (r->kind == kind)
                return r.get();
        }
        return nullptr;
    }
    std::vector<DetailRow> details(const EventKey& event) {
        std::vector<DetailRow> out;
        QObject::connect(&session, &TraceSession::detailsReady,
            [&out](const EventKey&, const std::vector<DetailRow>& got) { out = got; });
        QSignalSpy ready(&session, &TraceSession::detailsReady);
        session.requestDetails(event);
        EXPECT_TRUE(ready.count() == 1 || ready.wait(60'000));
        return out;
    }

    TraceSession session;
    TraceInfo info;
    std::vector<RowPtr> rows;
    ReportPtr report;
    std::string failure;
    std::vector<std::string> notes;
};

class Session : public testing::Test {
protected:
    gd::test::TraceFiles files;
};

void print(
    const QAbstractItemModel& model, const QModelIndex& parent, int depth, std::vector<std::string>& out) {
    for (int row = 0; row < model.rowCount(parent); ++row) {
        const QModelIndex index = model.index(row, 0, parent);
        out.push_back(std::string(static_cast<std::size_t>(depth) * 2, ' ')
            + index.data().toString().toStdString() + " | "
            + index.siblingAtColumn(1).data().toString().toStdString() + " | "
            + index.siblingAtColumn(2).data().toString().toStdString());
        print(model, index, depth + 1, out);
    }
}

TEST_F(Session, ShowsEveryKindOfRowOfARecordedTrace) {
    Loaded trace(files.fixture("h200-trace-nccl-pair"));
    EXPECT_EQ(trace.failure, "");
    EXPECT_THAT(trace.notes, testing::IsEmpty());
    ASSERT_EQ(trace.info.processes.size(), 2U);
    EXPECT_EQ(trace.info.processes[0].rank, 0);
    for (const RowKind kind : {RowKind::step, RowKind::range, RowKind::replay, RowKind::gap, RowKind::stream,
             RowKind::comm, RowKind::commCall, RowKind::memory, RowKind::host})
        EXPECT_NE(trace.row(kind), nullptr) << static_cast<int>(kind);
    // As many events as the trace has rows: 54 kernels, 30 copies and 16 fills.
    std::size_t events = 0;
    for (const RowPtr& row : trace.rows) {
        if (row->kind == RowKind::stream)
            events += row->events();
    }
    EXPECT_EQ(events, 100U);
}

// Calls of three communicators: one row a process, lanes for each, and every call in one of them.
TEST_F(Session, CallsOfEachCommunicatorHaveALaneOfOneRow) {
    const QString path = files.fixture("h200-fault-rank-divergent-capture");
    Loaded trace(path);
    auto db = gd::Db::openReadOnly(path.toStdString()).value();
    int found = 0;
    for (const RowPtr& row : trace.rows) {
        if (row->kind != RowKind::commCall)
            continue;
        ++found;
        EXPECT_EQ(row->title, "NCCL calls, 3 communicators");
        ASSERT_EQ(row->lanes.size(), 3U);
        std::size_t calls = 0;
        std::set<std::string> communicators;
        for (const auto& lane : row->lanes) {
            std::set<std::string> ofLane;
            for (std::size_t i = 0; i < lane->size(); ++i) {
                const std::string& name = (*trace.session.names())[lane->name(i)].text;
                ofLane.insert(name.substr(name.find(" · ")));
            }
            EXPECT_EQ(ofLane.size(), 1U);
            communicators.merge(ofLane);
            calls += lane->size();
        }
        EXPECT_EQ(communicators.size(), 3U);
        EXPECT_EQ(calls,
            db.queryInt64(fmt::format("SELECT count(*) FROM nccl_op WHERE process_id = {}", row->process))
                .value());
    }
    EXPECT_EQ(found, 2);
}

TEST_F(Session, DetailsOfAKernelNameItAndItsLaunchShape) {
    Loaded trace(files.fixture("h200-trace-healthy"));
    EventKey event; // rows come in any order, and one of a stream holds copies, too
    for (const RowPtr& row : trace.rows) {
        for (std::size_t i = 0; row->kind == RowKind::stream && !event && i < row->lanes[0]->size(); ++i) {
            if (row->place(row->lanes[0]->row(i)).table == "kernel")
                event = {row, 0, i};
        }
    }
    ASSERT_TRUE(event);
    const auto rows = trace.details(event);
    std::string name, grid, start;
    for (const DetailRow& row : rows) {
        if (row.key == "name")
            name = row.value;
        if (row.key == "grid x")
            grid = row.value;
        if (row.key == "start")
            start = row.value;
    }
    EXPECT_EQ(name, (*trace.session.names())[event.name()].text);
    EXPECT_NE(grid, "");
    EXPECT_THAT(start, testing::HasSubstr(std::to_string(event.startNs()) + " ns"));
}

TEST_F(Session, FindingsAreThoseOfTheReportAndTheModelIsSound) {
    FindingsModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    EXPECT_EQ(model.rowCount(), 0);
    Loaded trace(files.fixture("h200-trace-sync-broken"));
    ASSERT_NE(trace.report, nullptr);
    model.setReport(trace.report);
    std::vector<std::string> lines;
    print(model, {}, 0, lines);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(
        lines[0], "W GD302 | Host waits for the device between replays of a step | replay_faults.py:54");
    EXPECT_NE(model.finding(model.indexOfFinding(0)), nullptr);
    model.setReport(nullptr);
    EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(Session, DetailsOfAFindingLeadToSourceAndEvidence) {
    Loaded trace(files.fixture("h200-trace-sync-broken"));
    ASSERT_NE(trace.report, nullptr);
    DetailsModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setRows(findingDetails(trace.report->report.findings.at(0), trace.report->evidence));
    const DetailRow* source = model.row(model.index(model.find("source"), 1));
    ASSERT_NE(source, nullptr);
    EXPECT_THAT(source->file, testing::EndsWith("replay_faults.py"));
    EXPECT_EQ(source->line, 54);
    int placed = 0;
    for (int i = 0; i < model.rowCount(); ++i) {
        const DetailRow* row = model.row(model.index(i, 1));
        placed += row->key == "evidence" && row->startNs >= 0 && row->endNs > row->startNs ? 1 : 0;
    }
    EXPECT_GT(placed, 0);
    EXPECT_GE(model.find("why"), 0);
    EXPECT_GE(model.find("fix"), 0);
}

TEST_F(Session, BadFilesAreOneSentence) {
    const QString good = files.fixture("h200-trace-healthy");
    const auto failureOf = [](const QString& path) { return Loaded(path).failure; };
    EXPECT_THAT(
        failureOf(QString::fromStdString(files.path("missing.gdt"))), testing::HasSubstr("missing.gdt"));
    const std::string cut = files.path("cut.gdt");
    std::filesystem::copy_file(good.toStdString(), cut);
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 3);
    EXPECT_THAT(failureOf(QString::fromStdString(cut)), testing::HasSubstr("cut.gdt"));
    const std::string empty = files.path("empty.gdt");
    QFile(QString::fromStdString(empty)).open(QIODevice::WriteOnly);
    EXPECT_THAT(failureOf(QString::fromStdString(empty)), testing::HasSubstr("empty"));
    const std::string newer = files.path("newer.gdt");
    std::filesystem::copy_file(good.toStdString(), newer);
    {
        auto db = gd::Db::openReadWrite(newer).value();
        ASSERT_TRUE(db.exec("PRAGMA user_version = 900"));
    }
    EXPECT_THAT(failureOf(QString::fromStdString(newer)), testing::HasSubstr("900"));
}

TEST_F(Session, ALockedTraceIsASentence) {
    const QString path = files.fixture("h200-trace-healthy");
    auto db = gd::Db::openReadWrite(path.toStdString()).value();
    ASSERT_TRUE(db.exec("BEGIN EXCLUSIVE"));
    EXPECT_THAT(Loaded(path).failure, testing::HasSubstr("locked"));
}

TEST_F(Session, ATraceDeletedWhileOpenStillAnswers) {
    const QString path = files.fixture("h200-trace-healthy");
    Loaded trace(path);
    ASSERT_TRUE(QFile::remove(path));
    RowPtr calls;
    for (const RowPtr& row : trace.rows) {
        if (row->kind == RowKind::host)
            calls = row;
    }
    ASSERT_NE(calls, nullptr);
    EXPECT_FALSE(trace.details({calls, 0, 0}).empty());
}

TEST_F(Session, EmptyTracesAndUnknownTablesAreNoFailure) {
    Loaded nothing(files.made(""));
    EXPECT_EQ(nothing.failure, "");
    EXPECT_TRUE(nothing.rows.empty());
    // A trace whose kernels lost a column: the calls are still shown.
    Loaded odd(files.made(
        "INSERT INTO track VALUES (1, 1, 'kernel', 0, 7, NULL, 'k', 1, 1, 1);"
        "INSERT INTO track VALUES (2, 1, 'api_call', NULL, NULL, 1, 'main', 1, 1, 1);"
        "INSERT INTO api_call (api_call_id, track_id, process_id, thread_id, api_id, start_ns, end_ns)"
        " VALUES (1, 2, 1, 1, 1, 10, NULL);"
        "DROP VIEW kernel_full; DROP TABLE kernel;"
        "CREATE TABLE kernel (kernel_id INTEGER PRIMARY KEY, other INTEGER);"));
    EXPECT_EQ(odd.failure, "");
    EXPECT_THAT(odd.notes, testing::Contains(testing::HasSubstr("table kernel cannot be drawn")));
    ASSERT_NE(odd.row(RowKind::host), nullptr);
    // A call that never returned lasts to the end of its process.
    EXPECT_EQ(odd.row(RowKind::host)->lanes[0]->end(0), 1'000'000);
}

TEST_F(Session, ASpoolIsImportedIntoTheCacheFolderAndNowhereElse) {
    const QString spool = files.spool("h200-item-deep");
    const std::string cache = files.path("cache");
    ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    const auto listed = [](const std::string& folder) {
        std::vector<std::string> out;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            out.push_back(entry.path().filename().string());
        std::sort(out.begin(), out.end());
        return out;
    };
    const auto before = listed(spool.toStdString());
    {
        Loaded trace(spool);
        EXPECT_EQ(trace.failure, "");
        EXPECT_FALSE(trace.rows.empty());
        ASSERT_NE(trace.report, nullptr);
        EXPECT_FALSE(trace.report->report.findings.empty());
    }
    EXPECT_EQ(listed(spool.toStdString()), before);
    const auto made = listed(cache + "/graphdoctor");
    ASSERT_EQ(made.size(), 1U);
    // Again: the same file, which says that it was used.
    const std::string first = cache + "/graphdoctor/" + made[0];
    const std::string link = files.path("link");
    std::filesystem::create_hard_link(first, link);
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(first, now - std::chrono::hours(5));
    EXPECT_EQ(Loaded(spool).failure, "");
    EXPECT_EQ(listed(cache + "/graphdoctor"), made);
    EXPECT_TRUE(std::filesystem::equivalent(first, link));
    EXPECT_GT(std::filesystem::last_write_time(first), now - std::chrono::hours(1));
    // The job went on: another trace, and old ones go in time.
    for (int i = 1; i <= 7; ++i) {
        std::filesystem::last_write_time(spool.toStdString() + "/" + before[0],
            std::filesystem::file_time_type::clock::now() + std::chrono::hours(i));
        EXPECT_EQ(Loaded(spool).failure, "");
    }
    EXPECT_EQ(listed(cache + "/graphdoctor").size(), 5U);
    // A folder that is none, and a cache folder that cannot be made.
    const std::string other = files.path("other");
    std::filesystem::create_directory(other);
    EXPECT_THAT(Loaded(QString::fromStdString(other)).failure, testing::HasSubstr("other"));
    ::setenv("XDG_CACHE_HOME", (files.path("h200-item-deep.spool/") + before[0]).c_str(), 1);
    EXPECT_THAT(Loaded(spool).failure, testing::HasSubstr("cannot be made"));
    ::unsetenv("XDG_CACHE_HOME");
}

TEST_F(Session, TracesOfSpoolsInUseAreKeptAndLeftOversGo) {
    const std::string spool = files.spool("h200-item-deep").toStdString();
    const std::string segment = std::filesystem::directory_iterator(spool)->path().string();
    ::setenv("XDG_CACHE_HOME", files.path("cache").c_str(), 1);
    const std::atomic<bool> stop = false;
    const auto now = std::filesystem::file_time_type::clock::now();
    std::vector<std::string> parts;
    for (int i = 1; i <= 7; ++i) {
        std::filesystem::last_write_time(segment, now + std::chrono::hours(i));
        parts.push_back(traceOfSpool(spool, {}, stop).value());
        std::filesystem::last_write_time(parts.back(), now - std::chrono::hours(20 - i));
    }
    const auto kept = [&parts] {
        std::vector<int> out;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (std::filesystem::exists(parts[i]))
                out.push_back(static_cast<int>(i));
        }
        return out;
    };
    const std::string killed = parts[0] + ".4000000.making";
    const std::string going = parts[0] + ".4000001.making";
    for (const std::string& path : {killed, going})
        std::filesystem::copy_file(parts[0], path);
    std::filesystem::last_write_time(killed, now - std::chrono::hours(2));
    dropOldTraces(7);
    EXPECT_THAT(kept(), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6));
    EXPECT_FALSE(std::filesystem::exists(killed));
    EXPECT_TRUE(std::filesystem::exists(going));
    // The oldest is used again, and is the newest.
    std::filesystem::last_write_time(segment, now + std::chrono::hours(1));
    EXPECT_EQ(traceOfSpool(spool, {}, stop).value(), parts[0]);
    dropOldTraces(1);
    EXPECT_THAT(kept(), testing::ElementsAre(0, 3, 4, 5, 6));
    ::unsetenv("XDG_CACHE_HOME");
}

TEST_F(Session, OnlyTheLastStepThatWasAskedForIsAnswered) {
    Loaded trace(files.fixture("h200-trace-nccl-pair"));
    QSignalSpy ready(&trace.session, &TraceSession::ranksReady);
    QSignalSpy refused(&trace.session, &TraceSession::ranksRefused);
    for (int i = 0; i < 20; ++i)
        trace.session.requestRanks(i % 2 == 0 ? 2 : 999'999); // there is no such step
    trace.session.requestRanks(1);
    ASSERT_TRUE(ready.wait(60'000));
    EXPECT_FALSE(ready.wait(100));
    ASSERT_EQ(ready.count(), 1);
    EXPECT_EQ(ready[0][0].value<StepPtr>()->step, 1);
    EXPECT_EQ(refused.count(), 0);
}

TEST_F(Session, ATraceWithOldFactsIsShownAndStaysAsItIs) {
    const std::string path = files.fixture("h200-trace-sync-broken").toStdString();
    {
        auto db = gd::Db::openReadWrite(path).value();
        ASSERT_TRUE(db.exec("UPDATE meta SET value = '1' WHERE key = 'facts_version';"
                            "DELETE FROM step; DELETE FROM replay_gap;"));
    }
    const auto size = std::filesystem::file_size(path);
    const auto time = std::filesystem::last_write_time(path);
    Loaded trace(QString::fromStdString(path));
    EXPECT_EQ(trace.failure, "");
    EXPECT_NE(trace.row(RowKind::gap), nullptr);
    EXPECT_EQ(std::filesystem::file_size(path), size);
    EXPECT_EQ(std::filesystem::last_write_time(path), time);
    int beside = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
        beside += entry.is_regular_file() ? 1 : 0;
    EXPECT_EQ(beside, 1);
}

TEST_F(Session, ClosingWhileItLoadsIsHarmless) {
    const QString path = files.fixture("h200-trace-nccl-pair");
    for (int i = 0; i < 20; ++i) {
        TraceSession session;
        session.setRulesFolder(GD_RULES);
        session.open(path);
        if (i % 2 == 1)
            QCoreApplication::processEvents();
    }
    EXPECT_EQ(Loaded(path).failure, ""); // and nothing was left over that the next one meets
}

} // namespace
