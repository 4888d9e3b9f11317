// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/export_trace.h"

#include "analyzer/report/export/event_reader.h"
#include "analyzer/report/export/sinks.h"
#include "analyzer/report/phrases.h"

#include <algorithm>
#include <memory>

namespace gd::report {
namespace {

// Places of tracks from top to bottom.
constexpr std::int64_t kFindings = -3;
constexpr std::int64_t kSteps = -2;

// Devices of a process follow it.
constexpr std::int64_t kProcessStride = 1000;

Result<EventHead> headOf(Db& trace, const Report& report) {
    EventHead head;
    head.startUnixNs = report.startUnixNs.value_or(0);
    head.command = report.commandLine;
    std::set<std::int64_t> ranks;
    for (const ProcessInfo& process : report.processes) {
        if (!process.rank)
            continue;
        ranks.insert(*process.rank);
        head.worldSize = process.worldSize.value_or(head.worldSize);
    }
    if (ranks.size() == 1)
        head.rank = *ranks.begin();
    GD_TRY_ASSIGN(auto rows,
        trace.prepareReadOnly("SELECT device_id, name, memory_bytes, coalesce(multiprocessors, 0), "
                              "compute_capability FROM device WHERE process_id = "
                              "(SELECT min(process_id) FROM device) ORDER BY device_id"));
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return head;
        head.devices.push_back({rows.int64(0), rows.int64(2), rows.int64(3), std::string(rows.text(1)),
            std::string(rows.text(4))});
    }
}

// The time that steps take on the host and on the device, of the processes that are exported.
Result<void> narrow(Db& trace, const Filter& filter, ExportWindow& window) {
    GD_TRY_ASSIGN(auto rows,
        trace.prepareReadOnly("SELECT process_id, start_ns, end_ns FROM step WHERE step BETWEEN ?1 AND ?2 "
                              "UNION ALL SELECT process_id, start_ns, end_ns FROM device_busy "
                              "WHERE step BETWEEN ?1 AND ?2"));
    rows.bind(1, filter.steps->first);
    rows.bind(2, filter.steps->second);
    std::swap(window.fromNs, window.toNs);
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return {};
        if (!window.processes.contains(rows.int64(0)))
            continue;
        window.fromNs = std::min(window.fromNs, rows.int64(1));
        window.toNs = std::max(window.toNs, rows.int64(2));
    }
}

std::unique_ptr<EventSink> makeSink(ExportFormat format, const EventOutput& output) {
    return format == ExportFormat::csv ? makeCsvSink(output) : makeChromeSink(output);
}

} // namespace

std::optional<ExportFormat> exportFormatFrom(std::string_view word) {
    if (word == "chrome")
        return ExportFormat::chrome;
    if (word == "perfetto")
        return ExportFormat::perfetto;
    return word == "csv" ? std::optional(ExportFormat::csv) : std::nullopt;
}

Result<ExportSummary> exportTrace(Db& trace, const std::string& path,
    std::span<const rules::Finding> findings, const ExportOptions& options, const EventOutput& output) {
    GD_TRY_ASSIGN(Report report, readTrace(trace, path));
    GD_TRY(applyFilter(report, trace, options.filter));
    ExportWindow window;
    for (const ProcessInfo& process : report.processes)
        window.processes.insert(process.processId);
    if (options.filter.steps) {
        GD_TRY(narrow(trace, options.filter, window));
    }
    const auto processes = static_cast<std::int64_t>(window.processes.size());
    const std::unique_ptr<EventSink> sink = makeSink(options.format, output);
    GD_TRY_ASSIGN(const EventHead head, headOf(trace, report));
    sink->head(head);
    EventReader reader(trace, *sink, std::move(window));
    GD_TRY(reader.read(findings));
    sink->end();
    GD_TRY(sink->state());
    return ExportSummary{reader.events(), processes};
}

Result<void> EventReader::read(std::span<const rules::Finding> findings) {
    GD_TRY(readProcesses());
    GD_TRY(readThreads());
    writeFindings(findings);
    GD_TRY(readSteps());
    GD_TRY(readCalls());
    GD_TRY(readRanges());
    GD_TRY(readCaptures());
    GD_TRY(readCommunication());
    GD_TRY(readNodes());
    GD_TRY(readReplays());
    GD_TRY(readStreams());
    GD_TRY(readWaits());
    GD_TRY(readCounters());
    return readMemory();
}

