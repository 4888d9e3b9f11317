// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare/figures.h"

#include "analyzer/base/statement.h"
#include "analyzer/store/readers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace gd::report {
namespace {

using Rank = std::optional<std::int64_t>;

struct Steady {
    std::int64_t startNs = 0, endNs = 0, steps = 0;
};

// Values of one figure, of all ranks and of each.
struct Values {
    std::map<Rank, std::vector<double>> byRank; // nullopt: all
    void add(Rank rank, double value) {
        byRank[std::nullopt].push_back(value);
        if (rank)
            byRank[rank].push_back(value);
    }
};

struct Sheet {
    std::string section, item, unit;
    std::int64_t signature = 0;
};

class FigureReader {
public:
    explicit FigureReader(Db& trace)
        : m_trace(trace) { }

    Result<std::vector<Figure>> read(const std::vector<StepTime>& steps) {
        GD_TRY(readProcesses());
        putSteps(steps);
        GD_TRY(readDevices());
        GD_TRY(readGaps());
        GD_TRY(readGraphs());
        GD_TRY(readKernels());
        GD_TRY(readMemory());
        GD_TRY(readCommunication());
        return std::move(m_figures);
    }

private:
    template <class F> Result<void> each(std::string_view sql, F&& use) {
        GD_TRY_ASSIGN(auto rows, m_trace.prepareReadOnly(sql));
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            use(rows);
        }
    }

    Result<void> readProcesses() {
        GD_TRY(each("SELECT process_id, rank FROM process",
            [this](const Statement& r) { m_rank[r.int64(0)] = r.optionalInt64(1); }));
        GD_TRY(
            each("SELECT process_id, start_ns, end_ns, steps FROM steady_state", [this](const Statement& r) {
                m_steady[r.int64(0)] = {r.int64(1), r.int64(2), r.int64(3)};
            }));
        // A host that runs ahead is in other steps than its device.
        m_onDevice = m_steady;
        return each(
            "SELECT process_id, min(start_ns), max(end_ns), max(step) - min(step) + 1 FROM device_busy "
            "WHERE steady = 1 GROUP BY process_id",
            [this](const Statement& r) {
                m_onDevice[r.int64(0)] = {r.int64(1), r.int64(2), r.int64(3)};
            });
    }
    Rank rankOf(std::int64_t process) const {
        const auto at = m_rank.find(process);
        return at == m_rank.end() ? std::nullopt : at->second;
    }
    static std::int64_t stepsOf(const std::map<std::int64_t, Steady>& processes) {
        std::int64_t out = 0;
        for (const auto& [process, steady] : processes)
            out += steady.steps;
        return out;
    }
    std::string noSteps() const { return "no steps in steady state were found"; }

    void put(const Sheet& sheet, std::string metric, Polarity polarity, Values& values,
        const std::string& reasonWhenEmpty) {
        Figure figure;
        figure.section = sheet.section;
        figure.item = sheet.item;
        figure.metric = std::move(metric);
        figure.unit = sheet.unit;
        figure.polarity = polarity;
        figure.signature = sheet.signature;
        if (values.byRank.empty()) {
            figure.reason = reasonWhenEmpty;
            m_figures.push_back(std::move(figure));
            return;
        }
        // One rank alone would say the same twice.
        const bool several = values.byRank.size() > 2;
        for (auto& [rank, list] : values.byRank) {
            if (rank && !several)
                continue;
            figure.rank = rank;
            figure.spread = spreadOf(list);
            m_figures.push_back(figure);
        }
    }

    void putExact(const Sheet& sheet, std::string metric, Polarity polarity, double value) {
        m_figures.push_back({sheet.section, sheet.item, std::move(metric), sheet.unit, polarity, std::nullopt,
            Spread::exactly(value), {}, sheet.signature});
    }

    void putSteps(const std::vector<StepTime>& steps) {
        Values durations;
        for (const StepTime& step : steps)
            durations.add(rankOf(step.processId), static_cast<double>(step.durationNs));
        put({"steps", "", "ns"}, "duration", Polarity::lessIsBetter, durations, noSteps());
    }

