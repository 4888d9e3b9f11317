// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/db.h"

#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace gd::base {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr const char* kEndless
    = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

class DbTest : public testing::Test {
protected:
    std::string path(const std::string& name) const { return (folder.path() / name).string(); }
    std::string write(const std::string& name, const std::string& content) const {
        std::ofstream(path(name), std::ios::binary) << content;
        return path(name);
    }
    std::string traceWithOneTable() const {
        Db db = std::move(Db::create(path("t.gdt"))).value();
        EXPECT_TRUE(db.exec("CREATE TABLE t(a INTEGER) STRICT; INSERT INTO t VALUES (1), (2)"));
        EXPECT_TRUE(db.close());
        return path("t.gdt");
    }

    test::TemporaryFolder folder;
};

TEST_F(DbTest, ReadsBackWhatWasWritten) {
    Db db = std::move(Db::openReadOnly(traceWithOneTable())).value();
    EXPECT_EQ(*db.queryInt64("SELECT sum(a) FROM t"), 3);
    EXPECT_TRUE(*db.hasTable("t"));
    EXPECT_FALSE(*db.hasTable("u"));
    EXPECT_EQ(db.exec("INSERT INTO t VALUES (3)").error().code, ErrorCode::denied);
}

TEST_F(DbTest, CreateRefusesAnExistingFile) {
    const std::string existing = write("x", "precious");
    EXPECT_NE(Db::create(existing).error().message.find("File exists"), std::string::npos);
    EXPECT_EQ(fs::file_size(existing), 8U);
}

TEST_F(DbTest, OpeningNeverCreates) {
    EXPECT_EQ(Db::openReadOnly(path("none")).error().code, ErrorCode::io);
    EXPECT_FALSE(Db::openReadWrite(path("none")));
    EXPECT_FALSE(fs::exists(path("none")));
}

TEST_F(DbTest, NamesWhatIsWrongWithAFile) {
    const auto message = [](const std::string& file) { return Db::openReadOnly(file).error().message; };
    EXPECT_NE(message(path("none")).find("No such file"), std::string::npos);
    EXPECT_NE(message(folder.path().string()).find("not a regular file"), std::string::npos);
    EXPECT_NE(message(write("empty", "")).find("is empty"), std::string::npos);
    EXPECT_NE(
        message(write("text", std::string(4096, 'x'))).find("not a GraphDoctor trace"), std::string::npos);
    EXPECT_NE(message(write("short", std::string("SQLite format 3\0ab", 18))).find("cut off after 18 bytes"),
        std::string::npos);
    std::string damaged(4096, '\xee');
    damaged.replace(0, 16, std::string("SQLite format 3\0", 16));
    EXPECT_EQ(Db::openReadOnly(write("damaged", damaged)).error().code, ErrorCode::badInput);
}

TEST_F(DbTest, OpensPathsWithUriCharacters) {
    Db db = std::move(Db::create(path("a?b#c%20.gdt"))).value();
    ASSERT_TRUE(db.exec("CREATE TABLE t(a)"));
    ASSERT_TRUE(db.close());
    EXPECT_TRUE(fs::exists(path("a?b#c%20.gdt")));
    EXPECT_TRUE(Db::openReadOnly(path("a?b#c%20.gdt")));
}

