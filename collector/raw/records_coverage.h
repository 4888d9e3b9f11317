// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/record.h"

namespace gd::raw {

// All of these go to the history lane.

/// What is being looked at. The names are those of the `coverage` table.
#define GD_COVERAGE_SOURCES(X)                                                                               \
    X(1, callbacks)                                                                                          \
    X(2, launch_callbacks)                                                                                   \
    X(3, node_params)                                                                                        \
    X(4, graph_trace)                                                                                        \
    X(5, node_activity)                                                                                      \
    X(6, eager_kernel_activity)                                                                              \
    X(7, memory)                                                                                             \
    X(8, sync)                                                                                               \
    X(9, nvtx)                                                                                               \
    X(10, nccl_nvtx)                                                                                         \
    X(11, nccl_plugin)                                                                                       \
    X(12, comm_ops)                                                                                          \
    X(13, stacks_native)                                                                                     \
    X(14, stacks_python)                                                                                     \
    X(15, framework_allocator)                                                                               \
    X(16, ranks)

enum class CoverageSource : std::uint32_t {
#define GD_COVERAGE_ENTRY(number, name) name = number,
    GD_COVERAGE_SOURCES(GD_COVERAGE_ENTRY)
#undef GD_COVERAGE_ENTRY
};

enum class CoverageState : std::uint32_t { Absent = 0, Partial = 1, Complete = 2 };

/// From `timeNs` on the source is in this state, until the next record for it or the end of the process.
struct Coverage {
    static constexpr RecordKind kKind = RecordKind::Coverage;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint32_t source; ///< CoverageSource
    std::uint32_t state; ///< CoverageState
    StringRef reason; ///< why it is not complete
    std::uint32_t reserved;
};
static_assert(Record<Coverage>);

/// Snapshot of a loss counter when it changed (the ring header has the last word).
struct Loss {
    static constexpr RecordKind kKind = RecordKind::Loss;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint32_t lane;
    std::uint32_t source; ///< CoverageSource concerned, 0 = the lane as a whole
    std::uint64_t droppedRecords; ///< since the start
};
static_assert(Record<Loss>);

enum class IssueSeverity : std::uint32_t { Info = 0, DataLoss = 1, Error = 2 };

/// Something the collector could not do: becomes a `trace_issue` row.
struct Issue {
    static constexpr RecordKind kKind = RecordKind::Issue;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint32_t severity; ///< IssueSeverity
    StringRef code; ///< short stable word, such as second_subscriber
    StringRef detail; ///< one sentence
    std::uint32_t reserved;
};
static_assert(Record<Issue>);

/// The wanted recording level took effect.
struct ControlState {
    static constexpr RecordKind kKind = RecordKind::ControlState;
    RecordHeader header;
    std::int64_t timeNs;
    std::uint32_t level; ///< RecordingLevel
    std::uint32_t window;
};
static_assert(Record<ControlState>);

} // namespace gd::raw
