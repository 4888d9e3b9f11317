// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"
#include "kernels/sequence_shard.h"
#include "parallel/side_stream.h"

namespace gdt::parallel {

enum class RingLayout {
    Contiguous, ///< rank r holds the r-th of size parts of a sequence: later ranks attend to more
    Zigzag, ///< rank r holds parts r and 2 * size - 1 - r of 2 * size: every hop costs every rank the same
};

/// What a rank's queries see of the keys that arrive at one hop.
enum class HopKind {
    Causal, ///< own keys: each query sees those not after it
    Full, ///< all queries see all keys
    FirstKeys, ///< all queries see the first half of the keys
    LastQueries, ///< the second half of the queries sees all keys
    Nothing,
};

/// The ranks that share a sequence. Keys and values travel from rank to rank + 1; at hop s a rank holds those
/// of rank - s.
struct ContextGroup {
    int rank = 0;
    int size = 1;
    comm::Communicator* communicator = nullptr;
    RingLayout layout = RingLayout::Zigzag;
    SideStream* side = nullptr; ///< keys and values travel there while the hop before is computed
    bool grouped = true; ///< false: the fault ring-send-recv-order
    bool singleBuffer = false; ///< the fault ring-parity-missing
    bool turned = false; ///< the fault ring-whole-dynamic: the ring runs the other way round

    /// Place in the ring.
    [[nodiscard]] int position() const { return turned ? (size - rank) % size : rank; }
    [[nodiscard]] int next() const { return (rank + (turned ? size - 1 : 1)) % size; }
    [[nodiscard]] int previous() const { return (rank + (turned ? 1 : size - 1)) % size; }
    /// Which of two buffers holds the keys and values of a hop.
    [[nodiscard]] int buffer(int hop) const { return singleBuffer ? 0 : hop % 2; }
    [[nodiscard]] HopKind hop(int step) const;
    /// Positions of this rank, for sequences of `seqLen`, a multiple of divisor().
    [[nodiscard]] std::int64_t localLength(std::int64_t seqLen) const { return seqLen / size; }
    [[nodiscard]] kernels::SequenceShard shard(std::int64_t seqLen) const {
        return shardOf(position(), seqLen);
    }
    [[nodiscard]] kernels::SequenceShard shardOf(int which, std::int64_t seqLen) const;
    [[nodiscard]] int divisor() const {
        return size == 1 ? 1 : (layout == RingLayout::Zigzag ? 2 * size : size);
    }

    /// One message of `count` elements to the next rank and one from the previous, together.
    template <class T>
    runtime::Status exchange(runtime::Stream& stream, const T* out, T* in, std::int64_t count) const;
};

} // namespace gdt::parallel
