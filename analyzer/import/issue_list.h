// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "collector/raw/records_coverage.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gd::importer {

// Collects what becomes table trace_issue. At most kDetailed rows of one code are kept for a process; the
// rest is one row with the summed count.
class IssueList {
public:
    static constexpr int kDetailed = 20;

    // Following issues belong to this process; 0 = to the trace as a whole.
    void setProcess(std::int64_t processId) { m_processId = processId; }
    void add(raw::IssueSeverity severity, std::string_view code, std::uint64_t count, std::string detail);
    void info(std::string_view code, std::uint64_t count, std::string detail) {
        add(raw::IssueSeverity::Info, code, count, std::move(detail));
    }
    void dataLoss(std::string_view code, std::uint64_t count, std::string detail) {
        add(raw::IssueSeverity::DataLoss, code, count, std::move(detail));
    }
    void error(std::string_view code, std::uint64_t count, std::string detail) {
        add(raw::IssueSeverity::Error, code, count, std::move(detail));
    }

    bool has(std::string_view code) const;
    std::size_t size() const { return m_issues.size(); }
    // `clean` is applied to every sentence (redaction, UTF-8).
    Result<void> write(Db& db, const std::function<std::string(std::string_view)>& clean) const;

private:
    struct Issue {
        std::int64_t processId;
        raw::IssueSeverity severity;
        std::string code;
        std::uint64_t count;
        std::string detail;
    };
    struct Seen {
        int rows = 0;
        std::size_t overflow = 0; // index of the summing row, when rows > kDetailed
    };

    std::int64_t m_processId = 0;
    std::vector<Issue> m_issues;
    std::map<std::pair<std::int64_t, std::string>, Seen> m_seen;
};

} // namespace gd::importer
