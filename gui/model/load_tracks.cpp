// SPDX-License-Identifier: Apache-2.0
#include "gui/model/load_tracks.h"

#include "analyzer/store/readers.h"
#include "gui/model/words.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace gd::gui {
namespace {

using Names = std::unordered_map<std::int64_t, std::uint32_t>;

std::uint32_t nameOr(const Names& names, std::int64_t id, std::uint32_t otherwise) {
    const auto at = names.find(id);
    return at == names.end() ? otherwise : at->second;
}

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

// A row that is being read.
struct Draft {
    TrackRow row;
    LaneBuilder lanes;

    std::size_t slice(const std::string& table, std::int64_t firstRowId) {
        row.slices.push_back({table, firstRowId});
        return row.slices.size() - 1;
    }
};

// One entry of table `track`.
struct Track {
    std::string table;
    std::int64_t process = 0, device = -1, number = -1, first = 0, last = -1;
    std::string name;
};

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
        step("allocation", [this] { return readMemory(); });
        step("kernel", [this] { return readStreams(); });
        step("nccl_comm", [this] { return deliverComm(); });
        step("nccl_op", [this] { return readCommCalls(); });
        for (const Track& track : m_tracks) {
            if (track.table == "api_call")
                step("api_call", [&] { return readHostCalls(track); });
        }
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

    // Calls `use` with each row; stops with the load.
    template <class F> Result<void> each(Statement& rows, F&& use) {
        for (std::size_t n = 0;; ++n) {
            if (n % 4096 == 0 && m_load.stop)
                return {};
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            use(rows);
        }
    }
    template <class F> Result<void> each(const std::string& sql, F&& use) {
        GD_TRY_ASSIGN(auto rows, m_load.db.prepare(sql));
        return each(rows, use);
    }
    template <class F> Result<void> eachOf(const std::string& sql, const Track& track, F&& use) {
        GD_TRY_ASSIGN(auto rows, m_load.db.prepare(sql));
        rows.bind(1, track.first);
        rows.bind(2, track.last);
        return each(rows, use);
    }

    void deliver(Draft&& draft) {
        if (m_load.stop || (draft.lanes.empty() && !draft.row.curve))
            return;
        LaneBuilder::Built built = std::move(draft.lanes).build();
        m_leftOut += built.leftOut;
        draft.row.lanes = std::move(built.lanes);
        m_load.deliver(std::make_shared<const TrackRow>(std::move(draft.row)));
    }
    static void add(Draft& draft, std::size_t slice, std::int64_t rowId, std::int64_t startNs,
        std::int64_t endNs, std::uint32_t name) {
        const std::int64_t offset = rowId - draft.row.slices[slice].firstRowId;
        if (offset < 0 || offset >= (std::int64_t{1} << TrackRow::kOffsetBits))
            return;
        draft.lanes.add({startNs, endNs - startNs, name, TrackRow::encode(slice, offset)});
    }
    std::int64_t endOf(std::int64_t process) const {
        const auto& all = m_load.info.processes;
        const auto at
            = std::find_if(all.begin(), all.end(), [&](const ProcessInfo& p) { return p.id == process; });
        return at == all.end() ? m_load.info.endNs : at->endNs;
    }

