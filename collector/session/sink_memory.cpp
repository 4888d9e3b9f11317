// SPDX-License-Identifier: Apache-2.0
// Allocations and frees.
#include "collector/raw/records_memory.h"
#include "collector/session/session.h"
#include "collector/session/sink.h"
#include "collector/session/stack_taker.h"

namespace gd::session::sink {

namespace {

PointerMap& mapFor(SessionState& session, std::uint32_t kind) noexcept {
    return kind == GD_RT_MEMORY_FRAMEWORK ? session.frameworkMemory : session.driverMemory;
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
    const LiveRange range{memory.ptr, memory.bytes, record.allocation, record.kind, record.device, 0};
    bool kept = false;
    {
        SpinGuard guard(session.memoryLock);
        kept = mapFor(session, memory.kind).insert(range);
    }
    session.ring.appendHistory(record);
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
    raw::Free record{};
    const OpenCall* call = openCall(entry.thread());
    record.timeNs = call != nullptr ? call->startNs : monotonicNs();
    record.address = memory.ptr;
    record.stream = memory.stream;
    record.thread = entry.thread().lane.thread;
    LiveRange removed{};
    bool known = false;
    {
        SpinGuard guard(session.memoryLock);
        known = mapFor(session, memory.kind).erase(memory.ptr, removed);
    }
    if (known) {
        record.allocation = removed.allocation;
        record.stack = removed.referenced != 0 ? stackOfCall(session, entry.thread()) : 0;
    }
    session.ring.appendHistory(record);
}

} // namespace gd::session::sink