TEST_F(DbTest, ReadingATraceInWalModeWritesNothingBesideIt) {
    const std::string trace = traceWithOneTable();
    {
        Db db = std::move(Db::openReadWrite(trace)).value();
        ASSERT_TRUE(db.exec("PRAGMA journal_mode = WAL; INSERT INTO t VALUES (4)"));
        ASSERT_TRUE(db.close());
    }
    Db db = std::move(Db::openReadOnly(trace)).value();
    EXPECT_EQ(*db.queryInt64("SELECT count(*) FROM t"), 3);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST_F(DbTest, ExecReportsThePositionInTheWholeText) {
    Db db = std::move(Db::openInMemory()).value();
    const Error error = db.exec("SELECT 1;\nSELECT absent;").error();
    EXPECT_EQ(error.code, ErrorCode::query);
    EXPECT_EQ(error.offset, 17);
    EXPECT_NE(error.message.find("no such column: absent"), std::string::npos);
}

TEST_F(DbTest, PrepareWantsExactlyOneStatement) {
    Db db = std::move(Db::openInMemory()).value();
    EXPECT_TRUE(db.prepare("SELECT 1; -- and a note\n"));
    EXPECT_FALSE(db.prepare("SELECT 1; SELECT 2"));
    EXPECT_FALSE(db.prepare("SELECT 1; nonsense"));
    EXPECT_FALSE(db.prepare("-- only a note"));
    EXPECT_FALSE(db.prepare(""));
}

TEST_F(DbTest, MisspeltQuotedColumnIsAnError) {
    Db db = std::move(Db::openInMemory()).value();
    EXPECT_FALSE(db.prepare("SELECT \"cost\""));
}

TEST_F(DbTest, PrepareReadOnlyRefusesEverythingElse) {
    Db db = std::move(Db::openInMemory()).value();
    ASSERT_TRUE(db.exec("CREATE TABLE t(a)"));
    for (const char* sql : {"INSERT INTO t VALUES (1)", "ATTACH ':memory:' AS x", "PRAGMA query_only = OFF",
             "BEGIN", "CREATE TEMP TABLE u(a)", "DETACH x", "VACUUM INTO 'x'", "SELECT load_extension('x')",
             "PRAGMA writable_schema = ON", "DELETE FROM t RETURNING a", "EXPLAIN DELETE FROM t"})
        EXPECT_EQ(db.prepareReadOnly(sql).error().code, ErrorCode::denied) << sql;
    EXPECT_TRUE(db.prepareReadOnly("WITH x AS (SELECT a FROM t) SELECT a FROM x UNION SELECT 1"));
    EXPECT_TRUE(db.exec("INSERT INTO t VALUES (1)"));
}

TEST_F(DbTest, PrepareReadOnlyNamesTheTablesItReads) {
    Db db = std::move(Db::openInMemory()).value();
    ASSERT_TRUE(db.exec("CREATE TABLE t(a); CREATE TABLE u(b); CREATE VIEW v AS SELECT b FROM u"));
    std::vector<std::string> tables;
    ASSERT_TRUE(db.prepareReadOnly("SELECT a, v.b FROM t JOIN v ON t.a = v.b WHERE a > 1", &tables));
    EXPECT_EQ(tables, (std::vector<std::string>{"t", "u", "v"}));
}

TEST_F(DbTest, ExecRowsOnlyFillsTablesAndNothingElse) {
    Db db = std::move(Db::openInMemory()).value();
    ASSERT_TRUE(db.exec("CREATE TABLE t(a)"));
    EXPECT_TRUE(
        db.execRowsOnly("INSERT INTO t VALUES (1), (2); UPDATE t SET a = 3; DELETE FROM t WHERE rowid = 1"));
    EXPECT_EQ(*db.queryInt64("SELECT sum(a) FROM t"), 3);
    const std::string attach = "ATTACH '" + path("stolen") + "' AS x";
    for (const char* sql : {attach.c_str(), "PRAGMA writable_schema = ON", "DROP TABLE t", "COMMIT", "BEGIN",
             "CREATE TABLE u(a)", "SELECT load_extension('x')", "DELETE FROM sqlite_schema"})
        EXPECT_FALSE(db.execRowsOnly(sql)) << sql;
    EXPECT_FALSE(fs::exists(path("stolen")));
    EXPECT_TRUE(db.exec("CREATE TABLE u(a)"));
    ASSERT_TRUE(db.harden());
    EXPECT_EQ(db.execRowsOnly("INSERT INTO t VALUES (1)").error().code, ErrorCode::denied);
}

TEST_F(DbTest, HardenedConnectionOnlyReads) {
    const std::string trace = traceWithOneTable();
    Db db = std::move(Db::openReadWrite(trace)).value();
    ASSERT_TRUE(db.exec("CREATE TEMP TABLE fact(b); INSERT INTO fact VALUES (5)"));
    ASSERT_TRUE(db.harden());
    EXPECT_TRUE(db.isHardened());
    EXPECT_EQ(*db.queryInt64("SELECT sum(a) + max(b) FROM t, fact"), 8);
    EXPECT_TRUE(db.exec("PRAGMA table_info(t)"));
    EXPECT_EQ(*db.queryInt64("SELECT count(*) FROM pragma_table_info('t')"), 1);
    EXPECT_EQ(*db.queryInt64("SELECT sum(value) FROM json_each('[1, 2]')"), 3);
    EXPECT_FALSE(db.exec("UPDATE sqlite_master SET sql = ''"));
    EXPECT_FALSE(db.exec("UPDATE sqlite_temp_master SET sql = ''"));
    for (const char* sql : {"ATTACH ':memory:' AS x", "PRAGMA query_only = OFF", "PRAGMA user_version = 9",
             "PRAGMA journal_mode = WAL", "PRAGMA trusted_schema = ON", "PRAGMA temp_store_directory = '/'",
             "SELECT load_extension('x')", "INSERT INTO t VALUES (1)", "DROP TABLE fact",
             "UPDATE fact SET b = 1", "CREATE TEMP TABLE z(a)", "CREATE VIRTUAL TABLE v USING fts5(a)",
             "BEGIN IMMEDIATE", "VACUUM INTO 'x'"})
        EXPECT_EQ(db.exec(sql).error().code, ErrorCode::denied) << sql;
}

TEST_F(DbTest, HardenedConnectionRefusesHugeValues) {
    Db db = std::move(Db::openInMemory()).value();
    ASSERT_TRUE(db.harden());
    EXPECT_FALSE(db.queryInt64("SELECT length(zeroblob(1000000000) || 'x')"));
}

TEST_F(DbTest, TimeLimitStopsAnEndlessQueryAndOnlyThat) {
    Db db = std::move(Db::openInMemory()).value();
    {
        const TimeLimitScope limit(db, 20ms);
        EXPECT_EQ(db.queryInt64(kEndless).error().code, ErrorCode::timeLimit);
    }
    EXPECT_EQ(*db.queryInt64("SELECT 1"), 1);
}

TEST_F(DbTest, TimeInWhichTheThreadDidNotRunIsNotCounted) {
    Db db = std::move(Db::openInMemory()).value();
    const TimeLimitScope limit(db, 50ms);
    std::this_thread::sleep_for(60ms);
    EXPECT_EQ(
        *db.queryInt64("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT "
                       "count(*) FROM n"),
        5000);
}

TEST_F(DbTest, TransactionRollsBackUnlessCommitted) {
    Db db = std::move(Db::openInMemory()).value();
    ASSERT_TRUE(db.exec("CREATE TABLE t(a)"));
    {
        auto transaction = std::move(Transaction::begin(db)).value();
        ASSERT_TRUE(db.exec("INSERT INTO t VALUES (1)"));
    }
    EXPECT_EQ(*db.queryInt64("SELECT count(*) FROM t"), 0);
    {
        auto transaction = std::move(Transaction::begin(db)).value();
        ASSERT_TRUE(db.exec("INSERT INTO t VALUES (1)"));
        ASSERT_TRUE(transaction.commit());
    }
    EXPECT_EQ(*db.queryInt64("SELECT count(*) FROM t"), 1);
}

TEST_F(DbTest, Percentile) {
    Db db = std::move(Db::openInMemory()).value();
    ASSERT_TRUE(db.exec("CREATE TABLE t(a); INSERT INTO t VALUES (40), (10), (NULL), (30), (20)"));
    EXPECT_EQ(
        *db.queryText("SELECT percentile(a, 0)||' '||percentile(a, 100)||' '||percentile(a, 50) FROM t"),
        "10.0 40.0 25.0");
    EXPECT_EQ(*db.queryText("SELECT median(a) FROM t"), "25.0");
    EXPECT_EQ(*db.queryText("SELECT percentile(a, 90) FROM t"), "37.0");
    EXPECT_EQ(*db.queryText("SELECT percentile(a, 50) FROM t WHERE a > 99"), std::nullopt);
    EXPECT_FALSE(db.queryText("SELECT percentile(a, 101) FROM t"));
    EXPECT_FALSE(db.queryText("SELECT percentile(a, a) FROM t"));
    EXPECT_FALSE(db.queryText("SELECT percentile('x', 5) FROM t"));
}

TEST_F(DbTest, CountedNouns) {
    Db db = std::move(Db::openInMemory()).value();
    EXPECT_EQ(*db.queryText("SELECT counted(1, 'rank') || ', ' || counted(0, 'rank')"), "1 rank, 0 ranks");
    EXPECT_EQ(*db.queryText("SELECT counted(2, 'launch') || ', ' || counted('3', 'process')"),
        "2 launches, 3 processes");
    EXPECT_EQ(*db.queryText("SELECT counted(NULL, 'rank')"), std::nullopt);
    EXPECT_EQ(*db.queryText("SELECT counted(1.5, 'rank')"), std::nullopt);
    EXPECT_EQ(*db.queryText("SELECT counted(1, NULL)"), std::nullopt);
}

} // namespace
} // namespace gd::base