    Result<void> readDevices() {
        Values busy, idle, compute, comm, exposed;
        bool byNode = true;
        GD_TRY(each("SELECT process_id, busy_ns, end_ns - start_ns - busy_ns, busy_without_comm_ns, comm_ns, "
                    "exposed_comm_ns, granularity FROM device_busy WHERE steady = 1 AND known = 1",
            [&](const Statement& r) {
                const Rank rank = rankOf(r.int64(0));
                busy.add(rank, r.real(1));
                idle.add(rank, r.real(2));
                compute.add(rank, r.real(3));
                comm.add(rank, r.real(4));
                exposed.add(rank, r.real(5));
                byNode = byNode && r.text(6) == "node";
            }));
        const std::string missing
            = m_steady.empty() ? noSteps() : "device work was not recorded throughout any steady step";
        const Sheet sheet{"device", "", "ns"};
        put(sheet, "busy a step", Polarity::neutral, busy, missing);
        put(sheet, "idle a step", Polarity::lessIsBetter, idle, missing);
        if (!byNode) {
            for (Values* values : {&compute, &comm, &exposed})
                values->byRank.clear();
        }
        const std::string whole = byNode ? missing
                                         : "replays count as a whole here: communication inside them is not "
                                           "told apart";
        put(sheet, "busy without communication", Polarity::lessIsBetter, compute, whole);
        put(sheet, "communication a step", Polarity::lessIsBetter, comm, whole);
        put(sheet, "exposed communication", Polarity::lessIsBetter, exposed, whole);
        return {};
    }

    // Steps without a gap count: 0.
    Result<void> readGaps() {
        Values total, longest;
        GD_TRY(each("SELECT s.process_id, coalesce(sum(g.end_ns - g.start_ns), 0), "
                    "coalesce(max(g.end_ns - g.start_ns), 0) FROM step AS s "
                    "LEFT JOIN replay_gap AS g ON g.process_id = s.process_id AND g.step = s.step "
                    "AND g.known = 1 WHERE s.kind = 'steady' AND s.replays > 0 GROUP BY s.process_id, s.step",
            [&](const Statement& r) {
                total.add(rankOf(r.int64(0)), r.real(1));
                longest.add(rankOf(r.int64(0)), r.real(2));
            }));
        const std::string missing = m_steady.empty() ? noSteps() : "no steady step replays a graph";
        put({"gaps", "", "ns"}, "before replays, a step", Polarity::lessIsBetter, total, missing);
        put({"gaps", "", "ns"}, "longest of a step", Polarity::lessIsBetter, longest, missing);
        return {};
    }

    struct Graph {
        Values device, launch;
        std::int64_t signature = 0, replays = 0, nodes = 0;
    };
    Result<void> readGraphs() {
        // By name and signature: the same region may have one graph for each shape of its input.
        std::map<std::pair<std::string, std::int64_t>, Graph> graphs;
        GD_TRY(each("SELECT e.process_id, e.graph_name, coalesce(e.signature, 0), e.node_count, "
                    "r.end_ns - r.start_ns, r.launch_end_ns - r.launch_start_ns "
                    "FROM replay AS r JOIN exec_reuse AS e ON e.process_id = r.process_id "
                    "AND e.exec_id = r.exec_id JOIN steady_state AS s ON s.process_id = r.process_id "
                    "WHERE r.result = 0 AND r.launch_start_ns >= s.start_ns AND r.launch_start_ns < s.end_ns",
            [&](const Statement& r) {
                Graph& graph = graphs[{std::string(r.text(1)), r.int64(2)}];
                const Rank rank = rankOf(r.int64(0));
                graph.signature = r.int64(2);
                ++graph.replays;
                graph.nodes = std::max(graph.nodes, r.int64(3));
                if (!r.isNull(4))
                    graph.device.add(rank, r.real(4));
                if (!r.isNull(5))
                    graph.launch.add(rank, r.real(5));
            }));
        std::map<std::string, int> sameName;
        for (const auto& [key, graph] : graphs)
            ++sameName[key.first];
        for (auto& [key, graph] : graphs) {
            Sheet sheet{"graphs", key.first, "ns", graph.signature};
            if (sameName[key.first] > 1)
                sheet.item += fmt::format(" ({:08x})", static_cast<std::uint64_t>(graph.signature) >> 32);
            put(sheet, "replay on the device", Polarity::lessIsBetter, graph.device,
                "device times of replays were not recorded");
            // A call that waits for room in the device's queue is long because the host is far ahead.
            put(sheet, "launch call", Polarity::neutral, graph.launch, "launch calls did not return");
            sheet.unit = "count";
            putExact(sheet, "replays a step", Polarity::neutral,
                static_cast<double>(graph.replays) / static_cast<double>(stepsOf(m_steady)));
            if (graph.nodes > 0)
                putExact(sheet, "nodes", Polarity::neutral, static_cast<double>(graph.nodes));
        }
        return {};
    }

