// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/comm_peers.h"
#include "analyzer/facts/device_wait.h"
#include "analyzer/facts/names.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/unmeasured_replays.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace gd::facts {
namespace {

enum Part { hostSync, execUpdate, data, hostOther, launchCall, event, peer, nccl, unknown, partCount };
constexpr std::array<const char*, partCount> kCauses{
    "host_sync", "exec_update", "data", "host_other", "launch_call", "event", "peer", "nccl", "unknown"};

struct Gap {
    const Replay* replay = nullptr;
    const Replay* before = nullptr; // the replay that ended last, of this step or the one before
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::array<std::int64_t, partCount> parts{};
    std::array<const ApiCall*, partCount> calls{}; // longest call of a part
    std::array<std::int64_t, partCount> longestNs{};
    const ApiCall* sync = nullptr;
    const ApiCall* input = nullptr; // the last copy from the host before the launch
    std::int64_t inputStackId = 0;
    std::int64_t inputNs = 0;
    std::int64_t copyNs = 0;
    std::string waitsFor; // stream, rank or collective that the device waited for
};

Part partOf(const ApiCall& call) {
    switch (call.apiClass) {
    case ApiClass::sync:
        return hostSync;
    case ApiClass::copySync:
        // Blocking copies to the device and fills feed the next launch, all others wait for a result.
        return call.known == KnownCall::copyToDevice || call.known == KnownCall::fill ? data : hostSync;
    case ApiClass::copy:
        return data;
    case ApiClass::exec:
    case ApiClass::capture:
    case ApiClass::graph:
        return execUpdate;
    default:
        return hostOther;
    }
}

void add(Gap& gap, Part part, std::int64_t ns, const ApiCall* call) {
    gap.parts[part] += ns;
    if (ns > gap.longestNs[part]) {
        gap.longestNs[part] = ns;
        gap.calls[part] = call;
    }
}

class GapFinder {
public:
    GapFinder(const RawData& raw, const DeviceWaits& waits, const ProcessData& process,
        const DeviceTimeline& timeline)
        : m_raw(raw)
        , m_waits(waits)
        , m_process(process)
        , m_timeline(timeline) {
        constexpr std::int64_t kMinInputBytes = 4096; // less is a scalar, such as a learning rate
        for (const DeviceOp& op : process.ops) {
            if (!op.fromHost || op.inGraph || op.correlation == 0 || op.deviceId != timeline.deviceId)
                continue;
            if (op.bytes >= kMinInputBytes)
                m_inputs.insert(op.correlation);
            if (op.fromPageable)
                m_pageable[op.endNs] = op.startNs;
        }
    }

    std::vector<Gap> find() const {
        std::vector<Gap> gaps;
        const Replay* before = nullptr; // ends last of those seen
        for (const std::int32_t index : m_timeline.replays) {
            const Replay& replay = m_process.replays[static_cast<std::size_t>(index)];
            const bool neighbours = before != nullptr && before->step >= 0
                && (replay.step == before->step || replay.step == before->step + 1);
            if (neighbours) {
                Gap gap;
                gap.replay = &replay;
                gap.before = before;
                if (idleBetween(*before, replay, gap)) {
                    divide(gap);
                    gap.copyNs = coveredNs(m_timeline.feeds, before->endNs, replay.startNs);
                    gaps.push_back(std::move(gap));
                }
            }
            if (!neighbours || replay.endNs > before->endNs)
                before = &replay;
        }
        return gaps;
    }

private:
    // The longest time in which the device ran nothing between the two: work that is no replay, such as the
    // copy of a batch that came late, may lie before or behind it.
    bool idleBetween(const Replay& before, const Replay& replay, Gap& gap) const {
        constexpr int kMostLooked = 256;
        const IntervalSet& busy = m_timeline.busy;
        auto next = std::upper_bound(busy.begin(), busy.end(), replay.startNs,
            [](std::int64_t time, const Interval& interval) { return time < interval.startNs; });
        bool found = false;
        for (int looked = 0; next != busy.begin() && looked < kMostLooked; ++looked) {
            --next;
            if (next == busy.begin() || std::prev(next)->endNs < before.endNs)
                break;
            const std::int64_t startNs = std::prev(next)->endNs;
            if (!found || next->startNs - startNs > gap.endNs - gap.startNs) {
                gap.startNs = startNs;
                gap.endNs = next->startNs;
                found = true;
            }
        }
        return found;
    }

    void divide(Gap& gap) const {
        const Replay& replay = *gap.replay;
        const std::int64_t enterNs = replay.launchStartNs;
        const std::int64_t exitNs = replay.launchEndNs;
        gap.input = inputCopy(gap);
        gap.sync = drainingSync(gap);
        std::int64_t atNs = gap.startNs;
        if (exitNs > gap.startNs + kClockUncertaintyNs) {
            const std::int64_t lateNs = std::clamp(enterNs, atNs, gap.endNs);
            divideHostTime(gap, atNs, lateNs);
            const std::int64_t launchedNs = std::clamp(exitNs, lateNs, gap.endNs);
            add(gap, launchCall, launchedNs - lateNs, nullptr);
            atNs = launchedNs;
        }
        if (atNs < gap.endNs)
            add(gap, waitPart(gap), gap.endNs - atNs, nullptr);
    }

