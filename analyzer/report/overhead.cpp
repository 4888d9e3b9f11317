// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/statement.h"
#include "analyzer/report/model.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace gd::report {
namespace {

// A median of fewer steps moves by more than recording costs.
constexpr std::size_t kLeastSteps = 5;

struct State {
    std::int64_t timeNs = 0;
    int level = 0; // 0 off, 1 history, 2 with device activity
};

struct Timed {
    std::int64_t startNs = 0;
    std::int64_t durationNs = 0;
};

// Steps of one process in order of time.
struct Durations {
    std::vector<Timed> byLevel[3];

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

// Steps far from the nearest one without recording say little: jobs change their pace.
constexpr std::int64_t kNearNs = 20'000'000'000;

// The steps of `all` that begin within kNearNs of one of `bare`; both in order of time.
std::vector<std::int64_t> durationsNear(const std::vector<Timed>& all, const std::vector<Timed>& bare) {
    std::vector<std::int64_t> near;
    std::size_t next = 0;
    for (const Timed& step : all) {
        while (next < bare.size() && bare[next].startNs < step.startNs)
            ++next;
        const bool before = next > 0 && step.startNs - bare[next - 1].startNs <= kNearNs;
        const bool after = next < bare.size() && bare[next].startNs - step.startNs <= kNearNs;
        if (before || after)
            near.push_back(step.durationNs);
    }
    return near;
}

// Processes in which a change of level switched nothing, so that their steps are all alike.
Result<std::set<std::int64_t>> neverSwitched(Db& trace) {
    std::set<std::int64_t> processes;
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly("SELECT process_id FROM process_fact WHERE key = 'activity_not_switched'"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return processes;
        processes.insert(select.int64(0));
    }
}

// The whole steps of each process at one level.
Result<std::map<std::int64_t, Durations>> readSteps(
    Db& trace, const std::map<std::int64_t, std::vector<State>>& states) {
    GD_TRY_ASSIGN(const auto never, neverSwitched(trace));
    std::map<std::int64_t, Durations> byProcess;
    GD_TRY_ASSIGN(auto select,
        trace.prepareReadOnly("SELECT process_id, start_ns, end_ns FROM step WHERE kind IN ('steady', "
                              "'outside') ORDER BY process_id, start_ns"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return byProcess;
        const auto found = states.find(select.int64(0));
        const bool usable = found != states.end() && never.count(select.int64(0)) == 0;
        const int level = usable ? levelDuring(found->second, select.int64(1), select.int64(2)) : -1;
        if (level >= 0)
            byProcess[select.int64(0)].byLevel[level].push_back(
                {select.int64(1), select.int64(2) - select.int64(1)});
    }
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
    if (!switched) {
        GD_TRY_ASSIGN(const auto why,
            trace.queryText("SELECT value FROM process_fact WHERE key = 'overhead_not_measured' ORDER BY "
                            "rowid DESC LIMIT 1"));
        return notMeasured(why.value_or(never));
    }
    GD_TRY_ASSIGN(const auto byProcess, readSteps(trace, states));
    const auto best = std::max_element(byProcess.begin(), byProcess.end(),
        [](const auto& a, const auto& b) { return a.second.usable() < b.second.usable(); });
    if (best == byProcess.end())
        return notMeasured("recording was switched, but no steps after the warm-up are known whose cost it "
                           "could change");
    const Durations& durations = best->second;
    const int bare = durations.bareLevel();
    if (durations.usable() < kLeastSteps)
        return notMeasured(fmt::format(
            "recording was switched, but {} steps with it and {} without are too few ({} of each are needed)",
            durations.byLevel[2].size(), durations.byLevel[bare].size(), kLeastSteps));
    Overhead out;
    out.processId = best->first;
    out.historyOnly = bare == 1;
    const auto recorded = durationsNear(durations.byLevel[2], durations.byLevel[bare]);
    if (recorded.size() < kLeastSteps)
        return notMeasured("the steps without recording lie far from those with it");
    out.recorded = sideOf(recorded);
    out.bare = sideOf(durationsNear(durations.byLevel[bare], durations.byLevel[bare]));
    if (out.bare.medianNs <= 0)
        return notMeasured("the steps without recording have no duration");
    out.ratio = static_cast<double>(out.recorded.medianNs) / static_cast<double>(out.bare.medianNs);
    return out;
}

} // namespace gd::report