EventTrack EventReader::newTrack(std::int64_t process, std::string_view name, std::int64_t place) {
    const EventTrack track{process, m_nextTrack++};
    m_sink.track(track, name, place);
    return track;
}

EventTrack EventReader::threadTrack(std::int64_t process, std::int64_t thread) const {
    return {hostProcess(process), thread};
}

std::int64_t EventReader::hostProcess(std::int64_t process) const {
    const auto at = m_hostProcesses.find(process);
    return at == m_hostProcesses.end() ? 0 : at->second;
}

std::int64_t EventReader::deviceProcess(std::int64_t process, std::int64_t device) {
    const auto [at, isNew] = m_deviceProcesses.try_emplace({process, device});
    if (isNew) {
        // Numbers of devices are small; a forged one still gets a number of its own.
        const auto count = static_cast<std::int64_t>(m_deviceProcesses.size());
        at->second = device >= 0 && device < kProcessStride - 1 ? hostProcess(process) + 1 + device : -count;
        const auto name = m_deviceNames.find({process, device});
        m_sink.process(at->second,
            name == m_deviceNames.end()
                ? fmt::format("{}: device {}", processName(process), device)
                : fmt::format("{}: device {}, {}", processName(process), device, name->second),
            hostProcess(process) + std::clamp<std::int64_t>(device, 0, kProcessStride - 2) + 1);
    }
    return at->second;
}

std::string EventReader::processName(std::int64_t process) const {
    const auto at = m_names.find(process);
    return at == m_names.end() ? fmt::format("process {}", process) : at->second;
}

EventTrack EventReader::Lanes::take(std::int64_t startNs, std::int64_t endNs) {
    constexpr std::size_t kMost = 64;
    auto lane = std::find_if(
        m_lanes.begin(), m_lanes.end(), [startNs](const auto& other) { return other.second <= startNs; });
    if (lane == m_lanes.end() && m_lanes.size() < kMost) {
        const std::string name
            = m_lanes.empty() ? m_name : fmt::format("{} ({})", m_name, m_lanes.size() + 1);
        m_lanes.emplace_back(m_reader.newTrack(m_process, name, m_place), startNs);
        lane = std::prev(m_lanes.end());
    }
    if (lane == m_lanes.end())
        --lane;
    lane->second = std::max(lane->second, endNs);
    return lane->first;
}

Result<void> EventReader::readProcesses() {
    GD_TRY(each("SELECT process_id, pid, rank, host FROM process ORDER BY rank IS NULL, rank, process_id",
        [this](const Statement& r) {
            const std::string host(r.text(3));
            const std::string who = r.isNull(2) ? fmt::format("process {}", r.int64(1))
                                                : fmt::format("rank {} (pid {})", r.int64(2), r.int64(1));
            const std::int64_t process = r.int64(0);
            m_names[process] = host.empty() ? who : fmt::format("{} on {}", who, host);
            const auto number = static_cast<std::int64_t>(m_names.size()) * kProcessStride;
            m_hostProcesses[process] = number;
            if (m_window.processes.contains(process))
                m_sink.process(number, m_names[process], number);
        }));
    return each("SELECT process_id, device_id, name FROM device", [this](const Statement& r) {
        m_deviceNames[{r.int64(0), r.int64(1)}] = r.text(2);
    });
}

Result<void> EventReader::readThreads() {
    return each("SELECT process_id, thread_id, tid, name FROM thread", [this](const Statement& r) {
        if (!m_window.processes.contains(r.int64(0)))
            return;
        const std::string name = r.isNull(3) ? fmt::format("thread {}", r.int64(2))
                                             : fmt::format("{} ({})", r.text(3), r.int64(2));
        m_sink.track(threadTrack(r.int64(0), r.int64(1)), name, r.int64(1));
    });
}

Result<void> EventReader::readSteps() {
    std::map<std::int64_t, EventTrack> tracks; // by process of the export
    const auto write = [&](const Statement& r, std::int64_t process) {
        auto track = tracks.find(process);
        if (track == tracks.end())
            track = tracks.emplace(process, newTrack(process, "steps", kSteps)).first;
        const std::string name = fmt::format("step {}", r.int64(1));
        m_arguments = {{"step", r.int64(1)}, {"kind", r.text(4)}};
        slice({track->second, r.int64(2), r.int64(3), "step", name, m_arguments});
    };
    GD_TRY(each("SELECT process_id, step, start_ns, end_ns, kind FROM step ORDER BY process_id, step",
        [&](const Statement& r) {
            if (isWanted(r.int64(0), r.int64(2), r.int64(3)))
                write(r, hostProcess(r.int64(0)));
        }));
    return each(
        "SELECT b.process_id, b.step, b.start_ns, b.end_ns, s.kind, b.device_id FROM device_busy AS b "
        "JOIN step AS s USING (process_id, step) ORDER BY b.process_id, b.device_id, b.step",
        [&](const Statement& r) {
            if (isWanted(r.int64(0), r.int64(2), r.int64(3)))
                write(r, deviceProcess(r.int64(0), r.int64(5)));
        });
}