    // [from, to) on the launching thread, by the outermost call that covers each moment.
    void divideHostTime(Gap& gap, std::int64_t fromNs, std::int64_t toNs) const {
        std::int64_t atNs = fromNs;
        m_process.eachCall(gap.replay->threadId, fromNs, toNs, [&](const ApiCall& call) {
            const std::int64_t startNs = std::max(call.startNs, atNs);
            const std::int64_t endNs = std::min(call.endNs, toNs);
            if (endNs <= startNs)
                return;
            addOutsideCalls(gap, atNs, startNs);
            add(gap, partOf(call), endNs - startNs, &call);
            atNs = endNs;
        });
        addOutsideCalls(gap, atNs, toNs);
    }

    // Time outside CUDA: data where the thread is in a range that says so, else other host work.
    void addOutsideCalls(Gap& gap, std::int64_t fromNs, std::int64_t toNs) const {
        if (toNs <= fromNs)
            return;
        std::vector<Interval> ranges;
        auto after = std::upper_bound(m_process.ranges.begin(), m_process.ranges.end(),
            std::pair(gap.replay->threadId, toNs), [](const auto& key, const Range& range) {
                return key < std::pair(range.threadId, range.startNs);
            });
        for (int looked = 0; after != m_process.ranges.begin() && looked < 64; ++looked) {
            --after;
            if (after->threadId != gap.replay->threadId)
                break;
            if (!after->isMark && after->endNs > fromNs && isDataRange(m_raw.string(after->nameId)))
                ranges.push_back({std::max(after->startNs, fromNs), std::min(after->endNs, toNs)});
        }
        const std::int64_t inData = totalNs(unite(std::move(ranges)));
        add(gap, data, inData, nullptr);
        add(gap, hostOther, toNs - fromNs - inData, nullptr);
        if (gap.sync == nullptr && gap.input != nullptr && fromNs < gap.input->startNs)
            gap.inputNs += toNs - fromNs - inData;
    }

    // The last copy of a batch, or what else is large enough, that the launching thread enqueued before the
    // launch. Copies carry no stack, the wait behind one that is not pinned does.
    const ApiCall* inputCopy(Gap& gap) const {
        constexpr std::int64_t kRightBehindNs = 50'000;
        const ApiCall* found = nullptr;
        m_process.eachCall(gap.replay->threadId, gap.before->launchEndNs, gap.replay->launchStartNs,
            [&](const ApiCall& call) {
                if (call.startNs >= gap.before->launchEndNs && m_inputs.contains(call.correlation)) {
                    found = &call;
                    gap.inputStackId = call.stackId;
                } else if (found != nullptr && gap.inputStackId == 0 && call.apiClass == ApiClass::sync
                    && call.startNs - found->endNs < kRightBehindNs) {
                    gap.inputStackId = call.stackId;
                }
            });
        return found;
    }

    // A blocking call between the two launches in which the device ran dry. One that begins when it has long
    // been idle waits for nothing: the host's work before it is what came late. Nor is one meant in which
    // only the copy of input that is not pinned ran: it is part of the copying.
    const ApiCall* drainingSync(const Gap& gap) const {
        const std::int64_t latestNs
            = gap.startNs + std::max(kClockUncertaintyNs, (gap.endNs - gap.startNs) / 10);
        const auto copy = m_pageable.find(gap.startNs);
        const ApiCall* found = nullptr;
        m_process.eachCall(gap.replay->threadId, gap.before->launchEndNs, gap.replay->launchStartNs,
            [&](const ApiCall& call) {
                const bool blocks = call.apiClass == ApiClass::sync
                    || (call.apiClass == ApiClass::copySync && partOf(call) == hostSync);
                const bool copies = copy != m_pageable.end() && call.startNs >= copy->second;
                if (blocks && !copies && call.startNs >= gap.before->launchEndNs && call.startNs <= latestNs
                    && call.endNs <= gap.replay->launchStartNs
                    && call.endNs >= gap.startNs - kClockUncertaintyNs
                    && (found == nullptr || call.endNs - call.startNs > found->endNs - found->startNs))
                    found = &call;
            });
        return found;
    }

    // The launch was there in time: what did the device wait for?
    Part waitPart(Gap& gap) const {
        const DeviceWait wait = m_waits.before(*gap.replay, gap.startNs, gap.before->launchEndNs);
        gap.waitsFor = wait.detail;
        switch (wait.cause) {
        case DeviceWait::Cause::event:
            gap.calls[event] = wait.call;
            return event;
        case DeviceWait::Cause::peer:
            return peer;
        case DeviceWait::Cause::communication:
            return nccl;
        case DeviceWait::Cause::unknown:
            break;
        }
        return unknown;
    }

