// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/phrases.h"

#include "analyzer/base/counted.h"
#include "analyzer/base/time.h"
#include "analyzer/rules/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

namespace gd::report {
namespace {

constexpr std::pair<std::string_view, std::string_view> kGroups[] = {{"capture", "Captures"},
    {"nccl", "Communication bytes"}, {"comm", "Communication bytes"}, {"replay_gap", "Replay gaps"},
    {"busy", "Device busy"}, {"device_busy", "Device busy"}, {"gpu_busy", "Device busy"},
    {"memory", "Memory"}, {"reuse", "Graph reuse"}, {"graph_reuse", "Graph reuse"}, {"step", "Steps"}};

constexpr std::pair<std::string_view, std::string_view> kMethods[]
    = {{"step_range", "ranges named by --step-range"}, {"known_range", "ranges with a well-known name"},
        {"launch_period", "the period of graph launches"},
        {"optimizer_period", "the period of optimizer kernels"}};

std::string numberText(double value, std::string_view unit) {
    if (unit == "ns" && std::abs(value) < 9e18)
        return base::formatDuration(static_cast<std::int64_t>(std::llround(value)));
    if (unit == "bytes" && std::abs(value) < 9e18)
        return base::formatBytes(static_cast<std::int64_t>(std::llround(value)));
    if (unit == "ratio")
        return fmt::format("{:.1f} %", value * 100);
    const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
    const std::string number = whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
    return unit.empty() || unit == "count" ? number : fmt::format("{} {}", number, unit);
}

std::string words(std::string_view identifier) {
    std::string out(identifier);
    std::replace(out.begin(), out.end(), '_', ' ');
    return out;
}

// Phrases that each stand for themselves, those that are empty left out.
std::string joined(std::string_view separator, std::initializer_list<std::string> phrases) {
    std::string out;
    for (const std::string& phrase : phrases) {
        if (!out.empty() && !phrase.empty())
            out += separator;
        out += phrase;
    }
    return out;
}

std::string rankList(const rules::Finding& finding) {
    if (finding.ranks.size() > 8)
        return fmt::format("{} ranks, {} to {}", finding.ranks.size(), finding.ranks.front().value(),
            finding.ranks.back().value());
    if (finding.ranks.size() == 1)
        return fmt::format("rank {}", finding.ranks.front().value());
    std::vector<std::int64_t> numbers;
    for (const base::RankId rank : finding.ranks)
        numbers.push_back(rank.value());
    return fmt::format("ranks {}", fmt::join(numbers, ", "));
}

std::string severityCount(const Report& report, rules::Severity severity, std::string_view noun) {
    const auto count = std::count_if(report.findings.begin(), report.findings.end(),
        [&](const auto& finding) { return finding.severity == severity; });
    return count == 0 ? std::string() : plural(count, noun);
}

// Twice the standard error of a ratio of two medians, from the middle halves, as if durations were normal:
// their deviation is 0.741 of the middle half, that of a median of n of them 1.253 / sqrt(n) of it.
double uncertaintyOf(const Overhead& overhead) {
    const auto relative = [](const Overhead::Side& side) {
        const auto width = static_cast<double>(side.highNs - side.lowNs);
        return 1.253 * 0.741 * width
            / (static_cast<double>(side.medianNs) * std::sqrt(static_cast<double>(side.steps)));
    };
    return 2 * *overhead.ratio * std::hypot(relative(overhead.recorded), relative(overhead.bare));
}

} // namespace

std::string plural(std::int64_t count, std::string_view noun) {
    return base::counted(count, noun);
}

std::string valueText(const rules::Value& value, std::string_view unit) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        if (unit.empty() || unit == "count")
            return fmt::format("{}", *integer); // identifiers keep every digit
        return numberText(static_cast<double>(*integer), unit);
    }
    if (const auto* real = std::get_if<double>(&value))
        return numberText(*real, unit);
    if (const auto* text = std::get_if<std::string>(&value))
        return *text;
    return "unknown";
}

