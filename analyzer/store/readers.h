// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/base/ids.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gd::store {

// A row of table process.
struct ProcessRow {
    base::ProcessId id;
    std::int64_t pid = 0;
    base::RankId rank;
    std::optional<std::int64_t> worldSize;
    std::string role; // 'primary' | 'forked_child' | 'imported'
    std::string host; // empty = unknown, likewise below
    std::string commandLine;
    std::string executable;
    std::string runtime;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    bool closed = false; // it said goodbye
    std::optional<std::int64_t> exitStatus;
    std::optional<std::int64_t> exitSignal;
    std::string exitReason;
};
// In order of process_id, which is the order of start.
Result<std::vector<ProcessRow>> readProcesses(Db& db);

Result<std::map<std::string, std::string>> readMeta(Db& db);

struct TraceIssue {
    base::ProcessId process;
    std::string severity; // 'info' | 'data_loss' | 'error'
    std::string code;
    std::int64_t count = 0;
    std::string detail;
};
// The gravest first, then in the order of import.
Result<std::vector<TraceIssue>> readIssues(Db& db);

enum class CoverageState : std::uint8_t { absent, partial, complete }; // ascending: operators work
std::string_view name(CoverageState state);

// Answers what was being looked at, from table coverage. Time that no row covers counts as absent.
class CoverageMap {
public:
    struct Answer {
        CoverageState state = CoverageState::absent;
        std::string reason; // of the part that decides; empty when complete
    };
    static Result<CoverageMap> read(Db& db);

    // The lowest state anywhere in [fromNs, toNs]: what a finding that rests on "nothing was seen" needs.
    Answer worst(
        base::ProcessId process, std::string_view source, std::int64_t fromNs, std::int64_t toNs) const;
    // The highest state anywhere in [fromNs, toNs].
    Answer best(
        base::ProcessId process, std::string_view source, std::int64_t fromNs, std::int64_t toNs) const;

private:
    struct Interval {
        std::int64_t fromNs;
        std::int64_t toNs;
        CoverageState state;
        std::string reason;
    };
    using Key = std::pair<std::int64_t, std::string>;
    const std::vector<Interval>* find(base::ProcessId process, std::string_view source) const;

    std::map<Key, std::vector<Interval>> m_intervals; // sorted by fromNs
};

// The first of the rows [firstRow, lastRow] of a table whose `column` is at least `value`; lastRow + 1: none.
// Rows of a track lie in that order, which no index repeats. The names of table and column are ours.
Result<std::int64_t> firstRowFrom(Db& db, std::string_view table, std::string_view column,
    std::int64_t firstRow, std::int64_t lastRow, std::int64_t value);

} // namespace gd::store
