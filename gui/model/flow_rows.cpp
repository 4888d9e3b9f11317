// SPDX-License-Identifier: Apache-2.0
#include "gui/model/flow_rows.h"

#include "analyzer/store/readers.h"

#include <algorithm>

namespace gd::gui {
namespace {

// Rows of a track that are looked at around a time. Launches run ahead of the device by thousands of kernels
// at most: the driver's queue holds about a thousand.
constexpr std::int64_t kLooked = 20'000;
// Work of one launch stands together; after this many strangers it is over.
constexpr std::int64_t kStrangers = 2'000;

bool isWork(const std::string& table) {
    return table == "kernel" || table == "memcpy" || table == "memset";
}

const char* workSql(const std::string& table) {
    if (table == "kernel")
        return "SELECT k.start_ns, k.dur_ns, k.correlation, k.node_id, s.text, t.process_id, t.device_id, "
               "t.stream_id FROM kernel AS k JOIN track AS t USING (track_id) "
               "JOIN kernel_shape AS h USING (shape_id) JOIN string AS s ON s.string_id = h.name_id "
               "WHERE k.kernel_id = ?";
    if (table == "memcpy")
        return "SELECT k.start_ns, k.dur_ns, k.correlation, k.node_id, 'memcpy ' || k.copy_kind, "
               "t.process_id, t.device_id, t.stream_id FROM memcpy AS k JOIN track AS t USING (track_id) "
               "WHERE k.memcpy_id = ?";
    return "SELECT k.start_ns, k.dur_ns, k.correlation, k.node_id, 'memset', t.process_id, t.device_id, "
           "t.stream_id FROM memset AS k JOIN track AS t USING (track_id) WHERE k.memset_id = ?";
}

constexpr std::string_view kReplay
    = "SELECT r.replay_id, r.process_id, r.track_id, r.thread_id, r.correlation, r.launch_start_ns, "
      "r.launch_end_ns, r.start_ns, r.end_ns, coalesce((SELECT e.graph_name FROM exec_reuse AS e "
      "WHERE e.process_id = r.process_id AND e.exec_id = r.exec_id), 'graph'), r.exec_id FROM replay AS r "
      "WHERE ";

} // namespace

Result<std::vector<FlowRows::Track>> FlowRows::tracks(std::int64_t process) {
    if (const auto known = m_tracks.find(process); known != m_tracks.end())
        return known->second;
    GD_TRY_ASSIGN(auto rows,
        m_db.prepare("SELECT table_name, track_id, device_id, stream_id, thread_id, first_rowid, last_rowid "
                     "FROM track WHERE process_id = ? AND first_rowid IS NOT NULL"));
    rows.bind(1, process);
    std::vector<Track> out;
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            break;
        out.push_back({std::string(rows.text(0)), rows.int64(1), rows.optionalInt64(2).value_or(-1),
            rows.optionalInt64(3).value_or(-1), rows.optionalInt64(4).value_or(-1), rows.int64(5),
            rows.int64(6)});
    }
    m_tracks[process] = out;
    return out;
}

Result<std::int64_t> FlowRows::firstAt(const Track& track, std::int64_t timeNs) {
    return store::firstRowFrom(m_db, track.table, "start_ns", track.first, track.last, timeNs);
}

Result<std::optional<FlowRows::Call>> FlowRows::call(std::int64_t rowId) {
    GD_TRY_ASSIGN(auto row,
        m_db.prepare("SELECT c.process_id, c.start_ns, coalesce(c.end_ns, c.start_ns), c.correlation, "
                     "c.object_id, a.class, coalesce(a.runtime_name, a.name) FROM api_call AS c "
                     "JOIN api AS a USING (api_id) WHERE c.api_call_id = ?"));
    row.bind(1, rowId);
    GD_TRY_ASSIGN(const bool found, row.step());
    if (!found)
        return std::optional<Call>();
    Call out;
    out.end = {row.int64(0), {"api_call", rowId}, row.int64(1), row.int64(2), std::string(row.text(6))};
    out.correlation = row.optionalInt64(3).value_or(-1);
    const std::string_view kind = row.text(5);
    if (kind == "REPLAY")
        out.exec = row.optionalInt64(4).value_or(-1);
    out.launches = kind == "REPLAY" || kind == "LAUNCH" || kind == "COPY" || kind == "COPY_SYNC";
    return std::optional(std::move(out));
}

