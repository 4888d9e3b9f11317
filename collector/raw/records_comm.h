// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/record.h"

namespace gd::raw {

/// A communicator's life (history lane). A destroy is written twice: at enter (endNs = 0) and at exit,
/// because it can hang.
struct Comm {
    static constexpr RecordKind kKind = RecordKind::Comm;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t hash; ///< equal on all ranks
    std::uint32_t nranks;
    std::uint32_t rank;
    std::uint16_t life; ///< Life
    std::uint16_t device;
    ThreadRef thread;
    StackRef stack;
    std::uint32_t reserved;
};
static_assert(Record<Comm>);

enum class CommSource : std::uint16_t { Runtime = 1, NcclPlugin = 2, NcclNvtx = 3 };

/// One collective or point-to-point call. Captured ones go to the history lane, eager ones to the event lane.
struct CommOp {
    static constexpr RecordKind kKind = RecordKind::CommOp;
    RecordHeader header;
    std::int64_t timeNs; ///< enqueued
    std::uint64_t op; ///< unique in the process
    std::uint64_t hash; ///< communicator
    std::uint64_t count; ///< elements as passed on this rank
    std::uint64_t messageBytes; ///< contracts: count x type size, by the op's own convention
    std::uint64_t capture; ///< open capture, 0 = eager
    std::uint64_t sequence; ///< the communicator's own order, 0 = unknown
    std::uint64_t group; ///< outermost group of the thread, 0 = none
    std::uint32_t stream;
    ThreadRef thread;
    StackRef stack;
    std::int32_t peer; ///< root or peer, -1 = none
    std::uint16_t kind; ///< gd_rt_comm_kind
    std::uint16_t dtype; ///< gd_rt_dtype
    std::uint16_t source; ///< CommSource
    std::uint16_t device;
};
static_assert(Record<CommOp>);

} // namespace gd::raw