void EventReader::writeFindings(std::span<const rules::Finding> findings) {
    std::vector<const rules::Finding*> timed;
    for (const rules::Finding& finding : findings) {
        if (finding.startNs
            && isWanted(
                finding.processId.value(), *finding.startNs, finding.endNs.value_or(*finding.startNs)))
            timed.push_back(&finding);
    }
    std::stable_sort(timed.begin(), timed.end(), [](const rules::Finding* a, const rules::Finding* b) {
        return std::pair(a->processId.value(), *a->startNs) < std::pair(b->processId.value(), *b->startNs);
    });
    std::map<std::int64_t, Lanes> lanes;
    for (const rules::Finding* finding : timed) {
        const std::int64_t process = finding->processId.value();
        Lanes& own = lanes.try_emplace(process, Lanes(*this, hostProcess(process), "findings", kFindings))
                         .first->second;
        const std::int64_t startNs = *finding->startNs;
        const std::int64_t endNs = std::max(startNs, finding->endNs.value_or(startNs));
        const std::string name = fmt::format("{} {}", finding->rule, finding->title);
        const std::string place
            = finding->locations.empty() ? std::string() : placeText(finding->locations.front());
        m_arguments = {{"rule", finding->rule}, {"severity", rules::name(finding->severity)},
            {"message", finding->message}, {"at", place}, {"fix", finding->fix}};
        slice({own.take(startNs, endNs), startNs, endNs, "finding", name, m_arguments});
    }
}

Result<void> EventReader::readCounters() {
    return each("SELECT t.process_id, t.name, c.time_ns, c.value FROM counter AS c JOIN track AS t "
                "USING (track_id) ORDER BY c.counter_id",
        [this](const Statement& r) {
            if (!isWanted(r.int64(0), r.int64(2), r.int64(2)))
                return;
            const EventArgument value{"value", r.real(3)};
            ++m_events;
            m_sink.counter(hostProcess(r.int64(0)), r.text(1), r.int64(2), {&value, 1});
        });
}

// What the device says, and what the driver was asked for.
Result<void> EventReader::readMemory() {
    GD_TRY(each("SELECT process_id, device_id, time_ns, total_bytes - free_bytes, graph_reserved_bytes "
                "FROM memory_sample ORDER BY process_id, device_id, time_ns",
        [this](const Statement& r) {
            if (!isWanted(r.int64(0), r.int64(2), r.int64(2)))
                return;
            m_arguments = {{"in use", r.int64(3)}};
            if (!r.isNull(4))
                m_arguments.push_back({"reserved by graphs", r.int64(4)});
            ++m_events;
            m_sink.counter(
                deviceProcess(r.int64(0), r.int64(1)), "device memory (bytes)", r.int64(2), m_arguments);
        }));
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> allocated;
    return each("SELECT process_id, device_id, time_ns, bytes FROM ("
                "SELECT process_id, device_id, alloc_ns AS time_ns, bytes FROM allocation "
                "WHERE kind IN ('device', 'device_async') AND device_id IS NOT NULL UNION ALL "
                "SELECT process_id, device_id, free_ns, -bytes FROM allocation "
                "WHERE kind IN ('device', 'device_async') AND device_id IS NOT NULL AND free_ns IS NOT NULL) "
                "ORDER BY process_id, device_id, time_ns, bytes",
        [&](const Statement& r) {
            std::int64_t& sum = allocated[{r.int64(0), r.int64(1)}];
            sum = static_cast<std::int64_t>(
                static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(r.int64(3)));
            if (!isWanted(r.int64(0), r.int64(2), r.int64(2)))
                return;
            const EventArgument value{"allocated", sum};
            ++m_events;
            m_sink.counter(
                deviceProcess(r.int64(0), r.int64(1)), "allocated by calls (bytes)", r.int64(2), {&value, 1});
        });
}

} // namespace gd::report
