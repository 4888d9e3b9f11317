// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/bulk_insert.h"

#include <gtest/gtest.h>

#include <string>

namespace gd::store {
namespace {

class Squares : public RowSource {
public:
    explicit Squares(std::size_t count)
        : m_count(count) { }
    std::size_t rowCount() const override { return m_count; }
    Cell cell(std::size_t row, int column) const override {
        const auto value = static_cast<std::int64_t>(row);
        switch (column) {
        case 0:
            return value * value;
        case 1:
            return Cell::nullIf(value, 3);
        case 2:
            return Cell::ofReal(static_cast<double>(value) / 2);
        default:
            m_text = "row " + std::to_string(row);
            return Cell::ofText(m_text);
        }
    }

private:
    std::size_t m_count;
    mutable std::string m_text;
};

class BulkInsert : public testing::Test {
protected:
    BulkInsert()
        : m_db(Db::openInMemory().value()) {
        EXPECT_TRUE(m_db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER NOT NULL, b INTEGER, c REAL, "
                              "d TEXT) STRICT")
                        .has_value());
    }
    Db m_db;
};

TEST_F(BulkInsert, KeepsOrderAndTypes) {
    const auto done = bulkInsert(m_db, "t", "a, b, c, d", Squares(1000));
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(m_db.queryInt64("SELECT count(*) FROM t").value(), 1000);
    EXPECT_EQ(m_db.queryInt64("SELECT a FROM t WHERE id = 11").value(), 100);
    EXPECT_EQ(m_db.queryInt64("SELECT count(*) FROM t WHERE b IS NULL").value(), 1);
    EXPECT_EQ(m_db.queryText("SELECT d FROM t WHERE id = 1000").value(), "row 999");
    EXPECT_EQ(m_db.queryInt64("SELECT c * 10 FROM t WHERE id = 2").value(), 5);
}

TEST_F(BulkInsert, WorksAgainAndAppends) {
    ASSERT_TRUE(bulkInsert(m_db, "t", "a, b, c, d", Squares(3)).has_value());
    ASSERT_TRUE(bulkInsert(m_db, "t", "a, b, c, d", Squares(0)).has_value());
    ASSERT_TRUE(bulkInsert(m_db, "t", "a, b, c, d", Squares(2)).has_value());
    EXPECT_EQ(m_db.queryInt64("SELECT max(id) FROM t").value(), 5);
}

TEST_F(BulkInsert, ReportsWhatTheTableRefuses) {
    const auto done = bulkInsert(m_db, "t", "b, a, c, d", Squares(10));
    ASSERT_FALSE(done.has_value());
    EXPECT_NE(done.error().message.find("NOT NULL"), std::string::npos) << done.error().message;
}

} // namespace
} // namespace gd::store
