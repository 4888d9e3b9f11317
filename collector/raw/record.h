// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gd::raw {

/// What a record holds. Numbers are part of the format: never reuse or change one.
enum class RecordKind : std::uint16_t {
    None = 0,
    // process (records_process.h)
    ProcessStart = 1,
    ProcessFact = 2,
    EnvVar = 3,
    Thread = 4,
    Module = 5,
    String = 6,
    Stack = 7,
    ProcessEnd = 8,
    SchedulingNoise = 9,
    // quality of the record itself (records_coverage.h)
    Coverage = 10,
    Loss = 11,
    Issue = 12,
    ControlState = 13,
    // devices and their objects (records_api.h)
    Device = 20,
    Context = 21,
    Stream = 22,
    Event = 23,
    // calls (records_api.h)
    ApiEnter = 30,
    ApiCall = 31,
    // captures and graphs (records_graph.h)
    CaptureBegin = 40,
    CaptureJoin = 41,
    CaptureFail = 42,
    CaptureEnd = 43,
    ThreadCaptureMode = 44,
    Graph = 50,
    GraphNode = 51,
    GraphEdge = 52,
    GraphExec = 53,
    NodeKernel = 54,
    NodePointer = 55,
    NodeScalar = 56,
    NodeMemory = 57,
    EagerLaunch = 58,
    ScalarSet = 59,
    // memory (records_memory.h)
    Alloc = 60,
    Free = 61,
    MemoryPool = 62,
    MemorySample = 63,
    FrameworkBlock = 64,
    // device activity (records_activity.h)
    KernelShape = 70,
    Kernel = 71,
    Memcpy = 72,
    Memset = 73,
    GraphTrace = 74,
    Sync = 75,
    // ranges and counters (records_activity.h)
    Range = 80,
    Counter = 81,
    // communication (records_comm.h)
    Comm = 90,
    CommOp = 91,
};

/// Which stream of chunks a record goes to. History is append-only and never dropped for age; events may
/// become a ring.
enum class Lane : std::uint8_t { History = 0, Events = 1 };

/// First 8 bytes of every record. Little-endian, 8-byte aligned.
/// `sequence` counts from 0 without a gap: per process in the history lane, per thread in the event lane (a
/// dropped record uses up its number, and the ring header counts the drop). In a shared chunk `size8` is the
/// commit word: it is stored last, with release order, and 0 means "not written". Such a hole says its own
/// length once its writer has started: `kind` = kReservedRecordBit | size in units of 8 bytes; an all-zero
/// word is a hole of unknown length (killed within a few nanoseconds), the next record is then found by its
/// header.
struct RecordHeader {
    std::uint16_t kind; ///< RecordKind
    std::uint16_t size8; ///< size of the whole record in units of 8 bytes, this header included
    std::uint32_t sequence;
};
static_assert(sizeof(RecordHeader) == 8);
inline constexpr std::uint16_t kReservedRecordBit = 0x8000;

/// Largest record: longer strings, stacks and parameters are cut into numbered parts.
inline constexpr std::size_t kMaxRecordBytes = 4096;

template <class T>
concept Record = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> && sizeof(T) % 8 == 0
    && sizeof(T) <= kMaxRecordBytes&& requires(T record) {
    { record.header } -> std::same_as<RecordHeader&>;
    { T::kKind } -> std::convertible_to<RecordKind>;
};

/// Ids inside records: 0 means "none". String, stack and shape ids are interned per process and count from 1.
using StringRef = std::uint32_t;
using StackRef = std::uint32_t;
using ShapeRef = std::uint32_t;
/// Threads are numbered per process from 1 in the order in which the collector first meets them (see Thread).
using ThreadRef = std::uint32_t;

/// Thread numbers inside records of the event lane that may also go to the history lane: room for 24 bits, in
/// `threadLow` and `threadHigh`. 0 in the event lane, whose chunks say the thread, and for threads past 2^24.
template <class R> ThreadRef threadOf(const R& record) {
    return ThreadRef{record.threadHigh} << 16 | record.threadLow;
}
template <class R> void setThread(R& record, ThreadRef thread) {
    const ThreadRef kept = thread < ThreadRef{1} << 24 ? thread : 0;
    record.threadLow = static_cast<std::uint16_t>(kept);
    record.threadHigh = static_cast<std::uint8_t>(kept >> 16);
}

} // namespace gd::raw
