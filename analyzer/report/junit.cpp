// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/escape.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace gd::report {
namespace {

struct Case {
    const rules::RuleOutcome* rule = nullptr;
    std::vector<const rules::Finding*> heads;
    std::vector<const rules::Finding*> foldedUnder; // heads that explain this rule's findings
};

bool isFailure(const rules::Finding& finding, const WriteOptions& options) {
    return options.failOn && finding.severity >= *options.failOn;
}

std::string details(const Report& report, const rules::Finding& finding) {
    std::string out = finding.message;
    const auto add = [&](std::string_view label, const std::string& text) {
        if (!text.empty())
            out += fmt::format("\n{}: {}", label, text);
    };
    for (const rules::Location& location : finding.locations)
        add(location.inside ? "inside" : "at", placeText(location));
    add("where", whereText(finding));
    add("when", whenText(finding));
    add("cost", costText(report, finding));
    for (const rules::Evidence& evidence : finding.evidence)
        add(evidence.label, valueText(evidence.value, evidence.unit));
    add("why", finding.why);
    add("fix", finding.fix);
    for (const rules::Finding& folded : finding.folded)
        add("same cause", fmt::format("{} {}", folded.rule, folded.message));
    return out;
}

// Our own line breaks stay, those of the job do not: each line is escaped alone.
std::string xmlLines(const std::string& text) {
    std::string out;
    std::size_t at = 0;
    while (true) {
        const std::size_t end = text.find('\n', at);
        out += xml(std::string_view(text).substr(at, end - at));
        if (end == std::string::npos)
            return out;
        out += '\n';
        at = end + 1;
    }
}

std::string caseXml(const Report& report, const Case& test, const WriteOptions& options) {
    std::string body;
    std::string output;
    for (const rules::Finding* finding : test.heads) {
        const std::string text = xmlLines(details(report, *finding));
        if (isFailure(*finding, options))
            body += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                rules::name(finding->severity), xml(finding->message), text);
        else
            output += fmt::format("{}: {}\n", rules::name(finding->severity), text);
    }
    for (const rules::Finding* head : test.foldedUnder)
        output += fmt::format("same cause as {}: {}\n", xml(head->rule), xml(head->message));
    const bool unknown = test.rule->outcome == rules::Outcome::notEvaluated;
    if (unknown && test.rule->failed)
        body += fmt::format("      <error message=\"{}\"/>\n", xml(test.rule->reason));
    else if (unknown)
        body += fmt::format("      <skipped message=\"not evaluated: {}\"/>\n", xml(test.rule->reason));
    if (!output.empty())
        body += fmt::format("      <system-out>{}</system-out>\n", output);
    const std::string open = fmt::format("    <testcase classname=\"graphdoctor.{}\" name=\"{}\" time=\"0\"",
        xml(test.rule->id), xml(fmt::format("{} {}", test.rule->id, test.rule->title)));
    return body.empty() ? open + "/>\n" : open + ">\n" + body + "    </testcase>\n";
}

std::vector<Case> collect(const Report& report) {
    std::vector<Case> cases;
    for (const rules::RuleOutcome& rule : report.rules)
        cases.push_back({&rule, {}, {}});
    const auto find = [&](const std::string& id) {
        return std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.rule->id == id; });
    };
    for (const rules::Finding& finding : report.findings) {
        if (const auto place = find(finding.rule); place != cases.end())
            place->heads.push_back(&finding);
        for (const rules::Finding& folded : finding.folded) {
            const auto place = find(folded.rule);
            const bool told = place == cases.end()
                || (!place->foldedUnder.empty() && place->foldedUnder.back() == &finding);
            if (!told)
                place->foldedUnder.push_back(&finding);
        }
    }
    return cases;
}

} // namespace

std::string writeJunit(const Report& report, const WriteOptions& options) {
    const std::vector<Case> cases = collect(report);
    std::size_t failures = 0;
    std::size_t errors = 0;
    std::size_t skipped = 0;
    std::string body;
    for (const Case& test : cases) {
        failures += std::any_of(test.heads.begin(), test.heads.end(),
                        [&](const auto* f) { return isFailure(*f, options); })
            ? 1
            : 0;
        if (test.rule->outcome == rules::Outcome::notEvaluated)
            ++(test.rule->failed ? errors : skipped);
        body += caseXml(report, test, options);
    }
    const std::string counts = fmt::format(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", cases.size(), failures, errors, skipped);
    std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    out += fmt::format("<testsuites name=\"graphdoctor\" {}>\n", counts);
    out += fmt::format("  <testsuite name=\"{}\" {} time=\"0\">\n", xml(report.tracePath), counts);
    out += body;
    std::string notes;
    for (const Issue& issue : report.issues)
        notes += fmt::format("{}: {}\n", xml(issue.code), xml(issue.detail));
    if (!notes.empty())
        out += fmt::format("    <system-err>{}</system-err>\n", notes);
    return out + "  </testsuite>\n</testsuites>\n";
}

} // namespace gd::report