    Result<void> readKernelNames() {
        return each("SELECT k.shape_id, s.text FROM kernel_shape AS k JOIN string AS s "
                    "ON s.string_id = k.name_id",
            [this](const Statement& r) {
                const std::string text(r.text(1));
                m_kernels[r.int64(0)] = m_load.names.intern(text, kernelCategory(text));
            });
    }
    // Only the strings that ranges use: most of the others name files and functions.
    Result<void> readStrings() {
        return each("SELECT string_id, text FROM string WHERE string_id IN (SELECT name_id FROM nvtx_range)",
            [this](const Statement& r) {
                m_ranges[r.int64(0)] = m_load.names.intern(std::string(r.text(1)), Category::host);
            });
    }
    Result<void> readCalls() {
        return each("SELECT api_id, coalesce(runtime_name, name) FROM api", [this](const Statement& r) {
            m_calls[r.int64(0)] = m_load.names.intern(std::string(r.text(1)), Category::host);
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
                add(draft, 0, r.int64(0), r.int64(3), r.int64(4), m_load.names.intern(name, Category::host));
            }));
        return deliverAll(drafts);
    }
    Result<void> readGaps() {
        std::map<std::int64_t, Draft> drafts;
        GD_TRY(each("SELECT rowid, process_id, start_ns, end_ns, cause, known FROM replay_gap",
            [&](const Statement& r) {
                Draft& draft
                    = of(drafts, r.int64(1), RowKind::gap, "replay_gap", Words::tr("Gaps before replays"));
                const std::string cause = gapCause(r.int64(5) == 0 ? "unknown" : r.text(4));
                add(draft, 0, r.int64(0), r.int64(2), r.int64(3), m_load.names.intern(cause, Category::gap));
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
    template <class Key> Result<void> deliverAll(std::map<Key, Draft>& drafts) {
        for (auto& [key, draft] : drafts)
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
    Draft draftOf(const Track& track, RowKind kind, std::string title) {
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
                    add(measured, 0, r.int64(0), r.int64(5), r.int64(6), name);
                } else {
                    // When it ran is not known; only the call is.
                    const std::int64_t end = r.optionalInt64(4).value_or(endOf(track.process));
                    add(launched, 0, r.int64(0), r.int64(3), end,
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
                add(draft, 0, r.int64(0), r.int64(1), r.optionalInt64(2).value_or(endOf(track.process)),
                    nameOr(m_ranges, r.int64(3), unnamed));
            }));
        deliver(std::move(draft));
        return {};
    }
    Result<void> readHostCalls(const Track& track) {
        Draft draft = draftOf(track, RowKind::host, Words::fill(Words::tr("Calls, %1"), track.name));
        const std::uint32_t unnamed = m_load.names.intern(Words::fill(Words::tr("call")), Category::host);
        GD_TRY(eachOf("SELECT api_call_id, start_ns, end_ns, api_id FROM api_call "
                      "WHERE api_call_id BETWEEN ? AND ?",
            track, [&](const Statement& r) {
                add(draft, 0, r.int64(0), r.int64(1), r.optionalInt64(2).value_or(endOf(track.process)),
                    nameOr(m_calls, r.int64(3), unnamed));
            }));
        deliver(std::move(draft));
        return {};
    }

    // Kernels, copies and fills of one stream share a row: the stream runs them in order.
    Result<void> readStreams() {
        if (auto identity = report::CommIdentity::open(m_load.db))
            m_commIdentity.emplace(std::move(identity).value());
        std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<const Track*>> streams;
        for (const Track& track : m_tracks) {
            if (track.table == "kernel" || track.table == "memcpy" || track.table == "memset")
                streams[{track.process, track.device, track.number}].push_back(&track);
        }
        for (const auto& [key, tracks] : streams) {
            if (m_load.stop)
                return {};
            Draft draft;
            draft.row.kind = RowKind::stream;
            std::tie(draft.row.process, draft.row.device, draft.row.number) = key;
            draft.row.title
                = Words::fill(Words::tr("Device %1, stream %2"), draft.row.device, draft.row.number);
            std::int64_t rows = 0;
            for (const Track* track : tracks)
                rows += std::max<std::int64_t>(0, track->last - track->first + 1);
            draft.lanes.reserve(static_cast<std::size_t>(std::min<std::int64_t>(rows, 1 << 26)));
            for (const Track* track : tracks) {
                const std::size_t slice = draft.slice(track->table, track->first);
                step(track->table.c_str(), [&] { return readWork(*track, draft, slice); });
            }
            deliver(std::move(draft));
        }
        return {};
    }
    void addComm(const Track& track, std::int64_t rowId, std::int64_t startNs, std::int64_t endNs,
        std::uint32_t name, std::int64_t node) {
        const std::string& text = m_load.names[name].text;
        const bool send = text.find("Send") != std::string::npos;
        const bool receive = text.find("Recv") != std::string::npos;
        const auto comm = m_commIdentity ? m_commIdentity->of(track.process, track.number, node)
                                         : Result<std::int64_t>(std::int64_t{0});
        m_comm.push_back({track.process, rowId, startNs, endNs, name, comm ? *comm : 0, send == receive});
    }
    // Communication kernels of all streams once more, beside those of the other ranks.
    Result<void> deliverComm() {
        GD_TRY_ASSIGN(const auto communicators, report::completeCommunicators(m_load.db));
        m_load.matches = std::make_shared<const report::CommMatches>(std::move(m_comm), communicators);
        std::map<std::int64_t, Draft> drafts;
        std::set<std::int64_t> matched;
        const auto& kernels = m_load.matches->kernels();
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            const report::CommKernel& kernel = kernels[i];
            m_commOnDevice.insert(kernel.process);
            Draft& draft = of(drafts, kernel.process, RowKind::comm, "kernel", Words::tr("Communication"));
            add(draft, 0, kernel.rowId, kernel.startNs, kernel.endNs,
                static_cast<std::uint32_t>(kernel.name));
            if (m_load.matches->waitsUntilNs(i) >= 0)
                matched.insert(kernel.process);
        }
        for (auto& [process, draft] : drafts) {
            draft.row.matches = m_load.matches;
            if (!matched.contains(process))
                draft.row.title = Words::fill(Words::tr("Communication: waits not known"));
        }
        return deliverAll(drafts);
    }
    Result<void> readWork(const Track& track, Draft& draft, std::size_t slice) {
        if (track.table == "kernel") {
            const std::uint32_t unnamed
                = m_load.names.intern(Words::fill(Words::tr("kernel")), Category::compute);
            return eachOf("SELECT kernel_id, start_ns, dur_ns, shape_id, node_id FROM kernel "
                          "WHERE kernel_id BETWEEN ? AND ?",
                track, [&](const Statement& r) {
                    const std::uint32_t name = nameOr(m_kernels, r.int64(3), unnamed);
                    const std::int64_t end = r.int64(1) + r.int64(2);
                    add(draft, slice, r.int64(0), r.int64(1), end, name);
                    if (m_load.names[name].category == Category::comm)
                        addComm(track, r.int64(0), r.int64(1), end, name, r.optionalInt64(4).value_or(-1));
                });
        }
        const bool copies = track.table == "memcpy";
        const std::uint32_t fill = m_load.names.intern("memset", Category::fill);
        return eachOf(copies
                ? "SELECT memcpy_id, start_ns, dur_ns, copy_kind FROM memcpy WHERE memcpy_id BETWEEN ? AND ?"
                : "SELECT memset_id, start_ns, dur_ns, bytes FROM memset WHERE memset_id BETWEEN ? AND ?",
            track, [&](const Statement& r) {
                const std::uint32_t name = copies
                    ? m_load.names.intern(fmt::format("memcpy {}", r.text(3)), Category::copy)
                    : fill;
                add(draft, slice, r.int64(0), r.int64(1), r.int64(1) + r.int64(2), name);
            });
    }

    Result<void> readCommCalls() {
        std::map<std::pair<std::int64_t, std::int64_t>, Draft> drafts;
        GD_TRY(each("SELECT o.rowid, o.process_id, o.comm_hash, o.time_ns, o.kind, o.message_bytes, "
                    "(SELECT c.nranks FROM nccl_comm AS c WHERE c.process_id = o.process_id "
                    "AND c.comm_hash = o.comm_hash LIMIT 1) FROM nccl_op AS o",
            [&](const Statement& r) {
                const auto [at, isNew] = drafts.try_emplace({r.int64(1), r.int64(2)});
                Draft& draft = at->second;
                if (isNew) {
                    draft.row.kind = RowKind::commCall;
                    draft.row.process = r.int64(1);
                    const auto hash = fmt::format("{:08x}", static_cast<std::uint64_t>(r.int64(2)) >> 32);
                    draft.row.title = r.isNull(6)
                        ? Words::fill(Words::tr("NCCL calls %1"), hash)
                        : Words::fill(Words::tr("NCCL calls %1, %2 ranks"), hash, r.int64(6));
                    if (!m_commOnDevice.contains(r.int64(1)))
                        draft.row.title
                            = Words::fill(Words::tr("%1: only call times are known"), draft.row.title);
                    draft.slice("nccl_op", 0);
                }
                add(draft, 0, r.int64(0), r.int64(3), r.int64(3),
                    m_load.names.intern(std::string(r.text(4)), Category::comm));
            }));
        return deliverAll(drafts);
    }

    // Bytes of each device: what the driver gave out (as memory_step counts it: without the graphs' own
    // allocations of a real device, whose sizes do not add up), the framework's blocks inside that, and what
    // looks at the device found in use by anybody.
    Result<void> readMemory() {
        enum Row : std::int64_t { driver, framework, inUse };
        constexpr const char* kTitles[] = {QT_TRANSLATE_NOOP("gd::gui::Words", "Memory, device %1"),
            QT_TRANSLATE_NOOP("gd::gui::Words", "Memory, device %1: framework's blocks"),
            QT_TRANSLATE_NOOP("gd::gui::Words", "Memory, device %1: in use by anybody")};
        std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<StepCurve::Point>> curves;
        GD_TRY(each(
            "SELECT a.process_id, a.device_id, a.kind, a.bytes, a.alloc_ns, a.free_ns FROM allocation AS a "
            "LEFT JOIN device AS d ON d.process_id = a.process_id AND d.device_id = a.device_id "
            "WHERE a.device_id IS NOT NULL AND a.kind NOT LIKE 'host%' "
            "AND (a.kind != 'graph' OR d.workers > 0)",
            [&](const Statement& r) {
                auto& changes
                    = curves[{r.int64(0), r.int64(1), r.text(2) == "framework" ? framework : driver}];
                changes.push_back({r.int64(4), r.int64(3)});
                if (!r.isNull(5))
                    changes.push_back({r.int64(5), -r.int64(3)});
            }));
        for (auto& [key, points] : curves) {
            // Frees before allocations of the same moment: a block handed on at once makes no peak.
            std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
                return a.timeNs != b.timeNs ? a.timeNs < b.timeNs : a.value < b.value;
            });
            std::int64_t sum = 0;
            for (auto& point : points)
                point.value = sum += point.value;
        }
        GD_TRY(each("SELECT process_id, device_id, time_ns, total_bytes - free_bytes FROM memory_sample "
                    "ORDER BY time_ns",
            [&](const Statement& r) {
                curves[{r.int64(0), r.int64(1), inUse}].push_back({r.int64(2), r.int64(3)});
            }));
        for (auto& [key, points] : curves) {
            Draft draft;
            draft.row.kind = RowKind::memory;
            std::tie(draft.row.process, draft.row.device, draft.row.number) = key;
            draft.row.title = Words::fill(Words::tr(kTitles[draft.row.number]), draft.row.device);
            draft.row.curve = std::make_shared<const StepCurve>(std::move(points));
            deliver(std::move(draft));
        }
        return {};
    }

    TrackLoad& m_load;
    std::vector<Track> m_tracks;
    Names m_kernels, m_ranges, m_calls;
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> m_graphs;
    std::vector<report::CommKernel> m_comm;
    std::optional<report::CommIdentity> m_commIdentity;
    std::set<std::int64_t> m_commOnDevice; // processes
    std::size_t m_leftOut = 0;
};

} // namespace

std::string stepName(std::int64_t step) {
    return Words::fill(Words::tr(kStep), step);
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
