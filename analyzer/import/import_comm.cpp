// SPDX-License-Identifier: Apache-2.0
// Tables nccl_comm, nccl_op.
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"
#include "collector/api/graphdoctor_runtime.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace gd::importer {
namespace {

// A hash may be used again after its communicator is gone: lives follow each other in time. Several sources
// may tell of one life, each what it knows: the plugin ranks and rank, NVTX device and the call that
// destroys.
struct CommLife {
    raw::Comm created{};
    raw::Comm destroyed{}; // startNs 0 = never

    bool isSame(const raw::Comm& record) const {
        const bool ranksKnown = created.nranks != 0 && record.nranks != 0;
        return created.hash == record.hash && (!ranksKnown || created.rank == record.rank);
    }
    bool isOver() const { return destroyed.startNs != 0 && destroyed.endNs != 0; }

    void learn(const raw::Comm& record) {
        if (created.nranks == 0 && record.nranks != 0) {
            created.nranks = record.nranks;
            created.rank = record.rank;
        }
        if (created.device == raw::kNoDevice)
            created.device = record.device;
        if (created.stack == 0 && isCreation(record))
            created.stack = record.stack;
    }
    void destroy(const raw::Comm& record) {
        // Written at enter and again at exit of the same call: the second has the end.
        if (destroyed.startNs == 0)
            destroyed = record;
        else if (destroyed.endNs != 0 || destroyed.startNs == record.startNs)
            destroyed.endNs = std::max(destroyed.endNs, record.endNs);
    }
    static bool isCreation(const raw::Comm& record) {
        return record.life != static_cast<std::uint16_t>(raw::Life::Destroyed);
    }
};

std::vector<CommLife> livesOf(std::vector<raw::Comm> records) {
    std::stable_sort(records.begin(), records.end(),
        [](const raw::Comm& a, const raw::Comm& b) { return a.startNs < b.startNs; });
    std::vector<CommLife> lives;
    for (const raw::Comm& record : records) {
        const auto current = std::find_if(
            lives.rbegin(), lives.rend(), [&record](const CommLife& life) { return life.isSame(record); });
        if (CommLife::isCreation(record)) {
            // A second source tells of a life that the first has begun.
            if (current != lives.rend() && !current->isOver() && current->created.source != record.source)
                current->learn(record);
            else
                lives.push_back({record, {}});
        } else if (current == lives.rend()) {
            // Created before the recording began.
            CommLife life{record, record};
            life.created.startNs = life.created.endNs = 0;
            life.created.stack = 0;
            lives.push_back(life);
        } else {
            current->learn(record);
            current->destroy(record);
        }
    }
    return lives;
}

Result<void> importComms(ProcessImport& process, const std::vector<CommLife>& lives) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT INTO nccl_comm(process_id, comm_hash, nranks, rank, device_id, created_ns, "
            "created_stack_id, destroy_start_ns, destroy_end_ns, destroy_thread_id, destroy_stack_id) VALUES "
            "(?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const CommLife& life : lives) {
        const std::int64_t createdNs = std::max(life.created.startNs, life.created.endNs);
        GD_TRY(insert.runWith(process.processId(), bits(life.created.hash), life.created.nranks,
            life.created.rank, valueIf(life.created.device != raw::kNoDevice, life.created.device),
            createdNs == 0 ? process.startNs : process.time(createdNs), process.stackId(life.created.stack),
            process.timeIfSet(life.destroyed.startNs), process.timeIfSet(life.destroyed.endNs),
            idOrNull(life.destroyed.thread), process.stackId(life.destroyed.stack)));
    }
    return {};
}

// The communicator whose call this is, with its ranks; nullptr = they were never told.
const raw::Comm* commOf(const std::vector<CommLife>& lives, std::uint64_t hash) {
    for (const CommLife& life : lives) {
        if (life.created.hash == hash && life.created.nranks != 0)
            return &life.created;
    }
    return nullptr;
}

