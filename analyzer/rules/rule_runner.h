// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/base/result.h"
#include "analyzer/rules/finding.h"
#include "analyzer/rules/folding.h"
#include "analyzer/rules/frames.h"
#include "analyzer/rules/rule_file.h"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gd::rules {

// How a rule's query speaks to the engine: one row = one finding, columns by name.
//
//   process_id                 required, not NULL
//   start_ns, end_ns           required, NULL where there is no time (environment rules)
//   cost_ns, cost_bytes        NULL or absent: unknown
//   step, thread_id, track_id
//   stack_id                   gives the locations
//   root_kind, root_id         folding group; root_kind defaults to the rule's root:, root_id to 0 for step
//   and
//                              process_fault; NULL root_id = stands alone
//   severity                   replaces the rule's
//   confidence                 lowers the rule's, never raises it
//   graph_signature            with the function of the first location: what makes findings of several ranks
//   one merge_key                  keeps findings apart that differ in it, such as the cause evidence_table,
//   evidence_id   the trace row that proves it ev1_label, ev1_value, ev1_unit … ev9_…   figures that prove
//   it; NULL value = left out; evN_table and evN_id where a
//                              figure has another row than evidence_table
//   anything else              for the message, conditions of precedence.txt and expect: lines
//
// A rule reads facts whose `known` is 0 as "nothing can be said" and leaves them out itself; the engine
// counts them (RuleOutcome::knownShare).

struct RunOptions {
    std::vector<std::string> params; // "NAME=VALUE", "GD301.NAME=VALUE" or "frames.skip=GLOB"
    Precedence precedence;
    FrameFilter frames;
    std::chrono::nanoseconds timeLimit = std::chrono::seconds(10); // of each rule
    std::size_t maxFindings = 10000; // of each rule; more are counted, not kept
    bool judgeNeeds = true; // off: rules run whatever was recorded (inline tests)
};

// For table trace_issue and the top of a report.
struct RuleIssue {
    std::string severity; // 'info' | 'data_loss' | 'error'
    std::string code; // "rule_failed", "rule_truncated"
    std::int64_t count = 1;
    std::string detail;
};

struct RuleRun {
    std::vector<Finding> findings; // heads only, in report order
    std::vector<RuleOutcome> outcomes; // one per rule, in the order of the rules
    std::vector<RuleIssue> issues;
};

// Runs every rule over an open trace whose facts are built. The connection need not be hardened; the queries
// are checked all the same. Fails only for wrong options (usage) and a file that is no trace; a rule that is
// broken ends as "not evaluated" and an issue, and the others still run.
Result<RuleRun> runRules(Db& db, std::span<const RuleFile> rules, const RunOptions& options);

// One rule without folding, needs and locations: what inline tests look at. Rows in the order of the query.
Result<std::vector<Finding>> runQueryOnly(
    Db& db, const RuleFile& rule, std::string_view query, std::span<const RuleParam> params);

} // namespace gd::rules
