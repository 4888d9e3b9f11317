// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/writer.h"

#include "analyzer/base/text.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/wrap.h"
#include "tests/support/test_names.h"
#include "tests/unit/report/sample_report.h"
#include "tests/unit/report/schema_check.h"
#include "tests/unit/report/xml_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

using namespace gd::report;
using gd::test::hostileTexts;
using gd::test::sampleReport;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> out;
    for (const std::string_view line : gd::base::split(text, '\n'))
        out.emplace_back(line);
    out.pop_back(); // after the last line break
    return out;
}

// Neither control characters nor broken UTF-8.
bool isClean(const std::string& text) {
    for (const std::string& line : lines(text)) {
        if (gd::base::escapeForTerminal(line) != line)
            return false;
    }
    return true;
}

nlohmann::json reportSchema() {
    std::ifstream file(GD_REPORT_SCHEMA);
    return nlohmann::json::parse(file);
}

constexpr Format kFormats[] = {
    Format::text, Format::json, Format::markdown, Format::html, Format::sarif, Format::junit, Format::github};

class HostileText : public testing::TestWithParam<std::string> { };

TEST_P(HostileText, JsonParsesAndFollowsTheSchema) {
    const std::string out = writeJson(sampleReport(GetParam()));
    EXPECT_TRUE(isClean(out));
    const auto json = nlohmann::json::parse(out);
    EXPECT_THAT(gd::test::schemaViolations(reportSchema(), json), IsEmpty());
}

TEST_P(HostileText, JsonKeepsWellFormedTextUnchanged) {
    const std::string& text = GetParam();
    for (std::string_view rest = text; !rest.empty();) {
        const auto c = gd::base::decodeUtf8(rest);
        if (c.length == 0)
            return; // bytes are replaced, see JsonParsesAndFollowsTheSchema
        rest.remove_prefix(c.length);
    }
    EXPECT_EQ(nlohmann::json::parse(writeJson(sampleReport(text)))["findings"][0]["message"], text);
}

