// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/readers.h"

#include "analyzer/store/trace.h"

#include <gtest/gtest.h>

namespace gd::store {
namespace {

class Readers : public testing::Test {
protected:
    Readers()
        : m_db(Db::openInMemory().value()) {
        EXPECT_TRUE(createRawTables(m_db).has_value());
    }
    void run(const std::string& sql) {
        const auto done = m_db.exec(sql);
        ASSERT_TRUE(done.has_value()) << done.error().message;
    }
    Db m_db;
};

TEST_F(Readers, ProcessRows) {
    run("INSERT INTO process(process_id, pid, role, rank, start_ns, end_ns, ended) VALUES (2, 20, 'primary', "
        "0, 5, 9, 'closed'), "
        "(1, 10, 'forked_child', NULL, 1, 2, 'unknown')");
    const auto rows = readProcesses(m_db).value();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].pid, 10);
    EXPECT_TRUE(rows[0].rank.isNone());
    EXPECT_FALSE(rows[0].closed);
    EXPECT_EQ(rows[1].rank.value(), 0);
    EXPECT_TRUE(rows[1].closed);
    EXPECT_FALSE(rows[1].exitStatus.has_value());
}

TEST_F(Readers, IssuesTheGravestFirst) {
    run("INSERT INTO trace_issue(process_id, severity, code, count, detail) VALUES (NULL, 'info', 'a', 1, "
        "'x'), (1, 'error', 'b', "
        "2, 'y'), (1, 'data_loss', 'c', 3, 'z')");
    const auto issues = readIssues(m_db).value();
    ASSERT_EQ(issues.size(), 3u);
    EXPECT_EQ(issues[0].code, "b");
    EXPECT_EQ(issues[1].code, "c");
    EXPECT_TRUE(issues[2].process.isNone());
}

TEST_F(Readers, CoverageOverAnInterval) {
    run("INSERT INTO coverage VALUES (1, 'nvtx', 0, 100, 'complete', NULL), (1, 'nvtx', 100, 200, 'partial', "
        "'window'), (1, 'nvtx', "
        "300, 400, 'complete', NULL)");
    const auto map = CoverageMap::read(m_db).value();
    const base::ProcessId process(1);
    EXPECT_EQ(map.worst(process, "nvtx", 10, 90).state, CoverageState::complete);
    EXPECT_EQ(map.worst(process, "nvtx", 10, 100).state, CoverageState::complete);
    EXPECT_EQ(map.worst(process, "nvtx", 10, 150).state, CoverageState::partial);
    EXPECT_EQ(map.worst(process, "nvtx", 10, 150).reason, "window");
    EXPECT_EQ(map.worst(process, "nvtx", 10, 350).state, CoverageState::absent);
    EXPECT_EQ(map.worst(process, "nvtx", 350, 500).state, CoverageState::absent);
    EXPECT_EQ(map.best(process, "nvtx", 10, 350).state, CoverageState::complete);
    EXPECT_EQ(map.best(process, "nvtx", 210, 250).state, CoverageState::absent);
    EXPECT_EQ(map.worst(process, "memory", 0, 1).state, CoverageState::absent);
    EXPECT_EQ(map.worst(base::ProcessId(2), "nvtx", 0, 1).state, CoverageState::absent);
}

} // namespace
} // namespace gd::store
