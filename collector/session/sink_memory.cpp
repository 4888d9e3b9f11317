// SPDX-License-Identifier: Apache-2.0
// Allocations and frees.
#include "collector/session/sink_memory.h"
#include "collector/raw/records_memory.h"
#include "collector/session/session.h"
#include "collector/session/sink.h"
#include "collector/session/stack_taker.h"

namespace gd::session::sink {

namespace {

PointerMap& mapFor(SessionState& session, std::uint32_t kind) noexcept {
    return kind == GD_RT_MEMORY_FRAMEWORK ? session.frameworkMemory : session.driverMemory;
}

/// Removes the lowest range that starts in [from, last]. False: none does.
bool take(SessionState& session, PointerMap& map, std::uint64_t from, std::uint64_t last,
    LiveRange& removed) noexcept {
    SpinGuard guard(session.memoryLock);
    const LiveRange* range = map.atOrAbove(from);
    return range != nullptr && range->address <= last && map.erase(range->address, removed);
}

/// `removed` null: the address was not known as live.
void writeFree(const Entry& entry, raw::Free& record, const LiveRange* removed) noexcept {
    record.allocation = removed != nullptr ? removed->allocation : 0;
    record.stack
        = removed != nullptr && removed->referenced != 0 ? stackOfCall(entry.session(), entry.thread()) : 0;
    appendFrequent(entry.session(), record, raw::CoverageSource::memory);
}

} // namespace

void alloc(const gd_rt_memory& memory) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    raw::Alloc record{};
    record.timeNs = monotonicNs();
    record.allocation = session.nextAllocation.fetch_add(1, std::memory_order_relaxed);
    record.address = memory.ptr;
    record.bytes = memory.bytes;
    record.pool = memory.pool;
    record.stream = memory.stream;
    record.thread = entry.thread().lane.thread;
    record.stack = stackOfAllocation(session, entry.thread(), record.timeNs);
    record.kind = static_cast<std::uint16_t>(memory.kind);
    record.device = static_cast<std::uint16_t>(memory.device);
    const LiveRange range{memory.ptr, memory.bytes, record.allocation, record.kind, record.device, 0,
        static_cast<std::uint16_t>(memory.context)};
    bool kept = false;
    {
        SpinGuard guard(session.memoryLock);
        kept = mapFor(session, memory.kind).insert(range);
    }
    appendFrequent(session, record, raw::CoverageSource::memory);
    if (!kept) {
        writeIssue(session, raw::IssueSeverity::DataLoss, "allocation_not_kept",
            "out of memory: a live allocation is not known, pointers into it count as scalars");
    }
}

void free(const gd_rt_memory& memory) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    SessionState& session = entry.session();
    PointerMap& map = mapFor(session, memory.kind);
    raw::Free record{};
    const OpenCall* call = openCall(entry.thread());
    record.timeNs = call != nullptr ? call->startNs : monotonicNs();
    record.address = memory.ptr;
    record.stream = memory.stream;
    record.thread = entry.thread().lane.thread;
    LiveRange removed{};
    if (memory.kind != GD_RT_MEMORY_VMM) {
        writeFree(entry, record, take(session, map, memory.ptr, memory.ptr, removed) ? &removed : nullptr);
        return;
    }
    // One call may unmap several mappings that lie side by side.
    const std::uint64_t last = memory.ptr + (memory.bytes != 0 ? memory.bytes - 1 : 0);
    if (!take(session, map, memory.ptr, last, removed)) {
        writeFree(entry, record, nullptr);
        return;
    }
    do {
        record.address = removed.address;
        writeFree(entry, record, &removed);
    } while (take(session, map, memory.ptr, last, removed));
}

void freeWithContext(const Entry& entry, std::uint64_t context) noexcept {
    SessionState& session = entry.session();
    raw::Free record{};
    record.timeNs = monotonicNs();
    record.thread = entry.thread().lane.thread;
    std::uint64_t from = 0;
    for (;;) {
        LiveRange removed{};
        {
            SpinGuard guard(session.memoryLock);
            LiveRange* range = session.driverMemory.atOrAbove(from);
            while (range != nullptr && range->context != context) {
                range = range->address == ~std::uint64_t{0}
                    ? nullptr
                    : session.driverMemory.atOrAbove(range->address + 1);
            }
            if (range == nullptr) {
                return;
            }
            from = range->address;
            session.driverMemory.erase(from, removed);
        }
        record.address = removed.address;
        writeFree(entry, record, &removed);
    }
}

void memoryPool(gd_rt_life life, const PoolState& pool) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    raw::MemoryPool record{};
    record.timeNs = monotonicNs();
    record.pool = pool.pool;
    record.reservedBytes = pool.reservedBytes;
    record.usedBytes = pool.usedBytes;
    record.life = static_cast<std::uint16_t>(life);
    record.device = static_cast<std::uint16_t>(pool.device);
    record.thread = entry.thread().lane.thread;
    record.known = pool.known;
    entry.session().ring.appendHistory(record);
}

void memorySample(const DeviceMemory& memory) noexcept {
    const Entry entry;
    if (!entry) {
        return;
    }
    raw::MemorySample record{};
    record.timeNs = monotonicNs();
    record.freeBytes = memory.freeBytes;
    record.totalBytes = memory.totalBytes;
    record.graphReservedBytes = memory.graphReservedBytes;
    record.device = memory.device;
    record.known = memory.knowsGraphReserved ? std::uint32_t{raw::kKnowsReserved} : 0;
    entry.session().ring.appendHistory(record);
}

} // namespace gd::session::sink
