// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/step_period.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace gd::facts {
namespace {

constexpr std::size_t kMinRepeats = 5;
constexpr std::int64_t kEagerOptimizer = -1; // symbol of a burst of single kernels
constexpr std::int64_t kFirstPlace = -1; // symbols of places lie below, where no executable's number is

struct Event {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0; // the launch call returned
    std::int64_t execId = 0; // 0 = burst of single kernels
    bool isOptimizer = false;
};

std::int32_t busiestReplayThread(const ProcessData& process) {
    std::map<std::int32_t, std::size_t> count;
    for (const Replay& replay : process.replays)
        ++count[replay.threadId];
    std::int32_t busiest = 0;
    for (const auto& [thread, replays] : count) {
        if (busiest == 0 || replays > count[busiest])
            busiest = thread;
    }
    return busiest;
}

// Runs of optimizer kernels; a run ends where enough other work lies between. "Enough" is a quarter of what
// the fifth-longest separation has, so that kernels between two parameters' updates do not cut a step.
std::vector<Event> optimizerBursts(const RawData& raw, const ProcessData& process) {
    struct Kernel {
        Event event;
        std::size_t othersBefore = 0;
        std::int64_t correlation = 0;
    };
    std::vector<Kernel> kernels;
    std::size_t others = 0;
    for (const DeviceOp& op : process.ops) {
        if (op.kind != DeviceOp::Kind::kernel)
            continue;
        const auto shape = raw.shapes.find(op.shapeId);
        if (op.inGraph || shape == raw.shapes.end() || !shape->second.isOptimizer) {
            ++others;
            continue;
        }
        kernels.push_back({{op.startNs, op.endNs, 0, true}, others, op.correlation});
        others = 0;
    }
    if (kernels.empty())
        return {};
    std::unordered_map<std::int64_t, const ApiCall*> launches;
    for (const Kernel& kernel : kernels)
        launches.emplace(kernel.correlation, nullptr);
    for (const ApiCall& call : process.calls) {
        if (call.apiClass == ApiClass::launch && call.correlation != 0) {
            if (const auto found = launches.find(call.correlation); found != launches.end())
                found->second = &call;
        }
    }
    std::vector<std::size_t> separations;
    for (std::size_t i = 1; i < kernels.size(); ++i)
        separations.push_back(kernels[i].othersBefore);
    std::sort(separations.rbegin(), separations.rend());
    const std::size_t reference
        = separations.empty() ? 0 : separations[std::min(separations.size(), kMinRepeats) - 1];
    const std::size_t enough = 1 + reference / 4;
    std::vector<Event> bursts;
    for (Kernel& kernel : kernels) {
        if (const ApiCall* call = launches[kernel.correlation]; call != nullptr && kernel.correlation != 0) {
            kernel.event.startNs = call->startNs;
            kernel.event.endNs = call->endNs;
        }
        if (bursts.empty() || kernel.othersBefore >= enough)
            bursts.push_back(kernel.event);
        else
            bursts.back().endNs = std::max(bursts.back().endNs, kernel.event.endNs);
    }
    return bursts;
}

std::unordered_set<std::int64_t> optimizerExecs(const RawData& raw, const ProcessData& process) {
    std::unordered_set<std::int64_t> result;
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph == nullptr)
            continue;
        for (const std::int32_t index : graph->nodes) {
            const auto shape = raw.shapes.find(process.nodes[static_cast<std::size_t>(index)].shapeId);
            if (shape != raw.shapes.end() && shape->second.isOptimizer) {
                result.insert(exec.execId);
                break;
            }
        }
    }
    return result;
}

std::vector<Event> launchSequence(const RawData& raw, const ProcessData& process, std::int32_t thread) {
    std::vector<Event> events = optimizerBursts(raw, process);
    const auto optimizers = optimizerExecs(raw, process);
    for (const Replay& replay : process.replays) {
        if (replay.threadId == thread && replay.result == 0)
            events.push_back({replay.launchStartNs, replay.launchEndNs, replay.execId,
                optimizers.contains(replay.execId)});
    }
    std::sort(
        events.begin(), events.end(), [](const Event& a, const Event& b) { return a.startNs < b.startNs; });
    return events;
}

// From exact to loose, so that execs captured again, for another shape, or with the other kernels that a
// library picks for it, still are the same symbol.
enum class Symbols { exec, signature, names, place };

// Where it was captured, or else instantiated; 0 = unknown.
std::int64_t placeOf(const ProcessData& process, const Exec& exec) {
    const Graph* graph = process.templateOf(exec);
    const Capture* capture = graph == nullptr ? nullptr : process.capture(graph->captureId);
    return capture != nullptr && capture->beginStackId != 0 ? capture->beginStackId : exec.stackId;
}

std::vector<std::int64_t> symbolsOf(
    const ProcessData& process, const std::vector<Event>& events, Symbols kind) {
    std::unordered_map<std::int64_t, std::int64_t> symbolOfExec;
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        std::int64_t symbol = exec.execId;
        if (kind != Symbols::exec && graph != nullptr && graph->signature)
            symbol = *graph->signature;
        if (kind == Symbols::names && graph != nullptr && !graph->nodes.empty()) {
            std::vector<std::string> names;
            for (const std::int32_t index : graph->nodes) {
                const Node& node = process.nodes[static_cast<std::size_t>(index)];
                names.push_back(node.type + ':' + node.name);
            }
            std::sort(names.begin(), names.end());
            std::size_t hash = names.size();
            for (const std::string& name : names)
                hash = hash * 1099511628211ULL + std::hash<std::string>{}(name);
            symbol = static_cast<std::int64_t>(hash);
        }
        if (const std::int64_t place = placeOf(process, exec); kind == Symbols::place && place != 0)
            symbol = kFirstPlace - place;
        symbolOfExec[exec.execId] = symbol;
    }
    std::vector<std::int64_t> symbols;
    symbols.reserve(events.size());
    for (const Event& event : events) {
        const auto found = symbolOfExec.find(event.execId);
        symbols.push_back(event.execId == 0   ? kEagerOptimizer
                : found == symbolOfExec.end() ? event.execId
                                              : found->second);
    }
    return symbols;
}

