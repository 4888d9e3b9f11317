// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/sequence_tracker.h"

#include <iterator>

namespace gd::importer {

void SequenceTracker::setCurrent(std::map<std::uint64_t, Run>::iterator run) {
    m_current = run;
    const auto behind = std::next(run);
    m_limit = behind == m_runs.end() ? kNoLimit : behind->first;
}

bool SequenceTracker::addSlowly(std::uint64_t sequence, std::int64_t timeNs) {
    auto behind = m_runs.upper_bound(sequence);
    if (behind != m_runs.begin()) {
        const auto run = std::prev(behind);
        if (sequence < run->second.end) {
            setCurrent(run);
            return false;
        }
        if (sequence == run->second.end) {
            ++run->second.end;
            if (timeNs != 0)
                run->second.lastNs = timeNs;
            // Grown up to the next run: they are one now.
            if (behind != m_runs.end() && behind->first == run->second.end) {
                run->second.end = behind->second.end;
                run->second.lastNs = behind->second.lastNs != 0 ? behind->second.lastNs : run->second.lastNs;
                m_runs.erase(behind);
            }
            setCurrent(run);
            return true;
        }
    }
    if (behind != m_runs.end() && behind->first == sequence + 1) {
        Run run = behind->second;
        run.firstNs = timeNs != 0 ? timeNs : run.firstNs;
        m_runs.erase(behind);
        setCurrent(m_runs.emplace(sequence, run).first);
        return true;
    }
    setCurrent(m_runs.emplace(sequence, Run{sequence + 1, timeNs, timeNs}).first);
    return true;
}

std::vector<SequenceTracker::Gap> SequenceTracker::gaps(std::uint64_t from) const {
    std::vector<Gap> gaps;
    std::uint64_t expected = from;
    std::int64_t beforeNs = 0;
    for (const auto& [first, run] : m_runs) {
        if (first > expected)
            gaps.push_back({expected, first - expected, beforeNs, run.firstNs});
        expected = run.end;
        beforeNs = run.lastNs;
    }
    return gaps;
}

} // namespace gd::importer