std::string valueText(const VitalSign& sign, const VitalValue& value) {
    if (sign.unit == "text")
        return value.text.empty() ? "–" : value.text;
    return value.value ? numberText(*value.value, sign.unit) : "–";
}

std::string vitalGroup(std::string_view name) {
    const std::string_view group = name.substr(0, name.find('.'));
    for (const auto& [key, title] : kGroups) {
        if (key == group)
            return std::string(title);
    }
    std::string title = words(group);
    if (!title.empty())
        title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    return title;
}

std::string vitalLabel(std::string_view name) {
    const std::size_t dot = name.find('.');
    std::string_view label = dot == std::string_view::npos ? name : name.substr(dot + 1);
    for (const std::string_view unit : {"_ns", "_bytes", "_ratio", "_count"}) {
        if (label.size() > unit.size() && label.ends_with(unit)) {
            label.remove_suffix(unit.size());
            break;
        }
    }
    return words(label);
}

std::string cleanPath(const std::string& path) {
    return std::filesystem::path(path).lexically_normal().string();
}

std::string placeFile(const rules::Location& location) {
    if (!location.file.empty())
        return cleanPath(location.file);
    return location.module.empty() ? "unknown file" : location.module;
}

std::string placeText(const rules::Location& location) {
    std::string out = placeFile(location);
    if (!location.file.empty() && location.line > 0)
        out += fmt::format(":{}", location.line);
    const std::string_view function = rules::bareFunctionName(location.function);
    return function.empty() ? out : fmt::format("{} in {}", out, function);
}

std::string whereText(const rules::Finding& finding) {
    std::string who, thread;
    if (!finding.ranks.empty())
        who = rankList(finding);
    else if (!finding.rank.isNone())
        who = fmt::format("rank {}", finding.rank.value());
    else if (!finding.processId.isNone())
        who = fmt::format("process {}", finding.processId.value());
    if (!finding.threadId.isNone())
        thread = fmt::format("thread {}", finding.threadId.value());
    return joined(" · ", {who, thread});
}

std::string whenText(const rules::Finding& finding) {
    std::string step, start, length;
    if (finding.step)
        step = fmt::format("step {}", *finding.step);
    if (finding.startNs)
        start = fmt::format("{} after start", base::formatDuration(*finding.startNs));
    if (finding.startNs && finding.endNs && *finding.endNs > *finding.startNs)
        length = fmt::format("for {}", base::formatDuration(*finding.endNs - *finding.startNs));
    return joined(", ", {step, start, length});
}

std::string costText(const Report& report, const rules::Finding& finding) {
    if (!finding.costNs && !finding.costBytes)
        return "time unknown";
    std::string time, memory;
    if (finding.costNs)
        time = base::formatDuration(*finding.costNs);
    if (finding.costNs && *finding.costNs > 0 && report.durationNs && *report.durationNs > 0)
        time = fmt::format("{} ({:.2g} % of the run)", time,
            100.0 * static_cast<double>(*finding.costNs) / static_cast<double>(*report.durationNs));
    if (finding.costBytes)
        memory = base::formatBytes(*finding.costBytes);
    return joined(", ", {time, memory});
}

std::string headline(const rules::Finding& finding) {
    return fmt::format("{} {}, {} confidence: {}", finding.rule, rules::name(finding.severity),
        rules::name(finding.confidence), finding.title);
}

std::string outcomeText(const rules::RuleOutcome& outcome) {
    switch (outcome.outcome) {
    case rules::Outcome::fired:
        return fmt::format("fired {}", outcome.count);
    case rules::Outcome::clean:
        return "clean";
    case rules::Outcome::notEvaluated:
        break;
    }
    return "not evaluated";
}

std::string endText(const Report& report) {
    if (report.exitSignal)
        return fmt::format("killed by signal {}", *report.exitSignal);
    if (report.exitStatus)
        return fmt::format("ended with status {}", *report.exitStatus);
    return "end unknown";
}

