// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/comm_cost.h"

#include "analyzer/facts/stats.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string>

namespace gd::facts {
namespace {

// The communicator of a process that moves most bytes in collectives in a steady step.
struct Busiest {
    std::int64_t commHash = 0;
    std::int64_t bytes = 0; // a step
    std::int64_t graphBytes = 0;
};

bool isCollective(const CommOp& op) {
    return op.kind != "send" && op.kind != "recv";
}

// Mostly collectives: a pipeline's messages wait for the stage before by design.
bool reduces(const ProcessData& process, std::int64_t commHash) {
    std::int64_t collective = 0;
    std::int64_t all = 0;
    for (const CommOp& op : process.commOps) {
        if (op.commHash != commHash)
            continue;
        all += op.messageBytes;
        collective += isCollective(op) ? op.messageBytes : 0;
    }
    return all > 0 && 2 * collective >= all;
}

Result<std::optional<Busiest>> busiestOf(Db& db, const ProcessData& process) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT comm_hash, (SUM(graph_bytes) + SUM(eager_bytes)) / COUNT(*), "
                   "SUM(graph_bytes) / COUNT(*) FROM nccl_step WHERE process_id = ? AND steady AND known "
                   "GROUP BY comm_hash ORDER BY 2 DESC, 1"));
    select.bind(1, process.processId);
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return std::optional<Busiest>();
        if (reduces(process, select.int64(0)))
            return std::optional(Busiest{select.int64(0), select.int64(1), select.int64(2)});
    }
}

// Steady steps of one device.
struct DeviceSteps {
    std::vector<std::int64_t> lengthNs;
    std::vector<std::int64_t> commNs;
    std::vector<std::int64_t> idleNs;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    bool known = true;
};

Result<std::map<std::int64_t, DeviceSteps>> readSteps(Db& db, const ProcessData& process) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT device_id, start_ns, end_ns, comm_ns, busy_ns, known FROM device_busy "
                   "WHERE process_id = ? AND steady ORDER BY device_id, step"));
    select.bind(1, process.processId);
    std::map<std::int64_t, DeviceSteps> devices;
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return devices;
        DeviceSteps& device = devices[select.int64(0)];
        device.startNs = device.lengthNs.empty() ? select.int64(1) : device.startNs;
        device.endNs = select.int64(2);
        device.lengthNs.push_back(device.endNs - select.int64(1));
        device.commNs.push_back(select.int64(3));
        device.idleNs.push_back(device.lengthNs.back() - select.int64(4));
        device.known = device.known && select.int64(5) != 0;
    }
}

Result<std::optional<std::int64_t>> localRanks(Db& db, const ProcessData& process) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT value FROM env_var WHERE process_id = ? AND name IN ('LOCAL_WORLD_SIZE', "
                   "'OMPI_COMM_WORLD_LOCAL_SIZE', 'SLURM_NTASKS_PER_NODE') ORDER BY name"));
    select.bind(1, process.processId);
    while (true) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return std::optional<std::int64_t>();
        const std::string_view text = select.text(0);
        std::int64_t value = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
        if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value > 0)
            return std::optional(value);
    }
}

// A kernel that only takes the time of a collective says so in its name.
bool hasModelledKernels(const RawData& raw, const ProcessData& process) {
    return std::any_of(process.ops.begin(), process.ops.end(),
        [&](const DeviceOp& op) { return op.isComm && raw.shapeName(op.shapeId).starts_with("MODELLED "); });
}

struct Row {
    const ProcessData* process = nullptr;
    std::int64_t deviceId = 0;
    Busiest busiest;
    DeviceSteps steps;
};

// Kernels of captured calls are missing where replays were recorded as a whole.
bool isKnown(const Row& row) {
    const bool sawNone = std::all_of(
        row.steps.commNs.begin(), row.steps.commNs.end(), [](std::int64_t ns) { return ns == 0; });
    return row.steps.known && !(row.busiest.bytes > 0 && sawNone);
}

