// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/chunk.h"
#include "collector/session/segment_writer.h"

#include <atomic>
#include <climits>
#include <cstdint>

namespace gd::session {

/// What a process may leave on disk (raw::kEnvLimits). 0 = no such limit.
struct SizeLimits {
    std::uint64_t totalBytes = 0; ///< history and events together
    std::uint64_t keptBytes = 0; ///< the latest events that are kept
    std::int64_t keptNs = 0; ///< the same by time, back from the latest one

    /// Parts that cannot be read are no limit.
    static SizeLimits from(const char* text) noexcept;
    /// The share of the total that the history may take.
    std::uint64_t historyBytes() const noexcept { return totalBytes / 4; }
    /// Of that the share of what comes at a high rate as long as the job runs.
    std::uint64_t frequentHistoryBytes() const noexcept { return historyBytes() / 2; }
};

/// The event lane of a process on disk: pieces that are begun one after the other, of which the oldest are
/// removed when a limit is reached. At any moment the files that are there, and their names, say which events
/// are complete and from when on (collector/raw/spool_name.h): nothing else has to be written for that.
/// One thread at a time: first the opener, then the drainer.
class EventSegments {
public:
    /// Begins the first piece. `segmentPath` is that of the history ("….seg"). False with errno when the file
    /// cannot be made.
    bool open(const char* segmentPath, const SizeLimits& limits, std::int64_t startNs) noexcept;
    /// Appends a chunk of the event lane whose latest time is `untilNs` (CLOCK_MONOTONIC); begins a new piece
    /// and removes old ones when it is time. `historyBytes` is what the history takes by now. False: it could
    /// not be written, error() says why.
    bool append(const raw::ChunkHeader& header, const void* payload, std::int64_t untilNs,
        std::uint64_t historyBytes) noexcept;

    /// Nothing can be appended any more.
    void close() noexcept { writer().close(); }

    int error() const noexcept { return writer().error(); }
    const char* path() const noexcept { return m_paths[m_current]; }
    /// Bytes of the pieces that are there.
    std::uint64_t bytes() const noexcept { return m_bytes.load(std::memory_order_relaxed); } ///< any thread
    /// Pieces removed so far.
    std::uint64_t removed() const noexcept { return m_first; }
    const SizeLimits& limits() const noexcept { return m_limits; }
    /// Removes all files, for an opener that failed.
    void remove() noexcept;

private:
    struct Piece {
        std::int64_t sinceNs; ///< latest time in all pieces before
        std::int64_t untilNs; ///< latest time in it and in those
        std::uint64_t bytes;
    };
    /// A limit is cut into eight pieces; a limit that shrinks while the history grows leaves some more.
    static constexpr unsigned kMaxPieces = 64;
    static constexpr unsigned kPiecesPerLimit = 8;

    Piece& piece(std::uint64_t number) noexcept { return m_pieces[number % kMaxPieces]; }
    SegmentWriter& writer() noexcept { return m_writers[m_current]; }
    const SegmentWriter& writer() const noexcept { return m_writers[m_current]; }
    template <std::size_t N>
    void nameOf(std::uint64_t number, std::int64_t sinceNs, char (&path)[N]) const noexcept;
    bool begin(std::uint64_t number) noexcept;
    void beginWhenDue(std::uint64_t chunkBytes) noexcept;
    void removeOld() noexcept;
    void setBudget(std::uint64_t historyBytes) noexcept;

    SizeLimits m_limits;
    std::uint64_t m_budget = UINT64_MAX; ///< bytes that events may take now
    std::uint64_t m_first = 0; ///< number of the oldest piece that is there
    std::uint64_t m_last = 0; ///< number of the piece that is written
    std::atomic<std::uint64_t> m_bytes{0}; ///< of all pieces that are there
    std::int64_t m_latestNs = 0; ///< of all events so far
    std::uint32_t m_stemBytes = 0; ///< length of the path before ".seg"
    Piece m_pieces[kMaxPieces] = {};
    unsigned m_current = 0; ///< which of the two writers is in use
    SegmentWriter m_writers[2];
    char m_stem[PATH_MAX] = {};
    char m_paths[2][PATH_MAX] = {};
};

} // namespace gd::session
