// SPDX-License-Identifier: Apache-2.0
// Tables allocation, memory_pool, memory_sample.
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"

#include "collector/api/graphdoctor_runtime.h"

#include <unordered_map>

namespace gd::importer {
namespace {

bool isHostMemory(std::uint16_t kind) {
    return kind == GD_RT_MEMORY_HOST_PINNED || kind == GD_RT_MEMORY_HOST_REGISTERED
        || kind == GD_RT_MEMORY_HOST_PAGEABLE;
}

Result<void> importAllocations(ProcessImport& process) {
    std::unordered_map<std::uint64_t, const raw::Free*> frees;
    for (const raw::Free& free : process.raw().frees) {
        if (free.allocation != 0)
            frees.emplace(free.allocation, &free);
    }
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT OR IGNORE INTO allocation(process_id, allocation_id, device_id, kind, "
            "address, bytes, pool_id, stream_id, thread_id, alloc_ns, stack_id, free_ns, "
            "free_thread_id, free_stack_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::Alloc& alloc : process.raw().allocs) {
        const auto device = valueIf(!isHostMemory(alloc.kind), alloc.device);
        const std::string_view kind = memoryKindName(alloc.kind);
        insert.clearBindings();
        insert.bind(1, process.processId());
        insert.bind(2, bits(alloc.allocation));
        insert.bind(3, device);
        insert.bind(4, kind.empty() ? "other" : kind);
        insert.bind(5, bits(alloc.address));
        insert.bind(6, bits(alloc.bytes));
        insert.bind(7, idOrNull(alloc.pool));
        insert.bind(8, idOrNull(alloc.stream));
        insert.bind(9, idOrNull(alloc.thread));
        insert.bind(10, process.time(alloc.timeNs));
        insert.bind(11, process.stackId(alloc.stack));
        if (const auto found = frees.find(alloc.allocation); found != frees.end()) {
            insert.bind(12, process.time(found->second->timeNs));
            insert.bind(13, idOrNull(found->second->thread));
            insert.bind(14, process.stackId(found->second->stack));
        }
        GD_TRY(insert.run());
    }
    return {};
}

std::string_view poolEvent(std::uint16_t life) {
    switch (static_cast<raw::Life>(life)) {
    case raw::Life::Created:
    case raw::Life::Cloned:
        return "created";
    case raw::Life::Destroyed:
        return "destroyed";
    case raw::Life::Updated:
        break;
    }
    return "updated";
}

} // namespace

Result<void> importMemory(ProcessImport& process) {
    GD_TRY(importAllocations(process));
    GD_TRY_ASSIGN(Statement pool,
        process.db().prepare("INSERT INTO memory_pool(process_id, pool_id, time_ns, event, device_id, "
                             "reserved_bytes, used_bytes) VALUES (?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::MemoryPool& record : process.raw().pools)
        GD_TRY(pool.runWith(process.processId(), bits(record.pool), process.time(record.timeNs),
            poolEvent(record.life), record.device, idOrNull(record.reservedBytes),
            idOrNull(record.usedBytes)));
    GD_TRY_ASSIGN(Statement sample,
        process.db().prepare("INSERT INTO memory_sample(process_id, device_id, time_ns, free_bytes, "
                             "total_bytes, graph_reserved_bytes) VALUES (?, ?, ?, ?, ?, ?)"));
    for (const raw::MemorySample& record : process.raw().memorySamples)
        GD_TRY(sample.runWith(process.processId(), record.device, process.time(record.timeNs),
            bits(record.freeBytes), bits(record.totalBytes), idOrNull(record.graphReservedBytes)));
    return {};
}

} // namespace gd::importer
