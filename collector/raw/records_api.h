// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_api_ids.h"
#include "collector/raw/record.h"

namespace gd::raw {

/// Object ids. Stream, event, context, graph and exec ids are unique in the process for its whole life (CUDA
/// handles are recycled, so the collector numbers them); 0 = none. The legacy default stream has id 1.
inline constexpr std::uint64_t kLegacyStream = 1;

enum class Life : std::uint16_t { Created = 1, Cloned = 2, Updated = 3, Destroyed = 4 };

struct Device { // history
    static constexpr RecordKind kKind = RecordKind::Device;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t memoryBytes;
    std::uint32_t device; ///< ordinal in this process
    StringRef name;
    StringRef uuid;
    std::uint16_t ccMajor;
    std::uint16_t ccMinor;
    std::uint32_t multiprocessors;
    std::uint32_t workers; ///< host runtimes: threads that stand for the device; 0 = a real device
};
static_assert(Record<Device>);

/// A context, stream or event was created or destroyed (history; kKind of the record says which).
template <RecordKind Kind> struct ObjectLife {
    static constexpr RecordKind kKind = Kind;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint64_t id;
    std::uint64_t context;
    std::uint16_t life; ///< Life
    std::uint16_t device;
    std::uint32_t flags; ///< stream: bit 0 = non-blocking; event: CUevent_flags
    std::int32_t priority;
    ThreadRef thread;
    StackRef stack;
    std::uint32_t reserved;
};
using Context = ObjectLife<RecordKind::Context>;
using Stream = ObjectLife<RecordKind::Stream>;
using Event = ObjectLife<RecordKind::Event>;
static_assert(Record<Stream>);

/// A call that may never return began (classes SYNC, COPY_SYNC, CAPTURE, EXEC, REPLAY, ALLOC, FREE, COMM):
/// event lane. When the matching ApiCall is missing, the process was inside this call at the end.
struct ApiEnter {
    static constexpr RecordKind kKind = RecordKind::ApiEnter;
    RecordHeader header;
    std::int64_t startNs;
    std::uint64_t correlation;
    std::uint64_t stream;
    std::uint64_t object;
    std::uint16_t api; ///< gd_api_id
    std::uint16_t device;
    StackRef stack;
};
static_assert(sizeof(ApiEnter) <= 64 && Record<ApiEnter>);

/// One finished call. Event lane, thread = the chunk's thread. A call that returned an error other than "not
/// ready" goes to the history lane instead, with its thread set, so that no ring of events can lose it; of
/// errors that every later call returns, too, the first 64 of a process do.
struct ApiCall {
    static constexpr RecordKind kKind = RecordKind::ApiCall;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t correlation;
    std::uint64_t object; ///< exec, graph, event or address, by the call's class
    std::uint64_t bytes; ///< or capture mode and flags for class CAPTURE
    std::uint32_t stream; ///< low 32 bits of the stream id (ids are small)
    StackRef stack; ///< 0 = none taken
    std::int16_t result; ///< CUresult number
    std::uint16_t api; ///< gd_api_id
    std::uint8_t device;
    std::uint8_t threadHigh; ///< see threadOf()
    std::uint16_t threadLow;
};
static_assert(sizeof(ApiCall) == 64 && Record<ApiCall>);

} // namespace gd::raw
