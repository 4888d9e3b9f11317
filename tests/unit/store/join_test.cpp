// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/join.h"

#include "analyzer/base/statement.h"
#include "analyzer/store/join_columns.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace gd::store {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// One rank of a job of `world` on host h<rank / 2>, with one row of everything that has ids of its own.
class JoinTraces : public testing::Test {
protected:
    struct Part {
        int rank = 0;
        int world = 2;
        std::int64_t startUnixNs = 1'000'000;
        std::string host = "h0";
        std::string more = {};
    };
    fs::path make(const Part& part, bool comm = true) {
        const fs::path path = m_folder.path() / fmt::format("{}.gdt", m_made++);
        auto trace = NewTrace::create(path, false).value();
        const std::string rank = part.rank < 0 ? "NULL" : std::to_string(part.rank);
        trace.db()
            .exec(fmt::format(
                "INSERT INTO meta VALUES ('format', 'graphdoctor.trace/1'), ('start_unix_ns', '{1}'), "
                " ('duration_ns', '5000'), ('level', 'full'), ('host', '{2}');"
                "INSERT INTO process (process_id, pid, rank, world_size, role, host, start_ns, end_ns, "
                "ended) "
                " VALUES (1, 10{0}, {3}, {4}, 'primary', '{2}', 100, 5000, 'closed');"
                "INSERT INTO process_fact VALUES (1, 'events_from_ns', '200'), (1, 'python_version', '3.11');"
                "INSERT INTO api VALUES (1, 'cuLaunchKernel', NULL, 'LAUNCH');"
                "INSERT INTO string VALUES (1, 'gemm'), (2, 'only {0}');"
                "INSERT INTO stack VALUES (1, 1);"
                "INSERT INTO stack_frame VALUES (1, 'native', 0, 'f{0}', NULL, NULL, NULL, NULL, NULL, 0);"
                "INSERT INTO kernel_shape VALUES (1, 1, 1,1,1,1,1,1,0,0,0), (2, 2, 1,1,1,1,1,1,0,0,0);"
                "INSERT INTO track VALUES (1, 1, 'kernel', 0, 7, NULL, 's', 1, 2, 2), "
                " (2, 1, 'api_call', NULL, NULL, 1, 't', 1, 1, 1), (3, 1, 'counter', 0, NULL, NULL, 'c', "
                "NULL, NULL, 0);"
                "INSERT INTO kernel VALUES (1, 1, 300, 40, 1, 5, NULL), (2, 1, 400, 50, 2, 6, NULL);"
                "INSERT INTO api_call VALUES (1, 2, 1, 1, 1, 290, NULL, 0, 5, 0, 7, NULL, NULL, 1);"
                "INSERT INTO trace_issue VALUES (1, 1, 'info', 'x', 1, 'note {0}');"
                "{5}{6}",
                part.rank, part.startUnixNs, part.host, rank, part.world,
                comm ? fmt::format("INSERT INTO nccl_comm (process_id, comm_hash, nranks, rank, created_ns) "
                                   "VALUES (1, 77, 2, {}, 250);",
                    std::max(0, part.rank))
                     : std::string(),
                part.more))
            .value();
        trace.finish().value();
        return path;
    }
    Result<JoinSummary> join(const std::vector<fs::path>& paths) {
        m_out = m_folder.path() / "job.gdt";
        return joinTraces(paths, m_out, {.replace = true, .stop = nullptr});
    }
    std::string refusal(const std::vector<fs::path>& paths) {
        const auto joined = join(paths);
        return joined ? "joined" : joined.error().message;
    }
    std::string text(const std::string& sql) {
        auto trace = Trace::open(m_out).value();
        return trace.db().queryText(sql).value().value_or("NULL");
    }

    test::TemporaryFolder m_folder;
    fs::path m_out;
    int m_made = 0;
};

