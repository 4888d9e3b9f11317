// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/record.h"

namespace gd::raw {

// All of these go to the history lane.

struct Alloc {
    static constexpr RecordKind kKind = RecordKind::Alloc;
    RecordHeader header;
    std::int64_t timeNs; ///< the call returned
    std::uint64_t allocation; ///< numbered per process from 1
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t pool;
    std::uint64_t stream;
    ThreadRef thread;
    StackRef stack;
    std::uint16_t kind; ///< gd_rt_memory_kind
    std::uint16_t device;
    std::uint32_t reserved;
};
static_assert(Record<Alloc>);

struct Free {
    static constexpr RecordKind kKind = RecordKind::Free;
    RecordHeader header;
    std::int64_t timeNs; ///< the call was entered: from here on the address may belong to somebody else
    std::uint64_t allocation; ///< 0: the address was not known as live
    std::uint64_t address;
    std::uint64_t stream;
    ThreadRef thread;
    StackRef stack; ///< taken when a node points or pointed into the range
};
static_assert(Record<Free>);

/// Bits of `known` in the two records below: a size without its bit was not asked for, or not told.
enum KnownSize : std::uint32_t { kKnowsReserved = 1, kKnowsUsed = 2 };

/// A pool was created or destroyed, or its sizes were looked at (life Updated).
struct MemoryPool {
    static constexpr RecordKind kKind = RecordKind::MemoryPool;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t pool; ///< numbered per process from 1, as Alloc::pool
    std::uint64_t reservedBytes;
    std::uint64_t usedBytes;
    std::uint16_t life; ///< Life
    std::uint16_t device;
    ThreadRef thread;
    std::uint32_t known; ///< KnownSize bits
    std::uint32_t reserved;
};
static_assert(Record<MemoryPool>);

/// What a device's memory was like at a moment (cuMemGetInfo): other processes count too.
struct MemorySample {
    static constexpr RecordKind kKind = RecordKind::MemorySample;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t freeBytes;
    std::uint64_t totalBytes;
    std::uint64_t graphReservedBytes; ///< of this process, by its graphs' allocation nodes
    std::uint32_t device;
    std::uint32_t known; ///< kKnowsReserved: of graphReservedBytes
};
static_assert(Record<MemorySample>);

/// What happened to one block of a framework's caching allocator, told afterwards: records of one process
/// come in order of time for each device, but later than other records of that time. Since version 2.
struct FrameworkBlock {
    static constexpr RecordKind kKind = RecordKind::FrameworkBlock;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t stream; ///< the framework's own handle of the stream the block belongs to
    std::uint64_t pool; ///< 0 = the default pool; others are pools of graphs
    StackRef stack; ///< Python frames only
    std::uint16_t event; ///< gd_rt_block_event
    std::uint16_t device;
};
static_assert(Record<FrameworkBlock>);

} // namespace gd::raw
