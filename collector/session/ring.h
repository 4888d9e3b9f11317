// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/chunk.h"
#include "collector/raw/ring_header.h"
#include "collector/session/spin_lock.h"
#include "collector/session/system.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gd::session {

/// Where one thread's event records go. Owned by its thread; the drainer may take the chunk away while `busy`
/// is 0 (see Ring::reclaim). Lives in a ThreadState.
struct alignas(64) ThreadLane {
    std::atomic<std::uint32_t> busy{0}; ///< the thread is inside the collector; also the re-entry guard
    std::atomic<std::uint32_t> revoked{0}; ///< hand the chunk back at the next record
    std::uint32_t sequence = 0; ///< of the next event record
    raw::ThreadRef thread = 0;
    std::atomic<char*> cursor{nullptr};
    std::atomic<char*> end{nullptr};
    std::atomic<raw::ChunkHeader*> chunk{nullptr};
    SpinLock lock; ///< chunk changes: the owner's slow path against the drainer
    std::uint32_t slot = 0;
    bool isSlice = false;
    bool wantsOwnChunk = false; ///< a slice was filled
    // The drainer's notes about idleness.
    const raw::ChunkHeader* seenChunk = nullptr;
    std::uint32_t seenUsedBytes = 0;
    std::int64_t seenSinceNs = 0;
};

/// The pool of warm chunks on tmpfs that user threads store records into, and nothing else: they never wait,
/// and a full pool means "drop and count". Everything needed after a SIGKILL is in the mapped file
/// (collector/raw). Free lists and the like are private memory. Not copied into forked children
/// (MADV_DONTFORK); a child opens a ring of its own.
class Ring {
public:
    struct Options {
        const char* path = nullptr;
        const char* segmentPath = nullptr;
        std::uint64_t bytes = 16u << 20;
        std::uint32_t pid = 0;
        std::uint64_t processKey = 0;
        std::int64_t startNs = 0;
        std::uint32_t firstHistorySequence = 0; ///< records already written to the segment by the opener
        std::uint64_t firstHistoryChunk = 0;
    };
    /// Creates and maps the file with its first chunks allocated, so that records can go there at once; the
    /// rest is for prepare(). False: no file (errno says why).
    bool open(const Options& options) noexcept;
    /// Allocates and touches the remaining chunks, to be called once by the drainer's thread. Chunks become
    /// available one by one. When tmpfs is full the pool stays smaller: false.
    bool prepare() noexcept;

    /// Appends a record to the calling thread's events. The caller holds `lane.busy`. False: dropped and
    /// counted.
    template <raw::Record R> bool append(ThreadLane& lane, R& record) noexcept {
        record.header.kind = static_cast<std::uint16_t>(R::kKind);
        record.header.size8 = sizeof(R) / 8;
        record.header.sequence = lane.sequence++;
        // The drainer nulls cursor and end before it clears `revoked`: read in the opposite order.
        const bool revoked = lane.revoked.load(std::memory_order_acquire) != 0;
        char* to = lane.cursor.load(std::memory_order_relaxed);
        if (revoked || lane.end.load(std::memory_order_relaxed) - to < static_cast<std::ptrdiff_t>(sizeof(R)))
            [[unlikely]] {
            if (!nextEventChunk(lane, record.header.sequence)) {
                countDrop(raw::Lane::Events, sizeof(R));
                return false;
            }
            to = lane.cursor.load(std::memory_order_relaxed);
        }
        std::memcpy(to, &record, sizeof(R));
        lane.cursor.store(to + sizeof(R), std::memory_order_relaxed);
        raw::ChunkHeader* chunk = lane.chunk.load(std::memory_order_relaxed);
        std::atomic_ref(chunk->usedBytes)
            .store(static_cast<std::uint32_t>(to + sizeof(R) - reinterpret_cast<char*>(chunk + 1)),
                std::memory_order_release);
        return true;
    }

    /// Appends a record and `tailBytes` bytes behind it (zero-padded to 8) to the history lane.
    template <raw::Record R>
    bool appendHistory(R& record, const void* tail = nullptr, std::size_t tailBytes = 0) noexcept {
        record.header.kind = static_cast<std::uint16_t>(R::kKind);
        record.header.size8 = 0;
        return storeHistory(&record, sizeof(R), tail, tailBytes);
    }

    /// The owner gives its chunk or slice up (thread exit).
    void release(ThreadLane& lane) noexcept;
    /// The drainer takes the chunk of an idle or asked thread. False: the thread is inside the collector just
    /// now; it will hand the chunk over itself at its next record, or a later call takes it. `fenceAll` must
    /// make every thread's earlier stores visible (membarrier); without it only asking is possible.
    bool reclaim(ThreadLane& lane, bool (*fenceAll)() noexcept) noexcept;
    /// Hands the current shared chunks to the drainer, even when they are not full.
    void sealHistory() noexcept;
    void sealSlices() noexcept;
    /// Chunks and slices begun so far, by Lane.
    struct Mark {
        std::uint64_t begun[2];
    };
    Mark mark() const noexcept;
    /// Whether something that was begun before `mark` is still in the pool. For the drainer's thread.
    bool holdsBefore(const Mark& mark) noexcept;

