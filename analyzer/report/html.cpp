// SPDX-License-Identifier: Apache-2.0
// One file that needs nothing else: no script, no picture, no font and no request, which its own security
// policy forbids besides. It can be opened from a pipeline's artefacts and sent to a colleague.
#include "analyzer/report/html_page.h"
#include "analyzer/report/html_style.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace gd::report {
namespace {

constexpr std::size_t kOpenFindings = 5; // the others open by a click

std::string titleText(const Report& report) {
    return report.findings.empty() ? std::string("GraphDoctor: no findings")
                                   : fmt::format("GraphDoctor: {}", countText(report));
}

std::string anchorOf(std::size_t finding) {
    return fmt::format("finding-{}", finding + 1);
}

void writeHead(HtmlPage& page, const Report& report) {
    page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src 'unsafe-inline'\"/>\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    page.element("title", titleText(report)).lineBreak();
    page.raw("<style>").raw(kHtmlStyle).raw("</style>\n</head>\n<body>\n");
}

// What to fix first and where, for who looks at nothing else.
void writeTop(HtmlPage& page, const Report& report) {
    page.element("h1", titleText(report)).lineBreak();
    if (!report.findings.empty() && report.findings.front().severity > rules::Severity::info) {
        const rules::Finding& first = report.findings.front();
        page.open("div", "first").element("strong", "Fix this first:").text(" ");
        page.openWith("a", {{"href", "#" + anchorOf(0)}})
            .prose(fmt::format("{} {}", first.rule, first.title))
            .close("a");
        if (!first.locations.empty())
            page.text(" at ").code(placeText(first.locations.front()));
        page.close("div").lineBreak();
    }
    page.open("dl").lineBreak();
    page.term("Trace", report.tracePath);
    page.term("Command", report.commandLine);
    page.term("Run", runText(report));
    page.term("Level", report.level);
    page.term("Steps", stepsText(report));
    page.term("Shown", filterText(report));
    page.term("GraphDoctor", report.toolVersion);
    page.close("dl").lineBreak();
}

void writeIssues(HtmlPage& page, const Report& report) {
    if (report.issues.empty())
        return;
    page.element("h2", "What this trace lacks").lineBreak().open("ul").lineBreak();
    for (const Issue& issue : report.issues)
        page.element("li", issueText(report, issue)).lineBreak();
    page.close("ul").lineBreak();
}

void writeHeadings(HtmlPage& page, std::initializer_list<std::string_view> names) {
    page.open("thead").open("tr");
    for (const std::string_view name : names)
        page.openWith("th", {{"scope", "col"}}).text(name).close("th");
    page.close("tr").close("thead").lineBreak();
}

void writeValue(HtmlPage& page, const VitalSign& sign, const VitalValue& value) {
    page.open("td", "value").element("span", valueText(sign, value), value.verdict == "ok" ? "good" : "");
    if (value.verdict == "look")
        page.text(" ").element("span", "look", "look");
    page.close("td");
}

// The job's row, then those of its processes where there are several.
void writeVital(HtmlPage& page, const Report& report, const VitalSign& sign) {
    const bool hasJob = std::any_of(
        sign.values.begin(), sign.values.end(), [](const VitalValue& v) { return v.processId == 0; });
    bool isFirst = true;
    for (const VitalValue& value : sign.values) {
        if (report.processes.size() <= 1 && hasJob && value.processId != 0)
            continue;
        page.open("tr").openWith("th", {{"scope", "row"}});
        page.text(isFirst ? vitalLabel(sign.name) : std::string()).close("th");
        page.element("td", value.processId == 0 ? "job" : processText(report, value.processId));
        writeValue(page, sign, value);
        page.element("td", isFirst ? sign.healthy : std::string());
        page.element("td", value.state == "complete" ? std::string() : value.reason, "soft");
        page.close("tr").lineBreak();
        isFirst = false;
    }
}

void writeVitals(HtmlPage& page, const Report& report) {
    page.element("h2", "Vital signs").lineBreak();
    if (report.vitals.empty()) {
        page.element("p", "Not measured: no process of this trace used graphs or a device.").lineBreak();
        return;
    }
    page.open("div", "scroll").open("table").lineBreak();
    writeHeadings(page, {"Figure", "Who", "Value", "Healthy", "Not complete because"});
    page.open("tbody").lineBreak();
    std::string group;
    for (const VitalSign& sign : report.vitals) {
        if (const std::string own = vitalGroup(sign.name); own != group) {
            page.open("tr", "group").openWith("th", {{"colspan", "5"}}).text(own).close("th").close("tr");
            page.lineBreak();
            group = own;
        }
        writeVital(page, report, sign);
    }
    page.close("tbody").close("table").close("div").lineBreak();
}

void writePlaces(HtmlPage& page, const rules::Finding& finding) {
    if (finding.locations.empty()) {
        page.term("At",
            finding.locationReason.empty() ? "no source line is known"
                                           : fmt::format("unknown: {}", finding.locationReason));
        return;
    }
    page.element("dt", "At").open("dd").code(placeText(finding.locations.front())).close("dd").lineBreak();
    const auto list = [&](std::string_view term, bool inside) {
        const auto isOne = [inside](const rules::Location& location) { return location.inside == inside; };
        if (std::none_of(finding.locations.begin() + 1, finding.locations.end(), isOne))
            return;
        page.element("dt", term).open("dd").open("ol");
        for (std::size_t i = 1; i < finding.locations.size(); ++i) {
            if (isOne(finding.locations[i]))
                page.open("li").code(placeText(finding.locations[i])).close("li");
        }
        page.close("ol").close("dd").lineBreak();
    };
    list("Inside", true);
    list("Called from", false);
}

void writeEvidence(HtmlPage& page, const rules::Finding& finding) {
    if (finding.evidence.empty())
        return;
    page.open("div", "scroll").open("table").lineBreak();
    writeHeadings(page, {"Evidence", "Value", "Row of the trace"});
    page.open("tbody").lineBreak();
    for (const rules::Evidence& item : finding.evidence) {
        page.open("tr").openWith("th", {{"scope", "row"}}).prose(item.label).close("th");
        page.element("td", valueText(item.value, item.unit));
        page.element("td", rowText(item)).close("tr").lineBreak();
    }
    page.close("tbody").close("table").close("div").lineBreak();
}

void writeFolded(HtmlPage& page, const rules::Finding& finding) {
    if (finding.folded.empty())
        return;
    page.element("h3", "Same cause, gone when this is fixed").lineBreak().open("ul").lineBreak();
    for (const rules::Finding& folded : finding.folded)
        page.element("li", fmt::format("{} {}", folded.rule, folded.message)).lineBreak();
    page.close("ul").lineBreak();
}

void writeFinding(HtmlPage& page, const Report& report, std::size_t number) {
    const rules::Finding& finding = report.findings[number];
    const std::string kind = fmt::format("finding {}", rules::name(finding.severity));
    page.openWith("details",
        {{"id", anchorOf(number)}, {"class", kind}, {"open", number < kOpenFindings ? "open" : ""}});
    page.open("summary").text(finding.rule).text(" ");
    page.element("span", rules::name(finding.severity), "severity").text(" · ");
    page.prose(finding.title).close("summary").lineBreak();
    page.element("p", finding.message).lineBreak().open("dl").lineBreak();
    writePlaces(page, finding);
    page.term("Who", whereText(finding));
    page.term("When", whenText(finding));
    page.term("Cost", costText(report, finding));
    page.term("Confidence", rules::name(finding.confidence));
    page.term("Why", finding.why);
    page.term("Fix", finding.fix);
    page.close("dl").lineBreak();
    writeEvidence(page, finding);
    writeFolded(page, finding);
    page.close("details").lineBreak();
}

void writeRules(HtmlPage& page, const Report& report) {
    page.element("h2", "Rules").lineBreak().open("div", "scroll").open("table").lineBreak();
    writeHeadings(page, {"Rule", "Outcome", "Reason"});
    page.open("tbody").lineBreak();
    for (const rules::RuleOutcome& rule : report.rules) {
        page.open("tr").openWith("th", {{"scope", "row"}});
        page.prose(fmt::format("{} {}", rule.id, rule.title)).close("th");
        page.element("td", outcomeText(rule), "value").element("td", rule.reason).close("tr").lineBreak();
    }
    page.close("tbody").close("table").close("div").lineBreak();
}

} // namespace

std::string writeHtml(const Report& report) {
    HtmlPage page;
    writeHead(page, report);
    writeTop(page, report);
    writeIssues(page, report);
    if (!report.findings.empty())
        page.element("h2", fmt::format("Findings: {}", countText(report))).lineBreak();
    for (std::size_t i = 0; i < report.findings.size(); ++i)
        writeFinding(page, report, i);
    writeVitals(page, report);
    writeRules(page, report);
    page.element("p", overheadText(report), "soft").raw("\n</body>\n</html>\n");
    return page.take();
}

} // namespace gd::report
