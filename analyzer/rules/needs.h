// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/base/result.h"
#include "analyzer/rules/rule_file.h"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace gd::rules {

// What was looked at, read once from table coverage: per process and source the best state of any interval.
// Processes in which every source is absent (a launcher that never used a runtime) do not count.
class CoverageSummary {
public:
    static Result<CoverageSummary> load(Db& db);

    // Which processes a rule with these needs can judge.
    struct Verdict {
        std::set<std::int64_t> blind; // processes that lack something
        std::size_t seeing = 0; // processes that have all of it
        std::string reason; // what the first blind process lacks; empty when none is blind
        double share = 1; // of the time of the others in which a needed source was looked at, the least
        std::string gap; // why not all the time, empty when not known
    };
    Verdict judge(std::span<const CoverageNeed> needs) const;

private:
    struct State {
        CoverageState best = CoverageState::absent;
        std::string reason;
        std::int64_t totalNs = 0;
        std::int64_t partialNs = 0; // partial or better
        std::int64_t completeNs = 0;
        std::int64_t gapNs = 0; // the longest absence
        std::string gap; // and its reason
    };
    using Sources = std::map<std::string, State, std::less<>>;

    State stateOf(const Sources& sources, std::string_view source) const;
    void noteShare(const Sources& sources, const CoverageNeed& need, Verdict& verdict) const;
    std::string lacking(const Sources& sources, const CoverageNeed& need) const; // empty = satisfied

    std::map<std::int64_t, Sources> m_processes;
};

} // namespace gd::rules