    // For the drainer.
    std::uint32_t chunkCount() const noexcept { return m_chunkCount; }
    raw::RingSlot& slot(std::uint32_t index) noexcept { return m_slots[index]; }
    char* chunkAt(std::uint32_t index) noexcept {
        return m_chunks + static_cast<std::size_t>(index) * raw::kChunkBytes;
    }
    raw::RingHeader& header() noexcept { return *m_header; }
    raw::RingMarks& marks() noexcept { return *m_marks; }
    /// All slices of this chunk that were handed out are given back.
    bool slicesDone(std::uint32_t index) noexcept;
    /// The contents are in the segment: the chunk is free again.
    void recycle(std::uint32_t index) noexcept;
    std::uint32_t freeChunks() const noexcept { return m_freeCount.load(std::memory_order_relaxed); }
    /// Word a drainer sleeps on; it changes when half of the pool is used up.
    std::atomic<std::uint32_t>& wakeWord() noexcept { return m_wakeWord; }
    void countDrop(raw::Lane lane, std::uint64_t bytes) noexcept;

private:
    static constexpr std::uint32_t kNone = 0xffffffff;
    /// Larger than any chunk: a thread that looks at a chunk which stopped being the history chunk finds it
    /// full.
    static constexpr std::uint64_t kNotHistory = 0x80000;
    static constexpr std::uint32_t kHistoryPayload = raw::kChunkBytes - sizeof(raw::ChunkHeader);

    struct FreeList {
        std::atomic<std::uint64_t> head{kNone}; ///< generation << 32 | index
    };
    /// Private per-chunk data.
    struct SlotNote {
        std::atomic<std::uint32_t> next{kNone};
        std::atomic<std::uint32_t> slicesOut{0};
        std::atomic<std::uint32_t> slicesBack{0};
        std::atomic<std::uint32_t> sealed{0};
    };

    bool nextEventChunk(ThreadLane& lane, std::uint32_t sequence) noexcept;
    bool takeSlice(ThreadLane& lane, std::uint32_t sequence) noexcept;
    bool takeChunk(ThreadLane& lane, std::uint32_t sequence) noexcept;
    void giveUp(ThreadLane& lane) noexcept;
    void adopt(ThreadLane& lane, raw::ChunkHeader* chunk, std::uint32_t slot, std::uint32_t bytes,
        bool isSlice) noexcept;
    bool storeHistory(
        void* record, std::size_t recordBytes, const void* tail, std::size_t tailBytes) noexcept;
    char* reserveHistory(std::uint32_t bytes, std::uint32_t& sequence) noexcept;
    bool openHistoryChunk() noexcept;
    void sealChunk(std::uint32_t index, std::uint32_t usedBytes, std::uint32_t records) noexcept;

    std::uint32_t acquire(bool clean) noexcept;
    std::uint32_t claimFresh() noexcept;
    std::uint32_t pop(FreeList& list) noexcept;
    void push(FreeList& list, std::uint32_t index) noexcept;
    void initHeader(
        raw::ChunkHeader& header, raw::Lane lane, raw::ThreadRef thread, std::uint32_t sequence) noexcept;
    void setState(std::uint32_t index, raw::ChunkState state) noexcept {
        std::atomic_ref(m_slots[index].state)
            .store(static_cast<std::uint32_t>(state), std::memory_order_release);
    }
    std::atomic_ref<std::uint64_t> historyCursor(std::uint32_t index) noexcept {
        // The two counters are one word to us: bytes in the low half, records in the high half.
        void* word = &m_slots[index].reservedBytes;
        return std::atomic_ref(*static_cast<std::uint64_t*>(word));
    }

    int m_fd = -1; ///< locked (shared) for as long as the process lives
    FileIdentity m_file;
    char* m_map = nullptr;
    raw::RingHeader* m_header = nullptr;
    raw::RingSlot* m_slots = nullptr;
    raw::RingMarks* m_marks = nullptr;
    char* m_chunks = nullptr;
    std::uint32_t m_chunkCount = 0;
    std::atomic<std::uint32_t> m_claimed{0}; ///< chunks that somebody has asked memory for
    std::atomic<bool> m_outOfMemory{false};
    std::uint32_t m_pid = 0;
    std::uint64_t m_processKey = 0;

    FreeList m_clean; ///< zeroed and touched: for chunks that several threads write
    FreeList m_dirty; ///< touched, old contents: for a thread's own chunk
    FreeList m_cold; ///< zeroed, not touched yet: only until prepare() is through
    std::atomic<std::uint32_t> m_freeCount{0};
    std::atomic<std::uint32_t> m_cleanCount{0};
    std::atomic<std::uint32_t> m_wakeWord{0};

    alignas(64) std::atomic<std::uint32_t> m_history{kNone};
    std::atomic<std::uint64_t> m_chunkSequence[2] = {};
    std::atomic<std::uint32_t> m_historyNextSequence{0};
    std::atomic<std::uint32_t> m_historyDropped{0}; ///< since the last history chunk was opened
    SpinLock m_historyOpenLock;
    SpinLock m_sliceLock;
    std::uint32_t m_sliceChunk = kNone;
    SlotNote m_notes[raw::kMaxRingChunks];
};

} // namespace gd::session
