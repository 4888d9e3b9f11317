// SPDX-License-Identifier: Apache-2.0
// Several threads that read the large tables of one trace deliver what one thread does.
#include "analyzer/store/trace.h"
#include "gui/model/load_tracks.h"
#include "tests/gui/trace_files.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>

using namespace gd::gui;

namespace {

// A table of n rows, row i of them with these values.
std::string rows(const std::string& table, int first, int count, const std::string& values) {
    return fmt::format("WITH RECURSIVE n(i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
                       "INSERT INTO {} SELECT {} FROM n;",
        first, first + count - 1, table, values);
}

// Two streams that run kernels, copies and fills, and a thread that calls; every 50th kernel communicates.
std::string largeTrace() {
    return "INSERT INTO string VALUES (1, 'gemm'), (2, 'relu'), (3, 'ncclDevKernel_AllReduce_Sum_f32');"
           "INSERT INTO kernel_shape VALUES (1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0), (2, 2, 1, 1, 1, 1, 1, 1, 0, "
           "0, 0), "
           "(3, 3, 1, 1, 1, 1, 1, 1, 0, 0, 0);"
           "INSERT INTO track VALUES (1, 1, 'kernel', 0, 7, NULL, 'k', 1, 20000, 20000), "
           "(2, 1, 'kernel', 0, 8, NULL, 'k', 20001, 30000, 10000), "
           "(3, 1, 'memcpy', 0, 7, NULL, 'c', 1, 6000, 6000), "
           "(4, 1, 'memset', 0, 8, NULL, 'f', 1, 3000, 3000), "
           "(5, 1, 'api_call', NULL, NULL, 1, 'main', 1, 15000, 15000);"
        + rows(
            "kernel", 1, 20'000, "i, 1, i * 30, 20, CASE WHEN i % 50 = 0 THEN 3 ELSE 1 + i % 2 END, i, NULL")
        + rows("kernel", 20'001, 10'000,
            "i, 2, (i - 20000) * 60, 35, CASE WHEN i % 50 = 0 THEN 3 ELSE 1 + i % 2 END, i, NULL")
        + rows("memcpy", 1, 6'000,
            "i, 3, i * 100 + 7, 11, 64, CASE i % 3 WHEN 0 THEN 'HtoD' WHEN 1 THEN 'DtoH' ELSE 'DtoD' END, "
            "NULL, "
            "NULL, i, NULL")
        + rows("memset", 1, 3'000, "i, 4, i * 200 + 9, 5, 64, 0, i, NULL")
        + rows("api_call", 1, 15'000,
            "i, 5, 1, 1, 1, i * 40, CASE WHEN i = 15000 THEN NULL ELSE i * 40 + 25 END, 0, i, 0, 7, NULL, "
            "NULL, "
            "NULL");
}

// Every row with its events, as texts.
using Shown = std::map<std::string, std::vector<std::string>>;

class Load : public testing::Test {
protected:
    struct Read {
        Shown rows;
        std::size_t events = 0;
        std::size_t readers = 0;
        std::vector<std::string> notes;
    };
    Read read(const std::string& path, const std::string& file, std::size_t threads, std::int64_t pieceRows) {
        auto trace = gd::store::Trace::open(path).value();
        const TraceInfo info = readTraceInfo(trace.db(), path).value();
        NameTable names;
        std::atomic<bool> stop = false;
        std::vector<RowPtr> got; // one at a time, so no lock
        TrackLoad load{trace.db(), info, names, [&](RowPtr row) { got.push_back(std::move(row)); }, stop,
            file, {}, {}, {}, threads, pieceRows};
        loadTracks(load);
        Read out;
        for (const RowPtr& row : got) {
            std::vector<std::string>& events = out.rows[row->title];
            EXPECT_TRUE(events.empty()) << row->title << " twice";
            for (const auto& lane : row->lanes) {
                for (std::size_t i = 0; i < lane->size(); ++i) {
                    const TrackRow::Place place = row->place(lane->row(i));
                    events.push_back(fmt::format("{} {} {} {} {}", lane->start(i), lane->duration(i),
                        names[lane->name(i)].text, place.table, place.rowId));
                }
            }
            out.events += events.size();
        }
        out.readers = load.readers;
        out.notes = load.notes;
        return out;
    }

    gd::test::TraceFiles files;
};

TEST_F(Load, FourThreadsReadWhatOneDoes) {
    const std::string path = files.made(largeTrace()).toStdString();
    const Read one = read(path, "", 4, 1000); // no file to open again
    EXPECT_EQ(one.readers, 1U);
    EXPECT_THAT(one.notes, testing::IsEmpty());
    ASSERT_EQ(one.rows.size(), 4U);
    EXPECT_EQ(one.events, 20'000U + 10'000U + 6'000U + 3'000U + 15'000U + 600U); // communication stands twice
    EXPECT_EQ(one.rows.at("Device 0, stream 7").size(), 26'000U);
    EXPECT_EQ(one.rows.at("Calls, main").back(), "600000 400000 call api_call 15000"); // never returned
    for (const std::int64_t pieceRows : {97, 1000, 250'000}) {
        const Read four = read(path, path, 4, pieceRows);
        EXPECT_EQ(four.readers, 4U) << pieceRows;
        EXPECT_THAT(four.notes, testing::IsEmpty());
        EXPECT_EQ(four.rows, one.rows) << pieceRows;
    }
    EXPECT_EQ(read(path, path, 2, 1000).rows, one.rows);
}

TEST_F(Load, AnotherFileOfTheSameNameIsLeftToItsOwnReader) {
    const std::string path = files.made(largeTrace()).toStdString();
    const Read one = read(path, "", 1, 1000);
    for (const std::string& file : {files.made("").toStdString(), files.path("missing.gdt")}) {
        const Read left = read(path, file, 4, 1000);
        EXPECT_EQ(left.readers, 1U) << file;
        EXPECT_EQ(left.rows, one.rows) << file;
    }
}

TEST_F(Load, EveryThreadEndsSoonOnceItIsStopped) {
    const std::string path = files.made(largeTrace()).toStdString();
    auto trace = gd::store::Trace::open(path).value();
    const TraceInfo info = readTraceInfo(trace.db(), path).value();
    for (int delivered = 1; delivered <= 3; ++delivered) {
        NameTable names;
        std::atomic<bool> stop = false;
        int rows = 0;
        TrackLoad load{trace.db(), info, names, [&](const RowPtr&) { stop = ++rows >= delivered; }, stop,
            path, {}, {}, {}, 4, 97};
        loadTracks(load);
        EXPECT_EQ(rows, delivered); // nothing comes after the stop
    }
}

TEST_F(Load, ATableThatCannotBeReadIsNotedOnceByWhomeverMetIt) {
    const std::string path
        = files
              .made(largeTrace()
                  + "DROP VIEW kernel_full; ALTER TABLE kernel RENAME COLUMN shape_id TO form_id;")
              .toStdString();
    const Read left = read(path, path, 4, 97);
    EXPECT_EQ(left.rows.at("Calls, main").size(), 15'000U);
    EXPECT_THAT(left.notes, testing::ElementsAre(testing::HasSubstr("table kernel cannot be drawn")));
}

} // namespace
