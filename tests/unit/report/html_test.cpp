// SPDX-License-Identifier: Apache-2.0
// The HTML report: one well-formed file that asks for no other, whatever the job calls its kernels.
#include "analyzer/base/text.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/writer.h"
#include "tests/unit/report/sample_report.h"
#include "tests/unit/report/xml_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace gd::report;
using gd::test::hostileTexts;
using gd::test::sampleReport;
using testing::HasSubstr;
using testing::Not;

namespace {

// The page as XML: the DOCTYPE makes way for a declaration.
gd::test::XmlCheck parsed(const std::string& page) {
    const std::string doctype = "<!DOCTYPE html>\n";
    EXPECT_TRUE(page.starts_with(doctype));
    return gd::test::checkXml(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + page.substr(std::min(doctype.size(), page.size())));
}

std::size_t countOf(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++count;
    return count;
}

class HostileHtml : public testing::TestWithParam<std::string> { };

TEST_P(HostileHtml, IsWellFormedAndHoldsOnlyOurElements) {
    const std::string page = writeHtml(sampleReport(GetParam()));
    const gd::test::XmlCheck found = parsed(page);
    EXPECT_EQ(found.problem, "");
    const std::set<std::string> ours = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3",
        "p", "div", "dl", "dt", "dd", "ol", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "span",
        "strong", "code", "a", "details", "summary"};
    for (const auto& [element, count] : found.elements)
        EXPECT_TRUE(ours.contains(element)) << element;
    EXPECT_EQ(found.count("details"), 2);
    // An element of HTML that is not void would not end at "/>".
    EXPECT_EQ(countOf(page, "/>"), static_cast<std::size_t>(found.count("meta")));
    for (const std::string_view line : gd::base::split(page, '\n'))
        EXPECT_EQ(gd::base::escapeForTerminal(line), line);
}

TEST_P(HostileHtml, HasTheShapeOfAHarmlessOne) {
    if (gd::base::trim(GetParam()).empty())
        return; // parts without text are left out
    EXPECT_EQ(parsed(writeHtml(sampleReport(GetParam()))).elements,
        parsed(writeHtml(sampleReport("plain"))).elements);
}

TEST_P(HostileHtml, AsksForNothing) {
    const std::string page = writeHtml(sampleReport(GetParam()));
    EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; style-src"));
    // Attributes stand inside tags; text with the same letters has its quotes escaped.
    EXPECT_EQ(countOf(page, "href=\""), countOf(page, "href=\"#finding-"));
    for (const char* part : {" src=\"", " style=\"", " onclick=\"", " onload=\"", " action=\""})
        EXPECT_THAT(page, Not(HasSubstr(part)));
    const std::string style = page.substr(0, page.find("</style>"));
    EXPECT_THAT(style, Not(HasSubstr("url(")));
    EXPECT_THAT(style, Not(HasSubstr("@import")));
    EXPECT_THAT(style, Not(HasSubstr("http:")));
    EXPECT_THAT(style, Not(HasSubstr("https:")));
}

INSTANTIATE_TEST_SUITE_P(All, HostileHtml, testing::ValuesIn(hostileTexts()));

TEST(HtmlReport, SaysWhatTheOthersSay) {
    const Report report = sampleReport("words");
    const std::string page = writeHtml(report);
    for (const std::string& text : {countText(report), stepsText(report), runText(report),
             costText(report, report.findings[0]), whereText(report.findings[0]),
             whenText(report.findings[0]), placeText(report.findings[0].locations[0]), overheadText(report),
             issueText(report, report.issues[0]), std::string("api_call 12"), std::string("1.23 us"),
             std::string("prefers-color-scheme: dark"), std::string("Fix this first:")})
        EXPECT_THAT(page, HasSubstr(text));
    EXPECT_LT(page.find("id=\"finding-1\""), page.find("id=\"finding-2\""));
    EXPECT_LT(page.find("id=\"finding-2\""), page.find("<h2>Vital signs</h2>"));
    EXPECT_THAT(page, HasSubstr("<span class=\"look\">look</span>"));
}

TEST(HtmlReport, SaysThatThereIsNothing) {
    const std::string page = writeHtml(Report{});
    EXPECT_EQ(parsed(page).problem, "");
    EXPECT_THAT(page, HasSubstr("<h1>GraphDoctor: no findings</h1>"));
    EXPECT_THAT(page, HasSubstr("Not measured: no process of this trace used graphs or a device."));
    EXPECT_THAT(page, Not(HasSubstr("Fix this first")));
}

TEST(HtmlReport, OpensTheFirstFindingsOfAThousand) {
    Report report = sampleReport("words");
    report.findings.resize(1000, report.findings[1]);
    const std::string page = writeHtml(report);
    EXPECT_EQ(parsed(page).count("details"), 1000);
    EXPECT_EQ(countOf(page, " open=\"open\""), 5u);
    EXPECT_THAT(page, HasSubstr("id=\"finding-1000\""));
}

} // namespace