    // Kernels of steady state, each row read once; sums a step only where every kernel was recorded.
    Result<void> readKernels() {
        if (m_steady.empty())
            return {};
        std::unordered_map<std::int64_t, std::vector<double>> byName;
        std::unordered_map<std::int64_t, std::int64_t> names; // of shapes
        GD_TRY(each("SELECT shape_id, name_id FROM kernel_shape",
            [&](const Statement& r) { names[r.int64(0)] = r.int64(1); }));
        std::unordered_map<std::int64_t, Steady> tracks;
        GD_TRY(each(
            "SELECT track_id, process_id FROM track WHERE table_name = 'kernel'", [&](const Statement& r) {
                if (const auto at = m_onDevice.find(r.int64(1)); at != m_onDevice.end())
                    tracks[r.int64(0)] = at->second;
            }));
        GD_TRY(each("SELECT track_id, start_ns, dur_ns, shape_id FROM kernel", [&](const Statement& r) {
            const auto track = tracks.find(r.int64(0));
            if (track == tracks.end() || r.int64(1) < track->second.startNs
                || r.int64(1) >= track->second.endNs)
                return;
            if (const auto name = names.find(r.int64(3)); name != names.end())
                byName[name->second].push_back(r.real(2));
        }));
        GD_TRY_ASSIGN(const bool all, everyKernelRecorded());
        GD_TRY_ASSIGN(auto text, m_trace.prepareReadOnly("SELECT text FROM string WHERE string_id = ?"));
        for (auto& [nameId, durations] : byName) {
            text.reset();
            text.bind(1, nameId);
            GD_TRY_ASSIGN(const bool there, text.step());
            putKernel(there ? std::string(text.text(0)) : fmt::format("kernel {}", nameId), durations, all);
        }
        return {};
    }
    void putKernel(const std::string& name, std::vector<double>& durations, bool all) {
        const auto steps = static_cast<double>(stepsOf(m_onDevice));
        const auto count = static_cast<double>(durations.size());
        const double sum = std::accumulate(durations.begin(), durations.end(), 0.0);
        Values each, none;
        each.byRank[std::nullopt] = std::move(durations);
        put({"kernels", name, "ns"}, "duration", Polarity::lessIsBetter, each, {});
        if (all) {
            putExact({"kernels", name, "ns"}, "time a step", Polarity::lessIsBetter, sum / steps);
            putExact({"kernels", name, "count"}, "launches a step", Polarity::neutral, count / steps);
        } else {
            put({"kernels", name, "ns"}, "time a step", Polarity::lessIsBetter, none,
                "not every kernel of a steady step was recorded (--level full does)");
        }
    }
    // Kernels outside graphs, and nodes where graphs are replayed.
    Result<bool> everyKernelRecorded() {
        GD_TRY_ASSIGN(const auto coverage, store::CoverageMap::read(m_trace));
        GD_TRY_ASSIGN(const auto replays,
            m_trace.queryInt64("SELECT count(*) FROM step WHERE kind = 'steady' AND replays > 0"));
        for (const auto& [process, steady] : m_onDevice) {
            for (const char* source : {"eager_kernel_activity", "node_activity"}) {
                const bool isNeeded = replays.value_or(0) > 0 || std::string_view(source) != "node_activity";
                const auto answer
                    = coverage.worst(base::ProcessId(process), source, steady.startNs, steady.endNs);
                if (isNeeded && answer.state != store::CoverageState::complete)
                    return false;
            }
        }
        return true;
    }

