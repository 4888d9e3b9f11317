// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/call_index.h"
#include "analyzer/facts/device_idle.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/unmeasured_replays.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace gd::facts {
namespace {

// Both sets walk forward with the steps, so that a long trace is read once.
class Walker {
public:
    explicit Walker(const IntervalSet& set)
        : m_set(set) { }
    // Steps come in ascending order and may touch, not overlap.
    std::int64_t coveredNs(std::int64_t fromNs, std::int64_t toNs) {
        while (m_next < m_set.size() && m_set[m_next].endNs <= fromNs)
            ++m_next;
        std::int64_t total = 0;
        for (std::size_t i = m_next; i < m_set.size() && m_set[i].startNs < toNs; ++i)
            total += std::min(m_set[i].endNs, toNs) - std::max(m_set[i].startNs, fromNs);
        return total;
    }

private:
    const IntervalSet& m_set;
    std::size_t m_next = 0;
};

// When the work of each step ended on the device; a host that runs ahead is in another step by then. A step
// without work of its own ends where the one before ended.
std::vector<Interval> deviceSteps(
    const ProcessData& process, const DeviceTimeline& timeline, const CallByCorrelation& calls) {
    std::vector<Interval> spans(process.steps.size());
    const auto note = [&](std::int32_t step, std::int64_t startNs, std::int64_t endNs) {
        if (step < 0)
            return;
        Interval& span = spans[static_cast<std::size_t>(step)];
        span.startNs = span.endNs == 0 ? startNs : std::min(span.startNs, startNs);
        span.endNs = std::max(span.endNs, endNs);
    };
    for (const std::int32_t index : timeline.replays) {
        const Replay& replay = process.replays[static_cast<std::size_t>(index)];
        note(replay.step, replay.startNs, replay.endNs);
    }
    for (const DeviceOp& op : process.ops) {
        if (!op.inGraph && op.deviceId == timeline.deviceId)
            note(calls.stepOf(op), op.startNs, op.endNs);
    }
    std::int64_t reachedNs = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const std::int64_t ownStartNs = spans[i].endNs == 0 ? process.steps[i].startNs : spans[i].startNs;
        spans[i].startNs = i == 0 ? std::min(ownStartNs, process.steps[i].startNs) : reachedNs;
        spans[i].endNs = std::max(spans[i].endNs, spans[i].startNs);
        reachedNs = spans[i].endNs;
    }
    return spans;
}

const char* granularity(const DeviceTimeline& timeline) {
    return timeline.hasNodeReplays && timeline.hasWholeReplays ? "mixed"
        : timeline.hasWholeReplays                             ? "graph"
                                                               : "node";
}

// When the device ran nothing of this process though a replay had been launched that waited for no other
// work: the time until it starts, and its turn beside other processes.
IntervalSet queuedTime(const ProcessData& process, const DeviceTimeline& timeline,
    const std::unordered_set<std::int64_t>& waiting) {
    std::vector<Interval> launched;
    for (const std::int32_t index : timeline.replays) {
        const Replay& replay = process.replays[static_cast<std::size_t>(index)];
        if (replay.launchEndNs < replay.startNs && !waiting.contains(replay.replayId))
            launched.push_back({replay.launchEndNs, replay.startNs});
    }
    return subtract(unite(std::move(launched)), timeline.busy);
}

// Steps of a process whose replays were to be measured, and none was: what they did is not known, which is
// not the same as nothing.
Result<void> writeNothingDelivered(FactContext& context, const ProcessData& process, Statement& insert) {
    const auto& timelines = context.timelinesOf(process);
    for (const Device& device : process.devices) {
        const bool hasTimes = std::any_of(timelines.begin(), timelines.end(),
            [&](const DeviceTimeline& timeline) { return timeline.deviceId == device.deviceId; });
        if (hasTimes)
            continue;
        const UnmeasuredReplays unmeasured(process, device.deviceId);
        for (const Step& step : process.steps) {
            if (unmeasured.launchedIn(step.startNs, step.endNs)
                && replaysAreMeasured(process, step.startNs, step.endNs))
                GD_TRY(insert.runWith(process.processId, device.deviceId, step.step, step.steady(),
                    step.startNs, step.endNs, 0, 0, 0, 0, 0, 0, 0, "node", device.unevenNs(), false,
                    unmeasured.why(step.startNs, step.endNs)));
        }
    }
    return {};
}

} // namespace

Result<void> buildDeviceBusy(FactContext& context) {
    constexpr std::int64_t kUnknown = -1; // NULL in the table
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare("INSERT INTO device_busy VALUES (?, ?, ?, ?, ?, ?, ?, NULLIF(?, -1), ?, ?, ?, ?, "
                           "?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        if (process.steps.empty())
            continue;
        const CallByCorrelation calls(process);
        GD_TRY_ASSIGN(const auto waiting, waitingReplays(context.db, process.processId));
        for (const DeviceTimeline& timeline : context.timelinesOf(process)) {
            const Device* device = process.device(timeline.deviceId);
            const IntervalSet exposed = subtract(timeline.comm, timeline.compute);
            Walker busy(timeline.busy);
            Walker compute(timeline.compute);
            Walker comm(timeline.comm);
            Walker exposedComm(exposed);
            Walker graphs(timeline.graphs);
            Walker commInside(timeline.commInside);
            const IntervalSet queuedSet = queuedTime(process, timeline, waiting);
            Walker queued(queuedSet);
            std::vector<std::int64_t> replays(process.steps.size());
            for (const std::int32_t index : timeline.replays) {
                const Replay& replay = process.replays[static_cast<std::size_t>(index)];
                if (replay.step >= 0)
                    ++replays[static_cast<std::size_t>(replay.step)];
            }
            const std::vector<Interval> spans = deviceSteps(process, timeline, calls);
            const UnmeasuredReplays unmeasured(process, timeline.deviceId);
            std::int64_t launchedFromNs = std::numeric_limits<std::int64_t>::min();
            for (std::size_t i = 0; i < process.steps.size(); ++i) {
                const Interval& step = spans[i];
                if (step.lengthNs() == 0)
                    continue;
                // What a step before it left unknown may have run in this one.
                const auto why = unmeasured.why(launchedFromNs, process.steps[i].endNs);
                launchedFromNs = process.steps[i].endNs;
                const bool known = !why && process.complete("eager_kernel_activity", step.startNs, step.endNs)
                    && (replays[i] == 0
                        || process.covered("graph_trace", step.startNs, step.endNs) != CoverageState::absent
                        || process.complete("node_activity", step.startNs, step.endNs));
                const bool isHidden = commInside.coveredNs(step.startNs, step.endNs) > 0;
                const std::int64_t withoutComm
                    = isHidden ? kUnknown : compute.coveredNs(step.startNs, step.endNs);
                GD_TRY(insert.runWith(process.processId, timeline.deviceId, process.steps[i].step,
                    process.steps[i].steady(), step.startNs, step.endNs,
                    busy.coveredNs(step.startNs, step.endNs), withoutComm,
                    comm.coveredNs(step.startNs, step.endNs), exposedComm.coveredNs(step.startNs, step.endNs),
                    graphs.coveredNs(step.startNs, step.endNs), queued.coveredNs(step.startNs, step.endNs),
                    replays[i], granularity(timeline), device == nullptr ? 0 : device->unevenNs(), known,
                    why));
            }
        }
        GD_TRY(writeNothingDelivered(context, process, insert));
    }
    return {};
}

} // namespace gd::facts
