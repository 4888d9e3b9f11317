// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/chunk.h"
#include "collector/raw/ring_marks.h"

#include <cstdint>

namespace gd::raw {

inline constexpr std::uint64_t kRingMagic = 0x474e495244474447; // "GDGDRING"
inline constexpr std::uint32_t kMaxRingChunks = 1024;

enum class ChunkState : std::uint32_t {
    Free = 0, ///< owned by nobody, contents meaningless
    Filling = 1, ///< a thread (or, shared, several) writes into it
    Full = 2, ///< waits for the drainer
    Draining = 3, ///< being written to the segment; becomes Free only after the write returned
};

/// How a chunk is cut.
enum class ChunkUse : std::uint32_t { Owned = 0, History = 1, Slices = 2 };

struct RingSlot {
    std::uint32_t state; ///< ChunkState, atomic
    std::uint32_t use; ///< ChunkUse
    /// History, while Filling: payload bytes handed out so far (fetch_add together with `handedOut`), atomic;
    /// may pass the end. No meaning for other uses: slices that were not handed out have no magic.
    std::uint32_t reservedBytes;
    std::uint32_t handedOut; ///< History: records handed out so far; counts attempts that did not fit, too
};
static_assert(sizeof(RingSlot) == 16);

/// What was lost, per lane. Every number is atomic and only grows.
struct LossCounters {
    std::uint64_t droppedRecords; ///< the pool was full
    std::uint64_t droppedBytes;
    std::uint64_t failedWrites; ///< chunks whose write to the segment failed (disk full)
    std::uint64_t failedWriteRecords;
};

/// First page(s) of a ring file. The ring is a pool of `chunkCount` chunks of `chunkBytes` that follow
/// `headerBytes`. It lies on tmpfs and outlives SIGKILL of the process; the importer reads what the segment
/// lacks from it.
struct RingHeader {
    std::uint64_t magic; ///< kRingMagic, stored last when the ring is ready
    std::uint16_t version; ///< kRawVersion
    std::uint16_t headerBytes; ///< kRingHeaderBytes
    std::uint32_t pid;
    std::uint64_t processKey;
    std::uint32_t chunkBytes;
    std::uint32_t chunkCount;
    std::int64_t startNs; ///< CLOCK_MONOTONIC at open
    std::uint64_t segmentBytes; ///< bytes of the segment that are completely written, atomic
    LossCounters loss[2]; ///< by Lane
    std::uint64_t historyRecords; ///< records appended so far, atomic
    std::uint64_t eventRecords; ///< records of drained chunks, atomic
    std::uint32_t closed; ///< 1 when the process closed its session itself
    std::uint32_t
        historyFull; ///< 1: the history took its share of the size limit, later chunks of it were dropped
    char segmentPath[3072]; ///< the segment file of this ring, 0-terminated
    /// The last ControlPage::flushRequest of which nothing is left in the ring: every record that was
    /// appended before it is in the segment. Atomic; collectors before it existed leave it 0.
    std::uint32_t flushed;
    std::uint32_t reserved;
};
static_assert(sizeof(RingHeader) <= 4096);

/// `chunkCount` RingSlots begin on the second page, so that state changes do not share a line with the loss
/// counters.
inline constexpr std::uint32_t kRingSlotsOffset = 4096;
/// RingMarks; a ring whose headerBytes end here is of a collector from before them.
inline constexpr std::uint32_t kRingMarksOffset = kRingSlotsOffset + kMaxRingChunks * sizeof(RingSlot);
inline constexpr std::uint32_t kRingHeaderBytes = kRingMarksOffset + sizeof(RingMarks);
static_assert(kRingHeaderBytes % 4096 == 0 && kRingHeaderBytes < 65536);

} // namespace gd::raw