Result<std::optional<FlowRows::Call>> FlowRows::callAt(
    std::int64_t process, std::int64_t thread, std::int64_t startNs) {
    GD_TRY_ASSIGN(const auto all, tracks(process));
    for (const Track& track : all) {
        if (track.table != "api_call" || track.thread != thread)
            continue;
        GD_TRY_ASSIGN(const std::int64_t at, firstAt(track, startNs));
        GD_TRY_ASSIGN(auto found, call(at));
        if (at <= track.last && found && found->end.startNs == startNs)
            return std::optional(std::move(*found));
    }
    return std::optional<Call>();
}

Result<std::optional<FlowRows::Call>> FlowRows::callOf(
    std::int64_t process, std::int64_t correlation, std::int64_t beforeNs) {
    if (correlation <= 0)
        return std::optional<Call>();
    GD_TRY_ASSIGN(const auto all, tracks(process));
    GD_TRY_ASSIGN(auto rows,
        m_db.prepare(
            "SELECT api_call_id FROM (SELECT api_call_id, correlation FROM api_call "
            "WHERE api_call_id BETWEEN ? AND ? ORDER BY api_call_id DESC) WHERE correlation = ? LIMIT 1"));
    std::optional<Call> out;
    for (const Track& track : all) {
        if (track.table != "api_call")
            continue;
        GD_TRY_ASSIGN(const std::int64_t past, firstAt(track, beforeNs));
        rows.reset();
        rows.bind(1, std::max(track.first, past - kLooked));
        rows.bind(2, past - 1);
        rows.bind(3, correlation);
        GD_TRY_ASSIGN(const bool found, rows.step());
        if (!found)
            continue;
        GD_TRY_ASSIGN(auto one, call(rows.int64(0)));
        if (one && (!out || one->end.startNs > out->end.startNs))
            out = std::move(*one);
    }
    return out;
}

Result<std::optional<FlowRows::Replay>> FlowRows::oneReplay(Statement& rows) {
    GD_TRY_ASSIGN(const bool found, rows.step());
    if (!found)
        return std::optional<Replay>();
    Replay out;
    out.measured = !rows.isNull(7) && !rows.isNull(8);
    const std::int64_t start = out.measured ? rows.int64(7) : rows.int64(5);
    const std::int64_t end = out.measured ? rows.int64(8) : rows.optionalInt64(6).value_or(start);
    out.end = {rows.int64(1), {"replay", rows.int64(0)}, start, end, std::string(rows.text(9))};
    out.track = rows.int64(2);
    out.thread = rows.optionalInt64(3).value_or(-1);
    out.correlation = rows.optionalInt64(4).value_or(-1);
    out.launchNs = rows.int64(5);
    out.exec = rows.optionalInt64(10).value_or(-1);
    return std::optional(std::move(out));
}

Result<std::optional<FlowRows::Replay>> FlowRows::replay(std::int64_t rowId) {
    GD_TRY_ASSIGN(auto rows, m_db.prepare(std::string(kReplay) + "r.replay_id = ?"));
    rows.bind(1, rowId);
    return oneReplay(rows);
}

Result<std::optional<FlowRows::Replay>> FlowRows::replayOfCall(const Call& call) {
    if (call.exec < 0)
        return std::optional<Replay>();
    GD_TRY_ASSIGN(auto rows,
        m_db.prepare(std::string(kReplay) + "r.process_id = ? AND r.exec_id = ? AND r.launch_start_ns = ?"));
    rows.bind(1, call.end.process);
    rows.bind(2, call.exec);
    rows.bind(3, call.end.startNs);
    return oneReplay(rows);
}

Result<std::optional<FlowRows::Replay>> FlowRows::replayOfWork(const Work& work) {
    if (work.node < 0 || work.correlation <= 0)
        return std::optional<Replay>();
    GD_TRY_ASSIGN(auto rows,
        m_db.prepare(std::string(kReplay)
            + "r.process_id = ? AND r.exec_id = (SELECT n.exec_id FROM graph_node AS n WHERE "
              "n.process_id = ? AND n.node_id = ?) AND r.correlation = ? AND r.launch_start_ns <= ? "
              "ORDER BY r.launch_start_ns DESC LIMIT 1"));
    rows.bind(1, work.end.process);
    rows.bind(2, work.end.process);
    rows.bind(3, work.node);
    rows.bind(4, work.correlation);
    rows.bind(5, work.end.startNs);
    return oneReplay(rows);
}

Result<std::optional<FlowRows::Replay>> FlowRows::replayBeside(const Replay& replay, int direction) {
    GD_TRY_ASSIGN(auto rows, m_db.prepare(std::string(kReplay) + "r.replay_id = ? AND r.track_id = ?"));
    rows.bind(1, replay.end.place.rowId + direction);
    rows.bind(2, replay.track);
    return oneReplay(rows);
}