// Bytes of a call. NVTX names an all-to-all's for one rank, and the number of ranks may have come later.
std::uint64_t messageBytes(const raw::CommOp& op, const std::vector<CommLife>& lives) {
    const bool isAllToAll = op.kind == GD_RT_COMM_ALL_TO_ALL;
    if (op.dtype != raw::kByteDtype || !isAllToAll || op.messageBytes != 0)
        return op.messageBytes;
    const raw::Comm* comm = commOf(lives, op.hash);
    return comm == nullptr ? 0 : op.count * comm->nranks;
}

// A gather and a scatter as what they are made of; every other call as it is. Further parts get numbers of
// their own, far above those of calls.
std::vector<raw::CommOp> partsOf(const raw::CommOp& op, const std::vector<CommLife>& lives, bool& whole) {
    if (op.kind != raw::kGatherKind && op.kind != raw::kScatterKind)
        return {op};
    const bool gathers = op.kind == raw::kGatherKind;
    std::vector<raw::CommOp> parts{op};
    parts[0].kind = gathers ? GD_RT_COMM_SEND : GD_RT_COMM_RECV;
    const raw::Comm* comm = commOf(lives, op.hash);
    whole = comm != nullptr;
    if (comm == nullptr || static_cast<std::int64_t>(comm->rank) != op.peer)
        return parts;
    for (std::uint32_t rank = 0; rank < comm->nranks; ++rank) {
        raw::CommOp part = op;
        part.kind = gathers ? GD_RT_COMM_RECV : GD_RT_COMM_SEND;
        part.peer = static_cast<std::int32_t>(rank);
        part.op = op.op | static_cast<std::uint64_t>(rank + 1) << 40;
        parts.push_back(part);
    }
    return parts;
}

class OpWriter {
public:
    OpWriter(ProcessImport& process, const std::vector<CommLife>& lives, Statement insert)
        : m_process(process)
        , m_lives(lives)
        , m_insert(std::move(insert)) { }

    Result<void> write(const raw::CommOp& call) {
        bool whole = true;
        for (const raw::CommOp& op : partsOf(call, m_lives, whole)) {
            const std::uint64_t bytes = messageBytes(op, m_lives);
            if (bytes == 0 && op.count != 0)
                whole = false;
            else
                GD_TRY(writeRow(op, bytes));
        }
        m_incomplete += whole ? 0 : 1;
        return {};
    }

    void reportIncomplete() {
        if (m_incomplete != 0)
            m_process.issues().dataLoss("unknown_communicator", m_incomplete,
                fmt::format(
                    "{} all-to-all, gather or scatter calls are not counted in full: the ranks of their "
                    "communicator were not seen",
                    m_incomplete));
    }

private:
    Result<void> writeRow(const raw::CommOp& op, std::uint64_t bytes) {
        m_process.noteStream(op.stream, op.device, op.timeNs);
        return m_insert.runWith(m_process.processId(), bits(op.op), bits(op.hash), commKindName(op.kind),
            bits(op.count), dtypeName(op.dtype), bits(bytes), valueIf(op.peer >= 0, op.peer),
            idOrNull(op.stream), op.thread, m_process.time(op.timeNs), idOrNull(op.capture),
            idOrNull(op.group), idOrNull(op.sequence), commSourceName(op.source),
            m_process.stackId(op.stack));
    }

    ProcessImport& m_process;
    const std::vector<CommLife>& m_lives;
    Statement m_insert;
    std::uint64_t m_incomplete = 0;
};

} // namespace

Result<void> importComm(ProcessImport& process) {
    const std::vector<CommLife> lives = livesOf(process.raw().comms);
    GD_TRY(importComms(process, lives));
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT OR IGNORE INTO nccl_op(process_id, op_id, comm_hash, kind, count, dtype, message_bytes, "
            "peer, stream_id, thread_id, time_ns, capture_id, group_id, sequence, source, stack_id) VALUES "
            "(?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    OpWriter writer(process, lives, std::move(insert));
    // Where plugin and NVTX saw the same call the collector has kept one record of it.
    for (const raw::CommOp& op : process.raw().commOps)
        GD_TRY(writer.write(op));
    writer.reportIncomplete();
    return {};
}

} // namespace gd::importer
