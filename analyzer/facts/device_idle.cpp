// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/device_idle.h"

#include "analyzer/facts/device_wait.h"
#include "analyzer/facts/names.h"

#include <algorithm>

namespace gd::facts {
namespace {

// Between a launch and the start of its kernel on an idle device lie some microseconds: 3 to 5 on an H200.
constexpr std::int64_t kStartLatencyNs = 10'000;

bool blocks(const ApiCall& call) {
    const bool feeds = call.known == KnownCall::copyToDevice || call.known == KnownCall::fill;
    return call.apiClass == ApiClass::sync || (call.apiClass == ApiClass::copySync && !feeds);
}

bool prepares(const ApiCall& call) {
    return call.apiClass == ApiClass::exec || call.apiClass == ApiClass::capture
        || call.apiClass == ApiClass::graph || call.apiClass == ApiClass::alloc;
}

std::unordered_set<std::int32_t> launchingThreads(const ProcessData& process) {
    std::unordered_set<std::int32_t> threads;
    for (const Replay& replay : process.replays)
        threads.insert(replay.threadId);
    for (const ApiCall& call : process.calls) {
        if (call.apiClass == ApiClass::launch || call.apiClass == ApiClass::copy)
            threads.insert(call.threadId);
    }
    return threads;
}

std::int64_t overlapNs(const Interval& a, std::int64_t fromNs, std::int64_t toNs) {
    return std::max<std::int64_t>(0, std::min(a.endNs, toNs) - std::max(a.startNs, fromNs));
}

} // namespace

void IdleParts::operator+=(const IdleParts& other) {
    singleNs += other.singleNs;
    replayHostNs += other.replayHostNs;
    replayCallNs += other.replayCallNs;
    replayStartNs += other.replayStartNs;
    syncNs += other.syncNs;
    dataNs += other.dataNs;
    callNs += other.callNs;
    otherNs += other.otherNs;
}

Result<std::unordered_set<std::int64_t>> waitingReplays(Db& db, std::int64_t processId) {
    GD_TRY_ASSIGN(auto select,
        db.prepare(
            "SELECT replay_id FROM replay_gap WHERE process_id = ? AND event_ns + peer_ns + nccl_ns > 0"));
    select.bind(1, processId);
    std::unordered_set<std::int64_t> replays;
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return replays;
        replays.insert(select.int64(0));
    }
}

DeviceIdle::DeviceIdle(const RawData& raw, const ProcessData& process, const DeviceTimeline& timeline,
    const std::unordered_set<std::int64_t>& waiting)
    : m_process(process)
    , m_timeline(timeline)
    , m_waiting(waiting)
    , m_callOf(process) {
    readStarts(timeline);
    readCalls(raw);
}

void DeviceIdle::readStarts(const DeviceTimeline& timeline) {
    for (const DeviceOp& op : m_process.ops) {
        if (!op.inGraph && op.deviceId == timeline.deviceId)
            m_starts.push_back({op.startNs, nullptr, &op});
    }
    for (const std::int32_t index : timeline.replays) {
        const Replay& replay = m_process.replays[static_cast<std::size_t>(index)];
        m_starts.push_back({replay.startNs, &replay, nullptr});
    }
    std::stable_sort(
        m_starts.begin(), m_starts.end(), [](const Start& a, const Start& b) { return a.timeNs < b.timeNs; });
}

void DeviceIdle::readCalls(const RawData& raw) {
    const std::unordered_set<std::int32_t> threads = launchingThreads(m_process);
    std::vector<Interval> preparing;
    for (const ApiCall& call : m_process.calls) {
        if (call.correlation != 0)
            m_order.emplace_back(call.correlation, call.startNs);
        if (!threads.contains(call.threadId))
            continue;
        if (blocks(call))
            m_blocking.push_back(&call);
        if (prepares(call))
            preparing.push_back({call.startNs, call.endNs});
    }
    std::sort(m_order.begin(), m_order.end());
    std::sort(m_blocking.begin(), m_blocking.end(),
        [](const ApiCall* a, const ApiCall* b) { return a->endNs < b->endNs; });
    m_preparing = unite(std::move(preparing));
    std::vector<Interval> data;
    for (const Range& range : m_process.ranges) {
        if (!range.isMark && threads.contains(range.threadId) && isDataRange(raw.string(range.nameId)))
            data.push_back({range.startNs, range.endNs});
    }
    m_dataRanges = unite(std::move(data));
}