Result<std::optional<FlowRows::Work>> FlowRows::work(const TrackRow::Place& place) {
    GD_TRY_ASSIGN(auto row, m_db.prepare(workSql(place.table)));
    row.bind(1, place.rowId);
    GD_TRY_ASSIGN(const bool found, row.step());
    if (!found)
        return std::optional<Work>();
    Work out;
    out.end = {row.int64(5), place, row.int64(0), row.int64(0) + row.int64(1), std::string(row.text(4))};
    out.correlation = row.optionalInt64(2).value_or(-1);
    out.node = row.optionalInt64(3).value_or(-1);
    out.device = row.optionalInt64(6).value_or(-1);
    out.stream = row.optionalInt64(7).value_or(-1);
    return std::optional(std::move(out));
}

Result<std::vector<FlowRows::Work>> FlowRows::workOf(
    std::int64_t process, std::int64_t correlation, std::int64_t fromNs) {
    std::vector<Work> out;
    if (correlation <= 0)
        return out;
    GD_TRY_ASSIGN(const auto all, tracks(process));
    for (const Track& track : all) {
        if (!isWork(track.table))
            continue;
        GD_TRY_ASSIGN(const std::int64_t first, firstAt(track, fromNs));
        GD_TRY_ASSIGN(auto rows,
            m_db.prepare(
                fmt::format("SELECT rowid, correlation FROM {} WHERE rowid BETWEEN ? AND ?", track.table)));
        rows.bind(1, first);
        rows.bind(2, std::min(track.last, first + kLooked));
        std::int64_t strangers = -1; // none counts before the first match
        while (strangers < kStrangers) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                break;
            if (rows.optionalInt64(1) != correlation) {
                strangers += strangers < 0 ? 0 : 1;
                continue;
            }
            strangers = 0;
            GD_TRY_ASSIGN(auto one, work({track.table, rows.int64(0)}));
            if (one)
                out.push_back(std::move(*one));
        }
    }
    std::stable_sort(
        out.begin(), out.end(), [](const Work& a, const Work& b) { return a.end.startNs < b.end.startNs; });
    return out;
}

Result<std::optional<FlowRows::Work>> FlowRows::workBeside(const Work& work, int direction) {
    GD_TRY_ASSIGN(const auto all, tracks(work.end.process));
    std::optional<Work> out;
    for (const Track& track : all) {
        if (!isWork(track.table) || track.stream != work.stream || track.device != work.device)
            continue;
        // A stream runs one after the other: what starts next, and what started last before.
        GD_TRY_ASSIGN(std::int64_t at,
            firstAt(track, direction > 0 ? work.end.startNs : std::max<std::int64_t>(0, work.end.startNs)));
        if (direction < 0)
            --at;
        else if (track.table == work.end.place.table && at == work.end.place.rowId)
            ++at;
        if (at < track.first || at > track.last)
            continue;
        GD_TRY_ASSIGN(auto one, this->work({track.table, at}));
        if (one && (!out || (one->end.startNs - out->end.startNs) * direction < 0))
            out = std::move(*one);
    }
    return out;
}

Result<std::int64_t> FlowRows::originOf(std::int64_t process, std::int64_t node) {
    GD_TRY_ASSIGN(
        auto row, m_db.prepare("SELECT origin_node_id FROM graph_node WHERE process_id = ? AND node_id = ?"));
    row.bind(1, process);
    row.bind(2, node);
    GD_TRY_ASSIGN(const bool found, row.step());
    return found ? row.optionalInt64(0).value_or(node) : node;
}

Result<FlowRows::Edges> FlowRows::edgesOf(const Work& work) {
    Edges out;
    GD_TRY_ASSIGN(out.node, originOf(work.end.process, work.node));
    GD_TRY_ASSIGN(auto rows,
        m_db.prepare("SELECT e.from_node_id, e.to_node_id FROM graph_edge AS e WHERE e.process_id = ? AND "
                     "e.graph_id = (SELECT n.graph_id FROM graph_node AS n WHERE n.process_id = ? AND "
                     "n.node_id = ?)"));
    rows.bind(1, work.end.process);
    rows.bind(2, work.end.process);
    rows.bind(3, out.node);
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return out;
        out.forward.emplace(rows.int64(0), rows.int64(1));
        out.backward.emplace(rows.int64(1), rows.int64(0));
    }
}

} // namespace gd::gui
