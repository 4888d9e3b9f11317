// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/record.h"

namespace gd::raw {

enum class CommSource : std::uint16_t { Runtime = 1, NcclPlugin = 2, NcclNvtx = 3 };

/// Comm::device when the source does not say which.
inline constexpr std::uint16_t kNoDevice = 0xffff;
/// CommOp::dtype when the source knows bytes only: `count` is bytes. An all-to-all's are those for one rank,
/// and its messageBytes is 0 when the number of ranks was not known yet.
inline constexpr std::uint16_t kByteDtype = 0xffff;

/// CommOp::kind beyond gd_rt_comm_kind: calls that are sends and receives, as many as the communicator has
/// ranks. A gather is a send to its root and there a receive from each rank; a scatter the reverse. `peer` is
/// the root, `count` and `messageBytes` are those of one message.
inline constexpr std::uint16_t kGatherKind = 0x100;
inline constexpr std::uint16_t kScatterKind = 0x101;

/// A communicator's life (history lane). A destroy is written twice: at enter (endNs = 0) and at exit,
/// because it can hang. Several sources may tell of one life.
struct Comm {
    static constexpr RecordKind kKind = RecordKind::Comm;
    RecordHeader header;
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t hash; ///< equal on all ranks
    std::uint32_t nranks; ///< 0 = not said
    std::uint32_t rank;
    std::uint16_t life; ///< Life
    std::uint16_t device; ///< or kNoDevice
    ThreadRef thread;
    StackRef stack;
    std::uint16_t source; ///< CommSource; 0 in files of version 1
    std::uint16_t reserved;
};
static_assert(Record<Comm>);

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
    std::uint16_t kind; ///< gd_rt_comm_kind, kGatherKind or kScatterKind
    std::uint16_t dtype; ///< gd_rt_dtype, or kByteDtype
    std::uint16_t source; ///< CommSource
    std::uint16_t device;
};
static_assert(Record<CommOp>);

} // namespace gd::raw