// Rank 1 began 700 ns later: its process comes second, its times move by 700.
TEST_F(JoinTraces, MovesTimesAndIds) {
    const auto joined = join({make({.rank = 1, .startUnixNs = 1'000'700}), make({.rank = 0})});
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_EQ(joined->processes, 2);
    EXPECT_THAT(joined->notes, IsEmpty()); // one host, all ranks, a communicator in common
    EXPECT_EQ(text("SELECT group_concat(process_id || ':' || rank || ':' || start_ns || ':' || end_ns, ' ') "
                   "FROM (SELECT * FROM process ORDER BY process_id)"),
        "1:0:100:5000 2:1:800:5700");
    EXPECT_EQ(text("SELECT group_concat(process_id || ':' || start_ns || ':' || dur_ns || ':' || name, ' ') "
                   "FROM (SELECT * FROM kernel_full ORDER BY process_id, start_ns)"),
        "1:300:40:gemm 1:400:50:only 0 2:1000:40:gemm 2:1100:50:only 1");
    // Each string once, each track with its own rows, each stack with its frame.
    EXPECT_EQ(text("SELECT count(*) FROM string WHERE text = 'gemm'"), "1");
    EXPECT_EQ(text("SELECT count(*) FROM track AS t JOIN kernel AS k ON k.track_id = t.track_id AND "
                   "k.kernel_id BETWEEN t.first_rowid AND t.last_rowid WHERE t.table_name = 'kernel'"),
        "4");
    EXPECT_EQ(text("SELECT group_concat(s.process_id || f.function, ' ') FROM api_call AS a "
                   "JOIN stack AS s USING (stack_id) JOIN stack_frame AS f USING (stack_id) "
                   "WHERE a.process_id = s.process_id ORDER BY 1"),
        text("SELECT group_concat(s.process_id || f.function, ' ') FROM stack AS s JOIN stack_frame AS f "
             "USING (stack_id)"));
    EXPECT_EQ(
        text("SELECT group_concat(rank || function, ' ') FROM (SELECT p.rank, f.function FROM process AS p "
             "JOIN stack AS s USING (process_id) JOIN stack_frame AS f USING (stack_id) ORDER BY p.rank)"),
        "0f0 1f1");
    EXPECT_EQ(text("SELECT value FROM process_fact WHERE process_id = 2 AND key = 'events_from_ns'"), "900");
    EXPECT_EQ(text("SELECT value FROM process_fact WHERE process_id = 2 AND key = 'python_version'"), "3.11");
    EXPECT_EQ(text("SELECT value FROM meta WHERE key = 'start_unix_ns'"), "1000000");
    EXPECT_EQ(text("SELECT value FROM meta WHERE key = 'duration_ns'"), "5700");
    EXPECT_EQ(text("SELECT count(DISTINCT issue_id) FROM trace_issue"), "2");
    EXPECT_EQ(text("SELECT comm_hash || ':' || created_ns FROM nccl_comm WHERE process_id = 2"), "77:950");
}

TEST_F(JoinTraces, HostsAreNotAlignedAndThatIsSaid) {
    const auto joined = join({make({.rank = 0, .host = "a"}), make({.rank = 1, .host = "b"})});
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_THAT(joined->notes, Contains(HasSubstr("the clocks of a, b are not fitted")));
    EXPECT_EQ(text("SELECT count(*) FROM trace_issue WHERE code = 'clocks_not_fitted'"), "1");
    EXPECT_EQ(text("SELECT value FROM meta WHERE key = 'host'"), "NULL"); // they do not agree
}

TEST_F(JoinTraces, MissingRanksAreNamed) {
    const auto joined = join({make({.rank = 0, .world = 4}), make({.rank = 2, .world = 4})});
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_THAT(joined->notes, Contains("of the job's 4 ranks these are in no trace: 1, 3"));
}

TEST_F(JoinTraces, ManyMissingRanksAreCountedAndADamagedWorldIsNone) {
    auto joined
        = join({make({.rank = 0, .world = 2'000'000'000}), make({.rank = 2, .world = 2'000'000'000})});
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_THAT(joined->notes,
        Contains("of the job's 2000000000 ranks these are in no trace: 1, 3, 4, 5, 6, 7, 8, 9 and 1999999990 "
                 "more"));
    const std::string damaged = "UPDATE process SET world_size = 9000000000000000000;";
    joined = join({make({.rank = 0, .more = damaged}), make({.rank = 2, .more = damaged})});
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_THAT(joined->notes, IsEmpty());
}

TEST_F(JoinTraces, AStepRangeThatDiffersIsSaid) {
    const std::string range = "INSERT INTO meta VALUES ('step_range', '^micro');";
    auto joined = join({make({.rank = 0, .more = range}), make({.rank = 1})});
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_THAT(joined->notes, Contains(HasSubstr("different ranges (--step-range '^micro', none)")));
    EXPECT_EQ(text("SELECT count(*) FROM trace_issue WHERE code = 'step_range_dropped'"), "1");
    joined = join({make({.rank = 0, .more = range}), make({.rank = 1, .more = range})});
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_THAT(joined->notes, IsEmpty());
}

