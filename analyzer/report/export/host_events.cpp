// SPDX-License-Identifier: Apache-2.0
// Events of threads: calls, ranges, captures, communication as it is enqueued.
#include "analyzer/report/export/event_reader.h"

#include <algorithm>

namespace gd::report {
namespace {

constexpr std::int64_t kRanges = 500; // places behind those of threads
constexpr std::int64_t kCaptures = 600;

} // namespace

// A call that never returned lasts to the end of its process.
Result<void> EventReader::readCalls() {
    GD_TRY(
        each("SELECT c.process_id, c.thread_id, c.start_ns, coalesce(c.end_ns, max(p.end_ns, c.start_ns)), "
             "coalesce(a.runtime_name, a.name), c.correlation, c.result, c.stream_id, c.bytes, "
             "c.end_ns IS NULL FROM api_call AS c JOIN api AS a USING (api_id) "
             "JOIN process AS p USING (process_id) ORDER BY c.api_call_id",
            [this](const Statement& r) {
                // The call of work that runs inside the window may lie before it.
                if (!r.isNull(5) && m_window.processes.contains(r.int64(0)))
                    m_calls.push_back({r.int64(0), r.int64(5), r.int64(1), r.int64(2)});
                if (!isWanted(r.int64(0), r.int64(2), r.int64(3)))
                    return;
                m_arguments.clear();
                if (!r.isNull(5))
                    m_arguments.push_back({"correlation", r.int64(5)});
                if (!r.isNull(6))
                    m_arguments.push_back({"result", r.int64(6)});
                if (!r.isNull(7))
                    m_arguments.push_back({"stream", r.int64(7)});
                if (!r.isNull(8))
                    m_arguments.push_back({"bytes", r.int64(8)});
                if (r.int64(9) != 0)
                    m_arguments.push_back({"returned", std::string_view("never")});
                slice({threadTrack(r.int64(0), r.int64(1)), r.int64(2), r.int64(3), "cuda_runtime", r.text(4),
                    m_arguments});
            }));
    std::stable_sort(
        m_calls.begin(), m_calls.end(), [](const Call& a, const Call& b) { return a.key() < b.key(); });
    return {};
}

// Ranges of a thread's default domain nest with its calls; those of another domain may cross them.
Result<void> EventReader::readRanges() {
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, EventTrack> tracks;
    return each(
        "SELECT r.process_id, r.thread_id, r.start_ns, coalesce(r.end_ns, max(p.end_ns, r.start_ns)), "
        "n.text, r.domain_id, d.text, r.kind, r.payload, t.name FROM nvtx_range AS r "
        "JOIN string AS n ON n.string_id = r.name_id JOIN string AS d ON d.string_id = r.domain_id "
        "JOIN process AS p USING (process_id) LEFT JOIN thread AS t USING (process_id, thread_id) "
        "ORDER BY r.range_id",
        [&](const Statement& r) {
            if (!isWanted(r.int64(0), r.int64(2), r.int64(3)))
                return;
            EventTrack track = threadTrack(r.int64(0), r.int64(1));
            if (!r.text(6).empty()) {
                const std::tuple key(r.int64(0), r.int64(1), r.int64(5));
                auto own = tracks.find(key);
                if (own == tracks.end())
                    own = tracks
                              .emplace(key,
                                  newTrack(track.process,
                                      fmt::format("{} of {}", r.text(6),
                                          r.isNull(9) ? fmt::format("thread {}", r.int64(1))
                                                      : std::string(r.text(9))),
                                      place(kRanges, r.int64(1))))
                              .first;
                track = own->second;
            }
            m_arguments.clear();
            if (!r.text(6).empty())
                m_arguments.push_back({"domain", r.text(6)});
            if (!r.isNull(8))
                m_arguments.push_back({"payload", r.int64(8)});
            const EventSlice range{track, r.int64(2), r.int64(3), "user_annotation", r.text(4), m_arguments};
            ++m_events;
            if (r.text(7) == "mark")
                m_sink.instant(range);
            else if (r.text(7) == "start")
                m_sink.overlapping(range);
            else
                m_sink.slice(range);
        });
}

// Captures of several threads may be open at once.
Result<void> EventReader::readCaptures() {
    std::map<std::int64_t, Lanes> lanes;
    return each(
        "SELECT c.process_id, c.capture_id, c.start_ns, coalesce(c.end_ns, max(p.end_ns, c.start_ns)), "
        "c.mode, c.end_result, c.stream_id, c.graph_id, c.node_count, n.name FROM capture AS c "
        "JOIN process AS p USING (process_id) LEFT JOIN result_code AS n ON n.result = c.end_result "
        "ORDER BY c.process_id, c.start_ns, c.capture_id",
        [&](const Statement& r) {
            const std::int64_t process = r.int64(0);
            if (!isWanted(process, r.int64(2), r.int64(3)))
                return;
            Lanes& own = lanes.try_emplace(process, Lanes(*this, hostProcess(process), "captures", kCaptures))
                             .first->second;
            const std::string name = fmt::format("capture {}", r.int64(1));
            m_arguments = {{"mode", r.text(4)}, {"stream", r.int64(6)}};
            if (!r.isNull(7))
                m_arguments.push_back({"graph", r.int64(7)});
            if (!r.isNull(8))
                m_arguments.push_back({"nodes", r.int64(8)});
            if (r.isNull(5))
                m_arguments.push_back({"ended", std::string_view("never")});
            else if (r.isNull(9))
                m_arguments.push_back({"result", r.int64(5)});
            else
                m_arguments.push_back({"result", r.text(9)});
            slice({own.take(r.int64(2), r.int64(3)), r.int64(2), r.int64(3), "capture", name, m_arguments});
        });
}

// The call alone: what it does on the device is a kernel.
Result<void> EventReader::readCommunication() {
    return each("SELECT o.process_id, o.thread_id, o.time_ns, o.kind, o.count, o.dtype, o.message_bytes, "
                "o.peer, o.stream_id, o.capture_id, printf('%x', o.comm_hash), c.nranks, c.rank "
                "FROM nccl_op AS o LEFT JOIN (SELECT process_id, comm_hash, max(nranks) AS nranks, "
                "max(rank) AS rank FROM nccl_comm GROUP BY process_id, comm_hash) AS c "
                "USING (process_id, comm_hash) ORDER BY o.process_id, o.op_id",
        [this](const Statement& r) {
            if (!isWanted(r.int64(0), r.int64(2), r.int64(2)))
                return;
            m_arguments = {{"Collective name", r.text(3)}, {"In msg nelems", r.int64(4)},
                {"dtype", r.text(5)}, {"bytes", r.int64(6)}, {"communicator", r.text(10)}};
            if (!r.isNull(7))
                m_arguments.push_back({"root or peer", r.int64(7)});
            if (!r.isNull(8))
                m_arguments.push_back({"stream", r.int64(8)});
            if (!r.isNull(11) && r.int64(11) > 0) {
                m_arguments.push_back({"Group size", r.int64(11)});
                m_arguments.push_back({"rank in the group", r.int64(12)});
            }
            m_arguments.push_back({"captured", static_cast<std::int64_t>(r.isNull(9) ? 0 : 1)});
            const std::string name = fmt::format("nccl {}", r.text(3));
            ++m_events;
            m_sink.instant(
                {threadTrack(r.int64(0), r.int64(1)), r.int64(2), r.int64(2), "nccl", name, m_arguments});
        });
}

} // namespace gd::report
