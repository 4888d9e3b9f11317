// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/readers.h"

#include <algorithm>

namespace gd::store {
namespace {

std::string textOrEmpty(const Statement& statement, std::string_view column) {
    return statement.optionalText(column).value_or(std::string());
}

CoverageState stateFrom(std::string_view word) {
    if (word == "complete")
        return CoverageState::complete;
    return word == "partial" ? CoverageState::partial : CoverageState::absent;
}

constexpr std::string_view kNotReported = "nothing is recorded about this source at that time";

} // namespace

Result<std::vector<ProcessRow>> readProcesses(Db& db) {
    GD_TRY_ASSIGN(Statement select,
        db.prepare("SELECT process_id, pid, rank, world_size, role, host, command_line, executable, runtime, "
                   "start_ns, end_ns, ended, exit_status, exit_signal, exit_reason FROM process ORDER BY "
                   "process_id"));
    std::vector<ProcessRow> rows;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return rows;
        ProcessRow row;
        row.id = base::ProcessId(select.int64("process_id"));
        row.pid = select.int64("pid");
        if (const auto rank = select.optionalInt64("rank"))
            row.rank = base::RankId(*rank);
        row.worldSize = select.optionalInt64("world_size");
        row.role = textOrEmpty(select, "role");
        row.host = textOrEmpty(select, "host");
        row.commandLine = textOrEmpty(select, "command_line");
        row.executable = textOrEmpty(select, "executable");
        row.runtime = textOrEmpty(select, "runtime");
        row.startNs = select.int64("start_ns");
        row.endNs = select.int64("end_ns");
        row.closed = select.text("ended") == "closed";
        row.exitStatus = select.optionalInt64("exit_status");
        row.exitSignal = select.optionalInt64("exit_signal");
        row.exitReason = textOrEmpty(select, "exit_reason");
        rows.push_back(std::move(row));
    }
}

Result<std::map<std::string, std::string>> readMeta(Db& db) {
    GD_TRY_ASSIGN(Statement select, db.prepare("SELECT key, value FROM meta"));
    std::map<std::string, std::string> meta;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return meta;
        meta.emplace(select.text(0), select.text(1));
    }
}

Result<std::vector<TraceIssue>> readIssues(Db& db) {
    GD_TRY_ASSIGN(Statement select,
        db.prepare("SELECT process_id, severity, code, count, detail FROM trace_issue ORDER BY CASE severity "
                   "WHEN 'error' THEN 0 WHEN 'data_loss' THEN 1 ELSE 2 END, issue_id"));
    std::vector<TraceIssue> issues;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return issues;
        TraceIssue issue;
        if (const auto process = select.optionalInt64(0))
            issue.process = base::ProcessId(*process);
        issue.severity = select.text(1);
        issue.code = select.text(2);
        issue.count = select.int64(3);
        issue.detail = select.text(4);
        issues.push_back(std::move(issue));
    }
}

std::string_view name(CoverageState state) {
    switch (state) {
    case CoverageState::complete:
        return "complete";
    case CoverageState::partial:
        return "partial";
    case CoverageState::absent:
        break;
    }
    return "absent";
}

Result<CoverageMap> CoverageMap::read(Db& db) {
    GD_TRY_ASSIGN(Statement select,
        db.prepare("SELECT process_id, source, from_ns, to_ns, state, reason FROM coverage ORDER BY from_ns, "
                   "to_ns"));
    CoverageMap map;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return map;
        map.m_intervals[Key(select.int64(0), select.text(1))].push_back(
            {select.int64(2), select.int64(3), stateFrom(select.text(4)), textOrEmpty(select, "reason")});
    }
}

const std::vector<CoverageMap::Interval>* CoverageMap::find(
    base::ProcessId process, std::string_view source) const {
    const auto found = m_intervals.find(Key(process.value(), source));
    return found == m_intervals.end() ? nullptr : &found->second;
}

CoverageMap::Answer CoverageMap::worst(
    base::ProcessId process, std::string_view source, std::int64_t fromNs, std::int64_t toNs) const {
    const std::vector<Interval>* intervals = find(process, source);
    if (intervals == nullptr)
        return {CoverageState::absent, std::string(kNotReported)};
    Answer answer{CoverageState::complete, {}};
    std::int64_t coveredTo = fromNs;
    bool touched = false;
    for (const Interval& interval : *intervals) {
        if (interval.toNs < fromNs || interval.fromNs > toNs)
            continue;
        if (interval.fromNs > coveredTo)
            return {CoverageState::absent, std::string(kNotReported)};
        touched = true;
        coveredTo = std::max(coveredTo, interval.toNs);
        // A neighbour that only touches the asked interval at one end says nothing about it.
        const bool onlyTouches = fromNs < toNs && (interval.toNs == fromNs || interval.fromNs == toNs);
        if (!onlyTouches && interval.state < answer.state)
            answer = {interval.state, interval.reason};
    }
    if (!touched || coveredTo < toNs)
        return {CoverageState::absent, std::string(kNotReported)};
    return answer;
}

CoverageMap::Answer CoverageMap::best(
    base::ProcessId process, std::string_view source, std::int64_t fromNs, std::int64_t toNs) const {
    const std::vector<Interval>* intervals = find(process, source);
    Answer answer{CoverageState::absent, std::string(kNotReported)};
    bool touched = false;
    if (intervals == nullptr)
        return answer;
    for (const Interval& interval : *intervals) {
        if (interval.toNs < fromNs || interval.fromNs > toNs)
            continue;
        if (!touched || interval.state > answer.state)
            answer = {interval.state, interval.reason};
        touched = true;
    }
    return answer;
}

Result<std::int64_t> firstRowFrom(Db& db, std::string_view table, std::string_view column,
    std::int64_t firstRow, std::int64_t lastRow, std::int64_t value) {
    GD_TRY_ASSIGN(
        auto at, db.prepareReadOnly(fmt::format("SELECT {} FROM {} WHERE rowid = ?", column, table)));
    std::int64_t low = firstRow;
    std::int64_t high = lastRow + 1;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        at.reset();
        at.bind(1, middle);
        GD_TRY_ASSIGN(const bool there, at.step());
        if (!there || at.int64(0) >= value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

} // namespace gd::store
