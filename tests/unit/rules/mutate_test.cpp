// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/mutate.h"

#include "sample_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gd::rules {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> changes(const std::string& condition) {
    std::vector<std::string> result;
    for (const Mutant& mutant :
        mutantsOf(ruleWith("GD902", "SELECT 1 AS x, 'a' AS y FROM t AS u WHERE " + condition)))
        result.push_back(mutant.what);
    return result;
}

TEST(BumpLastDigit, ChangesOneUnit) {
    EXPECT_EQ(bumpLastDigit("500", 1), "501");
    EXPECT_EQ(bumpLastDigit("500", -1), "499");
    EXPECT_EQ(bumpLastDigit("0.85", 1), "0.86");
    EXPECT_EQ(bumpLastDigit("0.10", -1), "0.09");
    EXPECT_EQ(bumpLastDigit("0.99", 1), "1.00");
    EXPECT_EQ(bumpLastDigit("0", -1), "-1");
    EXPECT_EQ(bumpLastDigit("0.0", -1), "-0.1");
    EXPECT_EQ(bumpLastDigit("-5", 1), "-4");
    EXPECT_EQ(bumpLastDigit("1e3", 1), "2e3");
    EXPECT_EQ(bumpLastDigit("1.5e-3", -1), "1.4e-3");
    EXPECT_EQ(bumpLastDigit("0x10", 1), std::nullopt);
    EXPECT_EQ(bumpLastDigit("abc", 1), std::nullopt);
    EXPECT_EQ(bumpLastDigit("99999999999999999999", 1), std::nullopt);
}

TEST(Mutants, TurnEveryComparisonWithALiteral) {
    EXPECT_THAT(changes("a >= 5"), ElementsAre("`>=` becomes `>`", "`5` becomes `4`", "`5` becomes `6`"));
    EXPECT_THAT(changes("a > :p"), ElementsAre("`>` becomes `>=`"));
    EXPECT_THAT(changes("a = 'x'"), ElementsAre("`=` becomes `<>`"));
    EXPECT_THAT(changes("a != 'x'"), ElementsAre("`!=` becomes `=`"));
    EXPECT_THAT(changes("a <= 'x' OR b < 'y'"), ElementsAre("`<=` becomes `<`", "`<` becomes `<=`"));
    EXPECT_THAT(changes("a - b >= :p * 1000"),
        ElementsAre("`>=` becomes `>`", "`1000` becomes `999`", "`1000` becomes `1001`"));
    EXPECT_THAT(
        changes("(a + 2) / b < c"), ElementsAre("`<` becomes `<=`", "`2` becomes `1`", "`2` becomes `3`"));
    EXPECT_THAT(changes("a = 0"), Contains("`0` becomes `(-1)`"));
}

TEST(Mutants, LeaveJoinsAndSelectedLiteralsAlone) {
    EXPECT_THAT(changes("a = b AND u.c < t.d"), ElementsAre());
    EXPECT_THAT(
        changes("a = b AND c > 1"), ElementsAre("`>` becomes `>=`", "`1` becomes `0`", "`1` becomes `2`"));
    EXPECT_THAT(changes("a = b ORDER BY c LIMIT 5"), ElementsAre());
    EXPECT_THAT(changes("a = b -- >= 5\n AND 'x >= 5' || c"), ElementsAre());
}

TEST(Mutants, NegateWordComparisons) {
    EXPECT_THAT(changes("a IS NULL"), ElementsAre("`IS` becomes `IS NOT`"));
    EXPECT_THAT(changes("a IS NOT NULL"), ElementsAre("`IS NOT` becomes `IS`"));
    EXPECT_THAT(changes("a IN ('x', 'y')"), ElementsAre("`IN` becomes `NOT IN`"));
    EXPECT_THAT(changes("a NOT IN ('x')"), ElementsAre("`NOT IN` becomes `IN`"));
    EXPECT_THAT(changes("a LIKE 'x%'"), ElementsAre("`LIKE` becomes `NOT LIKE`"));
    EXPECT_THAT(changes("a IN (SELECT b FROM v)"), ElementsAre());
    EXPECT_THAT(changes("a BETWEEN 1 AND b AND c = d"),
        ElementsAre("`BETWEEN` becomes `NOT BETWEEN`", "`1` becomes `0`", "`1` becomes `2`"));
}

TEST(Mutants, ReachIntoCaseAndSubqueries) {
    EXPECT_THAT(changes("b = CASE WHEN a >= 3 THEN 1 ELSE 0 END"), Contains("`>=` becomes `>`"));
    EXPECT_THAT(changes("EXISTS (SELECT 1 FROM v WHERE v.a > 'x')"), ElementsAre("`>` becomes `>=`"));
    EXPECT_THAT(changes("EXISTS (SELECT 1 FROM v WHERE v.a = u.a)"), ElementsAre());
}

class MutateTest : public testing::Test {
protected:
    RuleTester tester = std::move(RuleTester::create()).value();
};

TEST_F(MutateTest, GoodTestsNoticeEveryChange) {
    const MutationReport report = std::move(mutate(tester, sampleRule())).value();
    EXPECT_TRUE(report.survivors.empty()) << report.text();
    EXPECT_EQ(report.mutants, 8U) << "2 of the parameter, 2 comparisons, 2 of each of 2 numbers";
    EXPECT_EQ(report.text(), "GD901: 8 of 8 changes noticed\n");
}

TEST_F(MutateTest, WeakTestsLetChangesSurviveAndAreNamed) {
    const std::string weak = replaced(sampleText(), "1000, 500999", "1000, 2000");
    const MutationReport report
        = std::move(mutate(tester, std::move(parseRuleFile(weak, kSamplePath)).value())).value();
    EXPECT_THAT(report.text(),
        HasSubstr("SURVIVED rules/performance/GD901-sample-gap.sql:9: GD901: no test notices that parameter "
                  "gap_us 500 "
                  "becomes 499\n"));
    EXPECT_THAT(report.text(), HasSubstr(":22: GD901: no test notices that `1000` becomes `999`"));
    EXPECT_THAT(report.text(), Not(HasSubstr("becomes 501")));
}

TEST_F(MutateTest, AParameterInTheMessageAloneIsNotNoticed) {
    std::string text = replaced(sampleText(), "mostly {cause}", "mostly {cause}, limit {limit_us}");
    text = replaced(text, "-- why:", "-- param limit_us: 3\n-- why:");
    text = replaced(text, "mostly host_other |", "mostly host_other, limit 3 |");
    const MutationReport report
        = std::move(mutate(tester, std::move(parseRuleFile(text, kSamplePath)).value())).value();
    EXPECT_EQ(report.survivors.size(), 2U) << report.text();
}

TEST_F(MutateTest, RefusesARuleWhoseTestsFail) {
    const RuleFile rule
        = std::move(parseRuleFile(replaced(sampleText(), "cost_ns=500000", "cost_ns=1"), kSamplePath))
              .value();
    EXPECT_THAT(
        mutate(tester, rule).error().message, HasSubstr("its tests must pass before it can be mutated"));
}

} // namespace
} // namespace gd::rules
