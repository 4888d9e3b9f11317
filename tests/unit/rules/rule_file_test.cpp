// SPDX-License-Identifier: Apache-2.0
#include "sample_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gd::rules {
namespace {

using testing::HasSubstr;

std::string errorOf(const std::string& text, const std::string& path = kSamplePath) {
    const Result<RuleFile> rule = parseRuleFile(text, path);
    return rule ? "no error" : rule.error().message;
}

std::string errorAfter(const std::string& what, const std::string& with) {
    return errorOf(replaced(sampleText(), what, with));
}

TEST(RuleFile, ReadsEverySection) {
    const RuleFile rule = sampleRule();
    EXPECT_EQ(rule.id, "GD901");
    EXPECT_EQ(rule.slug, "sample-gap");
    EXPECT_EQ(rule.group, "performance");
    EXPECT_EQ(rule.severity, Severity::warning);
    EXPECT_EQ(rule.impact, Impact::slow);
    EXPECT_EQ(rule.confidence, Confidence::high);
    EXPECT_EQ(rule.root, RootKind::step);
    ASSERT_EQ(rule.needs.size(), 2U);
    EXPECT_EQ(rule.needs[0].sources, (std::vector<std::string>{"graph_trace", "node_activity"}));
    EXPECT_EQ(rule.needs[0].atLeast, CoverageState::partial);
    EXPECT_EQ(rule.needs[1].atLeast, CoverageState::complete);
    ASSERT_NE(rule.param("gap_us"), nullptr);
    EXPECT_EQ(rule.param("gap_us")->value, Value(std::int64_t{500}));
    EXPECT_EQ(rule.why, "The host comes late, or something else does.");
    EXPECT_TRUE(rule.query.starts_with("SELECT process_id"));
    EXPECT_TRUE(rule.query.ends_with(";"));
    EXPECT_EQ(rule.queryLine, 15);
}

TEST(RuleFile, ReadsInlineTests) {
    const RuleFile rule = sampleRule();
    ASSERT_EQ(rule.tests.size(), 3U);
    EXPECT_EQ(rule.tests[0].name, "fires at exactly the threshold");
    ASSERT_EQ(rule.tests[0].expected.size(), 1U);
    EXPECT_EQ(rule.tests[0].expected[0].message, "step: idle 500.0 us before replay 2, mostly host_other");
    const std::pair<std::string, std::string> cause{"cause", "host_other"};
    EXPECT_EQ(rule.tests[0].expected[0].columns[1], cause);
    EXPECT_TRUE(rule.tests[1].expected.empty());
    EXPECT_EQ(rule.tests[1].sqlLine, rule.tests[1].line + 1);
}

TEST(RuleFile, AcceptsWindowsLineEndsAndAMissingLastNewline) {
    std::string text;
    for (const char c : sampleText())
        text += c == '\n' ? std::string("\r\n") : std::string(1, c);
    EXPECT_EQ(errorOf(text), "no error");
    text.resize(text.size() - 2);
    EXPECT_EQ(errorOf(text), "no error");
}

TEST(RuleFile, NamesFileLineAndExpectation) {
    const std::string p = kSamplePath;
    EXPECT_EQ(errorOf(""), p + ":1: expected \"-- rule: ID short-name\", found an empty file");
    EXPECT_EQ(errorOf("SELECT 1;"), p + ":1: expected \"-- rule: ID short-name\" before the query");
    EXPECT_EQ(
        errorOf("-- title: x\n"), p + ":1: expected \"-- rule: ID short-name\" first, found section title");
    EXPECT_EQ(errorOf("-- just a note\n"),
        p
            + ":1: expected \"-- word: value\", where word is one of rule, title, severity, impact, "
              "confidence, root, "
              "parent, needs, param NAME, why, fix, source, message, test, expect");
    EXPECT_EQ(errorAfter("-- title: Sample", "-- titel: Sample"),
        p
            + ":3: unknown section \"titel\"; expected one of rule, title, severity, impact, confidence, "
              "root, parent, "
              "needs, param NAME, why, fix, source, message, test, expect");
    EXPECT_EQ(
        errorOf("--   more\n"), p + ":1: this line continues nothing; expected \"-- word: value\" before it");
    EXPECT_EQ(errorAfter("severity: warning", "severity: fatal"),
        p + ":4: severity must be one of info, warning, error, found \"fatal\"");
    EXPECT_THAT(errorAfter("impact: slow", "impact: bad"), HasSubstr(":5: impact must be one of none, slow"));
    EXPECT_THAT(
        errorAfter("confidence: high", "confidence: sure"), HasSubstr(":6: confidence must be one of"));
    EXPECT_THAT(errorAfter("root: step", "root: stream"), HasSubstr(":7: root must be one of"));
    EXPECT_THAT(
        errorAfter("-- root: step", "-- parent: GD901"), HasSubstr(":7: parent must be the id of another"));
    EXPECT_THAT(errorAfter("-- why: The", "-- why:\n-- fix: The"), HasSubstr(":10: section why is empty"));
    EXPECT_THAT(errorAfter("-- source: none, a sample", "-- title: again"),
        HasSubstr(":13: section title appears twice"));
    EXPECT_EQ(errorAfter("-- source: none, a sample\n", ""), p + ":1: section source is missing");
}

TEST(RuleFile, IdMustBeWellFormedAndMatchTheFileName) {
    EXPECT_THAT(errorAfter("rule: GD901 sample-gap", "rule: GD902 sample-gap"),
        HasSubstr(
            ":2: the file must be named GD902-sample-gap.sql after its rule, not GD901-sample-gap.sql"));
    for (const char* wrong : {"GD901", "gd901 sample-gap", "901 sample-gap", "GD9 sample-gap",
             "GD901 Sample Gap", "GD901 ../x", "GD901 -x"})
        EXPECT_THAT(errorAfter("GD901 sample-gap", wrong), HasSubstr(":2: expected an id and a short name"))
            << wrong;
}

TEST(RuleFile, RefusesWrongNeeds) {
    for (const char* wrong :
        {"graph_trace", "graph_trace>=all", "graph_trace>partial", "callbacks>=complete,", ">=partial"})
        EXPECT_THAT(
            errorAfter("graph_trace|node_activity>=partial, callbacks>=complete", wrong), HasSubstr(":8: "))
            << wrong;
    EXPECT_THAT(errorAfter("graph_trace|", "graf_trace|"), HasSubstr(":8: unknown source \"graf_trace\""));
}

TEST(RuleFile, ChecksParametersBothWays) {
    EXPECT_THAT(errorAfter(">= :gap_us", ">= :gap"),
        HasSubstr("the query uses :gap, but there is no \"-- param gap: VALUE\""));
    EXPECT_THAT(errorAfter(">= :gap_us", ">= ?1"), HasSubstr("expected parameters as :name"));
    EXPECT_THAT(errorAfter(">= :gap_us", ">= $gap_us"), HasSubstr("expected parameters as :name"));
    EXPECT_THAT(errorAfter("-- why:", "-- param unused_ms: 3\n-- why:"),
        HasSubstr(":10: parameter unused_ms is used neither in the query nor in the message"));
    EXPECT_THAT(errorAfter("-- why:", "-- param gap_us: 3\n-- why:"),
        HasSubstr("section param gap_us appears twice"));
    EXPECT_THAT(errorAfter("-- why:", "-- param a-b: 3\n-- why:"), HasSubstr("found the name \"a-b\""));
    // Text and comments are no parameters.
    EXPECT_EQ(errorAfter("'idle'", "':other' /* :note */"), "no error");
}

TEST(RuleFile, RefusesWrongMessages) {
    EXPECT_THAT(errorAfter("{cause}", "{cause"), HasSubstr(":14: message, character "));
    EXPECT_THAT(errorAfter("{cause}", "{cause:4}"), HasSubstr("unknown format \"4\""));
}

TEST(RuleFile, RefusesSectionsInTheWrongPlace) {
    EXPECT_THAT(errorAfter("-- why:", "-- test: x\n-- why:"),
        HasSubstr(":10: section test must come after the query"));
    EXPECT_THAT(errorAfter("-- test: fires", "-- fix: late\n-- test: fires"),
        HasSubstr("section fix must come before"));
    EXPECT_THAT(errorAfter("-- test: fires at exactly", "-- expect: none\n-- test: fires at exactly"),
        HasSubstr("expect: before the first test:"));
    EXPECT_THAT(errorAfter("-- expect: none\n-- test: quiet where", "-- test: quiet where"),
        HasSubstr("test \"quiet just below the threshold\" has no expect: before the next test"));
    EXPECT_THAT(
        errorAfter("-- expect: none\n-- test: quiet where", "-- expect: none\n-- expect: x\n-- test: quiet"),
        HasSubstr("\"expect: none\" must be the only expect:"));
    EXPECT_THAT(
        errorAfter("-- expect: none\n-- test: quiet where", "-- expect: none\nSELECT 1;\n-- test: quiet"),
        HasSubstr("expected \"-- expect:\" or \"-- test:\" after an expect: section"));
    EXPECT_THAT(
        errorAfter("| cost_ns=500000", "| cost 500000"), HasSubstr("after the last \" | \" of expect:"));
    EXPECT_THAT(
        errorAfter("'host_other' severity", "'host_other severity"), HasSubstr("after the last \" | \""));
    const std::string text = sampleText();
    EXPECT_THAT(
        errorOf(text.substr(0, text.find("SELECT"))), HasSubstr("expected a SELECT after the sections"));
    EXPECT_THAT(errorOf(text.substr(0, text.rfind("-- expect:"))), HasSubstr("has no expect:"));
}

TEST(RuleFile, SurvivesHostileBytes) {
    EXPECT_THAT(errorOf(sampleText() + std::string(1, '\0')), HasSubstr("found a NUL byte"));
    const std::string text = sampleText();
    // Every truncation and a bit flip at every byte: an error or a rule, never a crash.
    for (std::size_t i = 0; i < text.size(); ++i) {
        static_cast<void>(parseRuleFile(text.substr(0, i), kSamplePath));
        std::string flipped = text;
        flipped[i] = static_cast<char>(flipped[i] ^ 0x20);
        static_cast<void>(parseRuleFile(flipped, kSamplePath));
        flipped[i] = static_cast<char>(text[i] ^ 0x80);
        static_cast<void>(parseRuleFile(flipped, kSamplePath));
    }
}

TEST(RuleFile, LoadNamesWhatCannotBeRead) {
    EXPECT_THAT(loadRuleFile("/nonexistent/GD901-x.sql").error().message,
        HasSubstr("cannot open the rule /nonexistent"));
    EXPECT_THAT(loadRuleFile("/").error().message, HasSubstr("is not a regular file"));
}

} // namespace
} // namespace gd::rules
