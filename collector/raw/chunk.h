// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/record.h"
#include "collector/raw/version.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gd::raw {

inline constexpr std::uint32_t kChunkMagic = 0x4b434447; // "GDCK"
inline constexpr std::uint32_t kChunkBytes = 256 * 1024;
/// A thread that has written little yet gets this much of a chunk shared with others. A slice has its own
/// ChunkHeader.
inline constexpr std::uint32_t kSliceBytes = 4 * 1024;

/// Header of a chunk or slice, in the ring and, unchanged but for `checksum`, in a segment file.
/// In a segment `usedBytes` of payload follow the header, padded to 8 bytes; the next header comes right
/// after. In the ring the writing thread stores `usedBytes` with release order after each record, so that
/// everything below it can be trusted after a SIGKILL.
struct ChunkHeader {
    std::uint32_t magic; ///< kChunkMagic
    std::uint16_t version; ///< kRawVersion
    std::uint8_t lane; ///< Lane
    std::uint8_t isSlice; ///< 1 for a slice of a shared event chunk
    std::uint32_t pid;
    ThreadRef thread; ///< 0 in the history lane: its records come from any thread
    std::uint64_t processKey; ///< same number as in the segment's name; tells recycled pids apart
    std::uint64_t chunkSequence; ///< per process and lane, from 0, without a gap
    std::uint32_t firstRecordSequence; ///< sequence of the first record in this chunk
    std::uint32_t
        usedBytes; ///< payload bytes; in the ring of the history lane an upper bound (commit words decide)
    std::uint64_t checksum; ///< chunkChecksum(); 0 in the ring
};
static_assert(sizeof(ChunkHeader) == 48);

/// One step of chunkChecksum(): multiply-rotate over 8-byte words; `bytes` is a multiple of 8.
inline std::uint64_t mixWords(std::uint64_t hash, const void* data, std::size_t bytes) {
    const auto* cursor = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, cursor + i, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash = (hash << 29) | (hash >> 35);
    }
    return hash;
}

/// 64-bit checksum of a chunk in a segment file, to find flipped bits and torn writes; not cryptographic.
/// Covers the header (but for the checksum itself) and header.usedBytes bytes of payload, a multiple of 8; up
/// to version 3 the payload only. The final mix is MurmurHash3's 64-bit finalizer (public domain constants).
inline std::uint64_t chunkChecksum(const ChunkHeader& header, const void* payload) {
    std::uint64_t hash = 0x9e3779b97f4a7c15 ^ header.usedBytes;
    if (header.version > 3) {
        hash = mixWords(hash, &header, offsetof(ChunkHeader, checksum));
    }
    hash = mixWords(hash, payload, header.usedBytes);
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccd;
    hash ^= hash >> 33;
    return hash == 0 ? 1 : hash;
}

} // namespace gd::raw
