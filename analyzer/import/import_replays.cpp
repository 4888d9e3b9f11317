// SPDX-License-Identifier: Apache-2.0
// Table replay: launches of executables, joined with what the device recorded of them.
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"
#include "analyzer/import/overwritten_nodes.h"
#include "analyzer/store/bulk_insert.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gd::importer {
namespace {

struct DeviceTime {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::uint64_t exec = 0;
    std::uint32_t stream = 0;
    std::uint32_t device = 0;
    std::uint32_t nodes = 0; // node records it was made of, 0 = a record of the whole
};
using DeviceTimes = std::unordered_map<std::uint64_t, DeviceTime>; // by correlation

struct Replay {
    std::uint64_t exec = 0;
    std::uint64_t correlation = 0;
    std::uint32_t device = 0;
    std::uint32_t stream = 0;
    raw::ThreadRef thread = 0; // 0 = the launch was not recorded
    raw::StackRef stack = 0;
    std::int64_t launchStartNs = 0;
    std::int64_t launchEndNs = 0; // 0 = never returned
    std::int32_t result = 0;
    std::int64_t startNs = 0; // 0 = not measured, likewise endNs
    std::int64_t endNs = 0;
    std::string_view detail = "launch_only";
};

DeviceTimes graphTimes(const RawProcess& raw) {
    DeviceTimes times;
    for (const raw::GraphTrace& trace : raw.graphTraces) {
        if (trace.correlation != 0)
            times.insert_or_assign(trace.correlation,
                DeviceTime{trace.startNs, trace.endNs, trace.exec, trace.stream, trace.device, 0});
    }
    return times;
}

// First start and last end of the node records of each replay that has no record as a whole.
class NodeTimes {
public:
    explicit NodeTimes(const DeviceTimes& whole)
        : m_whole(whole) { }

    template <class Row> void add(DeviceTracks<Row>& tracks) {
        for (DeviceTrack<Row>& track : tracks.all()) {
            // Nodes of one replay follow each other: most rows need no look-up.
            std::uint64_t lastCorrelation = 0;
            DeviceTime* last = nullptr;
            for (const Row& row : track.rows.rows()) {
                if (row.exec == 0 || row.correlation == 0)
                    continue;
                if (row.correlation != lastCorrelation) {
                    lastCorrelation = row.correlation;
                    last = timeOf(row.correlation, row.startNs, track);
                }
                if (last == nullptr)
                    continue;
                last->exec = row.exec;
                last->startNs = std::min(last->startNs, row.startNs);
                last->endNs = std::max(last->endNs, row.endNs);
                ++last->nodes;
            }
        }
    }
    // A replay that shows fewer nodes than others of its executable was cut off by a switch of the recording,
    // or lost records to later ones: its last end is not known.
    DeviceTimes complete(const std::unordered_set<std::uint64_t>& overwritten) const {
        std::unordered_map<std::uint64_t, std::uint32_t> most;
        for (const auto& [correlation, time] : m_times)
            most[time.exec] = std::max(most[time.exec], time.nodes);
        DeviceTimes times = m_times;
        std::erase_if(times, [&](const auto& entry) {
            return entry.second.nodes < most[entry.second.exec] || overwritten.contains(entry.first);
        });
        return times;
    }

private:
    template <class Row>
    DeviceTime* timeOf(std::uint64_t correlation, std::int64_t startNs, const DeviceTrack<Row>& track) {
        if (m_whole.contains(correlation))
            return nullptr;
        return &m_times.try_emplace(correlation, DeviceTime{startNs, 0, 0, track.stream, track.device, 0})
                    .first->second;
    }

