// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gd::rules {

// In ascending order of weight: comparison operators work.
enum class Severity : std::uint8_t { info, warning, error };
enum class Impact : std::uint8_t { none, slow, wrong, jobDies, jobHangs };
enum class Confidence : std::uint8_t { low, medium, high };
// What a group of findings hangs on; `none` = the finding stands alone.
enum class RootKind : std::uint8_t { none, capture, exec, comm, step, processFault };

// The words of rule files, query columns and JSON: "error", "job_dies", "high", "process_fault".
std::string_view name(Severity value);
std::string_view name(Impact value);
std::string_view name(Confidence value);
std::string_view name(RootKind value);
std::optional<Severity> severityFrom(std::string_view word);
std::optional<Impact> impactFrom(std::string_view word);
std::optional<Confidence> confidenceFrom(std::string_view word);
std::optional<RootKind> rootKindFrom(std::string_view word);

// One value of a query: NULL, integer, real or text.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

// One place in source code. Unknown parts are empty, an unknown line is 0.
struct Location {
    std::string file;
    std::int64_t line = 0;
    std::string function;
    std::string module; // path of the shared object or program
    std::string language; // "python" or "native"
    bool inside = false; // in an installed package that the first location called
};

// One fact that proves a finding, with the trace row it was read from.
struct Evidence {
    std::string table; // empty = no single row
    std::optional<std::int64_t> id; // primary key or rowid in `table`
    std::string label;
    Value value;
    std::string unit; // "ns", "bytes", "%", "" …
};

// One pitfall that happened, as a value; text from the job in it is not escaped (every report writer escapes
// for its format). Times are ns of the trace clock; optional = unknown, never 0. In RuleRun::findings only
// heads appear; what hangs on the same cause is in `folded`, and its cost must not be added.
struct Finding {
    std::string rule; // "GD301"
    std::string parent; // id of the more general rule, or empty
    std::string title;
    Severity severity = Severity::info;
    Impact impact = Impact::none;
    Confidence confidence = Confidence::low;
    std::string message;
    base::ProcessId processId; // of the representative when several ranks have the finding
    base::RankId rank;
    std::vector<base::RankId> ranks; // every rank that has it, ascending, each once; empty = ranks unknown
    std::vector<base::ProcessId> processes; // every process that has it, ascending
    std::optional<std::int64_t> step;
    std::optional<std::int64_t> startNs;
    std::optional<std::int64_t> endNs;
    std::optional<std::int64_t> costNs; // ranks run side by side: the largest of all ranks, not the sum
    std::optional<std::int64_t> costBytes;
    base::ThreadId threadId;
    base::TrackId trackId;
    base::StackId stackId;
    RootKind rootKind = RootKind::none;
    std::optional<std::int64_t> rootId;
    std::string graphSignature;
    std::vector<Location> locations; // [0] is the place to change
    std::string locationReason; // why `locations` is empty; empty when it is not
    std::vector<Evidence> evidence;
    std::string why;
    std::string fix;
    std::string mergeKey; // column merge_key, see rule_runner.h
    std::vector<std::pair<std::string, Value>> columns; // the query's row, in the order of its columns
    std::vector<Finding> folded; // in the order of precedence
};

// "fired" · "clean" · "not_evaluated"
enum class Outcome : std::uint8_t { fired, clean, notEvaluated };
std::string_view name(Outcome value);

// A parameter as it was used in a run.
struct UsedParam {
    std::string name;
    std::string value;
    std::string defaultValue;
};

// How one rule ended. `reason` is a sentence without a full stop: why it was not evaluated, or a limit of a
// clean or fired one ("judged on 3 of 4 processes"); else empty.
struct RuleOutcome {
    std::string id;
    std::string title;
    Severity severity = Severity::info; // the rule's default
    Outcome outcome = Outcome::notEvaluated;
    std::string reason;
    std::int64_t count = 0; // findings before folding and merging
    std::optional<double>
        knownShare; // of the fact rows it reads, 0 … 1; nullopt when those facts carry no such mark
    bool failed = false; // the rule itself is broken or ran out of time, not the data
    std::vector<UsedParam> params;
};

// Order of a report: severity, impact, cost (unknown first: a broken capture never stands below a small gap),
// start, then rule, process and message so that equal traces give equal reports.
bool comesBefore(const Finding& a, const Finding& b);

} // namespace gd::rules