std::vector<IdleTime> DeviceIdle::in(std::int64_t fromNs, std::int64_t toNs) const {
    std::vector<IdleTime> result;
    for (const Interval& time : subtract({{fromNs, toNs}}, clip(m_timeline.busy, fromNs, toNs))) {
        IdleTime idle;
        idle.time = time;
        classify(idle);
        result.push_back(idle);
    }
    return result;
}

void DeviceIdle::classify(IdleTime& idle) const {
    const auto [startNs, endNs] = idle.time;
    const auto next = std::lower_bound(m_starts.begin(), m_starts.end(), endNs,
        [](const Start& start, std::int64_t time) { return start.timeNs < time; });
    for (auto start = next; start != m_starts.end() && start->timeNs == endNs; ++start) {
        idle.replay = start->replay != nullptr ? start->replay : idle.replay;
        idle.op = start->op != nullptr ? start->op : idle.op;
    }
    IdleParts& parts = idle.parts;
    if (idle.replay == nullptr && idle.op == nullptr) {
        parts.otherNs = idle.time.lengthNs();
        return;
    }
    if (ranDryInCall(idle.time)) {
        parts.syncNs = idle.time.lengthNs();
        return;
    }
    parts.callNs = coveredNs(m_preparing, startNs, endNs);
    parts.dataNs = std::min(
        coveredNs(m_dataRanges, startNs, endNs), std::max<std::int64_t>(0, endNs - startNs - parts.callNs));
    const std::int64_t restNs = endNs - startNs - parts.callNs - parts.dataNs;
    constexpr std::int64_t kMinInputBytes = 4096; // less is a scalar, such as a learning rate
    if (idle.replay != nullptr)
        classifyReplay(idle, restNs);
    else if (idle.op->fromHost && idle.op->bytes >= kMinInputBytes)
        parts.dataNs += restNs;
    else if (idle.op->isComm || restNs > kLongestLateLaunchNs || launchedInTime(*idle.op, startNs))
        parts.otherNs = restNs;
    else
        parts.singleNs = restNs;
}

void DeviceIdle::classifyReplay(IdleTime& idle, std::int64_t restNs) const {
    const Replay& replay = *idle.replay;
    IdleParts& parts = idle.parts;
    if (m_waiting.contains(replay.replayId)) {
        parts.otherNs = restNs;
        return;
    }
    parts.replayStartNs = std::min(
        restNs, overlapNs({replay.launchEndNs, replay.startNs}, idle.time.startNs, idle.time.endNs));
    parts.replayCallNs = std::min(restNs - parts.replayStartNs,
        overlapNs({replay.launchStartNs, replay.launchEndNs}, idle.time.startNs, idle.time.endNs));
    const std::int64_t hostNs = restNs - parts.replayStartNs - parts.replayCallNs;
    (hostNs > kLongestLateLaunchNs ? parts.otherNs : parts.replayHostNs) = hostNs;
}

// As in replay_gap: a call that begins when the device has long been idle waits for nothing.
bool DeviceIdle::ranDryInCall(const Interval& idle) const {
    const std::int64_t latestNs = idle.startNs + std::max(kClockUncertaintyNs, idle.lengthNs() / 10);
    auto call = std::lower_bound(m_blocking.begin(), m_blocking.end(), idle.startNs - kClockUncertaintyNs,
        [](const ApiCall* other, std::int64_t time) { return other->endNs < time; });
    for (; call != m_blocking.end() && (*call)->endNs <= idle.endNs + kClockUncertaintyNs; ++call) {
        if ((*call)->startNs <= latestNs)
            return true;
    }
    return false;
}

// By its launch call, or, where single launches are not recorded, by the call after it: numbers of calls grow
// with time.
bool DeviceIdle::launchedInTime(const DeviceOp& op, std::int64_t idleFromNs) const {
    if (const ApiCall* call = m_callOf.find(op.correlation))
        return call->endNs + kStartLatencyNs < idleFromNs;
    const auto after = std::upper_bound(m_order.begin(), m_order.end(), op.correlation,
        [](std::int64_t correlation, const auto& call) { return correlation < call.first; });
    return op.correlation != 0 && after != m_order.end() && after->second + kStartLatencyNs < idleFromNs;
}

} // namespace gd::facts
