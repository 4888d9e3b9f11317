// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/judge.h"

#include "analyzer/facts/facts.h"
#include "analyzer/rules/rule_runner.h"

namespace gd::report {
namespace {

std::vector<Issue> issuesOf(const rules::RuleSet& set, const rules::RuleRun& run) {
    std::vector<Issue> out;
    for (const Error& error : set.broken)
        out.push_back({std::nullopt, "error", "rule_broken", 1, error.message});
    for (const rules::RuleIssue& issue : run.issues)
        out.push_back({std::nullopt, issue.severity, issue.code, issue.count, issue.detail});
    return out;
}

} // namespace

Result<store::Trace> openTrace(const std::string& path) {
    GD_TRY_ASSIGN(auto trace, store::Trace::open(path));
    GD_TRY_ASSIGN(
        const auto version, trace.db().queryText("SELECT value FROM meta WHERE key = 'facts_version'"));
    if (version == fmt::format("{}", facts::kFactsVersion))
        return trace;
    facts::FactsOptions options;
    options.inTempSchema = true;
    GD_TRY_ASSIGN(options.stepRange, trace.db().queryText("SELECT value FROM meta WHERE key = 'step_range'"));
    if (options.stepRange && options.stepRange->empty())
        options.stepRange.reset();
    GD_TRY(facts::buildFacts(trace.db(), options).context("{}: building facts", path));
    return trace;
}

Result<Report> judge(store::Trace& trace, const std::string& path, const rules::RuleSet& set,
    const std::vector<std::string>& params, const Filter& filter) {
    rules::RunOptions run;
    run.params = params;
    run.precedence = set.precedence;
    run.frames = set.frames;
    GD_TRY_ASSIGN(auto result, rules::runRules(trace.db(), set.rules, run));
    GD_TRY_ASSIGN(auto report, readTrace(trace.db(), path));
    std::vector<Issue> issues = issuesOf(set, result);
    addFindings(report, std::move(result.findings), std::move(result.outcomes), std::move(issues));
    GD_TRY(applyFilter(report, trace.db(), filter));
    return report;
}

} // namespace gd::report
