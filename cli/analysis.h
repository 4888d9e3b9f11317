// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/report/judge.h"
#include "analyzer/rules/rule_set.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gd::cli {

using report::openTrace;

// The rules of this installation and then those of the folders that the user added.
Result<rules::RuleSet> loadAllRules(const std::vector<std::string>& added);

struct JudgeOptions {
    std::vector<std::string> ruleFolders; // --rules
    std::vector<std::string> params; // --param
    report::Filter filter;
};

// Whether the rules can be loaded and take these parameters: known before a job of hours rather than after
// it.
Result<void> checkJudge(const JudgeOptions& options);

// Runs all rules over a trace: everything a report says.
Result<report::Report> judge(const std::string& tracePath, const JudgeOptions& options);

// "A:B", "A:" or ":B", inclusive on both sides.
Result<std::pair<std::int64_t, std::int64_t>> parseSteps(std::string_view text);

// "info", "warning", "error"; "never" gives nullopt.
std::optional<rules::Severity> failOnFrom(std::string_view word);

} // namespace gd::cli
