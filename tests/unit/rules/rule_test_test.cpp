// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_test.h"

#include "sample_rule.h"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace gd::rules {
namespace {

using testing::HasSubstr;

class RuleTesterTest : public testing::Test {
protected:
    std::string reportAfter(const std::string& what, const std::string& with) {
        const Result<RuleFile> rule = parseRuleFile(replaced(sampleText(), what, with), kSamplePath);
        EXPECT_TRUE(rule) << (rule ? "" : rule.error().message);
        return tester.test(*rule).text();
    }
    RuleTester tester = std::move(RuleTester::create()).value();
};

TEST_F(RuleTesterTest, SamplePasses) {
    const RuleTestReport report = tester.test(sampleRule());
    EXPECT_TRUE(report.passed()) << report.text();
    EXPECT_EQ(report.text(),
        "ok     GD901: fires at exactly the threshold\n"
        "ok     GD901: quiet just below the threshold\n"
        "ok     GD901: quiet where nothing is known\n");
}

TEST_F(RuleTesterTest, TestsDoNotSeeEachOther) {
    EXPECT_TRUE(tester.test(sampleRule()).passed());
    EXPECT_TRUE(tester.test(sampleRule()).passed());
}

TEST_F(RuleTesterTest, SaysWhatDiffers) {
    EXPECT_THAT(reportAfter("mostly host_other |", "mostly data |"),
        HasSubstr("GD901-sample-gap.sql:26: expected the message \"step: idle 500.0 us before replay 2, "
                  "mostly data\", "
                  "got \"step: idle 500.0 us before replay 2, mostly host_other\""));
    EXPECT_THAT(
        reportAfter("cost_ns=500000", "cost_ns=500001"), HasSubstr("expected cost_ns=500001, got 500000"));
    EXPECT_THAT(
        reportAfter("cause='host_other'", "cause='data'"), HasSubstr("expected cause=data, got host_other"));
    EXPECT_THAT(
        reportAfter("severity=warning", "severity=error"), HasSubstr("expected severity=error, got warning"));
    EXPECT_THAT(reportAfter("step=null", "step=7"), HasSubstr("expected step=7, got null"));
    EXPECT_THAT(reportAfter("step=null", "stop=7"), HasSubstr("the query returns no column stop"));
    EXPECT_THAT(reportAfter("500999", "501000"), HasSubstr("expected 0 findings, got 1"));
    EXPECT_THAT(reportAfter("501000, 'step'", "500999, 'step'"), HasSubstr("expected 1 findings, got 0"));
}

TEST_F(RuleTesterTest, SaysWhereAStatementIsWrong) {
    EXPECT_THAT(reportAfter("(1, 1000, 500999)", "(1, 1000)"), HasSubstr("GD901-sample-gap.sql:28: "));
    EXPECT_THAT(reportAfter("FROM replay_gap", "FROM replay_gaps"), HasSubstr("no such table: replay_gaps"));
}

TEST_F(RuleTesterTest, WantsAFiringAndAQuietTest) {
    RuleFile rule = sampleRule();
    rule.tests.resize(1);
    EXPECT_THAT(tester.test(rule).text(), HasSubstr("no test in which the rule just stays quiet"));
    rule.tests.clear();
    EXPECT_THAT(tester.test(rule).text(), HasSubstr("no test in which the rule fires"));
}

TEST_F(RuleTesterTest, ARuleThatNeverEndsIsTriedOnce) {
    RuleFile rule = sampleRule();
    // Its own columns, behind rows without end.
    rule.query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT s.* FROM ("
        + rule.query.substr(0, rule.query.find(';')) + ") AS s WHERE (SELECT count(*) FROM n) > 0";
    rule.tests.resize(1);
    rule.tests.resize(6, rule.tests.front());
    const RuleTestReport report = tester.test(rule);
    EXPECT_EQ(report.tests.size(), 1u);
    EXPECT_THAT(report.text(), HasSubstr("took longer than 2 s"));
}

TEST_F(RuleTesterTest, StatementsOfATestCannotReachOut) {
    for (const char* hostile : {"ATTACH '/tmp/stolen.db' AS x;", "PRAGMA temp_store_directory = '/';",
             "COMMIT;", "DROP TABLE replay_gap;", "SELECT load_extension('x');",
             "CREATE TRIGGER t AFTER INSERT ON replay_gap BEGIN SELECT 1; END;"})
        EXPECT_THAT(reportAfter("INSERT INTO replay_gap", std::string(hostile) + "\nINSERT INTO replay_gap"),
            HasSubstr("not authorized"))
            << hostile;
    EXPECT_THAT(
        reportAfter("INSERT INTO replay_gap", "VACUUM INTO '/tmp/stolen.db';\nINSERT INTO replay_gap"),
        HasSubstr("cannot VACUUM from within a transaction"));
    EXPECT_TRUE(tester.test(sampleRule()).passed());
}

} // namespace
} // namespace gd::rules