Step stepOf(const std::vector<Step>& before, std::int64_t startNs, std::int64_t endNs, std::int32_t thread) {
    Step step;
    step.step = static_cast<std::int64_t>(before.size());
    step.startNs = startNs;
    step.endNs = endNs;
    step.threadId = thread;
    return step;
}

// One step ends where an optimizer's launch returns and something else comes next.
std::vector<Step> cutAfterOptimizer(const std::vector<Event>& events, std::int32_t thread) {
    const bool onlyOptimizers
        = std::all_of(events.begin(), events.end(), [](const Event& event) { return event.isOptimizer; });
    std::vector<Step> steps;
    std::optional<std::int64_t> boundaryNs;
    for (std::size_t i = 0; i < events.size(); ++i) {
        // An eager burst after an optimizer replay is another step's: only replays of one pattern follow each
        // other inside a step.
        const bool last = i + 1 == events.size() || !events[i + 1].isOptimizer || onlyOptimizers
            || events[i].execId == events[i + 1].execId || events[i].execId == 0 || events[i + 1].execId == 0;
        if (!events[i].isOptimizer || !last)
            continue;
        if (boundaryNs && events[i].endNs > *boundaryNs)
            steps.push_back(stepOf(steps, *boundaryNs, events[i].endNs, thread));
        else if (!boundaryNs && i > 0 && !events[0].isOptimizer)
            steps.push_back(stepOf(steps, events[0].startNs, events[i].endNs, thread));
        boundaryNs = std::max(events[i].endNs, boundaryNs.value_or(events[i].endNs));
    }
    return steps;
}

// One step starts where the pattern starts; what does not fit belongs to the step before.
std::vector<Step> cutByPattern(const std::vector<Event>& events, const std::vector<std::int64_t>& symbols,
    std::size_t period, std::int32_t thread) {
    const auto matches = [&](std::size_t a, std::size_t b) {
        return std::equal(symbols.begin() + static_cast<std::ptrdiff_t>(a),
            symbols.begin() + static_cast<std::ptrdiff_t>(a + period),
            symbols.begin() + static_cast<std::ptrdiff_t>(b));
    };
    std::size_t first = 0;
    while (first + 2 * period <= symbols.size() && !matches(first, first + period))
        ++first;
    std::vector<std::size_t> starts;
    for (std::size_t i = first; i + period <= symbols.size();) {
        if (matches(first, i)) {
            starts.push_back(i);
            i += period;
        } else {
            ++i;
        }
    }
    std::vector<Step> steps;
    for (std::size_t k = 0; k < starts.size(); ++k) {
        const std::int64_t endNs
            = k + 1 < starts.size() ? events[starts[k + 1]].startNs : events[starts[k] + period - 1].endNs;
        steps.push_back(stepOf(steps, events[starts[k]].startNs, endNs, thread));
    }
    return steps;
}

} // namespace

std::optional<std::size_t> smallestPeriod(const std::vector<std::int64_t>& symbols) {
    constexpr std::size_t kMaxSymbols = 20'000;
    constexpr std::size_t kMaxPeriod = 4'000;
    const std::size_t count = std::min(symbols.size(), kMaxSymbols);
    const std::int64_t* begin = symbols.data() + (symbols.size() - count) / 2;
    for (std::size_t period = 1; period <= kMaxPeriod && period * kMinRepeats <= count; ++period) {
        const std::size_t compared = count - period;
        const std::size_t allowed = compared / 10;
        std::size_t different = 0;
        for (std::size_t i = 0; i < compared && different <= allowed; ++i)
            different += begin[i] != begin[i + period] ? 1 : 0;
        if (different <= allowed)
            return period;
    }
    return std::nullopt;
}

std::optional<PeriodicSteps> stepsFromLaunches(const RawData& raw, const ProcessData& process) {
    const std::int32_t thread = busiestReplayThread(process);
    const std::vector<Event> events = launchSequence(raw, process, thread);
    const bool hasReplays
        = std::any_of(events.begin(), events.end(), [](const Event& event) { return event.execId != 0; });
    const auto optimizers = static_cast<std::size_t>(
        std::count_if(events.begin(), events.end(), [](const Event& event) { return event.isOptimizer; }));
    PeriodicSteps result;
    if (hasReplays) {
        for (const Symbols kind : {Symbols::exec, Symbols::signature, Symbols::names, Symbols::place}) {
            const std::vector<std::int64_t> symbols = symbolsOf(process, events, kind);
            const auto period = smallestPeriod(symbols);
            if (!period)
                continue;
            result.method = "launch_period";
            result.steps = optimizers >= kMinRepeats ? cutAfterOptimizer(events, thread)
                                                     : cutByPattern(events, symbols, *period, thread);
            if (result.steps.size() >= kMinRepeats)
                return result;
        }
    }
    if (optimizers < kMinRepeats)
        return std::nullopt;
    result.method = "optimizer_period";
    result.steps = cutAfterOptimizer(events, thread);
    if (result.steps.size() + 1 < kMinRepeats)
        return std::nullopt;
    return result;
}

} // namespace gd::facts
