// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/base/statement.h"
#include "analyzer/report/export/events.h"
#include "analyzer/rules/finding.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace gd::report {

// What is exported; both ends of the time included.
struct ExportWindow {
    std::set<std::int64_t> processes;
    std::int64_t fromNs = std::numeric_limits<std::int64_t>::min();
    std::int64_t toNs = std::numeric_limits<std::int64_t>::max();
};

// Reads the rows of a trace and gives them to a sink as events. Every table is read once, in the order of its
// tracks.
class EventReader {
public:
    EventReader(Db& trace, EventSink& sink, ExportWindow window)
        : m_trace(trace)
        , m_sink(sink)
        , m_window(std::move(window)) { }

    Result<void> read(std::span<const rules::Finding> findings);
    std::int64_t events() const { return m_events; }

private:
    // Slices of one track may only be nested or apart: those that overlap get a track beside it. The widest
    // streams have a few dozen branches.
    class Lanes {
    public:
        Lanes(EventReader& reader, std::int64_t process, std::string name, std::int64_t place)
            : m_reader(reader)
            , m_process(process)
            , m_name(std::move(name))
            , m_place(place) { }
        // For a slice that starts no earlier than those before it.
        EventTrack take(std::int64_t startNs, std::int64_t endNs);

    private:
        EventReader& m_reader;
        std::int64_t m_process;
        std::string m_name;
        std::int64_t m_place;
        std::vector<std::pair<EventTrack, std::int64_t>> m_lanes; // with the time up to which each is taken
    };

    struct Call {
        std::int64_t process = 0, correlation = 0, thread = 0, startNs = 0;
        auto key() const { return std::pair(process, correlation); }
    };
    // What a node of an executable was captured from.
    struct Node {
        std::int64_t exec = 0;
        std::string path; // enclosing ranges
        std::string collective, type; // of communication
        std::int64_t count = 0, bytes = 0, ranks = 0;
    };

    template <class F> Result<void> each(std::string_view sql, F&& use) {
        GD_TRY_ASSIGN(auto rows, m_trace.prepareReadOnly(sql));
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return m_sink.state();
            use(rows);
            // A disk that is full is noticed before the rest of a long trace is read.
            if (!m_sink.state())
                return m_sink.state();
        }
    }
    bool isWanted(std::int64_t process, std::int64_t startNs, std::int64_t endNs) const {
        return m_window.processes.contains(process) && startNs <= m_window.toNs && endNs >= m_window.fromNs;
    }
    // Of the operating system's threads and of lanes that were made up.
    EventTrack newTrack(std::int64_t process, std::string_view name, std::int64_t place);
    EventTrack threadTrack(std::int64_t process, std::int64_t thread) const;
    std::int64_t hostProcess(std::int64_t process) const;
    // A place among those from `base` on; ids of a forged trace may be anything.
    static std::int64_t place(std::int64_t base, std::int64_t id) {
        return base + std::clamp<std::int64_t>(id, 0, 1'000'000);
    }
    std::int64_t deviceProcess(std::int64_t process, std::int64_t device);
    std::string processName(std::int64_t process) const;
    void slice(const EventSlice& slice) {
        ++m_events;
        m_sink.slice(slice);
    }

    // export_trace.cpp
    Result<void> readProcesses();
    Result<void> readThreads();
    Result<void> readSteps();
    Result<void> readCounters();
    Result<void> readMemory();
    void writeFindings(std::span<const rules::Finding> findings);
    // host_events.cpp
    Result<void> readCalls();
    Result<void> readRanges();
    Result<void> readCaptures();
    Result<void> readCommunication();
    // device_events.cpp
    Result<void> readNodes();
    Result<void> readReplays();
    Result<void> readStreams();
    Result<void> readStream(std::int64_t process, std::int64_t device, std::int64_t stream);
    Result<void> readWaits();
    const Call* callOf(std::int64_t process, std::int64_t correlation) const;
    using StreamLanes = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Lanes>;
    // Those of a stream for one kind of event (`part`), made when it has its first.
    Lanes& lanesOf(StreamLanes& lanes, std::int64_t process, std::int64_t device, std::int64_t stream,
        const char* what, std::int64_t part);
    void writeWork(
        const Statement& row, Lanes& lanes, std::int64_t process, std::int64_t device, std::int64_t stream);

    Db& m_trace;
    EventSink& m_sink;
    ExportWindow m_window;
    std::int64_t m_events = 0;
    std::map<std::int64_t, std::string> m_names; // "rank 0 (pid 4711)"
    std::map<std::int64_t, std::int64_t> m_hostProcesses; // numbers in the export
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> m_deviceNames;
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> m_deviceProcesses;
    std::int64_t m_nextTrack = 1'000'000; // above the numbers of threads
    std::vector<Call> m_calls; // that have a correlation, sorted by key()
    std::map<std::pair<std::int64_t, std::int64_t>, Node> m_nodes; // by process and node
    std::vector<EventArgument> m_arguments; // of the event being made
};

} // namespace gd::report
