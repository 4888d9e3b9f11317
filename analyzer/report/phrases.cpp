// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/phrases.h"

#include "analyzer/base/time.h"
#include "analyzer/rules/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <utility>

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

std::string rankList(const rules::Finding& finding) {
    if (finding.ranks.size() > 8)
        return fmt::format("{} ranks, {} to {}", finding.ranks.size(), finding.ranks.front().value(),
            finding.ranks.back().value());
    std::string list;
    for (const base::RankId rank : finding.ranks)
        list += fmt::format("{}{}", list.empty() ? "" : ", ", rank.value());
    return fmt::format("rank{} {}", finding.ranks.size() == 1 ? "" : "s", list);
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
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun.ends_with("s") ? "es" : "s");
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
    std::string out;
    if (!finding.ranks.empty())
        out = rankList(finding);
    else if (!finding.rank.isNone())
        out = fmt::format("rank {}", finding.rank.value());
    else if (!finding.processId.isNone())
        out = fmt::format("process {}", finding.processId.value());
    if (!finding.threadId.isNone())
        out += fmt::format("{}thread {}", out.empty() ? "" : " · ", finding.threadId.value());
    return out;
}

std::string whenText(const rules::Finding& finding) {
    std::string out = finding.step ? fmt::format("step {}", *finding.step) : std::string();
    if (!finding.startNs)
        return out;
    out += fmt::format("{}{} after start", out.empty() ? "" : ", ", base::formatDuration(*finding.startNs));
    if (finding.endNs && *finding.endNs > *finding.startNs)
        out += fmt::format(", for {}", base::formatDuration(*finding.endNs - *finding.startNs));
    return out;
}

std::string costText(const Report& report, const rules::Finding& finding) {
    std::string out;
    if (finding.costNs) {
        out = base::formatDuration(*finding.costNs);
        if (report.durationNs && *report.durationNs > 0 && *finding.costNs > 0)
            out += fmt::format(" ({:.2g} % of the run)",
                100.0 * static_cast<double>(*finding.costNs) / static_cast<double>(*report.durationNs));
    }
    if (finding.costBytes)
        out += fmt::format("{}{}", out.empty() ? "" : ", ", base::formatBytes(*finding.costBytes));
    return out.empty() ? "time unknown" : out;
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
    std::string who;
    if (report.processes.size() > 1) {
        const ProcessInfo* process = report.process(overhead.processId);
        who = process != nullptr && process->rank ? fmt::format(" (rank {})", *process->rank)
                                                  : fmt::format(" (process {})", overhead.processId);
    }
    const auto side = [](const Overhead::Side& s) {
        return fmt::format("{} in {} (half of them {} to {})", base::formatDuration(s.medianNs),
            plural(s.steps, "step"), base::formatDuration(s.lowNs), base::formatDuration(s.highNs));
    };
    return fmt::format("Overhead of recording, measured in this run{}: {:+.2f} ± {:.2f} % of the step time; "
                       "median with recording {}, {} {}.",
        who, (*overhead.ratio - 1) * 100, uncertaintyOf(overhead) * 100, side(overhead.recorded),
        overhead.historyOnly ? "with the history alone" : "without", side(overhead.bare));
}

std::string filterText(const Report& report) {
    if (!report.filter.active())
        return {};
    std::string what;
    if (report.filter.rank)
        what = fmt::format("rank {}", *report.filter.rank);
    if (report.filter.steps)
        what += fmt::format("{}steps {} to {}", what.empty() ? "" : " and ", report.filter.steps->first,
            report.filter.steps->second);
    return fmt::format("only {}; {} left out", what, plural(report.hiddenFindings, "finding"));
}

std::string countText(const Report& report) {
    std::string out;
    for (const std::string& part : {severityCount(report, rules::Severity::error, "error"),
             severityCount(report, rules::Severity::warning, "warning"),
             severityCount(report, rules::Severity::info, "note")}) {
        if (!part.empty())
            out += (out.empty() ? "" : ", ") + part;
    }
    return out;
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
