// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/issue_list.h"

#include <algorithm>

namespace gd::importer {
namespace {

std::string_view word(raw::IssueSeverity severity) {
    switch (severity) {
    case raw::IssueSeverity::Error:
        return "error";
    case raw::IssueSeverity::DataLoss:
        return "data_loss";
    case raw::IssueSeverity::Info:
        break;
    }
    return "info";
}

} // namespace

void IssueList::add(
    raw::IssueSeverity severity, std::string_view code, std::uint64_t count, std::string detail) {
    Seen& seen = m_seen[{m_processId, std::string(code)}];
    ++seen.rows;
    if (seen.rows <= kDetailed) {
        m_issues.push_back({m_processId, severity, std::string(code), count, std::move(detail)});
        return;
    }
    if (seen.rows == kDetailed + 1) {
        seen.overflow = m_issues.size();
        m_issues.push_back({m_processId, severity, std::string(code), 0,
            fmt::format("more of the same kind; the last one: {}", detail)});
    }
    Issue& sum = m_issues[seen.overflow];
    sum.count += count;
    sum.severity = std::max(sum.severity, severity);
}

bool IssueList::has(std::string_view code) const {
    return std::any_of(
        m_issues.begin(), m_issues.end(), [code](const Issue& issue) { return issue.code == code; });
}

Result<void> IssueList::write(Db& db, const std::function<std::string(std::string_view)>& clean) const {
    GD_TRY_ASSIGN(Statement insert,
        db.prepare("INSERT INTO trace_issue(process_id, severity, code, count, detail) VALUES (?, ?, ?, ?, "
                   "?)"));
    for (const Issue& issue : m_issues) {
        const auto process
            = issue.processId == 0 ? std::nullopt : std::optional<std::int64_t>(issue.processId);
        GD_TRY(insert.runWith(process, word(issue.severity), issue.code,
            static_cast<std::int64_t>(issue.count), clean(issue.detail)));
    }
    return {};
}

} // namespace gd::importer
