// SPDX-License-Identifier: Apache-2.0
// Tables nccl_comm, nccl_op.
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"

#include <algorithm>
#include <vector>

namespace gd::importer {
namespace {

// A hash may be used again after its communicator is gone: lives follow each other in time.
struct CommLife {
    raw::Comm created{};
    raw::Comm destroyed{}; // startNs 0 = never
};

std::vector<CommLife> livesOf(std::vector<raw::Comm> records) {
    std::stable_sort(records.begin(), records.end(),
        [](const raw::Comm& a, const raw::Comm& b) { return a.startNs < b.startNs; });
    std::vector<CommLife> lives;
    for (const raw::Comm& record : records) {
        const auto current = std::find_if(lives.rbegin(), lives.rend(),
            [&record](const CommLife& life) { return life.created.hash == record.hash; });
        if (record.life != static_cast<std::uint16_t>(raw::Life::Destroyed)) {
            lives.push_back({record, {}});
        } else if (current == lives.rend()) {
            // Created before the recording began.
            CommLife life{record, record};
            life.created.startNs = life.created.endNs = 0;
            life.created.stack = 0;
            lives.push_back(life);
        } else {
            // Written at enter and again at exit: the second has the end.
            if (current->destroyed.startNs == 0)
                current->destroyed = record;
            current->destroyed.endNs = std::max(current->destroyed.endNs, record.endNs);
        }
    }
    return lives;
}

Result<void> importComms(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT INTO nccl_comm(process_id, comm_hash, nranks, rank, device_id, created_ns, "
            "created_stack_id, destroy_start_ns, destroy_end_ns, destroy_thread_id, destroy_stack_id) VALUES "
            "(?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const CommLife& life : livesOf(process.raw().comms)) {
        const std::int64_t createdNs = std::max(life.created.startNs, life.created.endNs);
        GD_TRY(insert.runWith(process.processId(), bits(life.created.hash), life.created.nranks,
            life.created.rank, life.created.device,
            createdNs == 0 ? process.startNs : process.time(createdNs), process.stackId(life.created.stack),
            process.timeIfSet(life.destroyed.startNs), process.timeIfSet(life.destroyed.endNs),
            idOrNull(life.destroyed.thread), process.stackId(life.destroyed.stack)));
    }
    return {};
}

// When the plugin and NVTX both saw a communicator's calls, the plugin's records are kept (contracts: bytes).
bool pluginSaw(const std::vector<raw::CommOp>& ops) {
    return std::any_of(ops.begin(), ops.end(), [](const raw::CommOp& op) {
        return op.source == static_cast<std::uint16_t>(raw::CommSource::NcclPlugin);
    });
}

} // namespace

Result<void> importComm(ProcessImport& process) {
    GD_TRY(importComms(process));
    const bool dropNvtx = pluginSaw(process.raw().commOps);
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT OR IGNORE INTO nccl_op(process_id, op_id, comm_hash, kind, count, dtype, message_bytes, "
            "peer, stream_id, thread_id, time_ns, capture_id, group_id, sequence, source, stack_id) VALUES "
            "(?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::CommOp& op : process.raw().commOps) {
        if (dropNvtx && op.source == static_cast<std::uint16_t>(raw::CommSource::NcclNvtx))
            continue;
        const auto peer = valueIf(op.peer >= 0, op.peer);
        process.noteStream(op.stream, op.device, op.timeNs);
        GD_TRY(insert.runWith(process.processId(), bits(op.op), bits(op.hash), commKindName(op.kind),
            bits(op.count), dtypeName(op.dtype), bits(op.messageBytes), peer, idOrNull(op.stream), op.thread,
            process.time(op.timeNs), idOrNull(op.capture), idOrNull(op.group), idOrNull(op.sequence),
            commSourceName(op.source), process.stackId(op.stack)));
    }
    return {};
}

} // namespace gd::importer