std::string runText(const Report& report) {
    std::set<std::string_view> hosts;
    for (const ProcessInfo& process : report.processes) {
        if (!process.host.empty())
            hosts.insert(process.host);
    }
    std::string out = endText(report);
    if (report.durationNs)
        out = fmt::format("{}, {}", base::formatDuration(*report.durationNs), out);
    const std::string processes = plural(static_cast<std::int64_t>(report.processes.size()), "process");
    if (hosts.empty())
        return fmt::format("{}, {}", out, processes);
    if (hosts.size() == 1)
        return fmt::format("{}, {} on {}", out, processes, *hosts.begin());
    return fmt::format("{}, {} on {} hosts", out, processes, hosts.size());
}

std::string issueText(const Report& report, const Issue& issue) {
    std::string out = fmt::format(
        "{}: {}", issue.severity == "data_loss" ? "lost data" : issue.severity.c_str(), issue.detail);
    if (issue.processId)
        out = fmt::format("{} ({})", out, processText(report, *issue.processId));
    return issue.count > 1 ? fmt::format("{} [{} times]", out, issue.count) : out;
}

std::string rowText(const rules::Evidence& evidence) {
    return evidence.id && !evidence.table.empty() ? fmt::format("{} {}", evidence.table, *evidence.id)
                                                  : std::string();
}

std::string stepsText(const Report& report) {
    if (report.steps.method.empty())
        return fmt::format("no steps: {}", report.steps.reason);
    for (const auto& [method, phrase] : kMethods) {
        if (method == report.steps.method)
            return fmt::format("{}, from {}", plural(report.steps.count, "step"), phrase);
    }
    return fmt::format("{}, from {}", plural(report.steps.count, "step"), report.steps.method);
}

std::string overheadText(const Report& report) {
    if (!report.overhead.ratio)
        return fmt::format("Overhead of recording: not measured, because {}.", report.overhead.reason);
    const Overhead& overhead = report.overhead;
    const ProcessInfo* process = report.process(overhead.processId);
    const std::string who = report.processes.size() < 2 ? "this run"
        : process != nullptr && process->rank           ? fmt::format("this run (rank {})", *process->rank)
                                              : fmt::format("this run (process {})", overhead.processId);
    const auto side = [](const Overhead::Side& s) {
        return fmt::format("{} in {} (half of them {} to {})", base::formatDuration(s.medianNs),
            plural(s.steps, "step"), base::formatDuration(s.lowNs), base::formatDuration(s.highNs));
    };
    const std::string cost
        = fmt::format("{:+.2f} ± {:.2f} %", (*overhead.ratio - 1) * 100, uncertaintyOf(overhead) * 100);
    const std::string recorded = side(overhead.recorded);
    const std::string bare = side(overhead.bare);
    if (overhead.historyOnly)
        return fmt::format("Overhead of recording, measured in {}: {} of the step time; median with "
                           "recording {}, with the history alone {}.",
            who, cost, recorded, bare);
    return fmt::format("Overhead of recording, measured in {}: {} of the step time; median with recording "
                       "{}, without {}.",
        who, cost, recorded, bare);
}

std::string filterText(const Report& report) {
    if (!report.filter.active())
        return {};
    std::string rank, steps;
    if (report.filter.rank)
        rank = fmt::format("rank {}", *report.filter.rank);
    if (report.filter.steps)
        steps = fmt::format("steps {} to {}", report.filter.steps->first, report.filter.steps->second);
    return fmt::format(
        "only {}; {} left out", joined(" and ", {rank, steps}), plural(report.hiddenFindings, "finding"));
}

std::string countText(const Report& report) {
    return joined(", ",
        {severityCount(report, rules::Severity::error, "error"),
            severityCount(report, rules::Severity::warning, "warning"),
            severityCount(report, rules::Severity::info, "note")});
}

std::string processText(const Report& report, std::int64_t processId) {
    const ProcessInfo* process = report.process(processId);
    if (process == nullptr)
        return fmt::format("process {}", processId);
    if (process->rank)
        return fmt::format("rank {} (pid {})", *process->rank, process->pid);
    return fmt::format("process {} (pid {})", processId, process->pid);
}

} // namespace gd::report
