// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/writer.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace gd::report {
namespace {

using Json = nlohmann::ordered_json; // keys in the order of writing: a report reads from top to bottom

template <class T> Json orNull(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json textOrNull(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

template <class Tag> Json orNull(base::Id<Tag> id) {
    return id.isNone() ? Json(nullptr) : Json(id.value());
}

// What is not known is null, and why stands beside it as "<key>_reason".
template <class T>
void put(Json& object, const char* key, const std::optional<T>& value, std::string_view reason) {
    object[key] = orNull(value);
    if (!value)
        object[std::string(key) + "_reason"] = reason.empty() ? "not recorded" : std::string(reason);
}

Json valueJson(const rules::Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        return *integer;
    if (const auto* real = std::get_if<double>(&value))
        return std::isfinite(*real) ? Json(*real) : Json(nullptr);
    if (const auto* text = std::get_if<std::string>(&value))
        return *text;
    return nullptr;
}

Json traceJson(const Report& report) {
    Json trace;
    trace["path"] = report.tracePath;
    put(trace, "start_unix_ns", report.startUnixNs, "the trace does not say when it began");
    put(trace, "duration_ns", report.durationNs, "the trace does not say how long it lasted");
    trace["source"] = textOrNull(report.source);
    trace["command_line"] = textOrNull(report.commandLine);
    trace["host"] = textOrNull(report.host);
    trace["level"] = textOrNull(report.level);
    trace["redacted"] = report.redacted;
    trace["runtime_seen"] = report.runtimeSeen;
    const bool ended = report.exitStatus || report.exitSignal;
    trace["exit_status"] = orNull(report.exitStatus);
    trace["exit_signal"] = orNull(report.exitSignal);
    if (!ended)
        trace["exit_status_reason"] = "the end of the command was not seen by graphdoctor run";
    else if (!report.exitStatus)
        trace["exit_status_reason"] = "the command was ended by a signal";
    Json steps;
    steps["method"] = textOrNull(report.steps.method);
    if (report.steps.method.empty())
        steps["method_reason"] = report.steps.reason;
    steps["count"] = report.steps.count;
    trace["steps"] = steps;
    Json overhead;
    put(overhead, "ratio", report.overhead.ratio, report.overhead.reason);
    if (report.overhead.ratio) {
        const auto side = [](const Overhead::Side& s) {
            return Json{
                {"steps", s.steps}, {"median_ns", s.medianNs}, {"low_ns", s.lowNs}, {"high_ns", s.highNs}};
        };
        overhead["process_id"] = report.overhead.processId;
        overhead["bare_means"] = report.overhead.historyOnly ? "history" : "off";
        overhead["recorded"] = side(report.overhead.recorded);
        overhead["bare"] = side(report.overhead.bare);
    }
    trace["overhead"] = overhead;
    return trace;
}

Json filterJson(const Report& report) {
    if (!report.filter.active())
        return nullptr;
    Json filter;
    filter["rank"] = orNull(report.filter.rank);
    filter["steps"] = report.filter.steps
        ? Json::array({report.filter.steps->first, report.filter.steps->second})
        : Json(nullptr);
    filter["hidden_findings"] = report.hiddenFindings;
    return filter;
}

Json processesJson(const Report& report) {
    Json list = Json::array();
    for (const ProcessInfo& process : report.processes) {
        Json item;
        item["process_id"] = process.processId;
        item["pid"] = process.pid;
        put(item, "rank", process.rank, "not part of a distributed job, or its launcher is not known");
        item["world_size"] = orNull(process.worldSize);
        item["role"] = textOrNull(process.role);
        item["host"] = textOrNull(process.host);
        item["command_line"] = textOrNull(process.commandLine);
        item["runtime"] = textOrNull(process.runtime);
        item["start_ns"] = process.startNs;
        item["end_ns"] = process.endNs;
        item["ended"] = textOrNull(process.ended);
        item["exit_signal"] = orNull(process.exitSignal);
        put(item, "exit_status", process.exitStatus,
            process.exitReason.empty() ? "only its parent knows" : process.exitReason);
        list.push_back(std::move(item));
    }
    return list;
}

Json vitalsJson(const Report& report) {
    Json vitals = Json::object();
    for (const VitalSign& sign : report.vitals) {
        Json item;
        item["unit"] = sign.unit;
        item["healthy"] = textOrNull(sign.healthy);
        item["values"] = Json::array();
        for (const VitalValue& value : sign.values) {
            Json entry;
            entry["process_id"]
                = value.processId == 0 ? Json(nullptr) : Json(value.processId); // null: the job
            entry["rank"] = orNull(value.rank);
            if (sign.unit == "text")
                entry["value"] = textOrNull(value.text);
            else
                entry["value"] = value.value && std::isfinite(*value.value) ? Json(*value.value) : nullptr;
            entry["state"] = value.state;
            entry["reason"] = textOrNull(value.reason);
            entry["verdict"] = value.verdict;
            item["values"].push_back(std::move(entry));
        }
        vitals[sign.name] = std::move(item);
    }
    return vitals;
}

Json locationsJson(const rules::Finding& finding) {
    Json list = Json::array();
    for (const rules::Location& location : finding.locations) {
        Json item;
        item["file"] = textOrNull(location.file);
        item["line"] = location.line > 0 ? Json(location.line) : Json(nullptr);
        item["function"] = textOrNull(location.function);
        item["module"] = textOrNull(location.module);
        item["language"] = textOrNull(location.language);
        item["inside"] = location.inside;
        list.push_back(std::move(item));
    }
    return list;
}

Json evidenceJson(const rules::Finding& finding) {
    Json list = Json::array();
    for (const rules::Evidence& evidence : finding.evidence) {
        Json item;
        item["table"] = textOrNull(evidence.table);
        item["id"] = orNull(evidence.id);
        item["label"] = evidence.label;
        item["value"] = valueJson(evidence.value);
        item["unit"] = evidence.unit;
        list.push_back(std::move(item));
    }
    return list;
}

Json findingJson(const rules::Finding& finding) {
    Json item;
    item["rule"] = finding.rule;
    item["severity"] = rules::name(finding.severity);
    item["impact"] = rules::name(finding.impact);
    item["confidence"] = rules::name(finding.confidence);
    item["title"] = finding.title;
    item["message"] = finding.message;
    item["process_id"] = orNull(finding.processId);
    item["rank"] = orNull(finding.rank);
    if (finding.rank.isNone())
        item["rank_reason"] = "the finding's process has no known rank";
    item["ranks"] = Json::array();
    for (const base::RankId rank : finding.ranks)
        item["ranks"].push_back(rank.value());
    item["thread_id"] = orNull(finding.threadId);
    put(item, "step", finding.step, "not tied to one step");
    put(item, "start_ns", finding.startNs, "not tied to a time");
    put(item, "end_ns", finding.endNs, "not tied to a time");
    put(item, "cost_ns", finding.costNs, "the time it cost cannot be told from the trace");
    put(item, "cost_bytes", finding.costBytes, "it has no cost in memory, or none that was recorded");
    item["graph_signature"] = textOrNull(finding.graphSignature);
    item["locations"] = locationsJson(finding);
    if (finding.locations.empty())
        item["locations_reason"]
            = finding.locationReason.empty() ? "no stack was recorded" : finding.locationReason;
    item["evidence"] = evidenceJson(finding);
    item["why"] = finding.why;
    item["remedy"] = finding.fix;
    item["folded"] = Json::array();
    for (const rules::Finding& folded : finding.folded)
        item["folded"].push_back(findingJson(folded));
    return item;
}

Json rulesJson(const Report& report) {
    Json list = Json::array();
    for (const rules::RuleOutcome& rule : report.rules) {
        Json item;
        item["id"] = rule.id;
        item["title"] = rule.title;
        item["severity"] = rules::name(rule.severity);
        item["outcome"] = rules::name(rule.outcome);
        item["count"] = rule.count;
        item["reason"] = textOrNull(rule.reason);
        item["known_share"] = orNull(rule.knownShare);
        item["failed"] = rule.failed;
        item["params"] = Json::array();
        for (const rules::UsedParam& param : rule.params)
            item["params"].push_back(
                {{"name", param.name}, {"value", param.value}, {"default", param.defaultValue}});
        list.push_back(std::move(item));
    }
    return list;
}

Json issuesJson(const Report& report) {
    Json list = Json::array();
    for (const Issue& issue : report.issues)
        list.push_back({{"process_id", orNull(issue.processId)}, {"severity", issue.severity},
            {"code", issue.code}, {"count", issue.count}, {"detail", issue.detail}});
    return list;
}

} // namespace

std::string writeJson(const Report& report) {
    Json root;
    root["schema"] = "graphdoctor.report/1";
    root["tool"] = {{"name", "graphdoctor"}, {"version", report.toolVersion}};
    root["trace"] = traceJson(report);
    root["filter"] = filterJson(report);
    root["processes"] = processesJson(report);
    root["vitals"] = vitalsJson(report);
    root["findings"] = Json::array();
    for (const rules::Finding& finding : report.findings)
        root["findings"].push_back(findingJson(finding));
    root["rules"] = rulesJson(report);
    root["issues"] = issuesJson(report);
    // ASCII only: what comes from the job cannot steer a terminal that shows the file. Bytes that are not
    // UTF-8 become U+FFFD.
    return root.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

} // namespace gd::report
