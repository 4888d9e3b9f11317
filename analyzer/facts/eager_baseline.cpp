// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/eager_baseline.h"

#include "analyzer/facts/stats.h"

#include <algorithm>
#include <unordered_map>

namespace gd::facts {
namespace {

constexpr std::size_t kMinKernels = 4;
constexpr std::size_t kMinRuns = 2; // after the first
constexpr double kMostOfAReplay = 1.25; // a longer run is other work, or ran at other clocks

// How much of a window of kernels is the graph's, moved on kernel by kernel.
class Window {
public:
    explicit Window(const std::vector<std::int64_t>& names) {
        for (const std::int64_t name : names)
            ++m_missing[name];
    }
    void add(std::int64_t name) {
        if (const auto entry = m_missing.find(name); entry != m_missing.end())
            m_found += entry->second-- > 0 ? 1 : 0;
    }
    void take(std::int64_t name) {
        if (const auto entry = m_missing.find(name); entry != m_missing.end())
            m_found -= ++entry->second > 0 ? 1 : 0;
    }
    std::size_t found() const { return m_found; }

private:
    std::unordered_map<std::int64_t, std::int64_t> m_missing; // negative: more than the graph has
    std::size_t m_found = 0;
};

std::int64_t nameOf(const RawData& raw, std::int64_t shapeId) {
    const auto shape = raw.shapes.find(shapeId);
    return shape == raw.shapes.end() ? 0 : shape->second.nameId;
}

// When the executable began to come into being: what ran before was launched singly.
std::int64_t beginningNs(const ProcessData& process, const Exec& exec, const Graph& graph) {
    const Capture* capture = process.capture(graph.captureId);
    return capture == nullptr ? exec.createdStartNs : capture->startNs;
}

std::optional<std::int64_t> medianReplayNs(const ProcessData& process, const Exec& exec) {
    std::vector<std::int64_t> durations;
    for (const std::int32_t index : exec.replays) {
        const Replay& replay = process.replays[static_cast<std::size_t>(index)];
        if (replay.measured)
            durations.push_back(replay.endNs - replay.startNs);
    }
    return medianNs(durations);
}

} // namespace

EagerBaselines::EagerBaselines(const RawData& raw, const ProcessData& process, const DeviceTimeline& timeline)
    : m_raw(raw)
    , m_process(process)
    , m_timeline(timeline)
    , m_callOf(process) {
    for (const DeviceOp& op : process.ops) {
        if (op.inGraph || op.isComm || op.kind != DeviceOp::Kind::kernel || op.deviceId != timeline.deviceId)
            continue;
        m_kernels.push_back(&op);
        m_names.push_back(nameOf(raw, op.shapeId));
    }
}

std::vector<EagerBaselines::Run> EagerBaselines::runsOf(
    const std::vector<std::int64_t>& names, std::int64_t untilNs) const {
    const std::size_t size = names.size();
    const auto until = std::lower_bound(m_kernels.begin(), m_kernels.end(), untilNs,
        [](const DeviceOp* op, std::int64_t time) { return op->startNs < time; });
    const auto count = static_cast<std::size_t>(until - m_kernels.begin());
    std::vector<Run> runs;
    Window window(names);
    std::size_t filledTo = 0;
    for (std::size_t first = 0; first + size <= count;) {
        for (; filledTo < first + size; ++filledTo)
            window.add(m_names[filledTo]);
        std::size_t next = first + 1;
        if (m_names[first] == names.front() && window.found() * 100 >= size * 95) {
            Run run{first, {m_kernels[first]->startNs, 0}};
            for (std::size_t i = first; i < first + size; ++i)
                run.time.endNs = std::max(run.time.endNs, m_kernels[i]->endNs);
            runs.push_back(run);
            next = first + size;
        }
        for (; first < next; ++first)
            window.take(m_names[first]);
    }
    return runs;
}

std::optional<EagerBaseline> EagerBaselines::of(const Exec& exec) const {
    const Graph* graph = m_process.templateOf(exec);
    const auto replayNs = medianReplayNs(m_process, exec);
    if (graph == nullptr || !replayNs)
        return std::nullopt;
    std::vector<std::int64_t> names;
    for (const std::int32_t index : graph->nodes) {
        const Node& node = m_process.nodes[static_cast<std::size_t>(index)];
        if (node.type == "kernel")
            names.push_back(nameOf(m_raw, node.shapeId));
    }
    if (names.size() < kMinKernels)
        return std::nullopt;
    const std::vector<Run> runs = runsOf(names, beginningNs(m_process, exec, *graph));
    if (runs.size() < kMinRuns + 1)
        return std::nullopt;
    EagerBaseline result;
    result.busy = 1;
    result.launchNs = 0;
    // Of n kernels n - 1 show whether the next one came in time.
    const double kernels = static_cast<double>(names.size());
    for (std::size_t i = 1; i < runs.size(); ++i) {
        const auto [first, time] = runs[i];
        const auto busyNs = static_cast<double>(coveredNs(m_timeline.compute, time.startNs, time.endNs));
        const double idleNs = (static_cast<double>(time.lengthNs()) - busyNs) * kernels / (kernels - 1);
        if (static_cast<double>(time.lengthNs()) > kMostOfAReplay * static_cast<double>(*replayNs))
            return std::nullopt;
        result.busy = std::min(result.busy, busyNs / std::max(1.0, busyNs + idleNs));
        for (std::size_t k = first; k < first + names.size(); ++k) {
            const ApiCall* call = m_callOf.find(m_kernels[k]->correlation);
            result.kernelNs += m_kernels[k]->endNs - m_kernels[k]->startNs;
            if (call == nullptr)
                result.launchNs.reset();
            else if (result.launchNs)
                *result.launchNs += call->endNs - call->startNs;
        }
        ++result.runs;
    }
    return result;
}

} // namespace gd::facts
