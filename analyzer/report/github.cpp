// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/escape.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/writer.h"

#include <fmt/format.h>

namespace gd::report {
namespace {

std::string_view commandOf(rules::Severity severity) {
    switch (severity) {
    case rules::Severity::error:
        return "error";
    case rules::Severity::warning:
        return "warning";
    case rules::Severity::info:
        break;
    }
    return "notice";
}

// Lines of the annotation are ours; control characters of the job are already visible escapes inside them.
std::string body(const Report& report, const rules::Finding& finding) {
    std::string text = plainLine(finding.message);
    if (const std::string where = whereText(finding); !where.empty())
        text += fmt::format("\nWhere: {}", plainLine(where));
    if (const std::string when = whenText(finding); !when.empty())
        text += fmt::format("\nWhen: {}", plainLine(when));
    text += fmt::format("\nCost: {}", plainLine(costText(report, finding)));
    if (!finding.why.empty())
        text += fmt::format("\nWhy: {}", plainProse(finding.why));
    if (!finding.fix.empty())
        text += fmt::format("\nFix: {}", plainProse(finding.fix));
    return text;
}

std::string annotation(const Report& report, const rules::Finding& finding) {
    std::string properties;
    if (!finding.locations.empty() && !finding.locations[0].file.empty()) {
        properties = fmt::format(" file={}", githubProperty(plainLine(cleanPath(finding.locations[0].file))));
        if (finding.locations[0].line > 0)
            properties += fmt::format(",line={}", finding.locations[0].line);
    }
    properties += fmt::format("{}title={}", properties.empty() ? " " : ",",
        githubProperty(plainLine(fmt::format("{} {}", finding.rule, finding.title))));
    return fmt::format(
        "::{}{}::{}\n", commandOf(finding.severity), properties, githubData(body(report, finding)));
}

} // namespace

std::string writeGithub(const Report& report) {
    std::string out;
    for (const rules::Finding& finding : report.findings)
        out += annotation(report, finding);
    for (const Issue& issue : report.issues) {
        if (issue.severity != "info")
            out += fmt::format("::warning title={}::{}\n",
                githubProperty(plainLine(fmt::format("GraphDoctor {}", issue.code))),
                githubData(plainLine(issue.detail)));
    }
    if (out.empty())
        out = fmt::format(
            "::notice title=GraphDoctor::No findings in {}\n", githubData(plainLine(report.tracePath)));
    return out;
}

} // namespace gd::report
