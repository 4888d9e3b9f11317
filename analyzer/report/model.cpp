// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/model.h"

#include "analyzer/base/statement.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>

namespace gd::report {
namespace {

using Meta = std::map<std::string, std::string, std::less<>>;

std::string textOf(const Meta& meta, std::string_view key) {
    const auto it = meta.find(key);
    return it == meta.end() ? std::string() : it->second;
}

std::optional<std::int64_t> numberOf(const Meta& meta, std::string_view key) {
    const std::string text = textOf(meta, key);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

Result<Meta> readMeta(Db& trace) {
    Meta meta;
    GD_TRY_ASSIGN(auto select, trace.prepareReadOnly("SELECT key, value FROM meta"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return meta;
        meta.emplace(std::string(select.text(0)), std::string(select.text(1)));
    }
}

Result<void> readProcesses(Db& trace, Report& report) {
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly("SELECT process_id, pid, rank, world_size, role, host, command_line, runtime, "
                              "start_ns, end_ns, ended, exit_status, exit_signal, exit_reason "
                              "FROM process ORDER BY rank IS NULL, rank, process_id"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return {};
        ProcessInfo p;
        p.processId = select.int64("process_id");
        p.pid = select.int64("pid");
        p.rank = select.optionalInt64("rank");
        p.worldSize = select.optionalInt64("world_size");
        p.role = select.text("role");
        p.host = select.text("host");
        p.commandLine = select.text("command_line");
        p.runtime = select.text("runtime");
        p.startNs = select.int64("start_ns");
        p.endNs = select.int64("end_ns");
        p.ended = select.text("ended");
        p.exitStatus = select.optionalInt64("exit_status");
        p.exitSignal = select.optionalInt64("exit_signal");
        p.exitReason = select.text("exit_reason");
        report.processes.push_back(std::move(p));
    }
}

int weightOf(std::string_view issueSeverity) {
    return issueSeverity == "error" ? 0 : issueSeverity == "data_loss" ? 1 : 2;
}

void sortIssues(std::vector<Issue>& issues) {
    std::stable_sort(issues.begin(), issues.end(), [](const Issue& a, const Issue& b) {
        return std::tuple(weightOf(a.severity), std::cref(a.code).get(), a.processId.value_or(0))
            < std::tuple(weightOf(b.severity), std::cref(b.code).get(), b.processId.value_or(0));
    });
}

Result<void> readIssues(Db& trace, Report& report) {
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly(
            "SELECT process_id, severity, code, count, detail FROM trace_issue ORDER BY issue_id"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            break;
        report.issues.push_back({select.optionalInt64(0), std::string(select.text(1)),
            std::string(select.text(2)), select.int64(3), std::string(select.text(4))});
    }
    sortIssues(report.issues);
    return {};
}

Result<void> readVitals(Db& trace, Report& report) {
    GD_TRY_ASSIGN(const bool there, trace.hasTable("vital_sign"));
    if (!there)
        return {};
    // The job's row first, then by rank; signs keep the order in which they were derived.
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly("SELECT v.name, v.unit, v.healthy, v.process_id, p.rank, v.value, v.text, "
                              "v.state, v.reason, v.verdict FROM vital_sign AS v "
                              "LEFT JOIN process AS p USING (process_id) "
                              "ORDER BY v.process_id <> 0, p.rank IS NULL, p.rank, v.process_id, v.rowid"));
    std::map<std::string, std::size_t, std::less<>> places;
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return {};
        const std::string name(select.text("name"));
        const auto [place, isNew] = places.emplace(name, report.vitals.size());
        if (isNew)
            report.vitals.push_back(
                {name, std::string(select.text("unit")), std::string(select.text("healthy")), {}});
        VitalSign& sign = report.vitals[place->second];
        if (sign.healthy.empty())
            sign.healthy = select.text("healthy");
        sign.values.push_back({select.int64("process_id"), select.optionalInt64("rank"),
            select.optionalReal("value"), std::string(select.text("text")), std::string(select.text("state")),
            std::string(select.text("reason")), std::string(select.text("verdict"))});
    }
}

Result<void> readSteps(Db& trace, Report& report) {
    report.steps.reason = "the trace holds no facts about steps";
    GD_TRY_ASSIGN(const bool there, trace.hasTable("step"));
    if (!there)
        return {};
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly("SELECT method, count(*) AS n FROM step GROUP BY process_id, method "
                              "ORDER BY n DESC, process_id, method LIMIT 1"));
    GD_TRY_ASSIGN(const bool row, select.step());
    if (!row) {
        report.steps.reason = "no step ranges, no period of graph launches and no optimizer period was found";
        return {};
    }
    report.steps = {std::string(select.text(0)), select.int64(1), {}};
    return {};
}

bool concerns(const rules::Finding& finding, std::int64_t rank) {
    if (finding.ranks.empty() && finding.rank.isNone())
        return true;
    return finding.rank.value() == rank
        || std::any_of(
            finding.ranks.begin(), finding.ranks.end(), [&](base::RankId id) { return id.value() == rank; });
}

struct Interval {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
};

bool inSteps(
    const rules::Finding& finding, const Filter& filter, const std::map<std::int64_t, Interval>& byProcess) {
    if (finding.step)
        return *finding.step >= filter.steps->first && *finding.step <= filter.steps->second;
    if (!finding.startNs)
        return true;
    const auto interval = byProcess.find(finding.processId.value());
    if (interval == byProcess.end())
        return false;
    return *finding.startNs < interval->second.endNs
        && finding.endNs.value_or(*finding.startNs) >= interval->second.startNs;
}

Result<std::map<std::int64_t, Interval>> stepTimes(Db& trace, const Filter& filter) {
    std::map<std::int64_t, Interval> times;
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly("SELECT process_id, min(start_ns), max(end_ns) FROM step "
                              "WHERE step BETWEEN ? AND ? GROUP BY process_id"));
    select.bind(1, filter.steps->first);
    select.bind(2, filter.steps->second);
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return times;
        times[select.int64(0)] = {select.int64(1), select.int64(2)};
    }
}