    Result<void> readMemory() {
        Values peak, used, reserved;
        GD_TRY(each("SELECT process_id, peak_bytes, device_used_bytes, graph_reserved_bytes FROM memory_step "
                    "WHERE steady = 1 AND known = 1",
            [&](const Statement& r) {
                const Rank rank = rankOf(r.int64(0));
                peak.add(rank, r.real(1));
                if (!r.isNull(2))
                    used.add(rank, r.real(2));
                if (!r.isNull(3))
                    reserved.add(rank, r.real(3));
            }));
        const Sheet sheet{"memory", "", "bytes"};
        const std::string missing
            = m_steady.empty() ? noSteps() : "allocations were not recorded throughout any steady step";
        put(sheet, "peak of a step", Polarity::lessIsBetter, peak, missing);
        put(sheet, "in use on the device", Polarity::lessIsBetter, used, "nobody looked at the device");
        put(sheet, "reserved by graphs", Polarity::lessIsBetter, reserved, "nobody looked at the graphs");
        return {};
    }

    // Hashes of communicators differ from run to run: they are told apart by their size and the order in
    // which a process made those of this size.
    Result<std::map<std::pair<std::int64_t, std::int64_t>, std::string>> communicatorNames() {
        std::map<std::pair<std::int64_t, std::int64_t>, std::string> out;
        std::map<std::pair<std::int64_t, std::int64_t>, int> numbers;
        GD_TRY(each("SELECT process_id, comm_hash, nranks FROM nccl_comm ORDER BY process_id, created_ns, "
                    "comm_hash",
            [&](const Statement& r) {
                const int number = ++numbers[{r.int64(0), r.int64(2)}];
                out.try_emplace(
                    {r.int64(0), r.int64(1)}, fmt::format("{} ranks, no. {}", r.int64(2), number));
            }));
        return out;
    }
    Result<void> readCommunication() {
        struct Bytes {
            Values graph, eager, ops;
        };
        GD_TRY_ASSIGN(const auto names, communicatorNames());
        std::map<std::string, Bytes> comms; // "": all together
        std::map<std::tuple<std::int64_t, std::int64_t>, std::array<double, 3>> steps;
        GD_TRY(each("SELECT process_id, comm_hash, step, graph_bytes, eager_bytes, graph_ops + eager_ops "
                    "FROM nccl_step WHERE steady = 1 AND known = 1",
            [&](const Statement& r) {
                const auto name = names.find({r.int64(0), r.int64(1)});
                const Rank rank = rankOf(r.int64(0));
                Bytes& own = comms[name == names.end() ? "communicator of unknown size" : name->second];
                own.graph.add(rank, r.real(3));
                own.eager.add(rank, r.real(4));
                own.ops.add(rank, r.real(5));
                auto& sum = steps[{r.int64(0), r.int64(2)}];
                for (int i = 0; i < 3; ++i)
                    sum[static_cast<std::size_t>(i)] += r.real(3 + i);
            }));
        for (const auto& [key, sum] : steps) {
            Bytes& all = comms[""];
            const Rank rank = rankOf(std::get<0>(key));
            all.graph.add(rank, sum[0]);
            all.eager.add(rank, sum[1]);
            all.ops.add(rank, sum[2]);
        }
        for (auto& [name, bytes] : comms) {
            put({"communication", name, "bytes"}, "in graphs, a step", Polarity::neutral, bytes.graph, {});
            put({"communication", name, "bytes"}, "outside graphs, a step", Polarity::lessIsBetter,
                bytes.eager, {});
            put({"communication", name, "count"}, "operations a step", Polarity::neutral, bytes.ops, {});
        }
        return {};
    }

    Db& m_trace;
    std::vector<Figure> m_figures;
    std::map<std::int64_t, Rank> m_rank;
    std::map<std::int64_t, Steady> m_steady; // by process, as the host saw it
    std::map<std::int64_t, Steady> m_onDevice; // of kernels
};

} // namespace

double Spread::uncertainty() const {
    return count < 2 ? 0 : 1.57 * (high - low) / std::sqrt(static_cast<double>(count));
}

Spread spreadOf(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    const auto at = [&values](double share) {
        const double place = share * static_cast<double>(values.size() - 1);
        const auto low = static_cast<std::size_t>(place);
        const std::size_t high = std::min(low + 1, values.size() - 1);
        return values[low] + (values[high] - values[low]) * (place - static_cast<double>(low));
    };
    return {static_cast<std::int64_t>(values.size()), at(0.5), at(0.25), at(0.75)};
}

Result<std::vector<Figure>> readFigures(Db& trace, const std::vector<StepTime>& steps) {
    return FigureReader(trace).read(steps);
}

} // namespace gd::report
