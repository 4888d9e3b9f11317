// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/ranks/step_work.h"

#include "analyzer/base/statement.h"
#include "analyzer/facts/intervals.h"
#include "analyzer/facts/names.h"
#include "analyzer/report/comm/link.h"
#include "analyzer/store/readers.h"

#include <algorithm>
#include <unordered_map>

namespace gd::report {
namespace {

struct TrackRange {
    std::string table;
    std::int64_t id = 0, stream = -1, first = 0, last = -1;
};

class LaneReader {
public:
    LaneReader(Db& trace, std::int64_t process, std::int64_t step)
        : m_trace(trace)
        , m_step(step) {
        m_lane.processId = process;
    }

    Result<std::optional<RankLane>> read() {
        GD_TRY_ASSIGN(const bool there, readStep());
        if (!there)
            return std::optional<RankLane>();
        GD_TRY(readProcess());
        GD_TRY(readBusy());
        GD_TRY(readGaps());
        if (m_lane.deviceId >= 0) {
            GD_TRY(readTracks());
            GD_TRY(readWork());
            GD_TRY(link());
        }
        finish();
        return std::optional(std::move(m_lane));
    }

private:
    Result<bool> readStep() {
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly("SELECT start_ns, end_ns FROM step WHERE process_id = ? AND step = ?"));
        rows.bind(1, m_lane.processId);
        rows.bind(2, m_step);
        GD_TRY_ASSIGN(const bool there, rows.step());
        if (there) {
            m_lane.startNs = m_hostStartNs = rows.int64(0);
            m_lane.endNs = m_hostEndNs = rows.int64(1);
        }
        return there;
    }
    Result<void> readProcess() {
        GD_TRY_ASSIGN(
            auto rows, m_trace.prepareReadOnly("SELECT rank, host FROM process WHERE process_id = ?"));
        rows.bind(1, m_lane.processId);
        GD_TRY_ASSIGN(const bool there, rows.step());
        if (there) {
            m_lane.rank = rows.optionalInt64(0);
            m_lane.host = rows.text(1);
        }
        return {};
    }
    // The device of the process that does most in the step.
    Result<void> readBusy() {
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly(
                "SELECT device_id, start_ns, end_ns, known FROM device_busy "
                "WHERE process_id = ? AND step = ? ORDER BY busy_ns DESC, device_id LIMIT 1"));
        rows.bind(1, m_lane.processId);
        rows.bind(2, m_step);
        GD_TRY_ASSIGN(const bool there, rows.step());
        if (!there) {
            m_lane.reason = "no device work was recorded in this step: it is shown as the host saw it";
            return {};
        }
        m_lane.deviceId = rows.int64(0);
        m_lane.startNs = rows.int64(1);
        m_lane.endNs = rows.int64(2);
        if (rows.int64(3) == 0) {
            m_lane.reason = "device work was not recorded throughout this step";
            return {};
        }
        m_isKnown = true;
        return {};
    }
    Result<void> readGaps() {
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly("SELECT sum(end_ns - start_ns) OVER (), cause FROM replay_gap "
                                    "WHERE process_id = ? AND step = ? AND known = 1 "
                                    "ORDER BY end_ns - start_ns DESC LIMIT 1"));
        rows.bind(1, m_lane.processId);
        rows.bind(2, m_step);
        GD_TRY_ASSIGN(const bool there, rows.step());
        if (there) {
            m_lane.gapNs = rows.int64(0);
            m_lane.gapCause = rows.text(1);
        }
        return {};
    }
    Result<void> readTracks() {
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly(
                "SELECT track_id, table_name, stream_id, first_rowid, last_rowid FROM track "
                "WHERE process_id = ? AND (device_id = ? OR table_name = 'replay') "
                "AND first_rowid IS NOT NULL AND table_name IN "
                "('kernel', 'memcpy', 'memset', 'replay') ORDER BY track_id"));
        rows.bind(1, m_lane.processId);
        rows.bind(2, m_lane.deviceId);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            m_tracks.push_back({std::string(rows.text(1)), rows.int64(0), rows.optionalInt64(2).value_or(-1),
                rows.int64(3), rows.int64(4)});
        }
    }

    Result<std::int64_t> firstRow(const TrackRange& track, const char* column, std::int64_t ns) {
        return store::firstRowFrom(m_trace, track.table, column, track.first, track.last, ns);
    }

    Result<void> readWork() {
        for (const TrackRange& track : m_tracks) {
            if (track.table == "replay") {
                GD_TRY(readReplays(track));
            } else if (track.table == "kernel") {
                GD_TRY(readKernels(track));
            } else {
                GD_TRY(readCopies(track));
            }
        }
        return {};
    }
    Result<void> readKernels(const TrackRange& track) {
        GD_TRY_ASSIGN(const std::int64_t from, firstRow(track, "start_ns", m_lane.startNs));
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly(
                "SELECT kernel_id, start_ns, start_ns + dur_ns, shape_id, node_id FROM kernel "
                "WHERE kernel_id BETWEEN ? AND ? ORDER BY kernel_id"));
        rows.bind(1, std::max(track.first, from - 1)); // one may reach into the step
        rows.bind(2, track.last);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more || rows.int64(1) >= m_lane.endNs)
                return {};
            if (rows.int64(2) <= m_lane.startNs)
                continue;
            if (!rows.isNull(4))
                m_nodeStarts.push_back(rows.int64(1));
            GD_TRY_ASSIGN(const Shape* shape, shapeOf(rows.int64(3)));
            if (shape->isComm)
                m_comm.push_back({m_lane.processId, rows.int64(0), rows.int64(1), rows.int64(2), shape->name,
                    track.stream, rows.optionalInt64(4).value_or(-1), 0, shape->isOneSided});
            else
                note(rows.int64(1), rows.int64(2), m_work);
        }
    }
    struct Shape {
        std::int64_t name = 0;
        bool isComm = false;
        bool isOneSided = false;
    };
    Result<const Shape*> shapeOf(std::int64_t id) {
        const auto [known, isNew] = m_shapes.try_emplace(id);
        Shape& shape = known->second;
        if (!isNew)
            return &shape;
        GD_TRY_ASSIGN(auto name,
            m_trace.prepareReadOnly("SELECT s.text, s.string_id FROM kernel_shape AS k JOIN string AS s "
                                    "ON s.string_id = k.name_id WHERE k.shape_id = ?"));
        name.bind(1, id);
        GD_TRY_ASSIGN(const bool there, name.step());
        if (there)
            shape = {name.int64(1), facts::isCommKernel(name.text(0)), isOneSided(name.text(0))};
        return &shape;
    }
    Result<void> link() {
        CommCalls calls;
        std::sort(m_comm.begin(), m_comm.end(),
            [](const CommKernel& a, const CommKernel& b) { return a.startNs < b.startNs; });
        GD_TRY(linkCommunication(m_trace, m_comm, calls, m_hostStartNs, m_hostEndNs));
        for (const CommKernel& kernel : m_comm) {
            const CommCall& call = calls[kernel.call];
            m_lane.comm.push_back({kernel.rowId, kernel.startNs, kernel.endNs, call.commHash, call.kind,
                call.bytes, call.peer, 0, kernel.name, kernel.oneSided});
        }
        return {};
    }
    Result<void> readCopies(const TrackRange& track) {
        GD_TRY_ASSIGN(const std::int64_t from, firstRow(track, "start_ns", m_lane.startNs));
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly(fmt::format(
                "SELECT start_ns, start_ns + dur_ns FROM {} WHERE rowid BETWEEN ? AND ? ORDER BY rowid",
                track.table)));
        rows.bind(1, std::max(track.first, from - 1));
        rows.bind(2, track.last);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more || rows.int64(0) >= m_lane.endNs)
                return {};
            note(rows.int64(0), rows.int64(1), m_work);
        }
    }
    // Those launched in the step and recorded as a whole.
    Result<void> readReplays(const TrackRange& track) {
        GD_TRY_ASSIGN(const std::int64_t from, firstRow(track, "launch_start_ns", m_hostStartNs));
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly("SELECT launch_start_ns, start_ns, end_ns, detail FROM replay "
                                    "WHERE replay_id BETWEEN ? AND ? ORDER BY replay_id"));
        rows.bind(1, from);
        rows.bind(2, track.last);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more || rows.int64(0) >= m_hostEndNs)
                return {};
            if (rows.text(3) == "graph" && !rows.isNull(1) && !rows.isNull(2))
                note(rows.int64(1), rows.int64(2), m_replays);
        }
    }
    void note(std::int64_t startNs, std::int64_t endNs, std::vector<facts::Interval>& to) const {
        const facts::Interval inside{std::max(startNs, m_lane.startNs), std::min(endNs, m_lane.endNs)};
        if (inside.lengthNs() > 0)
            to.push_back(inside);
    }

    // A replay whose nodes were recorded too is what its nodes are.
    facts::IntervalSet wholeReplays() {
        std::sort(m_nodeStarts.begin(), m_nodeStarts.end());
        std::erase_if(m_replays, [this](const facts::Interval& replay) {
            const auto node = std::lower_bound(m_nodeStarts.begin(), m_nodeStarts.end(), replay.startNs);
            return node != m_nodeStarts.end() && *node < replay.endNs;
        });
        return facts::unite(std::move(m_replays));
    }

    void finish() {
        std::vector<facts::Interval> communication;
        for (const CommWork& part : m_lane.comm)
            note(part.startNs, part.endNs, communication);
        const facts::IntervalSet work = facts::unite(std::move(m_work));
        const facts::IntervalSet replays = facts::subtract(wholeReplays(), work);
        const facts::IntervalSet comm = facts::unite(std::move(communication));
        for (const facts::Interval& part : work)
            m_lane.segments.push_back({part.startNs, part.endNs, LaneSegment::Kind::work});
        for (const facts::Interval& part : replays)
            m_lane.segments.push_back({part.startNs, part.endNs, LaneSegment::Kind::replay});
        m_lane.firstWorkNs = m_lane.endNs;
        for (const facts::IntervalSet* set : {&work, &replays, &comm}) {
            if (!set->empty())
                m_lane.firstWorkNs = std::min(m_lane.firstWorkNs, set->front().startNs);
        }
        if (!m_isKnown)
            return;
        const facts::IntervalSet exposed = facts::subtract(facts::subtract(comm, work), replays);
        m_lane.busyNs = facts::totalNs(work) + facts::totalNs(replays) + facts::totalNs(exposed);
        m_lane.idleNs = m_lane.endNs - m_lane.startNs - *m_lane.busyNs;
        if (!replays.empty()) {
            m_lane.reason
                = "replays were recorded as a whole: communication inside them is not seen (--level full)";
            return;
        }
        m_lane.computeNs = facts::totalNs(work);
        m_lane.commNs = facts::totalNs(comm);
        m_lane.exposedCommNs = facts::totalNs(exposed);
    }

    Db& m_trace;
    std::int64_t m_step;
    std::int64_t m_hostStartNs = 0, m_hostEndNs = 0;
    RankLane m_lane;
    std::vector<TrackRange> m_tracks;
    std::vector<facts::Interval> m_work, m_replays;
    std::vector<std::int64_t> m_nodeStarts; // of kernels that are nodes of graphs
    bool m_isKnown = false; // the step's work was recorded throughout
    std::vector<CommKernel> m_comm;
    std::unordered_map<std::int64_t, Shape> m_shapes;
};

} // namespace

Result<std::optional<RankLane>> readLane(Db& trace, std::int64_t process, std::int64_t step) {
    return LaneReader(trace, process, step).read();
}

} // namespace gd::report
