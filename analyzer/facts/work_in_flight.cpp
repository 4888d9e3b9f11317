// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/work_in_flight.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace gd::facts {
namespace {

enum class Waits : std::uint8_t { no, forDevice, forStream, forEvent };

Waits waitsOf(std::string_view call) {
    if (call == "cuCtxSynchronize")
        return Waits::forDevice;
    // Copies between host and device return when everything before them in their stream has ended.
    if (call == "cuStreamSynchronize" || call == "cuStreamQuery" || call == "cuMemcpyDtoH"
        || call == "cuMemcpyHtoD")
        return Waits::forStream;
    if (call == "cuEventSynchronize" || call == "cuEventQuery" || call == "cuEventElapsedTime")
        return Waits::forEvent;
    return Waits::no;
}

bool isOn(std::int16_t device, const ApiCall& failed) {
    return device < 0 || failed.deviceId < 0 || device == failed.deviceId;
}

// Up to when launches had ended, as far as successful calls tell.
class Waited {
public:
    Waited(const ProcessData& process, const RawData& raw, const StreamKinds& streams, const ApiCall& failed)
        : m_streams(streams) {
        std::unordered_map<std::int16_t, Waits> kinds;
        for (const auto& [id, api] : raw.apis) {
            if (const Waits waits = waitsOf(api.name); waits != Waits::no)
                kinds.emplace(static_cast<std::int16_t>(id), waits);
        }
        std::vector<std::pair<const ApiCall*, Waits>> calls;
        for (const ApiCall& call : process.calls) {
            const auto kind = kinds.find(call.apiId);
            if (!call.returned || call.result != 0 || call.startNs >= failed.endNs)
                continue;
            if (kind != kinds.end() || call.known == KnownCall::recordEvent)
                calls.emplace_back(&call, kind == kinds.end() ? Waits::no : kind->second);
        }
        std::stable_sort(calls.begin(), calls.end(),
            [](const auto& a, const auto& b) { return a.first->startNs < b.first->startNs; });
        for (const auto& [call, waits] : calls)
            see(*call, waits, failed);
    }

    bool covers(const Replay& replay) const {
        if (replay.launchEndNs <= m_deviceNs)
            return true;
        return std::any_of(m_streamNs.begin(), m_streamNs.end(), [&](const auto& waited) {
            return replay.launchEndNs <= waited.second
                && (waited.first == replay.streamId || m_streams.waitsFor(waited.first, replay.streamId));
        });
    }

private:
    void see(const ApiCall& call, Waits waits, const ApiCall& failed) {
        switch (waits) {
        case Waits::no:
            m_recorded[call.objectId] = &call;
            break;
        case Waits::forDevice:
            if (isOn(call.deviceId, failed))
                m_deviceNs = std::max(m_deviceNs, call.startNs);
            break;
        case Waits::forStream:
            note(call.streamId, call.startNs);
            break;
        case Waits::forEvent:
            if (const auto record = m_recorded.find(call.objectId); record != m_recorded.end())
                note(record->second->streamId, record->second->startNs);
            break;
        }
    }
    void note(std::int64_t stream, std::int64_t timeNs) {
        std::int64_t& known = m_streamNs.try_emplace(stream, timeNs).first->second;
        known = std::max(known, timeNs);
    }

    const StreamKinds& m_streams;
    std::int64_t m_deviceNs = INT64_MIN;
    std::map<std::int64_t, std::int64_t> m_streamNs; // by stream
    std::unordered_map<std::int64_t, const ApiCall*> m_recorded; // by event: the last record of it
};

// A stream works in order, and what was called for later has a higher correlation.
class Begun {
public:
    explicit Begun(const ProcessData& process) {
        std::unordered_map<std::int64_t, std::int64_t> streamOf; // of a launch, by correlation
        for (const Replay& replay : process.replays) {
            streamOf.emplace(replay.correlation, replay.streamId);
            if (replay.measured)
                see(replay.streamId, replay.correlation);
        }
        for (const DeviceOp& op : process.ops) {
            if (op.correlation == 0 || op.startNs <= 0)
                continue;
            if (!op.inGraph)
                see(op.streamId, op.correlation);
            else if (const auto launch = streamOf.find(op.correlation); launch != streamOf.end())
                see(launch->second, op.correlation);
        }
    }
    bool workAfter(const Replay& replay) const {
        const auto last = m_last.find(replay.streamId);
        return replay.correlation != 0 && last != m_last.end() && last->second > replay.correlation;
    }

private:
    void see(std::int64_t stream, std::int64_t correlation) {
        std::int64_t& last = m_last[stream];
        last = std::max(last, correlation);
    }
    std::unordered_map<std::int64_t, std::int64_t> m_last; // by stream
};

} // namespace

WorkInFlight workInFlight(
    const ProcessData& process, const RawData& raw, const StreamKinds& streams, const ApiCall& failed) {
    const Waited waited(process, raw, streams, failed);
    const Begun begun(process);
    WorkInFlight work;
    for (const Replay& replay : process.replays) {
        if (replay.result == 0 && replay.launchStartNs < failed.endNs && isOn(replay.deviceId, failed)
            && !waited.covers(replay) && !begun.workAfter(replay))
            work.replays.push_back(&replay);
    }
    const auto isMeasured = [](const Replay* replay) { return replay->measured; };
    work.haveDeviceTimes
        = !work.replays.empty() && std::all_of(work.replays.begin(), work.replays.end(), isMeasured);
    if (!work.haveDeviceTimes)
        std::erase_if(work.replays, isMeasured);
    return work;
}

} // namespace gd::facts
