// SPDX-License-Identifier: Apache-2.0
// Tables allocation (with the blocks of frameworks), memory_pool, memory_sample.
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"

#include "collector/api/graphdoctor_runtime.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

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

// One life of a block of a framework's caching allocator.
struct BlockLife {
    const raw::FrameworkBlock* begin = nullptr;
    const raw::FrameworkBlock* end = nullptr; // asked to be freed, or its address was handed out again
};

std::vector<BlockLife> livesOf(const std::vector<raw::FrameworkBlock>& blocks) {
    std::vector<BlockLife> lives;
    std::unordered_map<std::uint64_t, std::size_t> last; // by address
    for (const raw::FrameworkBlock& block : blocks) {
        const auto found = last.find(block.address);
        BlockLife* life = found == last.end() ? nullptr : &lives[found->second];
        const bool begins = block.event == GD_RT_BLOCK_LIVE || block.event == GD_RT_BLOCK_ALLOCATED;
        const bool ends
            = block.event == GD_RT_BLOCK_FREE_REQUESTED || block.event == GD_RT_BLOCK_FREE_COMPLETED;
        if (life != nullptr && life->end == nullptr && (begins || ends))
            life->end = &block;
        if (begins) {
            last[block.address] = lives.size();
            lives.push_back({&block, nullptr});
        }
    }
    return lives;
}

// As allocations of kind 'framework', numbered behind those of the driver.
Result<void> importBlocks(ProcessImport& process) {
    std::uint64_t next = 1;
    for (const raw::Alloc& alloc : process.raw().allocs)
        next = std::max(next, alloc.allocation + 1);
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT OR IGNORE INTO allocation(process_id, allocation_id, device_id, kind, address, bytes, "
            "pool_id, alloc_ns, stack_id, free_ns, free_stack_id) VALUES (?, ?, ?, 'framework', ?, ?, ?, ?, "
            "?, "
            "?, ?)"));
    for (const BlockLife& life : livesOf(process.raw().blocks)) {
        const raw::FrameworkBlock& begin = *life.begin;
        insert.clearBindings();
        insert.bind(1, process.processId());
        insert.bind(2, bits(next++));
        insert.bind(3, begin.device);
        insert.bind(4, bits(begin.address));
        insert.bind(5, bits(begin.bytes));
        insert.bind(6, idOrNull(begin.pool));
        insert.bind(7, process.time(begin.timeNs));
        insert.bind(8, process.stackId(begin.stack));
        if (life.end != nullptr) {
            insert.bind(9, process.time(life.end->timeNs));
            // What took its place has a stack of its own.
            if (life.end->event == GD_RT_BLOCK_FREE_REQUESTED
                || life.end->event == GD_RT_BLOCK_FREE_COMPLETED)
                insert.bind(10, process.stackId(life.end->stack));
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
    GD_TRY(importBlocks(process));
    GD_TRY_ASSIGN(Statement pool,
        process.db().prepare("INSERT INTO memory_pool(process_id, pool_id, time_ns, event, device_id, "
                             "reserved_bytes, used_bytes) VALUES (?, ?, ?, ?, ?, ?, ?)"));
    for (const raw::MemoryPool& record : process.raw().pools)
        GD_TRY(pool.runWith(process.processId(), bits(record.pool), process.time(record.timeNs),
            poolEvent(record.life), record.device,
            valueIf((record.known & raw::kKnowsReserved) != 0, bits(record.reservedBytes)),
            valueIf((record.known & raw::kKnowsUsed) != 0, bits(record.usedBytes))));
    GD_TRY_ASSIGN(Statement sample,
        process.db().prepare("INSERT INTO memory_sample(process_id, device_id, time_ns, free_bytes, "
                             "total_bytes, graph_reserved_bytes) VALUES (?, ?, ?, ?, ?, ?)"));
    for (const raw::MemorySample& record : process.raw().memorySamples)
        GD_TRY(sample.runWith(process.processId(), record.device, process.time(record.timeNs),
            bits(record.freeBytes), bits(record.totalBytes),
            valueIf((record.known & raw::kKnowsReserved) != 0, bits(record.graphReservedBytes))));
    return {};
}

} // namespace gd::importer
