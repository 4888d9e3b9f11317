// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/statement.h"
#include "analyzer/report/model.h"

#include <algorithm>
#include <map>
#include <vector>

namespace gd::report {
namespace {

// A median of fewer steps moves by more than recording costs.
constexpr std::size_t kLeastSteps = 5;

struct State {
    std::int64_t timeNs = 0;
    int level = 0; // 0 off, 1 history, 2 with device activity
};

struct Durations {
    std::vector<std::int64_t> byLevel[3];

    // Steps of the level that stands for "bare": off where there are enough, else history.
    int bareLevel() const { return byLevel[0].size() >= kLeastSteps ? 0 : 1; }
    std::size_t usable() const { return std::min(byLevel[2].size(), byLevel[bareLevel()].size()); }
};

Result<std::map<std::int64_t, std::vector<State>>> readStates(Db& trace) {
    std::map<std::int64_t, std::vector<State>> states;
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly(
            "SELECT process_id, time_ns, CASE level WHEN 'off' THEN 0 WHEN 'history' THEN 1 "
            "ELSE 2 END FROM recording_state ORDER BY rowid"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return states;
        states[select.int64(0)].push_back({select.int64(1), static_cast<int>(select.int64(2))});
    }
}

// The level in force during the whole of [startNs, endNs]; -1: it changed, or is unknown.
int levelDuring(const std::vector<State>& states, std::int64_t startNs, std::int64_t endNs) {
    const auto next = std::upper_bound(states.begin(), states.end(), startNs,
        [](std::int64_t time, const State& state) { return time < state.timeNs; });
    if (next == states.begin() || (next != states.end() && next->timeNs < endNs))
        return -1;
    return std::prev(next)->level;
}

Overhead::Side sideOf(std::vector<std::int64_t> durations) {
    std::sort(durations.begin(), durations.end());
    const auto at = [&](std::size_t quarter) { return durations[(durations.size() - 1) * quarter / 4]; };
    return {static_cast<std::int64_t>(durations.size()), at(2), at(1), at(3)};
}

Overhead notMeasured(std::string reason) {
    Overhead out;
    out.reason = std::move(reason);
    return out;
}

} // namespace

Result<Overhead> measureOverhead(Db& trace) {
    const std::string never = "recording was not switched off and on again during this run";
    GD_TRY_ASSIGN(const bool hasStates, trace.hasTable("recording_state"));
    GD_TRY_ASSIGN(const bool hasSteps, trace.hasTable("step"));
    if (!hasStates || !hasSteps)
        return notMeasured(never);
    GD_TRY_ASSIGN(const auto states, readStates(trace));
    const bool switched = std::any_of(states.begin(), states.end(), [](const auto& entry) {
        const auto& list = entry.second;
        return std::any_of(list.begin(), list.end(), [](const State& s) { return s.level == 2; })
            && std::any_of(list.begin(), list.end(), [](const State& s) { return s.level < 2; });
    });
    if (!switched)
        return notMeasured(never);
    std::map<std::int64_t, Durations> byProcess;
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly(
            "SELECT process_id, start_ns, end_ns FROM step WHERE kind IN ('steady', 'outside')"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            break;
        const auto found = states.find(select.int64(0));
        const int level
            = found == states.end() ? -1 : levelDuring(found->second, select.int64(1), select.int64(2));
        if (level >= 0)
            byProcess[select.int64(0)].byLevel[level].push_back(select.int64(2) - select.int64(1));
    }
    const auto best = std::max_element(byProcess.begin(), byProcess.end(),
        [](const auto& a, const auto& b) { return a.second.usable() < b.second.usable(); });
    if (best == byProcess.end())
        return notMeasured("recording was switched, but no steps after the warm-up are known");
    const Durations& durations = best->second;
    const int bare = durations.bareLevel();
    if (durations.usable() < kLeastSteps)
        return notMeasured(fmt::format(
            "recording was switched, but {} steps with it and {} without are too few ({} of each are needed)",
            durations.byLevel[2].size(), durations.byLevel[bare].size(), kLeastSteps));
    Overhead out;
    out.processId = best->first;
    out.historyOnly = bare == 1;
    out.recorded = sideOf(durations.byLevel[2]);
    out.bare = sideOf(durations.byLevel[bare]);
    if (out.bare.medianNs <= 0)
        return notMeasured("the steps without recording have no duration");
    out.ratio = static_cast<double>(out.recorded.medianNs) / static_cast<double>(out.bare.medianNs);
    return out;
}

} // namespace gd::report
