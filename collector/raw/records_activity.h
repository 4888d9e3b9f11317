// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/record.h"

namespace gd::raw {

/// A kernel's name and launch shape, interned (history lane).
struct KernelShape {
    static constexpr RecordKind kKind = RecordKind::KernelShape;
    RecordHeader header;
    ShapeRef shape;
    StringRef name; ///< mangled as the runtime gives it
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t staticSharedBytes;
    std::uint32_t dynamicSharedBytes;
    std::uint32_t registers; ///< per thread, 0 = unknown
    std::uint32_t reserved;
};
static_assert(Record<KernelShape>);

// Device work: event lane, 64 bytes or less. Times are device times converted to CLOCK_MONOTONIC.

struct Kernel {
    static constexpr RecordKind kKind = RecordKind::Kernel;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t node; ///< executable's node, 0 = eager
    std::uint64_t correlation;
    std::uint32_t exec; ///< 0 = eager
    ShapeRef shape;
    std::uint32_t stream;
    std::uint16_t device;
    std::uint16_t isComm; ///< 1: a collective's kernel
};
static_assert(sizeof(Kernel) <= 64 && Record<Kernel>);

struct Memcpy {
    static constexpr RecordKind kKind = RecordKind::Memcpy;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t node;
    std::uint64_t correlation;
    std::uint64_t bytes;
    std::uint32_t exec;
    std::uint32_t stream;
    std::uint16_t device;
    std::uint16_t copyKind; ///< gd_rt_copy_kind
    std::uint16_t srcKind; ///< gd_rt_memory_kind, 0 = unknown
    std::uint16_t dstKind;
};
static_assert(sizeof(Memcpy) <= 64 && Record<Memcpy>);

struct Memset {
    static constexpr RecordKind kKind = RecordKind::Memset;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t node;
    std::uint64_t correlation;
    std::uint64_t bytes;
    std::uint32_t exec;
    std::uint32_t stream;
    std::uint16_t device;
    std::uint16_t reserved;
    std::uint32_t value;
};
static_assert(sizeof(Memset) <= 64 && Record<Memset>);

/// One replay as a whole.
struct GraphTrace {
    static constexpr RecordKind kKind = RecordKind::GraphTrace;
    RecordHeader header;
    std::int64_t startNs; ///< first node starts
    std::int64_t endNs; ///< last node ends
    std::uint64_t correlation; ///< of the launch
    std::uint64_t exec;
    std::uint32_t stream;
    std::uint32_t device;
};
static_assert(sizeof(GraphTrace) <= 64 && Record<GraphTrace>);

struct Sync {
    static constexpr RecordKind kKind = RecordKind::Sync;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t correlation;
    std::uint64_t event;
    std::uint32_t stream;
    std::uint16_t type; ///< gd_api_id of the synchronising call
    std::uint16_t device;
};
static_assert(sizeof(Sync) <= 64 && Record<Sync>);

enum class RangeOp : std::uint16_t { Push = 1, Pop = 2, Mark = 3, Start = 4, End = 5 };

/// NVTX or runtime range. Event lane; ranges that delimit steps go to the history lane with their thread set.
struct Range {
    static constexpr RecordKind kKind = RecordKind::Range;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t payload; ///< user payload; Start, End: range id
    StringRef domain;
    StringRef name; ///< Pop, End: 0
    std::uint8_t op; ///< RangeOp
    std::uint8_t threadHigh; ///< see threadOf()
    std::uint16_t threadLow;
    std::uint32_t color;
};
static_assert(sizeof(Range) <= 64 && Record<Range>);

struct Counter {
    static constexpr RecordKind kKind = RecordKind::Counter;
    RecordHeader header;
    std::int64_t timeNs;
    double value;
    StringRef name;
    std::uint32_t device;
};
static_assert(sizeof(Counter) <= 64 && Record<Counter>);

} // namespace gd::raw