void keepRank(Report& report, std::int64_t rank) {
    std::erase_if(report.processes, [&](const ProcessInfo& p) { return p.rank != rank; });
    for (VitalSign& sign : report.vitals)
        std::erase_if(sign.values, [&](const VitalValue& v) { return v.processId != 0 && v.rank != rank; });
}

} // namespace

const ProcessInfo* Report::process(std::int64_t processId) const {
    const auto it = std::find_if(
        processes.begin(), processes.end(), [&](const ProcessInfo& p) { return p.processId == processId; });
    return it == processes.end() ? nullptr : &*it;
}

Result<Report> readTrace(Db& trace, const std::string& path) {
    Report report;
    report.toolVersion = GD_VERSION;
    report.tracePath = path;
    GD_TRY_ASSIGN(const Meta meta, readMeta(trace));
    report.startUnixNs = numberOf(meta, "start_unix_ns");
    report.durationNs = numberOf(meta, "duration_ns");
    report.source = textOf(meta, "source");
    report.commandLine = textOf(meta, "command_line");
    report.host = textOf(meta, "host");
    report.level = textOf(meta, "level");
    report.redacted = textOf(meta, "redacted") == "1";
    report.runtimeSeen = textOf(meta, "runtime_seen") != "0";
    report.exitStatus = numberOf(meta, "exit_status");
    report.exitSignal = numberOf(meta, "exit_signal");
    GD_TRY(readProcesses(trace, report));
    GD_TRY(readIssues(trace, report));
    GD_TRY(readVitals(trace, report));
    GD_TRY(readSteps(trace, report));
    GD_TRY_ASSIGN(report.overhead, measureOverhead(trace));
    return report;
}

void addFindings(Report& report, std::vector<rules::Finding> findings,
    std::vector<rules::RuleOutcome> outcomes, std::vector<Issue> issues) {
    std::stable_sort(findings.begin(), findings.end(), rules::comesBefore);
    std::stable_sort(
        outcomes.begin(), outcomes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    report.findings = std::move(findings);
    report.rules = std::move(outcomes);
    std::move(issues.begin(), issues.end(), std::back_inserter(report.issues));
    sortIssues(report.issues);
}

Result<void> applyFilter(Report& report, Db& trace, const Filter& filter) {
    report.filter = filter;
    const std::size_t before = report.findings.size();
    if (filter.rank) {
        const bool known = std::any_of(report.processes.begin(), report.processes.end(),
            [&](const ProcessInfo& p) { return p.rank == filter.rank; });
        if (!known)
            return fail(
                ErrorCode::usage, "{}: no process of this trace has rank {}", report.tracePath, *filter.rank);
        std::erase_if(report.findings, [&](const auto& f) { return !concerns(f, *filter.rank); });
        keepRank(report, *filter.rank);
    }
    if (filter.steps) {
        if (report.steps.method.empty())
            return fail(
                ErrorCode::usage, "{}: --steps cannot be used: {}", report.tracePath, report.steps.reason);
        GD_TRY_ASSIGN(const auto times, stepTimes(trace, filter));
        if (times.empty())
            return fail(ErrorCode::usage, "{}: no step from {} {}; the trace has {} steps from 0",
                report.tracePath, filter.steps->first,
                filter.steps->second == std::numeric_limits<std::int64_t>::max()
                    ? std::string("on")
                    : fmt::format("to {}", filter.steps->second),
                report.steps.count);
        std::erase_if(report.findings, [&](const auto& f) { return !inSteps(f, filter, times); });
    }
    report.hiddenFindings = static_cast<std::int64_t>(before - report.findings.size());
    return {};
}

std::int64_t countAtLeast(const Report& report, rules::Severity severity) {
    return std::count_if(report.findings.begin(), report.findings.end(),
        [&](const rules::Finding& f) { return f.severity >= severity; });
}

} // namespace gd::report
