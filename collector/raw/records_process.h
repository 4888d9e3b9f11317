// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/record.h"

namespace gd::raw {

// All of these go to the history lane. Times are CLOCK_MONOTONIC nanoseconds unless a name says otherwise.

enum class ProcessRole : std::uint32_t { Primary = 0, ForkedChild = 1 };

/// First record of a process.
struct ProcessStart {
    static constexpr RecordKind kKind = RecordKind::ProcessStart;
    RecordHeader header;
    std::int64_t timeNs; ///< session opened
    std::int64_t realtimeOffsetNs; ///< CLOCK_REALTIME - CLOCK_MONOTONIC at that moment
    std::uint64_t processKey;
    std::uint64_t parentKey; ///< ForkedChild: the parent's processKey, else 0
    std::uint32_t pid;
    std::uint32_t parentPid;
    std::uint32_t role; ///< ProcessRole
    std::uint32_t uid;
};
static_assert(Record<ProcessStart>);

/// A named fact about the process. Keys in use: command_line, executable, host, working_directory, rank,
/// world_size, local_rank, launcher, job_id, runtime (name given to attach), driver_version,
/// cuda_runtime_version, cupti_version, nccl_version, python_version, framework, framework_version,
/// collector_version, level, ring_path, segment_path. The importer adds events_from_ns (ns of the trace)
/// where the oldest events were dropped: from then on they are complete.
struct ProcessFact {
    static constexpr RecordKind kKind = RecordKind::ProcessFact;
    RecordHeader header;
    std::int64_t timeNs;
    StringRef key;
    StringRef value;
};
static_assert(Record<ProcessFact>);

/// One environment variable of the allow-list, value masked where its name says it is a secret.
struct EnvVar {
    static constexpr RecordKind kKind = RecordKind::EnvVar;
    RecordHeader header;
    StringRef name;
    StringRef value;
};
static_assert(Record<EnvVar>);

struct Thread {
    static constexpr RecordKind kKind = RecordKind::Thread;
    RecordHeader header;
    std::int64_t timeNs; ///< first seen; a later record for the same thread changes the name
    ThreadRef thread;
    std::uint32_t tid;
    StringRef name;
    std::uint32_t reserved;
};
static_assert(Record<Thread>);

/// One loaded object file (executable segment).
struct Module {
    static constexpr RecordKind kKind = RecordKind::Module;
    RecordHeader header;
    std::int64_t timeNs; ///< first seen
    std::uint64_t base; ///< load bias: file address = address - base
    std::uint64_t from; ///< first mapped executable address
    std::uint64_t to; ///< one past the last
    StringRef path;
    StringRef buildId; ///< lower-case hex, 0 when the file has none
};
static_assert(Record<Module>);

/// An interned string, or one part of a long one: bytes follow, zero-padded to 8. Parts of one string have
/// ascending `part` and lie in order in the file; the string is complete when `offset + bytes == totalBytes`.
struct String {
    static constexpr RecordKind kKind = RecordKind::String;
    RecordHeader header;
    StringRef id;
    std::uint16_t part;
    std::uint16_t bytes; ///< in this record
    std::uint32_t offset;
    std::uint32_t totalBytes;
};
static_assert(Record<String>);

/// One Python frame inside a Stack record.
struct PythonFrame {
    StringRef file;
    StringRef function;
    std::uint32_t line;
    std::uint32_t reserved;
};

/// An interned call stack. `nativeCount` return addresses (u64, innermost first) follow, then `pythonCount`
/// PythonFrames (innermost first).
struct Stack {
    static constexpr RecordKind kKind = RecordKind::Stack;
    RecordHeader header;
    StackRef id;
    std::uint16_t nativeCount; ///< <= 64
    std::uint16_t pythonCount; ///< <= 64
};
static_assert(Record<Stack>);

/// The session was closed by the process itself. Its absence means that the process was killed or still runs.
struct ProcessEnd {
    static constexpr RecordKind kKind = RecordKind::ProcessEnd;
    RecordHeader header;
    std::int64_t timeNs;
};
static_assert(Record<ProcessEnd>);

/// How late an idle worker of a host runtime wakes up: gaps shorter than three times this say nothing.
struct SchedulingNoise {
    static constexpr RecordKind kKind = RecordKind::SchedulingNoise;
    RecordHeader header;
    std::uint32_t device;
    std::uint32_t reserved;
    std::int64_t wakeupP99Ns;
};
static_assert(Record<SchedulingNoise>);

} // namespace gd::raw
