// SPDX-License-Identifier: Apache-2.0
#include "gui/model/load_tracks.h"

#include "analyzer/store/readers.h"
#include "gui/model/load_comm.h"
#include "gui/model/load_large.h"
#include "gui/model/load_memory.h"
#include "gui/model/words.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace gd::gui {
namespace {

// Words for replay_gap.cause; one that is not known here is shown as it is.
std::string gapCause(std::string_view word) {
    constexpr std::pair<std::string_view, const char*> kWords[] = {
        {"host_sync", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: host waits for the device")},
        {"exec_update", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: graph is updated")},
        {"data", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: copies and loading")},
        {"host_other", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: host busy outside CUDA")},
        {"launch_call", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: inside the launch call")},
        {"event", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: waits for an event")},
        {"peer", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: waits for another rank")},
        {"nccl", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: waits in communication")},
        {"unknown", QT_TRANSLATE_NOOP("gd::gui::Words", "idle: not known")},
    };
    for (const auto& [name, text] : kWords) {
        if (name == word)
            return Words::fill(Words::tr(text));
    }
    return std::string(word);
}

constexpr const char* kStep = QT_TRANSLATE_NOOP("gd::gui::Words", "step %1");
// Words for step.kind but 'steady'.
[[maybe_unused]] constexpr const char* kStepKinds[] = {QT_TRANSLATE_NOOP("gd::gui::Words", "warmup"),
    QT_TRANSLATE_NOOP("gd::gui::Words", "excluded"), QT_TRANSLATE_NOOP("gd::gui::Words", "outside")};

class Loader {
public:
    explicit Loader(TrackLoad& load)
        : m_load(load) { }

    void run() {
        step("kernel_shape", [this] { return readKernelNames(); });
        step("string", [this] { return readStrings(); });
        step("api", [this] { return readCalls(); });
        step("exec_reuse", [this] { return readGraphs(); });
        step("step", [this] { return readSteps(); });
        step("replay_gap", [this] { return readGaps(); });
        step("track", [this] { return readTrackList(); });
        for (const Track& track : m_tracks) {
            if (track.table == "replay")
                step("replay", [&] { return readReplays(track); });
            else if (track.table == "nvtx_range")
                step("nvtx_range", [&] { return readRanges(track); });
        }
        step("allocation", [this] { return deliverAll(readMemoryRows(m_load.db, m_load.stop)); });
        LargeResult large;
        if (!m_load.stop)
            large = readLarge();
        CommLoader comm(m_load, std::move(large.comm));
        step("nccl_comm", [&] { return deliverAll(comm.readKernels()); });
        step("nccl_op", [&] { return deliverAll(comm.readCalls()); });
        step("process", [&] { return comm.remark(); });
        if (m_leftOut > 0)
            m_load.notes.push_back(
                Words::fill(Words::tr("%1 events are not drawn: more than %2 overlap in one row"), m_leftOut,
                    LaneBuilder::kMaxLanes));
    }

private:
    template <class F> void step(const char* table, F&& read) {
        if (m_load.stop)
            return;
        const Result<void> done = read();
        if (!done)
            m_load.notes.push_back(
                Words::fill(Words::tr("table %1 cannot be drawn: %2"), table, done.error().message));
    }

    template <class F> Result<void> each(const std::string& sql, F&& use) {
        return eachRow(m_load.db, sql, m_load.stop, use);
    }
    template <class F> Result<void> eachOf(const std::string& sql, const Track& track, F&& use) {
        GD_TRY_ASSIGN(auto rows, m_load.db.prepare(sql));
        rows.bind(1, track.first);
        rows.bind(2, track.last);
        return eachRow(rows, m_load.stop, use);
    }

    void deliver(Draft&& draft) {
        if (m_load.stop || (draft.lanes.empty() && draft.groups.empty() && !draft.row.curve))
            return;
        m_leftOut += draft.build();
        if (draft.row.lanes.empty() && !draft.row.curve)
            return;
        m_load.deliver(std::make_shared<const TrackRow>(std::move(draft.row)));
    }
    Result<void> readKernelNames() {
        return each("SELECT k.shape_id, s.text FROM kernel_shape AS k JOIN string AS s "
                    "ON s.string_id = k.name_id",
            [this](const Statement& r) {
                const std::string text(r.text(1));
                m_kernels.set(r.int64(0), m_load.names.intern(text, kernelCategory(text)));
            });
    }
    // Only the strings that ranges use: most of the others name files and functions.
    Result<void> readStrings() {
        return each("SELECT string_id, text FROM string WHERE string_id IN (SELECT name_id FROM nvtx_range)",
            [this](const Statement& r) {
                m_ranges.set(r.int64(0), m_load.names.intern(std::string(r.text(1)), Category::host));
            });
    }
    Result<void> readCalls() {
        return each("SELECT api_id, coalesce(runtime_name, name) FROM api", [this](const Statement& r) {
            m_calls.set(r.int64(0), m_load.names.intern(std::string(r.text(1)), Category::host));
        });
    }
    Result<void> readGraphs() {
        return each("SELECT process_id, exec_id, graph_name FROM exec_reuse", [this](const Statement& r) {
            m_graphs[{r.int64(0), r.int64(1)}]
                = m_load.names.intern(std::string(r.text(2)), Category::replay);
        });
    }

    Result<void> readSteps() {
        std::map<std::int64_t, Draft> drafts;
        GD_TRY(
            each("SELECT rowid, process_id, step, start_ns, end_ns, kind FROM step", [&](const Statement& r) {
                Draft& draft = of(drafts, r.int64(1), RowKind::step, "step", Words::tr("Steps"));
                std::string name = stepName(r.int64(2));
                if (r.text(5) != "steady")
                    name += fmt::format(" ({})", Words::tr(std::string(r.text(5)).c_str()).toStdString());
                draft.add(0, r.int64(0), r.int64(3), r.int64(4), m_load.names.intern(name, Category::host));
            }));
        return deliverAll(drafts);
    }
    Result<void> readGaps() {
        std::map<std::int64_t, Draft> drafts;
        GD_TRY(each("SELECT rowid, process_id, start_ns, end_ns, cause, known FROM replay_gap WHERE end_ns > "
                    "start_ns",
            [&](const Statement& r) {
                Draft& draft
                    = of(drafts, r.int64(1), RowKind::gap, "replay_gap", Words::tr("Gaps before replays"));
                const std::string cause = gapCause(r.int64(5) == 0 ? "unknown" : r.text(4));
                draft.add(0, r.int64(0), r.int64(2), r.int64(3), m_load.names.intern(cause, Category::gap));
            }));
        return deliverAll(drafts);
    }
    static Draft& of(std::map<std::int64_t, Draft>& drafts, std::int64_t process, RowKind kind,
        const char* table, const QString& title) {
        const auto [at, isNew] = drafts.try_emplace(process);
        if (isNew) {
            at->second.row.kind = kind;
            at->second.row.process = process;
            at->second.row.title = title.toStdString();
            at->second.slice(table, 0);
        }
        return at->second;
    }
    Result<void> deliverAll(std::map<std::int64_t, Draft>& drafts) {
        for (auto& [key, draft] : drafts)
            deliver(std::move(draft));
        return {};
    }
    Result<void> deliverAll(Result<std::vector<Draft>> drafts) {
        if (!drafts)
            return std::move(drafts).error();
        for (Draft& draft : *drafts)
            deliver(std::move(draft));
        return {};
    }

    Result<void> readTrackList() {
        return each("SELECT table_name, process_id, device_id, coalesce(stream_id, thread_id), name, "
                    "first_rowid, last_rowid FROM track WHERE first_rowid IS NOT NULL ORDER BY track_id",
            [this](const Statement& r) {
                m_tracks.push_back({std::string(r.text(0)), r.int64(1), r.optionalInt64(2).value_or(-1),
                    r.optionalInt64(3).value_or(-1), r.int64(5), r.int64(6), std::string(r.text(4))});
            });
    }
    static Draft draftOf(const Track& track, RowKind kind, std::string title) {
        Draft draft;
        draft.row.kind = kind;
        draft.row.process = track.process;
        draft.row.device = track.device;
        draft.row.number = track.number;
        draft.row.title = std::move(title);
        draft.slice(track.table, track.first);
        return draft;
    }

    Result<void> readReplays(const Track& track) {
        Draft measured
            = draftOf(track, RowKind::replay, Words::fill(Words::tr("Replays, stream %1"), track.number));
        Draft launched = draftOf(track, RowKind::replay,
            Words::fill(Words::tr("Replays, stream %1: launches only"), track.number));
        launched.row.measured = false;
        const std::uint32_t unnamed = m_load.names.intern(Words::fill(Words::tr("graph")), Category::replay);
        GD_TRY(eachOf(
            "SELECT replay_id, process_id, exec_id, launch_start_ns, launch_end_ns, start_ns, end_ns "
            "FROM replay WHERE replay_id BETWEEN ? AND ?",
            track, [&](const Statement& r) {
                const auto known = m_graphs.find({r.int64(1), r.int64(2)});
                const std::uint32_t name = known == m_graphs.end() ? unnamed : known->second;
                if (!r.isNull(5) && !r.isNull(6)) {
                    measured.add(0, r.int64(0), r.int64(5), r.int64(6), name);
                } else {
                    // When it ran is not known; only the call is.
                    const std::int64_t end = r.optionalInt64(4).value_or(m_load.info.endOf(track.process));
                    launched.add(0, r.int64(0), r.int64(3), end,
                        m_load.names.intern(
                            Words::fill(Words::tr("launch of %1"), m_load.names[name].text), Category::host));
                }
            }));
        deliver(std::move(measured));
        deliver(std::move(launched));
        return {};
    }
    Result<void> readRanges(const Track& track) {
        Draft draft = draftOf(track, RowKind::range, Words::fill(Words::tr("Ranges, %1"), track.name));
        const std::uint32_t unnamed = m_load.names.intern(Words::fill(Words::tr("range")), Category::host);
        GD_TRY(eachOf("SELECT range_id, start_ns, end_ns, name_id FROM nvtx_range "
                      "WHERE range_id BETWEEN ? AND ?",
            track, [&](const Statement& r) {
                draft.add(0, r.int64(0), r.int64(1),
                    r.optionalInt64(2).value_or(m_load.info.endOf(track.process)),
                    m_ranges.get(r.int64(3), unnamed));
            }));
        deliver(std::move(draft));
        return {};
    }
    // Kernels, copies and fills of one stream share a row: the stream runs them in order.
    std::vector<LargeRow> largeRows() const {
        std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, LargeRow> streams;
        std::vector<LargeRow> calls;
        for (const Track& track : m_tracks) {
            if (track.table == "api_call") {
                LargeRow& row = calls.emplace_back();
                row.draft = draftOf(track, RowKind::host, Words::fill(Words::tr("Calls, %1"), track.name));
                row.parts.push_back({&track, 0});
            }
            if (track.table != "kernel" && track.table != "memcpy" && track.table != "memset")
                continue;
            LargeRow& row = streams[{track.process, track.device, track.number}];
            if (row.parts.empty()) {
                row.draft.row.kind = RowKind::stream;
                row.draft.row.process = track.process;
                row.draft.row.device = track.device;
                row.draft.row.number = track.number;
                row.draft.row.title
                    = Words::fill(Words::tr("Device %1, stream %2"), track.device, track.number);
            }
            row.parts.push_back({&track, row.draft.slice(track.table, track.first)});
        }
        std::vector<LargeRow> out;
        for (auto& [key, row] : streams)
            out.push_back(std::move(row));
        std::move(calls.begin(), calls.end(), std::back_inserter(out));
        return out;
    }
    LargeResult readLarge() {
        const LargeNames names{m_kernels, m_calls,
            m_load.names.intern(Words::fill(Words::tr("kernel")), Category::compute),
            m_load.names.intern(Words::fill(Words::tr("call")), Category::host),
            m_load.names.intern("memset", Category::fill)};
        LargeResult out = readLargeRows(m_load, largeRows(), names);
        m_leftOut += out.leftOut;
        for (const auto& [table, why] : out.problems)
            m_load.notes.push_back(Words::fill(Words::tr("table %1 cannot be drawn: %2"), table, why));
        return out;
    }

    TrackLoad& m_load;
    std::vector<Track> m_tracks;
    NameIds m_kernels, m_ranges, m_calls; // by shape, string, api
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> m_graphs;
    std::size_t m_leftOut = 0;
};

} // namespace

std::string stepName(std::int64_t step) {
    return Words::fill(Words::tr(kStep), step);
}

std::int64_t TraceInfo::endOf(std::int64_t process) const {
    const auto at = std::find_if(
        processes.begin(), processes.end(), [&](const ProcessInfo& p) { return p.id == process; });
    return at == processes.end() ? endNs : at->endNs;
}

Result<TraceInfo> readTraceInfo(Db& db, const std::string& path) {
    GD_TRY_ASSIGN(const auto processes, store::readProcesses(db));
    TraceInfo info;
    info.path = path;
    for (const store::ProcessRow& process : processes) {
        info.processes.push_back({process.id.value(), process.pid,
            process.rank.isNone() ? -1 : process.rank.value(), process.startNs, process.endNs});
        info.startNs = info.processes.size() == 1 ? process.startNs : std::min(info.startNs, process.startNs);
        info.endNs = std::max(info.endNs, process.endNs);
    }
    std::stable_sort(info.processes.begin(), info.processes.end(),
        [](const ProcessInfo& a, const ProcessInfo& b) { return a.rank < b.rank; });
    return info;
}

void loadTracks(TrackLoad& load) {
    Loader(load).run();
}

} // namespace gd::gui
