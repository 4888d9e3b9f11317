// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/base/result.h"
#include "analyzer/rules/finding.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gd::report {

// One process of the job, as the trace tells it. Times are ns since the trace's start; empty text = unknown.
struct ProcessInfo {
    std::int64_t processId = 0;
    std::int64_t pid = 0;
    std::optional<std::int64_t> rank;
    std::optional<std::int64_t> worldSize;
    std::string role;
    std::string host;
    std::string commandLine;
    std::string runtime;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::string ended; // 'closed' | 'unknown'
    std::optional<std::int64_t> exitStatus;
    std::optional<std::int64_t> exitSignal;
    std::string exitReason; // why exitStatus is unknown
};

// One figure of one process (or of the job, processId 0). Without `value` and `text` it was not measured and
// `reason` says why.
struct VitalValue {
    std::int64_t processId = 0;
    std::optional<std::int64_t> rank;
    std::optional<double> value;
    std::string text;
    std::string state; // 'complete' | 'partial' | 'absent'
    std::string reason;
    std::string verdict; // 'ok' | 'look' | 'none'
};

// A figure "group.name" with its values: the job's first, then by rank and process.
struct VitalSign {
    std::string name;
    std::string unit; // 'ns' | 'bytes' | 'ratio' | 'count' | 'text'
    std::string healthy; // range for people, empty = none
    std::vector<VitalValue> values;
};

struct Issue {
    std::optional<std::int64_t> processId; // nullopt: the trace as a whole
    std::string severity; // 'info' | 'data_loss' | 'error'
    std::string code;
    std::int64_t count = 1;
    std::string detail;
};

// How steps were found. Without a method there are none and `reason` says so.
struct StepInfo {
    std::string method;
    std::int64_t count = 0; // of the process that has most
    std::string reason;
};

// What recording cost the job, measured inside the trace; without `ratio` `reason` says why it is unknown.
// Steps are those after the warm-up of the one process that has most of both kinds; those in which recording
// changed belong to neither.
struct Overhead {
    struct Side {
        std::int64_t steps = 0;
        std::int64_t medianNs = 0;
        std::int64_t lowNs = 0; // a quarter of the steps is shorter
        std::int64_t highNs = 0; // a quarter is longer
    };
    std::optional<double> ratio; // median of recorded ÷ median of bare steps
    std::string reason;
    bool historyOnly = false; // "bare" steps still had their calls recorded
    std::int64_t processId = 0;
    Side recorded;
    Side bare;
};

// Measures it from `step` and `recording_state`.
Result<Overhead> measureOverhead(Db& trace);

// What the user asked to see. Steps are inclusive on both sides.
struct Filter {
    std::optional<std::int64_t> rank;
    std::optional<std::pair<std::int64_t, std::int64_t>> steps;
    bool active() const { return rank.has_value() || steps.has_value(); }
};

// Everything a report says, before any format: writers read nothing else. Text from the job is as the trace
// holds it; each writer escapes for its format. Findings are in report order, the one to fix first on top.
struct Report {
    std::string toolVersion;
    std::string tracePath; // as the user named it
    std::optional<std::int64_t> startUnixNs;
    std::optional<std::int64_t> durationNs;
    std::string source;
    std::string commandLine;
    std::string host;
    std::string level;
    bool redacted = false;
    bool runtimeSeen = true;
    std::optional<std::int64_t> exitStatus;
    std::optional<std::int64_t> exitSignal;
    StepInfo steps;
    Filter filter;
    std::int64_t hiddenFindings = 0; // left out by the filter
    std::vector<ProcessInfo> processes;
    std::vector<VitalSign> vitals;
    std::vector<rules::Finding> findings;
    std::vector<rules::RuleOutcome> rules; // sorted by id
    std::vector<Issue> issues; // worst first
    Overhead overhead;

    const ProcessInfo* process(std::int64_t processId) const;
};

// Reads what the trace says into a report that has no findings yet. Needs the raw tables; fact tables that
// are missing leave their part empty. Fails when the trace cannot be read.
Result<Report> readTrace(Db& trace, const std::string& path);

// Puts what the rules found, and what was wrong with rules, into the report.
void addFindings(Report& report, std::vector<rules::Finding> findings,
    std::vector<rules::RuleOutcome> outcomes, std::vector<Issue> issues);
// Keeps what the filter wants. Findings without a rank or step (environment) pass every filter: they concern
// all. The steps' times come from the trace. A rank or step that the trace does not have is a usage error.
Result<void> applyFilter(Report& report, Db& trace, const Filter& filter);

// Heads at or above a severity.
std::int64_t countAtLeast(const Report& report, rules::Severity severity);

} // namespace gd::report