    const DeviceTimes& m_whole;
    DeviceTimes m_times;
};

// A launch into a stream that captures becomes a node and runs nothing.
class CaptureWindows {
public:
    explicit CaptureWindows(const RawProcess& raw) {
        std::unordered_map<std::uint64_t, std::int64_t> ends;
        for (const raw::CaptureEnd& end : raw.captureEnds)
            ends.insert_or_assign(end.capture, end.endNs);
        const auto endOf = [&ends](std::uint64_t capture) {
            const auto found = ends.find(capture);
            return found == ends.end() ? INT64_MAX : found->second;
        };
        for (const raw::CaptureBegin& begin : raw.captureBegins)
            m_windows[begin.stream].push_back({begin.timeNs, endOf(begin.capture)});
        for (const raw::CaptureJoin& join : raw.captureJoins)
            m_windows[join.stream].push_back({join.timeNs, endOf(join.capture)});
    }
    bool covers(std::uint64_t stream, std::int64_t timeNs) const {
        const auto found = m_windows.find(stream);
        return found != m_windows.end()
            && std::any_of(found->second.begin(), found->second.end(),
                [timeNs](const auto& window) { return timeNs >= window.first && timeNs < window.second; });
    }

private:
    std::unordered_map<std::uint64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> m_windows;
};

void takeTime(Replay& replay, const DeviceTime& time, std::string_view detail) {
    replay.startNs = time.startNs;
    replay.endNs = time.endNs;
    replay.detail = detail;
    if (time.exec != 0)
        replay.exec = time.exec;
    if (replay.stream == 0)
        replay.stream = time.stream;
    replay.device = time.device;
}

std::vector<Replay> launchedReplays(ProcessImport& process, DeviceTimes& whole, DeviceTimes& nodes) {
    const CaptureWindows captures(process.raw());
    std::vector<Replay> replays;
    for (const auto& [thread, events] : process.raw().threadEvents) {
        for (const raw::ApiCall& call : events.calls.rows()) {
            if (apiClass(call.api) != GD_API_CLASS_REPLAY || captures.covers(call.stream, call.startNs))
                continue;
            Replay replay;
            replay.exec = call.object;
            replay.correlation = call.correlation;
            replay.device = call.device;
            replay.stream = call.stream;
            replay.thread = thread;
            replay.stack = call.stack;
            replay.launchStartNs = call.startNs;
            replay.launchEndNs = call.endNs;
            replay.result = call.result;
            if (const auto found = whole.find(call.correlation); found != whole.end()) {
                takeTime(replay, found->second, "graph");
                whole.erase(found);
            } else if (const auto node = nodes.find(call.correlation); node != nodes.end()) {
                takeTime(replay, node->second, "node");
                nodes.erase(node);
            }
            replays.push_back(replay);
        }
    }
    return replays;
}

// Replays that the device recorded and whose launch is missing: the launch is put where the work starts, or,
// where older events were dropped, no later than the oldest event that was kept.
void addUnlaunched(
    ProcessImport& process, const DeviceTimes& times, std::string_view detail, std::vector<Replay>& replays) {
    if (times.empty())
        return;
    const std::int64_t eventsFromNs = process.raw().eventsFromNs;
    for (const auto& [correlation, time] : times) {
        Replay replay;
        replay.correlation = correlation;
        replay.launchStartNs = eventsFromNs != 0 ? std::min(time.startNs, eventsFromNs) : time.startNs;
        replay.launchEndNs = replay.launchStartNs;
        takeTime(replay, time, detail);
        replays.push_back(replay);
    }
    if (eventsFromNs != 0)
        return; // no loss: only their launches are older
    process.issues().info("replay_without_launch", times.size(),
        fmt::format("the device recorded {} replays whose launch call was not recorded; their launch time is "
                    "that of their first node",
            times.size()));
}

class Replays : public store::RowSource {
public:
    Replays(ProcessImport& process, std::span<const Replay> rows, std::int64_t track)
        : m_process(process)
        , m_rows(rows)
        , m_track(track) { }
    static constexpr std::string_view kColumns
        = "track_id, process_id, exec_id, device_id, stream_id, thread_id, correlation, launch_start_ns, "
          "launch_end_ns, result, start_ns, end_ns, detail, stack_id";

    std::size_t rowCount() const override { return m_rows.size(); }
    store::Cell cell(std::size_t index, int column) const override {
        const Replay& row = m_rows[index];
        const auto time = [this](std::int64_t ns) { return ns == 0 ? store::Cell() : m_process.time(ns); };
        switch (column) {
        case 0:
            return m_track;
        case 1:
            return m_process.processId();
        case 2:
            return bits(row.exec);
        case 3:
            return std::int64_t{row.device};
        case 4:
            return store::Cell::nullIf(row.stream, 0);
        case 5:
            return store::Cell::nullIf(row.thread, 0);
        case 6:
            return store::Cell::nullIf(bits(row.correlation), 0);
        case 7:
            return m_process.time(row.launchStartNs);
        case 8:
            return time(row.launchEndNs);
        case 9:
            return row.launchEndNs == 0 || row.thread == 0 ? store::Cell()
                                                           : store::Cell(std::int64_t{row.result});
        case 10:
            return time(row.startNs);
        case 11:
            return time(row.endNs);
        case 12:
            return store::Cell::ofText(row.detail);
        default:
            break;
        }
        const auto stack = m_process.stackId(row.stack);
        return stack ? store::Cell(*stack) : store::Cell();
    }

private:
    ProcessImport& m_process;
    std::span<const Replay> m_rows;
    std::int64_t m_track;
};

} // namespace

Result<void> importReplays(ProcessImport& process) {
    RawProcess& raw = process.raw();
    const std::unordered_set<std::uint64_t> overwritten = takeOutOverwrittenNodes(process);
    DeviceTimes whole = graphTimes(raw);
    NodeTimes nodes(whole);
    nodes.add(raw.kernels);
    nodes.add(raw.copies);
    nodes.add(raw.fills);
    DeviceTimes nodeTimes = nodes.complete(overwritten);
    std::vector<Replay> replays = launchedReplays(process, whole, nodeTimes);
    addUnlaunched(process, whole, "graph", replays);
    addUnlaunched(process, nodeTimes, "node", replays);
    std::sort(replays.begin(), replays.end(), [](const Replay& a, const Replay& b) {
        return std::tie(a.device, a.stream, a.launchStartNs, a.correlation)
            < std::tie(b.device, b.stream, b.launchStartNs, b.correlation);
    });
    for (std::size_t from = 0; from < replays.size();) {
        std::size_t to = from;
        while (to < replays.size() && replays[to].device == replays[from].device
            && replays[to].stream == replays[from].stream)
            ++to;
        const std::span<const Replay> rows(replays.data() + from, to - from);
        process.noteStream(rows[0].stream, rows[0].device, rows[0].launchStartNs);
        GD_TRY_ASSIGN(const std::int64_t track,
            process.addTrack("replay", {rows[0].device, idOrNull(rows[0].stream), {}},
                fmt::format("device {}, stream {}: replays", rows[0].device, rows[0].stream), rows.size()));
        GD_TRY(store::bulkInsert(process.db(), "replay", Replays::kColumns, Replays(process, rows, track)));
        from = to;
    }
    return {};
}

} // namespace gd::importer
