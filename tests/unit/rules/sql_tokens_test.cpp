// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/sql_tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace gd::rules {
namespace {

std::vector<std::string> texts(std::string_view sql) {
    std::vector<std::string> result;
    for (const SqlToken& token : sqlTokens(sql))
        result.emplace_back(token.text);
    return result;
}

using Texts = std::vector<std::string>;

TEST(SqlTokens, SplitsOperatorsNumbersAndNames) {
    EXPECT_EQ(texts("a.b>=1.5e-3 AND c<>:p"), (Texts{"a", ".", "b", ">=", "1.5e-3", "AND", "c", "<>", ":p"}));
    EXPECT_EQ(texts("x<<2>1"), (Texts{"x", "<<", "2", ">", "1"}));
    EXPECT_EQ(texts("a==1!=b"), (Texts{"a", "==", "1", "!=", "b"}));
    EXPECT_EQ(texts("0x1F .5 1."), (Texts{"0x1F", ".5", "1."}));
    EXPECT_EQ(texts("json->>'$.a'"), (Texts{"json", "-", ">>", "'$.a'"}));
}

TEST(SqlTokens, LeavesOutComments) {
    EXPECT_EQ(texts("a -- b >= 1\n/* c\n<= 2 */ d"), (Texts{"a", "d"}));
    EXPECT_EQ(texts("a /* open"), (Texts{"a"}));
    EXPECT_EQ(texts("a /*"), (Texts{"a"}));
}

TEST(SqlTokens, KeepsQuotedThingsWhole) {
    EXPECT_EQ(texts("'it''s >= 1' \"a\"\"b\" [c d] x'00'"),
        (Texts{"'it''s >= 1'", "\"a\"\"b\"", "[c d]", "x'00'"}));
    EXPECT_EQ(texts("'open"), (Texts{"'open"}));
    EXPECT_EQ(sqlTokens("'x'")[0].kind, SqlTokenKind::text);
    EXPECT_EQ(sqlTokens("\"x\"")[0].kind, SqlTokenKind::quotedName);
}

TEST(SqlTokens, OffsetsPointIntoTheText) {
    const std::string sql = "SELECT\n  :a";
    EXPECT_EQ(sqlTokens(sql)[1].offset, 9U);
    EXPECT_TRUE(isKeyword(sqlTokens("sElect")[0], "SELECT"));
    EXPECT_FALSE(isKeyword(sqlTokens("selects")[0], "SELECT"));
}

} // namespace
} // namespace gd::rules
