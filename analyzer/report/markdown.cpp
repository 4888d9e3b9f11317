// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/escape.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace gd::report {
namespace {

void appendHeader(std::string& out, const Report& report) {
    out += fmt::format("# GraphDoctor: {}\n\n",
        report.findings.empty() ? std::string("no findings") : markdown(countText(report)));
    out += fmt::format("- Trace: {}\n", markdownCode(report.tracePath));
    if (!report.commandLine.empty())
        out += fmt::format("- Command: {}\n", markdownCode(report.commandLine));
    out += fmt::format("- Run: {}\n", markdown(runText(report)));
    out += fmt::format("- Steps: {}\n", markdown(stepsText(report)));
    if (const std::string filter = filterText(report); !filter.empty())
        out += fmt::format("- {}\n", markdown(filter));
}

void appendIssues(std::string& out, const Report& report) {
    if (report.issues.empty())
        return;
    out += "\n## What this trace lacks\n\n";
    for (const Issue& issue : report.issues)
        out += fmt::format("- **{}**: {}\n", markdown(issue.code), markdown(plainProse(issue.detail)));
}

std::string cell(const VitalSign& sign, const VitalValue& value) {
    std::string text = markdown(valueText(sign, value));
    if (value.verdict == "look")
        text = fmt::format("**{}** (look)", text);
    if (!value.reason.empty() && value.state != "complete")
        text += fmt::format(" ({})", markdown(plainProse(value.reason)));
    return text;
}

void appendVitals(std::string& out, const Report& report) {
    out += "\n## Vital signs\n\n";
    if (report.vitals.empty()) {
        out += "Not measured: no process of this trace used graphs or a device.\n";
        return;
    }
    out += "| Group | Figure | Who | Value | Healthy |\n|---|---|---|---|---|\n";
    const bool oneProcess = report.processes.size() <= 1;
    for (const VitalSign& sign : report.vitals) {
        const bool hasJob = std::any_of(
            sign.values.begin(), sign.values.end(), [](const auto& v) { return v.processId == 0; });
        for (const VitalValue& value : sign.values) {
            if (oneProcess && hasJob && value.processId != 0)
                continue; // says the same as the job's row
            const std::string who = value.processId == 0 ? "job" : processText(report, value.processId);
            out += fmt::format("| {} | {} | {} | {} | {} |\n", markdown(vitalGroup(sign.name)),
                markdown(vitalLabel(sign.name)), markdown(who), cell(sign, value), markdown(sign.healthy));
        }
    }
}

void appendFinding(std::string& out, const Report& report, const rules::Finding& finding) {
    out += fmt::format("\n### {}\n\n{}\n\n", markdown(headline(finding)), markdown(finding.message));
    for (const rules::Location& location : finding.locations)
        out += fmt::format("- {} {}\n", location.inside ? "inside" : "at", markdownCode(placeText(location)));
    if (finding.locations.empty())
        out += fmt::format("- at an unknown place: {}\n",
            markdown(finding.locationReason.empty() ? "no stack was recorded" : finding.locationReason));
    const auto add = [&](std::string_view label, const std::string& text) {
        if (!text.empty())
            out += fmt::format("- {}: {}\n", label, markdown(plainProse(text)));
    };
    add("Who", whereText(finding));
    add("When", whenText(finding));
    add("Cost", costText(report, finding));
    if (!finding.evidence.empty()) {
        out += "\n| Evidence | Value | Row |\n|---|---|---|\n";
        for (const rules::Evidence& item : finding.evidence)
            out += fmt::format("| {} | {} | {} |\n", markdown(item.label),
                markdown(valueText(item.value, item.unit)), markdown(rowText(item)));
    }
    if (!finding.why.empty())
        out += fmt::format("\n**Why.** {}\n", markdown(plainProse(finding.why)));
    if (!finding.fix.empty())
        out += fmt::format("\n**Fix.** {}\n", markdown(plainProse(finding.fix)));
    if (!finding.folded.empty())
        out += "\nSame cause, gone when this is fixed:\n\n";
    for (const rules::Finding& folded : finding.folded)
        out += fmt::format("- {} {}\n", markdown(folded.rule), markdown(folded.message));
}

void appendRules(std::string& out, const Report& report) {
    out += "\n## Rules\n\n| Rule | Outcome | Reason |\n|---|---|---|\n";
    for (const rules::RuleOutcome& rule : report.rules)
        out += fmt::format("| {} {} | {} | {} |\n", markdown(rule.id), markdown(rule.title),
            markdown(outcomeText(rule)), markdown(plainProse(rule.reason)));
}

} // namespace

std::string writeMarkdown(const Report& report) {
    std::string out;
    appendHeader(out, report);
    appendIssues(out, report);
    appendVitals(out, report);
    if (!report.findings.empty())
        out += "\n## Findings\n";
    bool first = true;
    for (const rules::Finding& finding : report.findings) {
        if (first && finding.severity > rules::Severity::info)
            out += "\nFix this one first:\n";
        first = false;
        appendFinding(out, report, finding);
    }
    appendRules(out, report);
    out += fmt::format("\n{}\n", markdown(overheadText(report)));
    return out;
}

} // namespace gd::report
