// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/names.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/stats.h"
#include "analyzer/facts/step_period.h"
#include "analyzer/facts/step_ranges.h"

#include <algorithm>
#include <regex>
#include <unordered_map>

namespace gd::facts {
namespace {

constexpr std::size_t kMinWarmupSteps = 3;

struct Preparation {
    bool captures = false;
    bool allocates = false; // memory of the driver that is not stream-ordered

    bool any() const { return captures || allocates; }
};

std::vector<Preparation> preparationOf(const ProcessData& process) {
    std::vector<Preparation> steps(process.steps.size());
    for (const Capture& capture : process.captures) {
        if (const std::int32_t step = process.stepAt(capture.startNs); step >= 0)
            steps[static_cast<std::size_t>(step)].captures = true;
    }
    for (const Allocation& allocation : process.allocations) {
        if (!allocation.onDevice() || !allocation.fromDriver() || allocation.kind == "device_async"
            || allocation.kind == "graph")
            continue;
        if (const std::int32_t step = process.stepAt(allocation.allocNs); step >= 0)
            steps[static_cast<std::size_t>(step)].allocates = true;
    }
    return steps;
}

// Captures are what the job does, not how it starts: in so many steps something is captured that the few
// without, such as the last one, where the captures happen to end, tell no warm-up from the rest.
bool capturesWithoutEnd(const std::vector<Preparation>& steps) {
    constexpr std::size_t kMinCapturing = 5;
    constexpr std::size_t kMaxShareOfQuiet = 4; // less than a fourth prepares nothing
    std::size_t capturing = 0;
    std::size_t quiet = 0;
    for (std::size_t i = kMinWarmupSteps; i < steps.size(); ++i) {
        capturing += steps[i].captures ? 1 : 0;
        quiet += steps[i].any() ? 0 : 1;
    }
    return capturing >= kMinCapturing && quiet * kMaxShareOfQuiet < steps.size() - kMinWarmupSteps;
}

// The first step that replays a graph: until then the job has not got the graphs it will run with. 0 where
// the replays come so late that what lies before them is most of what the job does.
std::size_t firstReplayingStep(const ProcessData& process) {
    constexpr std::size_t kLeastShareAfter = 4; // a fourth of the steps
    for (const Replay& replay : process.replays) {
        const std::int32_t step = replay.result == 0 ? process.stepAt(replay.launchStartNs) : -1;
        if (step < 0)
            continue;
        const auto first = static_cast<std::size_t>(step);
        return (process.steps.size() - first) * kLeastShareAfter >= process.steps.size() ? first : 0;
    }
    return 0;
}

// The first step, three or later and not before the first that replays, that prepares nothing; where every
// step does, or nearly every one captures, the first that may.
std::size_t warmupSteps(const ProcessData& process) {
    const std::vector<Preparation> steps = preparationOf(process);
    if (capturesWithoutEnd(steps))
        return kMinWarmupSteps;
    const std::size_t least = std::max(kMinWarmupSteps, firstReplayingStep(process));
    for (std::size_t i = least; i < steps.size(); ++i) {
        if (!steps[i].any())
            return i;
    }
    return least;
}

// Takes slow steps out whose slowness the range explains: every step of a traced framework holds some
// "aten::log".
void exclude(ProcessData& process, const Range& range, std::int64_t medianNs) {
    auto step = std::upper_bound(process.steps.begin(), process.steps.end(), range.startNs,
        [](std::int64_t time, const Step& other) { return time < other.endNs; });
    for (; step != process.steps.end() && step->startNs < range.endNs; ++step) {
        const std::int64_t lengthNs = step->endNs - step->startNs;
        const std::int64_t insideNs
            = std::min(range.endNs, step->endNs) - std::max(range.startNs, step->startNs);
        if (step->steady() && lengthNs > 3 * medianNs && 2 * insideNs >= lengthNs - medianNs)
            step->kind = Step::Kind::excluded;
    }
}

// What was recorded at the least and at the most during each step.
struct Recorded {
    bool everOff = false;
    bool alwaysWork = true;
};

std::vector<Recorded> recordedDuring(const ProcessData& process) {
    std::vector<Recorded> out(process.steps.size());
    for (std::size_t i = 0; i < process.steps.size(); ++i) {
        const Step& step = process.steps[i];
        // The state at the start of the step, and those that began inside it.
        auto state = std::upper_bound(process.recording.begin(), process.recording.end(), step.startNs,
            [](std::int64_t time, const RecordingState& other) { return time < other.timeNs; });
        if (state != process.recording.begin())
            --state;
        for (; state != process.recording.end() && state->timeNs < step.endNs; ++state) {
            out[i].everOff = out[i].everOff || state->off;
            out[i].alwaysWork = out[i].alwaysWork && state->work;
        }
    }
    return out;
}

// Steps that were not recorded as the others: with recording off nothing is known about them, and without
// device activity they say nothing beside steps that have it.
void takeOutside(ProcessData& process, std::size_t warmup) {
    // The same holds for steps whose events were dropped later.
    for (std::size_t i = warmup; i < process.steps.size() && process.eventsFromNs; ++i) {
        if (process.steps[i].startNs < *process.eventsFromNs)
            process.steps[i].kind = Step::Kind::outside;
    }
    if (process.recording.empty())
        return;
    const std::vector<Recorded> recorded = recordedDuring(process);
    const bool anyWork
        = std::any_of(recorded.begin(), recorded.end(), [](const Recorded& r) { return r.alwaysWork; });
    for (std::size_t i = warmup; i < process.steps.size(); ++i) {
        if (recorded[i].everOff || (anyWork && !recorded[i].alwaysWork))
            process.steps[i].kind = Step::Kind::outside;
    }
}

void classify(const RawData& raw, ProcessData& process) {
    const std::size_t warmup = warmupSteps(process);
    std::vector<std::int64_t> durations;
    for (std::size_t i = 0; i < process.steps.size(); ++i) {
        Step& step = process.steps[i];
        step.kind = i < warmup ? Step::Kind::warmup : Step::Kind::steady;
    }
    takeOutside(process, warmup);
    for (const Step& step : process.steps) {
        if (step.steady())
            durations.push_back(step.endNs - step.startNs);
    }
    const auto median = medianNs(durations);
    if (!median)
        return;
    std::unordered_map<std::int64_t, bool> excludes; // by name
    for (const Range& range : process.ranges) {
        const auto [entry, isNew] = excludes.try_emplace(range.nameId, false);
        if (isNew)
            entry->second = isExclusionRange(raw.string(range.nameId));
        if (!range.isMark && entry->second)
            exclude(process, range, *median);
    }
}

std::string findSteps(const RawData& raw, ProcessData& process, const std::optional<std::regex>& stepRange) {
    if (stepRange) {
        process.steps = stepsFromRanges(raw, process, *stepRange, true, 1);
        if (!process.steps.empty())
            return "step_range";
    }
    process.steps = stepsFromRanges(raw, process, knownStepNames(), false, 5);
    if (!process.steps.empty())
        return "known_range";
    if (auto periodic = stepsFromLaunches(raw, process)) {
        process.steps = std::move(periodic->steps);
        return periodic->method;
    }
    return {};
}

void linkReplays(ProcessData& process) {
    for (Replay& replay : process.replays) {
        replay.step = process.stepAt(replay.launchStartNs);
        replay.steady = replay.step >= 0 && process.steps[static_cast<std::size_t>(replay.step)].steady();
    }
}

const char* name(Step::Kind kind) {
    switch (kind) {
    case Step::Kind::warmup:
        return "warmup";
    case Step::Kind::steady:
        return "steady";
    case Step::Kind::outside:
        return "outside";
    case Step::Kind::excluded:
        break;
    }
    return "excluded";
}

Result<void> write(Db& db, const ProcessData& process, const std::string& method) {
    std::vector<std::int64_t> replays(process.steps.size());
    std::vector<std::int64_t> captures(process.steps.size());
    for (const Replay& replay : process.replays) {
        if (replay.step >= 0)
            ++replays[static_cast<std::size_t>(replay.step)];
    }
    for (const Capture& capture : process.captures) {
        if (const std::int32_t step = process.stepAt(capture.startNs); step >= 0)
            ++captures[static_cast<std::size_t>(step)];
    }
    GD_TRY_ASSIGN(auto insert, db.prepare("INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    std::vector<std::int64_t> durations;
    std::int64_t excluded = 0;
    const Step* first = nullptr;
    const Step* last = nullptr;
    for (std::size_t i = 0; i < process.steps.size(); ++i) {
        const Step& step = process.steps[i];
        GD_TRY(insert.runWith(process.processId, step.step, step.startNs, step.endNs, orNull(step.threadId),
            method, name(step.kind), orNull(step.name), replays[i], captures[i]));
        excluded += step.kind == Step::Kind::excluded ? 1 : 0;
        if (!step.steady())
            continue;
        first = first == nullptr ? &step : first;
        last = &step;
        durations.push_back(step.endNs - step.startNs);
    }
    if (first == nullptr)
        return {};
    GD_TRY_ASSIGN(auto steady, db.prepare("INSERT INTO steady_state VALUES (?, ?, ?, ?, ?, ?)"));
    return steady.runWith(
        process.processId, first->startNs, last->endNs, durations.size(), excluded, *medianNs(durations));
}

} // namespace

Result<void> buildSteps(FactContext& context) {
    std::optional<std::regex> stepRange;
    if (context.options.stepRange) {
        try {
            stepRange.emplace(*context.options.stepRange);
        } catch (const std::regex_error& error) {
            return fail(ErrorCode::usage, "step range '{}' is no regular expression: {}",
                *context.options.stepRange, error.what());
        }
    }
    for (ProcessData& process : context.raw.processes) {
        const std::string method = findSteps(context.raw, process, stepRange);
        classify(context.raw, process);
        linkReplays(process);
        GD_TRY(write(context.db, process, method));
    }
    return {};
}

} // namespace gd::facts