TEST_P(HostileText, SarifParsesWithOneResultAFinding) {
    const std::string out = writeSarif(sampleReport(GetParam()));
    EXPECT_TRUE(isClean(out));
    const auto json = nlohmann::json::parse(out);
    const auto& results = json["runs"][0]["results"];
    ASSERT_EQ(results.size(), 2u);
    for (const auto& result : results) {
        const std::size_t index = result["ruleIndex"];
        EXPECT_EQ(json["runs"][0]["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
    if (GetParam().empty())
        return;
    const std::string uri = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    for (const char c : uri)
        EXPECT_TRUE(c > ' ' && c < 0x7f && c != '<' && c != '"' && c != '\\') << uri;
}

TEST_P(HostileText, JunitIsWellFormedXml) {
    const std::string out = writeJunit(sampleReport(GetParam()), {});
    EXPECT_TRUE(isClean(out));
    const gd::test::XmlCheck xml = gd::test::checkXml(out);
    EXPECT_EQ(xml.problem, "");
    EXPECT_EQ(xml.count("testcase"), 6);
    EXPECT_EQ(xml.count("failure"), 1);
    EXPECT_EQ(xml.count("skipped"), 1);
    EXPECT_EQ(xml.count("error"), 1);
}

TEST_P(HostileText, GithubGivesOneCommandALine) {
    const std::vector<std::string> out = lines(writeGithub(sampleReport(GetParam())));
    ASSERT_EQ(out.size(), 3u); // two findings, one issue worse than a note
    EXPECT_TRUE(out[0].starts_with("::error "));
    EXPECT_TRUE(out[1].starts_with("::warning "));
    EXPECT_TRUE(out[2].starts_with("::warning "));
    for (const std::string& line : out) {
        EXPECT_EQ(gd::base::escapeForTerminal(line), line);
        // Properties end at the first "::" after the command: theirs may not hold one.
        const std::string properties = line.substr(2, line.find("::", 2) - 2);
        EXPECT_THAT(properties, HasSubstr("title="));
        EXPECT_THAT(line, Not(HasSubstr("##[")));
    }
}

TEST_P(HostileText, MarkdownKeepsItsShape) {
    const auto shape = [](const std::string& text) {
        std::vector<std::string> out;
        for (const std::string& line : lines(writeMarkdown(sampleReport(text)))) {
            std::size_t pipes = 0;
            for (std::size_t i = 0; i < line.size(); ++i)
                pipes += line[i] == '|' && (i == 0 || line[i - 1] != '\\') ? 1 : 0;
            out.push_back(line.substr(0, line.starts_with('#') ? 3 : 1) + ' ' + std::to_string(pipes));
        }
        return out;
    };
    const std::string out = writeMarkdown(sampleReport(GetParam()));
    EXPECT_TRUE(isClean(out));
    if (gd::base::trim(GetParam()).empty())
        return; // parts without text are left out
    std::vector<std::string> mine = shape(GetParam());
    std::vector<std::string> plain = shape("plain");
    // Lines that are nothing but text may begin with any harmless character.
    ASSERT_EQ(mine.size(), plain.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
        const bool structural = std::string_view("#|->").find(plain[i][0]) != std::string_view::npos;
        if (structural)
            EXPECT_EQ(mine[i], plain[i]) << "line " << i;
        else
            EXPECT_EQ(std::string_view("#|->`").find(mine[i][0]), std::string_view::npos) << "line " << i;
    }
    for (const std::string& line : lines(out)) {
        if (line.starts_with("- Trace:") || line.starts_with("- Command:") || line.starts_with("- at "))
            continue; // code spans
        EXPECT_THAT(line, Not(HasSubstr("<")));
        EXPECT_THAT(line, Not(testing::ContainsRegex("[^\\\\]\\]\\(")));
        EXPECT_THAT(line, Not(HasSubstr("@someone")));
    }
}

TEST_P(HostileText, TextStaysInItsColumns) {
    const std::string out = writeText(sampleReport(GetParam()), {});
    EXPECT_TRUE(isClean(out));
    for (const std::string& line : lines(out)) {
        const bool place
            = line.starts_with("  at ") || line.starts_with("  from ") || line.starts_with("  trace ");
        EXPECT_TRUE(place || columns(line) <= 80) << line;
        EXPECT_FALSE(gd::base::trim(line).starts_with("::")) << line;
        EXPECT_THAT(line, Not(HasSubstr("##[")));
    }
}

INSTANTIATE_TEST_SUITE_P(All, HostileText, testing::ValuesIn(hostileTexts()), [](const auto& one) {
    return "Text" + std::to_string(one.index) + "_" + gd::test::testName(one.param).substr(0, 20);
});

TEST(Writer, IsDeterministic) {
    for (const Format format : kFormats)
        EXPECT_EQ(write(format, sampleReport("a b"), {}), write(format, sampleReport("a b"), {}));
}

TEST(Writer, KnowsItsFormats) {
    for (const Format format : kFormats)
        EXPECT_EQ(formatFrom(name(format)), format);
    EXPECT_EQ(formatFrom("pdf"), std::nullopt);
}

TEST(TextReport, SaysFirstWhatToFixAndWhere) {
    const std::string out = writeText(sampleReport("words"), {});
    const auto first = sampleReport("words").findings.front();
    const std::string top = out.substr(0, out.find("\n  trace "));
    EXPECT_THAT(top, HasSubstr(fmt::format("fix first {}", first.rule)));
    EXPECT_THAT(top, HasSubstr(placeText(first.locations.front())));
    Report fine = sampleReport("words");
    std::erase_if(fine.findings, [](const auto& f) { return f.severity > gd::rules::Severity::info; });
    EXPECT_THAT(writeText(fine, {}), Not(HasSubstr("fix first")));
}

TEST(TextReport, PutsVitalSignsThenTheFirstFindingThenUnevaluatedRules) {
    const std::string out = writeText(sampleReport("words"), {});
    const auto at = [&](const char* what) { return out.find(what); };
    EXPECT_LT(at("What this trace lacks"), at("Vital signs"));
    EXPECT_LT(at("Vital signs"), at("\nGD101 error"));
    EXPECT_LT(at("GD101 error"), at("GD301 warning"));
    EXPECT_LT(at("GD301 warning"), at("GD501     not evaluated"));
    EXPECT_NE(at("Overhead of recording: not measured, because"), std::string::npos);
}

TEST(TextReport, IsShortWhenThereWasNoRuntime) {
    Report report = sampleReport("words");
    report.runtimeSeen = false;
    const std::string out = writeText(report, {});
    EXPECT_THAT(out, HasSubstr("Nothing to report: "));
    EXPECT_THAT(out, Not(HasSubstr("Vital signs")));
}

TEST(TextReport, ShortensCallersButNotThePlaceToChange) {
    Report report = sampleReport("words");
    const std::string folder(90, 'd');
    report.findings[0].locations = {{"/" + folder + "/train.cpp", 42, "step", "trainer", "c++"},
        {"/" + folder + "/src/layer.cpp", 7, "void ns::Layer<float>::forward(int)", "trainer", "c++"}};
    const std::string out = writeText(report, {});
    EXPECT_THAT(out, HasSubstr("  at        /" + folder + "/train.cpp:42 in step\n"));
    EXPECT_THAT(out, HasSubstr("  from      …/src/layer.cpp:7 in ns::Layer<float>::forward\n"));
}

TEST(TextReport, ListsOneNoteOfAKindAndCountsTheRest) {
    Report report = sampleReport("words");
    report.issues.assign(9, {std::nullopt, "info", "module_not_readable", 1, "no file"});
    const std::string out = writeText(report, {});
    EXPECT_THAT(out, HasSubstr("  info: no file\n  info: and 8 more like it (module_not_readable;"));
    report.issues.assign(3, {std::nullopt, "error", "damaged", 1, "broken"});
    EXPECT_THAT(writeText(report, {}), HasSubstr("  error: broken\n  error: broken\n  error: broken\n"));
}

TEST(TextReport, HasColourOnlyWhenAsked) {
    EXPECT_THAT(writeText(sampleReport("words"), {}), Not(HasSubstr("\x1b")));
    EXPECT_THAT(writeText(sampleReport("words"), {.color = true}), HasSubstr("\x1b[1;31mGD101"));
}

TEST(TextReport, ShowsAnUnmeasuredFigureAsADashWithItsReason) {
    Report report = sampleReport("words");
    report.vitals
        = {{"memory.peak_bytes", "bytes", "", {{0, {}, {}, "", "absent", "memory was off", "none"}}}};
    EXPECT_THAT(writeText(report, {}), HasSubstr("Memory: – not measured: memory was off"));
}

TEST(TextReport, SaysOnceWhyPartOfAGroupIsMissing) {
    Report report = sampleReport("words");
    report.vitals
        = {{"memory.peak_bytes", "bytes", "", {{0, {}, 4096.0, "", "partial", "no window", "none"}}},
            {"memory.jump_ratio", "ratio", "", {{0, {}, {}, "", "partial", "no window", "none"}}}};
    const std::string out = writeText(report, {});
    EXPECT_THAT(out, HasSubstr("  Memory (in part: no window)\n    peak                      4.00 KiB\n"));
    EXPECT_THAT(out, Not(HasSubstr("jump")));
    report.vitals[1].values[0] = {0, {}, 0.5, "", "partial", "one step", "none"};
    EXPECT_THAT(writeText(report, {}),
        HasSubstr("4.00 KiB  (no window)\n    jump                      50.0 %  (one step)"));
}

TEST(JunitReport, FailsOnlyAtTheThreshold) {
    const auto failures = [](std::optional<gd::rules::Severity> failOn) {
        return gd::test::checkXml(writeJunit(sampleReport("x"), {.color = false, .failOn = failOn}))
            .count("failure");
    };
    EXPECT_EQ(failures(gd::rules::Severity::warning), 2);
    EXPECT_EQ(failures(gd::rules::Severity::error), 1);
    EXPECT_EQ(failures(std::nullopt), 0);
}

TEST(SarifReport, FingerprintIgnoresLinesTimesAndPaths) {
    const auto fingerprint = [](const Report& report) {
        return nlohmann::json::parse(
            writeSarif(report))["runs"][0]["results"][0]["partialFingerprints"]["graphdoctor/v1"];
    };
    Report report = sampleReport("x");
    const auto before = fingerprint(report);
    report.findings[0].locations[0].line = 99;
    report.findings[0].locations[0].file = "elsewhere.cpp";
    report.findings[0].startNs = 5;
    report.findings[0].message = "other words";
    EXPECT_EQ(fingerprint(report), before);
    report.findings[0].locations[0].function = "another";
    EXPECT_NE(fingerprint(report), before);
    report = sampleReport("x");
    report.findings[0].columns[0].second = std::int64_t{3};
    EXPECT_NE(fingerprint(report), before);
}

TEST(GithubReport, SaysThatThereIsNothing) {
    EXPECT_EQ(writeGithub(Report{}), "::notice title=GraphDoctor::No findings in \n");
}

TEST(TextReport, SaysHowSureTheOverheadIs) {
    Report report = sampleReport("words");
    report.overhead.ratio = 1.02;
    report.overhead.recorded = {100, 1'020'000, 1'010'000, 1'030'000};
    report.overhead.bare = {25, 1'000'000, 990'000, 1'010'000};
    // 2 * 1.02 * 0.9285 * sqrt((0.02 / 1.02 / 10)^2 + (0.02 / 5)^2)
    EXPECT_THAT(writeText(report, {}), HasSubstr(": +2.00 ± 0.84 % of the"));
}

} // namespace
