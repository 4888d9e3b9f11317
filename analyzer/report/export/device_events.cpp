// SPDX-License-Identifier: Apache-2.0
// Events of devices: replays of graphs, kernels, copies, fills and waits.
#include "analyzer/report/export/event_reader.h"

#include <algorithm>

namespace gd::report {
namespace {

// Parts of a stream's tracks from top to bottom.
enum Part : std::int64_t { kReplays, kWork, kWaits, kParts };

// One table of a stream's work, in order of start. Columns: start, end, name, correlation, node, bytes and,
// of kernels, grid, block, shared bytes and registers.
struct WorkCursor {
    Statement rows;
    bool more = false;
};

constexpr std::string_view kKernels
    = "SELECT k.start_ns, k.start_ns + k.dur_ns, n.text, k.correlation, k.node_id, NULL, "
      "s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, "
      "s.static_shared_bytes + s.dynamic_shared_bytes, s.registers, 'kernel' "
      "FROM kernel AS k JOIN kernel_shape AS s USING (shape_id) JOIN string AS n ON n.string_id = s.name_id "
      "WHERE k.kernel_id BETWEEN ? AND ? AND k.track_id = ? ORDER BY k.kernel_id";
constexpr std::string_view kCopies
    = "SELECT start_ns, start_ns + dur_ns, 'Memcpy ' || copy_kind, correlation, node_id, bytes, "
      "0, 0, 0, 0, 0, 0, 0, 0, 'gpu_memcpy' FROM memcpy WHERE memcpy_id BETWEEN ? AND ? AND track_id = ? "
      "ORDER BY memcpy_id";
constexpr std::string_view kFills
    = "SELECT start_ns, start_ns + dur_ns, 'Memset', correlation, node_id, bytes, "
      "0, 0, 0, 0, 0, 0, 0, 0, 'gpu_memset' FROM memset WHERE memset_id BETWEEN ? AND ? AND track_id = ? "
      "ORDER BY memset_id";

std::string_view sqlOf(std::string_view table) {
    return table == "kernel" ? kKernels : table == "memcpy" ? kCopies : kFills;
}

} // namespace

// What an executable's node was captured from tells its ranges and its collective.
Result<void> EventReader::readNodes() {
    return each("SELECT n.process_id, n.node_id, n.exec_id, coalesce(t.range_path, ''), o.kind, o.dtype, "
                "coalesce(o.count, 0), coalesce(o.message_bytes, 0), coalesce((SELECT max(c.nranks) "
                "FROM nccl_comm AS c WHERE c.process_id = o.process_id AND c.comm_hash = o.comm_hash), 0) "
                "FROM graph_node AS n LEFT JOIN graph_node AS t ON t.process_id = n.process_id "
                "AND t.node_id = n.origin_node_id LEFT JOIN nccl_op AS o ON o.process_id = n.process_id "
                "AND o.op_id = coalesce(t.comm_op_id, n.comm_op_id) WHERE n.exec_id IS NOT NULL",
        [this](const Statement& r) {
            if (m_window.processes.contains(r.int64(0)))
                m_nodes[{r.int64(0), r.int64(1)}] = {r.int64(2), std::string(r.text(3)),
                    std::string(r.text(4)), std::string(r.text(5)), r.int64(6), r.int64(7), r.int64(8)};
        });
}

const EventReader::Call* EventReader::callOf(std::int64_t process, std::int64_t correlation) const {
    const std::pair key(process, correlation);
    const auto at = std::lower_bound(m_calls.begin(), m_calls.end(), key,
        [](const Call& call, const auto& wanted) { return call.key() < wanted; });
    return at != m_calls.end() && at->key() == key ? &*at : nullptr;
}

EventReader::Lanes& EventReader::lanesOf(StreamLanes& lanes, std::int64_t process, std::int64_t device,
    std::int64_t stream, const char* what, std::int64_t part) {
    const std::tuple key(process, device, stream);
    const auto known = lanes.find(key);
    if (known != lanes.end())
        return known->second;
    return lanes
        .emplace(key,
            Lanes(*this, deviceProcess(process, device), fmt::format("{} {}", what, stream),
                place(0, stream) * kParts + part))
        .first->second;
}

// A replay is launched once, however many nodes it has: one arrow leads to it.
Result<void> EventReader::readReplays() {
    StreamLanes lanes;
    return each(
        "SELECT r.process_id, coalesce(r.device_id, 0), coalesce(r.stream_id, 0), r.start_ns, r.end_ns, "
        "r.launch_start_ns, coalesce(r.launch_end_ns, r.launch_start_ns), coalesce(r.thread_id, 0), "
        "r.correlation, r.exec_id, coalesce(e.graph_name, 'graph ' || r.exec_id), r.detail, "
        "r.replay_id FROM replay AS r LEFT JOIN exec_reuse AS e USING (process_id, exec_id) "
        "ORDER BY r.process_id, 2, 3, r.start_ns",
        [&](const Statement& r) {
            const std::int64_t process = r.int64(0);
            const bool isMeasured = !r.isNull(3) && !r.isNull(4);
            const std::int64_t lastNs = isMeasured ? std::max(r.int64(4), r.int64(6)) : r.int64(6);
            if (!isWanted(process, r.int64(5), lastNs))
                return;
            const EventTrack thread = threadTrack(process, r.int64(7));
            m_arguments = {{"graph id", r.int64(9)}, {"replay", r.int64(12)}, {"detail", r.text(11)}};
            if (!r.isNull(8))
                m_arguments.push_back({"correlation", r.int64(8)});
            if (r.isNull(8) || callOf(process, r.int64(8)) == nullptr)
                slice({thread, r.int64(5), r.int64(6), "cuda_runtime", "cudaGraphLaunch", m_arguments});
            if (!isMeasured)
                return;
            m_arguments.push_back({"device", r.int64(1)});
            m_arguments.push_back({"stream", r.int64(2)});
            Lanes& own = lanesOf(lanes, process, r.int64(1), r.int64(2), "graphs on stream", kReplays);
            const std::string name = fmt::format("replay of {}", r.text(10));
            const EventTrack track = own.take(r.int64(3), r.int64(4));
            slice({track, r.int64(3), r.int64(4), "cuda_graph", name, m_arguments});
            m_sink.arrow(thread, r.int64(5), track, r.int64(3));
        });
}

Result<void> EventReader::readStreams() {
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> streams;
    GD_TRY(each("SELECT DISTINCT process_id, coalesce(device_id, 0), coalesce(stream_id, 0) FROM track "
                "WHERE table_name IN ('kernel', 'memcpy', 'memset') AND first_rowid IS NOT NULL",
        [&](const Statement& r) {
            if (m_window.processes.contains(r.int64(0)))
                streams.emplace(r.int64(0), r.int64(1), r.int64(2));
        }));
    for (const auto& [process, device, stream] : streams)
        GD_TRY(readStream(process, device, stream));
    return {};
}

// Kernels, copies and fills of a stream, merged by start.
Result<void> EventReader::readStream(std::int64_t process, std::int64_t device, std::int64_t stream) {
    std::vector<WorkCursor> cursors;
    GD_TRY_ASSIGN(auto tracks,
        m_trace.prepareReadOnly(
            "SELECT table_name, first_rowid, last_rowid, track_id FROM track WHERE process_id = ? "
            "AND coalesce(device_id, 0) = ? AND coalesce(stream_id, 0) = ? "
            "AND table_name IN ('kernel', 'memcpy', 'memset') "
            "AND first_rowid IS NOT NULL ORDER BY track_id"));
    tracks.bind(1, process);
    tracks.bind(2, device);
    tracks.bind(3, stream);
    while (true) {
        GD_TRY_ASSIGN(const bool there, tracks.step());
        if (!there)
            break;
        GD_TRY_ASSIGN(auto rows, m_trace.prepareReadOnly(sqlOf(tracks.text(0))));
        rows.bind(1, tracks.int64(1));
        rows.bind(2, tracks.int64(2));
        rows.bind(3, tracks.int64(3));
        GD_TRY_ASSIGN(const bool more, rows.step());
        cursors.push_back({std::move(rows), more});
    }
    Lanes lanes(*this, deviceProcess(process, device), fmt::format("stream {}", stream),
        place(0, stream) * kParts + kWork);
    while (m_sink.state()) {
        WorkCursor* next = nullptr;
        for (WorkCursor& cursor : cursors) {
            if (cursor.more && (next == nullptr || cursor.rows.int64(0) < next->rows.int64(0)))
                next = &cursor;
        }
        if (next == nullptr)
            break;
        if (isWanted(process, next->rows.int64(0), next->rows.int64(1)))
            writeWork(next->rows, lanes, process, device, stream);
        GD_TRY_ASSIGN(next->more, next->rows.step());
    }
    return m_sink.state();
}

void EventReader::writeWork(
    const Statement& row, Lanes& lanes, std::int64_t process, std::int64_t device, std::int64_t stream) {
    m_arguments = {{"device", device}, {"stream", stream}};
    if (!row.isNull(3))
        m_arguments.push_back({"correlation", row.int64(3)});
    if (!row.isNull(5))
        m_arguments.push_back({"bytes", row.int64(5)});
    if (row.text(14) == "kernel") {
        m_arguments.push_back({"grid", std::array{row.int64(6), row.int64(7), row.int64(8)}});
        m_arguments.push_back({"block", std::array{row.int64(9), row.int64(10), row.int64(11)}});
        m_arguments.push_back({"shared memory", row.int64(12)});
        m_arguments.push_back({"registers per thread", row.int64(13)});
    }
    const auto node = row.isNull(4) ? m_nodes.end() : m_nodes.find({process, row.int64(4)});
    if (!row.isNull(4))
        m_arguments.push_back({"graph node id", row.int64(4)});
    if (node != m_nodes.end()) {
        const Node& captured = node->second;
        m_arguments.push_back({"graph id", captured.exec});
        if (!captured.path.empty())
            m_arguments.push_back({"captured in", captured.path});
        if (!captured.collective.empty()) {
            m_arguments.push_back({"Collective name", captured.collective});
            m_arguments.push_back({"In msg nelems", captured.count});
            m_arguments.push_back({"dtype", captured.type});
            m_arguments.push_back({"message bytes", captured.bytes});
            m_arguments.push_back({"Group size", captured.ranks});
        }
    }
    const EventTrack track = lanes.take(row.int64(0), row.int64(1));
    slice({track, row.int64(0), row.int64(1), row.text(14), row.text(2), m_arguments});
    // Nodes hang on their replay.
    const Call* call = row.isNull(3) || !row.isNull(4) ? nullptr : callOf(process, row.int64(3));
    if (call != nullptr)
        m_sink.arrow(threadTrack(process, call->thread), call->startNs, track, row.int64(0));
}

Result<void> EventReader::readWaits() {
    StreamLanes lanes;
    return each("SELECT t.process_id, coalesce(t.device_id, 0), coalesce(t.stream_id, 0), s.start_ns, "
                "s.start_ns + s.dur_ns, coalesce(a.runtime_name, a.name), s.correlation, s.event_id "
                "FROM sync AS s JOIN track AS t USING (track_id) JOIN api AS a USING (api_id) "
                "ORDER BY s.sync_id",
        [&](const Statement& r) {
            const std::int64_t process = r.int64(0);
            if (!isWanted(process, r.int64(3), r.int64(4)))
                return;
            Lanes& own = lanesOf(lanes, process, r.int64(1), r.int64(2), "waits for stream", kWaits);
            m_arguments = {{"stream", r.int64(2)}};
            if (!r.isNull(6))
                m_arguments.push_back({"correlation", r.int64(6)});
            if (!r.isNull(7))
                m_arguments.push_back({"event", r.int64(7)});
            slice({own.take(r.int64(3), r.int64(4)), r.int64(3), r.int64(4), "cuda_sync", r.text(5),
                m_arguments});
        });
}

} // namespace gd::report
