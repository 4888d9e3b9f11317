// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/philox.h"
#include "kernels/sequence_shard.h"

namespace gdt::kernels {

/// Which attention probabilities dropout keeps. One block of four random numbers serves two neighbouring
/// queries and two neighbouring keys of a (sample, head): its counter follows from places in the whole model
/// and sequence, so every layout over ranks drops the same ones, and nothing of size seqLen x seqLen is kept
/// for the backward pass. Queries and keys of a kernel call are counted from 0.
struct AttentionMask {
    std::uint64_t seed, stream;
    std::uint32_t threshold; ///< numbers below it drop; 0: nothing is dropped
    const std::int64_t* firstSample; ///< device memory
    std::int64_t firstHead, allHeads; ///< of this rank, of the layer
    std::int64_t pairs; ///< of positions of the whole sequence
    std::int64_t firstQuery; ///< local position of query 0
    std::int64_t chunk, queryFirst0, queryFirst1, keyFirst0, keyFirst1; ///< kernels/sequence_shard.h

    [[nodiscard]] GDT_HOST_DEVICE std::int64_t queryPosition(std::int64_t i) const {
        return globalPosition(firstQuery + i, chunk, queryFirst0, queryFirst1);
    }
    [[nodiscard]] GDT_HOST_DEVICE std::int64_t keyPosition(std::int64_t j) const {
        return globalPosition(j, chunk, keyFirst0, keyFirst1);
    }
    /// The four numbers around query position q and key position k: 2 * (q % 2) + k % 2 counts them.
    [[nodiscard]] GDT_HOST_DEVICE PhiloxBlock block(
        std::int64_t sample, std::int64_t head, std::int64_t q, std::int64_t k) const {
        const std::int64_t matrix = (*firstSample + sample) * allHeads + firstHead + head;
        const std::int64_t counter = (matrix * pairs + q / 2) * pairs + k / 2;
        return randomBlock(seed, stream, static_cast<std::uint64_t>(counter));
    }
    [[nodiscard]] GDT_HOST_DEVICE bool kept(
        std::int64_t sample, std::int64_t head, std::int64_t i, std::int64_t j) const {
        const std::int64_t q = queryPosition(i);
        const std::int64_t k = keyPosition(j);
        const PhiloxBlock r = block(sample, head, q, k);
        const std::uint32_t even = k % 2 == 0 ? r.v0 : r.v1;
        const std::uint32_t odd = k % 2 == 0 ? r.v2 : r.v3;
        return (q % 2 == 0 ? even : odd) >= threshold;
    }
};

/// Numbers below it drop a share of `rate` of all, in [0, 1).
constexpr std::uint32_t dropThreshold(double rate) {
    return static_cast<std::uint32_t>(rate * 4294967296.0);
}

/// The mask of an attention kernel's arguments; of the ring's when they name places.
template <class Args> AttentionMask maskOf(const Args& a) {
    AttentionMask mask{a.seed, a.stream, dropThreshold(a.dropout), a.firstSample, a.firstHead, a.allHeads,
        (a.wholeLen + 1) / 2, 0, 0, 0, 0, 0, 0};
    if constexpr (requires { a.keyFirst0; }) {
        mask.firstQuery = a.firstQuery;
        mask.chunk = a.chunk;
        mask.queryFirst0 = a.queryFirst0;
        mask.queryFirst1 = a.queryFirst1;
        mask.keyFirst0 = a.keyFirst0;
        mask.keyFirst1 = a.keyFirst1;
    }
    return mask;
}

} // namespace gdt::kernels
