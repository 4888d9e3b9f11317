// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/base/statement.h"
#include "analyzer/rules/finding.h"
#include "analyzer/rules/rule_file.h"

#include <optional>
#include <span>
#include <string_view>

namespace gd::rules {

// Turns rows of a rule's query into findings; the columns are those of rule_runner.h. Checks at opening that
// the required columns exist, none appears twice, and the message names nothing unknown. Must not outlive its
// arguments.
class RowReader {
public:
    static Result<RowReader> open(
        const Statement& statement, const RuleFile& rule, std::span<const RuleParam> params);
    // The row the statement stands on. Rank, ranks and locations are left to the caller.
    Result<Finding> read() const;
    // False: findings of this rule have no place by their nature.
    bool namesCalls() const { return m_statement.columnIndex("stack_id").has_value(); }

private:
    RowReader(const Statement& statement, const RuleFile& rule, std::span<const RuleParam> params)
        : m_statement(statement)
        , m_rule(rule)
        , m_params(params) { }

    Result<std::optional<std::int64_t>> integer(std::string_view column) const;
    Result<std::optional<std::string>> text(std::string_view column) const;
    Result<void> readNumbers(Finding& finding) const;
    Result<void> readWords(Finding& finding) const;
    Result<void> readRoot(Finding& finding) const;
    Result<void> readEvidence(Finding& finding) const;
    Result<void> readMessage(Finding& finding) const;

    const Statement& m_statement;
    const RuleFile& m_rule;
    std::span<const RuleParam> m_params;
};

} // namespace gd::rules