TEST_F(JoinTraces, WhatDoesNotBelongTogetherIsRefusedByName) {
    const fs::path zero = make({.rank = 0});
    const fs::path one = make({.rank = 1});
    EXPECT_THAT(refusal({zero, zero}), HasSubstr("is named twice"));
    EXPECT_THAT(refusal({zero, one, make({.rank = 1})}), HasSubstr("both hold rank 1"));
    EXPECT_THAT(refusal({zero, make({.rank = 1, .world = 8})}), HasSubstr("of a job of 2 ranks"));
    const char* job = "INSERT INTO process_fact VALUES (1, 'job_id', '{}');";
    EXPECT_THAT(refusal({make({.rank = 0, .more = fmt::format(fmt::runtime(job), 41)}),
                    make({.rank = 1, .more = fmt::format(fmt::runtime(job), 42)})}),
        HasSubstr("of job 41"));
    EXPECT_THAT(refusal({make({.rank = 0}, false), make({.rank = 1, .startUnixNs = 9'000'000}, false)}),
        HasSubstr("were recorded at different times and share no communicator"));
    EXPECT_THAT(refusal({make({.rank = -1}, false), make({.rank = 1}, false)}),
        HasSubstr("does not say which rank of a job it holds"));
    EXPECT_FALSE(fs::exists(m_out));
}

TEST_F(JoinTraces, RanksOfOneTimeWithoutACommunicatorAreJoinedWithANote) {
    const auto joined = join({make({.rank = 0}, false), make({.rank = 1}, false)});
    ASSERT_TRUE(joined) << joined.error().message;
    EXPECT_THAT(joined->notes, Contains(HasSubstr("nothing in these traces proves")));
}

TEST_F(JoinTraces, AnEmptyOrTimelessTraceIsRefused) {
    const fs::path zero = make({.rank = 0});
    EXPECT_THAT(refusal({zero, make({.rank = 1, .more = "DELETE FROM process;"})}), HasSubstr("is empty"));
    EXPECT_THAT(refusal({zero, make({.rank = 1, .more = "DELETE FROM meta WHERE key = 'start_unix_ns';"})}),
        HasSubstr("does not say when it began"));
    EXPECT_THAT(refusal({zero, m_folder.path() / "absent.gdt"}), HasSubstr("absent.gdt"));
}

TEST_F(JoinTraces, CanBeGivenUp) {
    const std::atomic<bool> stop = true;
    const auto joined = joinTraces(std::vector<fs::path>{make({.rank = 0}), make({.rank = 1})},
        m_folder.path() / "job.gdt", {.replace = false, .stop = &stop});
    EXPECT_FALSE(joined);
    EXPECT_FALSE(fs::exists(m_folder.path() / "job.gdt"));
}

// A new column that names a moment or a row of another table must move too: whoever adds one finds it here.
TEST(JoinColumns, EveryIdOfTheRawTablesIsKnown) {
    Db db = Db::openInMemory().value();
    createRawTables(db).value();
    auto rows
        = db.prepare("SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c "
                     "WHERE m.type = 'table' AND c.name LIKE '%\\_id' ESCAPE '\\'")
              .value();
    // Numbered inside a process, by our own table of calls, or no number.
    const std::set<std::string> inProcess{"thread_id", "begin_thread_id", "end_thread_id", "free_thread_id",
        "destroy_thread_id", "device_id", "context_id", "stream_id", "from_stream_id", "event_stream_id",
        "stray_stream_id", "event_id", "graph_id", "origin_graph_id", "exec_id", "node_id", "origin_node_id",
        "parent_node_id", "from_node_id", "to_node_id", "capture_id", "other_capture_id", "allocation_id",
        "pool_id", "object_id", "op_id", "comm_op_id", "group_id", "api_id", "launch_id", "scalar_set_id",
        "build_id"};
    int seen = 0;
    while (rows.step().value()) {
        const std::string table(rows.text(0));
        const std::string column(rows.text(1));
        ++seen;
        EXPECT_EQ(joinColumn(table, column) == JoinColumn::plain, inProcess.contains(column))
            << table << '.' << column;
    }
    EXPECT_GT(seen, 100);
    EXPECT_EQ(joinColumn("kernel", "dur_ns"), JoinColumn::plain);
    EXPECT_EQ(joinColumn("device", "wakeup_p99_ns"), JoinColumn::plain);
    EXPECT_EQ(joinColumn("replay", "launch_end_ns"), JoinColumn::time);
    EXPECT_EQ(joinColumn("track", "last_rowid"), JoinColumn::trackRow);
}

} // namespace
} // namespace gd::store