    const RawData& m_raw;
    const DeviceWaits& m_waits;
    const ProcessData& m_process;
    const DeviceTimeline& m_timeline;
    std::unordered_set<std::int64_t> m_inputs; // correlations of copies from the host
    std::unordered_map<std::int64_t, std::int64_t> m_pageable; // copies from memory not pinned: end to start
};

std::optional<std::string> causeDetail(const RawData& raw, const Gap& gap, Part cause) {
    const bool isWait = cause == event || cause == peer || cause == nccl;
    if (isWait && !gap.waitsFor.empty())
        return gap.waitsFor;
    if (gap.calls[cause] == nullptr)
        return std::nullopt;
    return raw.apiName(gap.calls[cause]->apiId);
}

class GapWriter {
public:
    GapWriter(FactContext& context, Statement insert)
        : m_context(context)
        , m_insert(std::move(insert)) { }

    Result<void> write(const ProcessData& process, const DeviceTimeline& timeline,
        const UnmeasuredReplays& unmeasured, const Gap& gap) {
        const Replay& replay = *gap.replay;
        const auto cause
            = static_cast<Part>(std::max_element(gap.parts.begin(), gap.parts.end()) - gap.parts.begin());
        const ApiCall* call = gap.calls[cause];
        const Exec* exec = process.exec(replay.execId);
        const Device* device = process.device(timeline.deviceId);
        const Step& step = process.steps[static_cast<std::size_t>(replay.step)];
        const bool eager = process.complete("eager_kernel_activity", gap.startNs, gap.endNs);
        const auto why = unmeasured.why(gap.before->launchStartNs, replay.launchStartNs);
        const bool known = process.complete("callbacks", gap.startNs, gap.endNs)
            && process.covered("graph_trace", gap.startNs, gap.endNs) != CoverageState::absent && !why;
        const auto& p = gap.parts;
        std::int64_t stack = call == nullptr ? 0 : call->stackId;
        stack = stack != 0 ? stack : replay.stackId;
        stack = stack != 0 || exec == nullptr ? stack : exec->launchStackId;
        std::optional<std::string> syncApi;
        std::optional<std::string> syncRuntimeApi;
        if (gap.sync != nullptr) {
            syncApi = m_context.raw.apiName(gap.sync->apiId);
            syncRuntimeApi = orNull(m_context.raw.apis[gap.sync->apiId].runtimeName);
        }
        return m_insert.runWith(process.processId, timeline.deviceId, replay.execId,
            gap.before->step == replay.step, replay.replayId,
            process.graphName(exec == nullptr ? nullptr : process.templateOf(*exec), replay.execId),
            step.step, step.steady(), gap.startNs, gap.endNs, kCauses[cause],
            causeDetail(m_context.raw, gap, cause), p[hostSync], p[execUpdate], p[data], p[hostOther],
            p[launchCall], p[event], p[peer], p[nccl], p[unknown], orNull(replay.threadId), orNull(stack),
            known, device == nullptr ? 0 : device->noiseNs(), eager, syncApi, syncRuntimeApi,
            gap.sync == nullptr ? std::nullopt : std::optional(gap.sync->endNs - gap.sync->startNs),
            gap.sync == nullptr ? std::nullopt : orNull(gap.sync->stackId), gap.inputNs, gap.copyNs,
            gap.input == nullptr ? std::nullopt : std::optional(m_context.raw.apiName(gap.input->apiId)),
            orNull(gap.inputStackId), why);
    }

    // A replay that was to be measured and was not: what lay before it is not known, which is not the same as
    // no gap.
    Result<void> writeUnknown(const ProcessData& process, const Replay& replay) {
        const Exec* exec = process.exec(replay.execId);
        const Step& step = process.steps[static_cast<std::size_t>(replay.step)];
        const Device* device = process.device(replay.deviceId);
        const std::optional<std::string> none;
        return m_insert.runWith(process.processId, replay.deviceId, replay.execId, true, replay.replayId,
            process.graphName(exec == nullptr ? nullptr : process.templateOf(*exec), replay.execId),
            step.step, step.steady(), replay.launchStartNs, replay.launchStartNs, kCauses[unknown], none, 0,
            0, 0, 0, 0, 0, 0, 0, 0, orNull(replay.threadId), none, false,
            device == nullptr ? 0 : device->noiseNs(), false, none, none, none, none, 0, 0, none, none,
            "device times of replays are missing");
    }

private:
    FactContext& m_context;
    Statement m_insert;
};

} // namespace

Result<void> buildReplayGap(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO replay_gap VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    GapWriter writer(context, std::move(insert));
    const CommPeers peers(context.raw);
    for (const ProcessData& process : context.raw.processes) {
        const DeviceWaits waits(peers, process);
        for (const DeviceTimeline& timeline : context.timelinesOf(process)) {
            const UnmeasuredReplays unmeasured(process, timeline.deviceId);
            for (const Gap& gap : GapFinder(context.raw, waits, process, timeline).find())
                GD_TRY(writer.write(process, timeline, unmeasured, gap));
        }
        for (const Replay& replay : process.replays) {
            if (replay.steady && !replay.measured && replay.result == 0
                && replaysAreMeasured(process, replay.launchStartNs, replay.launchEndNs))
                GD_TRY(writer.writeUnknown(process, replay));
        }
    }
    return {};
}

} // namespace gd::facts
