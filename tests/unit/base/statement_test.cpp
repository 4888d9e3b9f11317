// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/db.h"

#include <gtest/gtest.h>

namespace gd::base {
namespace {

class StatementTest : public testing::Test {
protected:
    Db db = std::move(Db::openInMemory()).value();
};

TEST_F(StatementTest, BindsByIndexIncludingOptionalAndIds) {
    ASSERT_TRUE(db.exec("CREATE TABLE t(a INTEGER, b TEXT, c REAL, d INTEGER, e TEXT) STRICT"));
    auto insert = std::move(db.prepare("INSERT INTO t VALUES (?, ?, ?, ?, ?)")).value();
    ASSERT_TRUE(insert.runWith(7, "seven", 7.5, std::optional<std::int64_t>(), std::string_view()));
    ASSERT_TRUE(insert.runWith(StreamId::none(), std::optional<std::string>("x"), 0.0, RankId(0), nullptr));

    auto select = std::move(db.prepare("SELECT * FROM t ORDER BY rowid")).value();
    ASSERT_TRUE(*select.step());
    EXPECT_EQ(select.int64("a"), 7);
    EXPECT_EQ(select.text("b"), "seven");
    EXPECT_EQ(select.real("c"), 7.5);
    EXPECT_TRUE(select.isNull("d"));
    EXPECT_EQ(select.optionalText("e"), "");
    ASSERT_TRUE(*select.step());
    EXPECT_EQ(select.optionalInt64("a"), std::nullopt);
    EXPECT_EQ(select.optionalInt64("d"), 0);
    EXPECT_EQ(select.optionalText("e"), std::nullopt);
    EXPECT_FALSE(*select.step());
}

TEST_F(StatementTest, BindsByName) {
    auto select = std::move(db.prepare("SELECT :a + :b AS sum")).value();
    select.bind(":a", 1);
    select.bind(":b", 2);
    EXPECT_FALSE(select.bindIfUsed(":c", 3));
    ASSERT_TRUE(*select.step());
    EXPECT_EQ(select.int64("sum"), 3);
    select.reset();
    select.bind(":c", 3);
    EXPECT_EQ(select.step().error().message, "the statement has no parameter :c");
}

TEST_F(StatementTest, ReportsABindThatFails) {
    auto select = std::move(db.prepare("SELECT ?")).value();
    select.bind(2, 1);
    EXPECT_FALSE(select.step());
}

TEST_F(StatementTest, ReportsTypeErrorsOfStrictTables) {
    ASSERT_TRUE(db.exec("CREATE TABLE t(a INTEGER) STRICT"));
    auto insert = std::move(db.prepare("INSERT INTO t VALUES (?)")).value();
    const Result<void> result = insert.runWith("text");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::query);
    EXPECT_NE(result.error().message.find("t.a"), std::string::npos);
    EXPECT_TRUE(insert.runWith(1));
}

TEST_F(StatementTest, KeepsBlobs) {
    const std::vector<std::byte> bytes{std::byte{0}, std::byte{255}};
    auto select = std::move(db.prepare("SELECT ? AS data")).value();
    select.bind(1, std::span<const std::byte>(bytes));
    ASSERT_TRUE(*select.step());
    EXPECT_EQ(select.blob(0).size(), 2U);
    EXPECT_EQ(select.blob(0)[1], std::byte{255});
}

} // namespace
} // namespace gd::base
