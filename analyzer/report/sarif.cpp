// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/escape.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/writer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace gd::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view levelOf(rules::Severity severity) {
    switch (severity) {
    case rules::Severity::error:
        return "error";
    case rules::Severity::warning:
        return "warning";
    case rules::Severity::info:
        break;
    }
    return "note";
}

// Which kernel parameter a finding is about, as its rule's query calls it.
std::string parameterIndex(const rules::Finding& finding) {
    for (const auto& [column, value] : finding.columns) {
        if (column == "param" || column == "param_index")
            return std::holds_alternative<std::monostate>(value) ? std::string() : valueText(value, "");
    }
    return {};
}

// Equal for the same defect in two runs: no lines, times, addresses or paths go in.
std::string fingerprint(const rules::Finding& finding) {
    std::uint64_t hash = stableHash(finding.rule);
    const std::string function = finding.locations.empty() ? "" : finding.locations[0].function;
    for (const std::string& part : {function, finding.graphSignature, parameterIndex(finding)})
        hash = stableHash(part, stableHash("|", hash));
    return fmt::format("{:016x}", hash);
}

Json physicalLocation(const rules::Location& location) {
    Json place;
    place["artifactLocation"]["uri"] = fileUri(cleanPath(location.file));
    if (location.line > 0)
        place["region"]["startLine"] = location.line;
    return place;
}

Json locationJson(const rules::Location& location) {
    Json item;
    if (!location.file.empty())
        item["physicalLocation"] = physicalLocation(location);
    if (!location.function.empty())
        item["logicalLocations"]
            = Json::array({{{"fullyQualifiedName", location.function}, {"kind", "function"}}});
    return item;
}

Json stackJson(const rules::Finding& finding) {
    Json frames = Json::array();
    const auto add = [&](bool inside) { // innermost first
        for (const rules::Location& location : finding.locations) {
            if (location.inside != inside)
                continue;
            Json frame;
            frame["location"] = locationJson(location);
            if (!location.module.empty())
                frame["module"] = location.module;
            frames.push_back(std::move(frame));
        }
    };
    add(true);
    add(false);
    return frames;
}

std::string message(const Report& report, const rules::Finding& finding) {
    std::string text = finding.message;
    if (const std::string where = whereText(finding); !where.empty())
        text += fmt::format("\n\nWhere: {}", where);
    if (const std::string when = whenText(finding); !when.empty())
        text += fmt::format("\nWhen: {}", when);
    text += fmt::format("\nCost: {}", costText(report, finding));
    if (!finding.fix.empty())
        text += fmt::format("\nFix: {}", finding.fix);
    return text;
}

Json resultJson(const Report& report, const rules::Finding& finding, std::size_t ruleIndex) {
    Json item;
    item["ruleId"] = finding.rule;
    item["ruleIndex"] = ruleIndex;
    item["level"] = levelOf(finding.severity);
    item["message"]["text"] = message(report, finding);
    item["locations"] = Json::array();
    if (!finding.locations.empty()) {
        item["locations"].push_back(locationJson(finding.locations[0]));
        item["stacks"] = Json::array({{{"frames", stackJson(finding)}}});
    }
    item["partialFingerprints"]["graphdoctor/v1"] = fingerprint(finding);
    Json& properties = item["properties"];
    properties["confidence"] = rules::name(finding.confidence);
    properties["impact"] = rules::name(finding.impact);
    properties["costNs"] = finding.costNs ? Json(*finding.costNs) : Json(nullptr);
    properties["evidence"] = Json::array();
    for (const rules::Evidence& evidence : finding.evidence)
        properties["evidence"].push_back(
            fmt::format("{}: {}", evidence.label, valueText(evidence.value, evidence.unit)));
    properties["folded"] = Json::array();
    for (const rules::Finding& folded : finding.folded)
        properties["folded"].push_back(fmt::format("{} {}", folded.rule, folded.message));
    return item;
}

// Rules of the run, and of findings whose rule has no outcome.
std::map<std::string, std::size_t> describeRules(const Report& report, Json& list) {
    std::map<std::string, std::size_t> places;
    const auto add = [&](const std::string& id, const std::string& title, rules::Severity severity) {
        if (!places.emplace(id, places.size()).second)
            return;
        Json item;
        item["id"] = id;
        item["shortDescription"]["text"] = title.empty() ? id : title;
        item["defaultConfiguration"]["level"] = levelOf(severity);
        list.push_back(std::move(item));
    };
    for (const rules::RuleOutcome& rule : report.rules)
        add(rule.id, rule.title, rule.severity);
    for (const rules::Finding& finding : report.findings)
        add(finding.rule, finding.title, finding.severity);
    for (const rules::Finding& finding : report.findings) {
        Json& item = list[places[finding.rule]];
        if (!finding.why.empty())
            item["fullDescription"]["text"] = finding.why;
        if (!finding.fix.empty())
            item["help"]["text"] = finding.fix;
    }
    return places;
}

Json notificationsJson(const Report& report) {
    Json list = Json::array();
    for (const Issue& issue : report.issues)
        list.push_back({{"level", issue.severity == "info" ? "note" : "warning"},
            {"message", {{"text", fmt::format("{}: {}", issue.code, issue.detail)}}}});
    for (const rules::RuleOutcome& rule : report.rules) {
        if (rule.outcome == rules::Outcome::notEvaluated)
            list.push_back({{"level", rule.failed ? "warning" : "note"},
                {"message", {{"text", fmt::format("{} was not evaluated: {}", rule.id, rule.reason)}}}});
    }
    return list;
}

} // namespace

std::string writeSarif(const Report& report) {
    Json driver;
    driver["name"] = "GraphDoctor";
    driver["version"] = report.toolVersion;
    driver["semanticVersion"] = report.toolVersion;
    driver["rules"] = Json::array();
    const auto places = describeRules(report, driver["rules"]);
    Json run;
    run["tool"]["driver"] = std::move(driver);
    Json invocation;
    invocation["executionSuccessful"] = true;
    invocation["toolExecutionNotifications"] = notificationsJson(report);
    run["invocations"] = Json::array({std::move(invocation)});
    run["results"] = Json::array();
    for (const rules::Finding& finding : report.findings)
        run["results"].push_back(resultJson(report, finding, places.at(finding.rule)));
    run["columnKind"] = "unicodeCodePoints";
    Json root;
    root["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
    root["version"] = "2.1.0";
    root["runs"] = Json::array({std::move(run)});
    return root.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

} // namespace gd::report