class Writer {
public:
    Writer(FactContext& context, Statement insert)
        : m_context(context)
        , m_insert(std::move(insert)) { }

    Result<void> write(const Row& row, std::int64_t leastNs, std::int64_t hosts) {
        const ProcessData& process = *row.process;
        const auto comm = std::find_if(process.comms.begin(), process.comms.end(),
            [&](const Comm& candidate) { return candidate.commHash == row.busiest.commHash; });
        const std::int64_t ranks = comm == process.comms.end() ? 0 : comm->nranks;
        const CommOp* largest = nullptr;
        for (const CommOp& op : process.commOps) {
            if (op.commHash == row.busiest.commHash
                && (largest == nullptr || op.messageBytes > largest->messageBytes))
                largest = &op;
        }
        GD_TRY_ASSIGN(const auto local, localRanks(m_context.db, process));
        GD_TRY_ASSIGN(const auto wire, wireBytes(process, row.busiest, ranks));
        std::optional<std::int64_t> speed;
        if (wire && leastNs > 0)
            speed = std::llround(*wire * 1e9 / static_cast<double>(leastNs));
        return m_insert.runWith(process.processId, row.deviceId, row.busiest.commHash, ranks, hosts, local,
            hasModelledKernels(m_context.raw, process), row.steps.lengthNs.size(),
            *medianNs(row.steps.lengthNs), *medianNs(row.steps.commNs), leastNs, *medianNs(row.steps.idleNs),
            row.busiest.bytes, row.busiest.graphBytes, speed, row.steps.startNs, row.steps.endNs,
            largest == nullptr ? std::nullopt : orNull(std::int64_t{largest->threadId}),
            largest == nullptr ? std::nullopt : orNull(largest->stackId), isKnown(row));
    }

private:
    // Of a step; of calls in graphs and outside them in the mixture of those that were made.
    Result<std::optional<double>> wireBytes(
        const ProcessData& process, const Busiest& busiest, std::int64_t ranks) {
        GD_TRY_ASSIGN(auto select,
            m_context.db.prepare("SELECT SUM(wire_bytes), SUM(message_bytes) FROM nccl_replay "
                                 "WHERE process_id = ? AND comm_hash = ? AND replays > 0"));
        select.bind(1, process.processId);
        select.bind(2, busiest.commHash);
        GD_TRY_ASSIGN(const bool row, select.step());
        const bool usable = row && ranks > 0 && select.int64(1) > 0;
        if (!usable)
            return std::optional<double>();
        return std::optional(static_cast<double>(select.int64(0)) / static_cast<double>(select.int64(1))
            * static_cast<double>(busiest.bytes));
    }

    FactContext& m_context;
    Statement m_insert;
};

} // namespace

Result<void> buildCommCost(FactContext& context) {
    std::vector<Row> rows;
    std::map<std::int64_t, std::int64_t> leastNs; // by communicator
    for (const ProcessData& process : context.raw.processes) {
        GD_TRY_ASSIGN(const auto busiest, busiestOf(context.db, process));
        if (!busiest)
            continue;
        GD_TRY_ASSIGN(auto devices, readSteps(context.db, process));
        for (auto& [deviceId, steps] : devices) {
            const std::int64_t least = *std::min_element(steps.commNs.begin(), steps.commNs.end());
            const auto entry = leastNs.try_emplace(busiest->commHash, least).first;
            entry->second = std::min(entry->second, least);
            rows.push_back({&process, deviceId, *busiest, std::move(steps)});
        }
    }
    std::map<std::int64_t, std::set<std::string>> hosts;
    for (const ProcessData& process : context.raw.processes) {
        for (const Comm& comm : process.comms)
            hosts[comm.commHash].insert(process.host);
    }
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare("INSERT INTO comm_cost VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                           "?, ?, ?)"));
    Writer writer(context, std::move(insert));
    for (const Row& row : rows) {
        GD_TRY(writer.write(row, leastNs[row.busiest.commHash],
            static_cast<std::int64_t>(hosts[row.busiest.commHash].size())));
    }
    return {};
}

} // namespace gd::facts
