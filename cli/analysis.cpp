// SPDX-License-Identifier: Apache-2.0
#include "cli/analysis.h"

#include "analyzer/rules/params.h"
#include "cli/common.h"

#include <charconv>
#include <limits>

namespace gd::cli {
namespace {

Result<std::int64_t> stepNumber(std::string_view text, std::string_view whole) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0)
        return fail(ErrorCode::usage, "--steps {}: two step numbers A:B are expected", whole);
    return value;
}

} // namespace

Result<rules::RuleSet> loadAllRules(const std::vector<std::string>& added) {
    const std::filesystem::path own = installation().rules;
    if (!std::filesystem::is_directory(own))
        return fail(ErrorCode::notFound,
            "the rules of this installation are missing: {} is expected beside the program", own.string());
    std::vector<std::string> folders = {own.string()};
    folders.insert(folders.end(), added.begin(), added.end());
    return rules::loadRules(folders);
}

Result<void> checkJudge(const JudgeOptions& options) {
    GD_TRY_ASSIGN(auto set, loadAllRules(options.ruleFolders));
    GD_TRY(rules::applyParams(set.rules, options.params, set.frames));
    return {};
}

Result<report::Report> judge(const std::string& tracePath, const JudgeOptions& options) {
    GD_TRY_ASSIGN(auto trace, openTrace(tracePath));
    GD_TRY_ASSIGN(const auto set, loadAllRules(options.ruleFolders));
    return report::judge(trace, tracePath, set, options.params, options.filter);
}

Result<std::pair<std::int64_t, std::int64_t>> parseSteps(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || text == ":")
        return fail(ErrorCode::usage, "--steps {}: two step numbers A:B are expected", text);
    std::pair<std::int64_t, std::int64_t> steps = {0, std::numeric_limits<std::int64_t>::max()};
    if (colon > 0) {
        GD_TRY_ASSIGN(steps.first, stepNumber(text.substr(0, colon), text));
    }
    if (colon + 1 < text.size()) {
        GD_TRY_ASSIGN(steps.second, stepNumber(text.substr(colon + 1), text));
    }
    if (steps.first > steps.second)
        return fail(ErrorCode::usage, "--steps {}: the first step is after the last", text);
    return steps;
}

std::optional<rules::Severity> failOnFrom(std::string_view word) {
    return rules::severityFrom(word);
}

} // namespace gd::cli
