// SPDX-License-Identifier: Apache-2.0
#include "collector/session/ring.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gd::session {

using raw::ChunkHeader;
using raw::ChunkState;
using raw::ChunkUse;
using raw::Lane;

namespace {

constexpr int kPopulateWrite = 23; ///< MADV_POPULATE_WRITE, which older headers lack
constexpr std::uint32_t kColdChunks
    = 4; ///< usable at once: 1 MiB costs the opening thread some 0.1 ms to allocate
constexpr std::uint32_t kSlicesPerChunk = raw::kChunkBytes / raw::kSliceBytes;
/// Zeroed chunks kept in stock for the shared uses.
constexpr std::uint32_t kCleanStock = 3;

bool allocate(int fd, std::uint64_t from, std::uint64_t bytes) noexcept {
    const auto offset = static_cast<off_t>(from);
    const auto length = static_cast<off_t>(bytes);
    if (fallocate(fd, 0, offset, length) == 0) {
        return true;
    }
    return (errno == EOPNOTSUPP || errno == ENOSYS) && posix_fallocate(fd, offset, length) == 0;
}

} // namespace

bool Ring::open(const Options& options) noexcept {
    auto chunks = options.bytes / raw::kChunkBytes;
    chunks = chunks < kColdChunks ? kColdChunks : chunks > raw::kMaxRingChunks ? raw::kMaxRingChunks : chunks;
    m_fd = aboveStandardStreams(
        ::open(options.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (m_fd < 0) {
        return false;
    }
    m_file.remember(m_fd);
    // Tells sweepers that somebody records here, also across pid namespaces; where it is refused, the process
    // id must do.
    flock(m_fd, LOCK_SH | LOCK_NB);
    const std::uint64_t mapBytes = raw::kRingHeaderBytes + chunks * raw::kChunkBytes;
    void* map = MAP_FAILED;
    if (ftruncate(m_fd, static_cast<off_t>(mapBytes)) == 0
        && allocate(m_fd, 0, raw::kRingHeaderBytes + kColdChunks * std::uint64_t{raw::kChunkBytes})) {
        map = mmap(nullptr, mapBytes, PROT_READ | PROT_WRITE, MAP_SHARED, m_fd, 0);
    }
    if (map == MAP_FAILED) {
        const int reason = errno;
        close(m_fd);
        unlink(options.path);
        errno = reason;
        return false;
    }
    madvise(map, mapBytes, MADV_DONTFORK);
    m_map = static_cast<char*>(map);
    m_header = reinterpret_cast<raw::RingHeader*>(m_map);
    m_slots = reinterpret_cast<raw::RingSlot*>(m_map + raw::kRingSlotsOffset);
    m_marks = reinterpret_cast<raw::RingMarks*>(m_map + raw::kRingMarksOffset);
    m_chunks = m_map + raw::kRingHeaderBytes;
    m_chunkCount = static_cast<std::uint32_t>(chunks);
    m_claimed.store(kColdChunks);
    m_pid = options.pid;
    m_processKey = options.processKey;
    m_historyNextSequence.store(options.firstHistorySequence);
    m_chunkSequence[0].store(options.firstHistoryChunk);

    m_header->version = raw::kRawVersion;
    m_header->headerBytes = raw::kRingHeaderBytes;
    m_header->pid = options.pid;
    m_header->processKey = options.processKey;
    m_header->chunkBytes = raw::kChunkBytes;
    m_header->chunkCount = m_chunkCount;
    m_header->startNs = options.startNs;
    std::strncpy(m_header->segmentPath, options.segmentPath, sizeof m_header->segmentPath - 1);
    for (std::uint32_t i = 0; i < m_chunkCount; ++i) {
        historyCursor(i).store(kNotHistory, std::memory_order_relaxed);
    }
    for (std::uint32_t i = kColdChunks; i-- > 0;) {
        push(m_cold, i);
    }
    m_freeCount.store(kColdChunks);
    std::atomic_ref(m_header->magic).store(raw::kRingMagic, std::memory_order_release);
    return true;
}

bool Ring::prepare() noexcept {
    const auto touch = [this](std::uint32_t index) {
        // The first store to a page costs microseconds on a virtual machine even after populating it.
        madvise(chunkAt(index), raw::kChunkBytes, kPopulateWrite);
        for (std::uint32_t at = 0; at < raw::kChunkBytes; at += 4096) {
            std::atomic_ref(chunkAt(index)[at]).store(0, std::memory_order_relaxed);
        }
        push(m_clean, index);
        m_cleanCount.fetch_add(1, std::memory_order_relaxed);
    };
    for (std::uint32_t index = pop(m_cold); index != kNone; index = pop(m_cold)) {
        touch(index);
    }
    for (std::uint32_t index = claimFresh(); index != kNone; index = claimFresh()) {
        touch(index);
        m_freeCount.fetch_add(1, std::memory_order_relaxed);
    }
    return !m_outOfMemory.load(std::memory_order_relaxed);
}

// The next chunk that has no memory behind it yet, with memory; kNone when all have some or tmpfs is full.
std::uint32_t Ring::claimFresh() noexcept {
    if (m_claimed.load(std::memory_order_relaxed) >= m_chunkCount
        || m_outOfMemory.load(std::memory_order_relaxed)) {
        return kNone;
    }
    const std::uint32_t index = m_claimed.fetch_add(1, std::memory_order_relaxed);
    if (index >= m_chunkCount) {
        return kNone;
    }
    // The mapping itself first: the job may have closed the descriptor, or be closing it just now. Linux
    // before 5.14 cannot do that.
    const bool hasMemory = madvise(chunkAt(index), raw::kChunkBytes, kPopulateWrite) == 0
        || (errno == EINVAL && m_file.holdsFor(m_fd)
            && allocate(
                m_fd, raw::kRingHeaderBytes + index * std::uint64_t{raw::kChunkBytes}, raw::kChunkBytes));
    if (!hasMemory) {
        m_outOfMemory.store(true, std::memory_order_relaxed);
        return kNone;
    }
    return index;
}

void Ring::countDrop(Lane lane, std::uint64_t bytes) noexcept {
    raw::LossCounters& loss = m_header->loss[static_cast<int>(lane)];
    std::atomic_ref(loss.droppedRecords).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref(loss.droppedBytes).fetch_add(bytes, std::memory_order_relaxed);
}

// Free lists: Treiber stacks whose head carries a generation against ABA.

std::uint32_t Ring::pop(FreeList& list) noexcept {
    std::uint64_t head = list.head.load(std::memory_order_acquire);
    for (;;) {
        const auto index = static_cast<std::uint32_t>(head);
        if (index == kNone) {
            return kNone;
        }
        const std::uint64_t next
            = ((head >> 32) + 1) << 32 | m_notes[index].next.load(std::memory_order_relaxed);
        if (list.head.compare_exchange_weak(
                head, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
            return index;
        }
    }
}

void Ring::push(FreeList& list, std::uint32_t index) noexcept {
    std::uint64_t head = list.head.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        m_notes[index].next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
        next = ((head >> 32) + 1) << 32 | index;
    } while (
        !list.head.compare_exchange_weak(head, next, std::memory_order_acq_rel, std::memory_order_relaxed));
}

std::uint32_t Ring::acquire(bool clean) noexcept {
    std::uint32_t index = kNone;
    bool mustZero = false;
    if (clean) {
        index = pop(m_clean);
        if (index != kNone) {
            m_cleanCount.fetch_sub(1, std::memory_order_relaxed);
        } else if ((index = pop(m_dirty)) != kNone) {
            mustZero = true;
        }
    } else {
        index = pop(m_dirty);
        if (index == kNone && (index = pop(m_clean)) != kNone) {
            m_cleanCount.fetch_sub(1, std::memory_order_relaxed);
        }
    }
    if (index == kNone) {
        index = pop(m_cold);
    }
    if (index == kNone) {
        // The first milliseconds: the drainer is still preparing the pool. Better a slow chunk than a lost
        // record.
        return claimFresh();
    }
    if (mustZero) {
        std::memset(chunkAt(index), 0, raw::kChunkBytes);
    }
    const std::uint32_t left = m_freeCount.fetch_sub(1, std::memory_order_relaxed) - 1;
    if (left < m_chunkCount / 2 && m_wakeWord.exchange(1, std::memory_order_relaxed) == 0) {
        syscall(SYS_futex, &m_wakeWord, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
    return index;
}

void Ring::recycle(std::uint32_t index) noexcept {
    historyCursor(index).store(kNotHistory, std::memory_order_release);
    setState(index, ChunkState::Free);
    if (m_cleanCount.load(std::memory_order_relaxed) < kCleanStock) {
        std::memset(chunkAt(index), 0, raw::kChunkBytes);
        push(m_clean, index);
        m_cleanCount.fetch_add(1, std::memory_order_relaxed);
    } else {
        push(m_dirty, index);
    }
    m_freeCount.fetch_add(1, std::memory_order_relaxed);
}

void Ring::initHeader(
    ChunkHeader& header, Lane lane, raw::ThreadRef thread, std::uint32_t sequence) noexcept {
    header.version = raw::kRawVersion;
    header.lane = static_cast<std::uint8_t>(lane);
    header.isSlice = 0;
    header.pid = m_pid;
    header.thread = thread;
    header.processKey = m_processKey;
    header.chunkSequence = m_chunkSequence[static_cast<int>(lane)].fetch_add(1, std::memory_order_relaxed);
    header.firstRecordSequence = sequence;
    std::atomic_ref(header.usedBytes).store(0, std::memory_order_relaxed);
    header.checksum = 0;
}

// Event lane.

void Ring::adopt(ThreadLane& lane, ChunkHeader* chunk, std::uint32_t slotIndex, std::uint32_t bytes,
    bool isSlice) noexcept {
    lane.slot = slotIndex;
    lane.isSlice = isSlice;
    lane.chunk.store(chunk, std::memory_order_relaxed);
    lane.cursor.store(reinterpret_cast<char*>(chunk + 1), std::memory_order_relaxed);
    lane.end.store(reinterpret_cast<char*>(chunk) + bytes, std::memory_order_relaxed);
}

bool Ring::takeChunk(ThreadLane& lane, std::uint32_t sequence) noexcept {
    const std::uint32_t index = acquire(false);
    if (index == kNone) {
        return false;
    }
    auto* chunk = reinterpret_cast<ChunkHeader*>(chunkAt(index));
    initHeader(*chunk, Lane::Events, lane.thread, sequence);
    std::atomic_ref(chunk->magic).store(raw::kChunkMagic, std::memory_order_release);
    m_slots[index].use = static_cast<std::uint32_t>(ChunkUse::Owned);
    setState(index, ChunkState::Filling);
    adopt(lane, chunk, index, raw::kChunkBytes, false);
    return true;
}

bool Ring::takeSlice(ThreadLane& lane, std::uint32_t sequence) noexcept {
    SpinGuard guard(m_sliceLock);
    if (m_sliceChunk == kNone) {
        const std::uint32_t fresh = acquire(true);
        if (fresh == kNone) {
            return false;
        }
        m_notes[fresh].slicesOut.store(0, std::memory_order_relaxed);
        m_notes[fresh].slicesBack.store(0, std::memory_order_relaxed);
        m_notes[fresh].sealed.store(0, std::memory_order_relaxed);
        m_slots[fresh].use = static_cast<std::uint32_t>(ChunkUse::Slices);
        setState(fresh, ChunkState::Filling);
        m_sliceChunk = fresh;
    }
    const std::uint32_t index = m_sliceChunk;
    const std::uint32_t number = m_notes[index].slicesOut.fetch_add(1, std::memory_order_relaxed);
    auto* slice = reinterpret_cast<ChunkHeader*>(chunkAt(index) + number * std::size_t{raw::kSliceBytes});
    initHeader(*slice, Lane::Events, lane.thread, sequence);
    slice->isSlice = 1;
    std::atomic_ref(slice->magic).store(raw::kChunkMagic, std::memory_order_release);
    adopt(lane, slice, index, raw::kSliceBytes, true);
    if (number + 1 == kSlicesPerChunk) {
        m_notes[index].sealed.store(1, std::memory_order_relaxed);
        m_sliceChunk = kNone;
    }
    return true;
}

void Ring::giveUp(ThreadLane& lane) noexcept {
    if (lane.chunk.load(std::memory_order_relaxed) == nullptr) {
        return;
    }
    const std::uint32_t index = lane.slot;
    if (lane.isSlice) {
        SpinGuard guard(m_sliceLock);
        m_notes[index].slicesBack.fetch_add(1, std::memory_order_relaxed);
        if (slicesDone(index)) {
            setState(index, ChunkState::Full);
        }
    } else {
        setState(index, ChunkState::Full);
    }
    lane.chunk.store(nullptr, std::memory_order_relaxed);
    lane.cursor.store(nullptr, std::memory_order_relaxed);
    lane.end.store(nullptr, std::memory_order_relaxed);
}

bool Ring::slicesDone(std::uint32_t index) noexcept {
    SlotNote& note = m_notes[index];
    return note.sealed.load(std::memory_order_relaxed) != 0
        && note.slicesBack.load(std::memory_order_relaxed) == note.slicesOut.load(std::memory_order_relaxed);
}

bool Ring::nextEventChunk(ThreadLane& lane, std::uint32_t sequence) noexcept {
    SpinGuard guard(lane.lock);
    if (lane.revoked.load(std::memory_order_relaxed) != 0) {
        lane.wantsOwnChunk = false;
    } else if (lane.chunk.load(std::memory_order_relaxed) != nullptr) {
        lane.wantsOwnChunk = true;
    }
    giveUp(lane);
    lane.revoked.store(0, std::memory_order_relaxed);
    // Many busy threads on a small pool would each hold a chunk that is mostly empty: slices are frugal.
    const bool plenty = m_freeCount.load(std::memory_order_relaxed) > m_chunkCount / 4;
    return (lane.wantsOwnChunk && plenty && takeChunk(lane, sequence)) || takeSlice(lane, sequence);
}

void Ring::release(ThreadLane& lane) noexcept {
    SpinGuard guard(lane.lock);
    giveUp(lane);
    lane.wantsOwnChunk = false;
}

bool Ring::reclaim(ThreadLane& lane, bool (*fenceAll)() noexcept) noexcept {
    lane.revoked.store(1, std::memory_order_seq_cst);
    if (!fenceAll()) {
        return false;
    }
    SpinGuard guard(lane.lock);
    if (lane.revoked.load(std::memory_order_relaxed) == 0) {
        return true; // the owner was changing its chunk just then, and may be storing into the new one
    }
    // After the fence a thread that was not busy sees `revoked` in its next append and waits for this lock
    // there.
    if (lane.busy.load(std::memory_order_acquire) != 0) {
        return false;
    }
    giveUp(lane);
    lane.wantsOwnChunk = false;
    lane.revoked.store(0, std::memory_order_release);
    return true;
}

void Ring::sealSlices() noexcept {
    SpinGuard guard(m_sliceLock);
    if (m_sliceChunk == kNone) {
        return;
    }
    const std::uint32_t index = m_sliceChunk;
    m_sliceChunk = kNone;
    m_notes[index].sealed.store(1, std::memory_order_relaxed);
    if (slicesDone(index)) {
        setState(index, ChunkState::Full);
    }
}

Ring::Mark Ring::mark() const noexcept {
    return {{m_chunkSequence[0].load(std::memory_order_acquire),
        m_chunkSequence[1].load(std::memory_order_acquire)}};
}

bool Ring::holdsBefore(const Mark& mark) noexcept {
    for (std::uint32_t i = 0; i < m_chunkCount; ++i) {
        if (std::atomic_ref(m_slots[i].state).load(std::memory_order_acquire)
            == static_cast<std::uint32_t>(ChunkState::Free)) {
            continue;
        }
        SpinGuard guard(m_sliceLock); // a chunk of slices is Filling before its first slice has a header
        const auto* first = reinterpret_cast<const ChunkHeader*>(chunkAt(i));
        if (first->chunkSequence < mark.begun[first->lane & 1]) {
            return true;
        }
    }
    return false;
}

// History lane. The cursor of a chunk is one word: records handed out << 32 | bytes handed out. One fetch_add
// gives a record its place and its sequence together.

bool Ring::openHistoryChunk() noexcept {
    SpinGuard guard(m_historyOpenLock);
    if (m_history.load(std::memory_order_acquire) != kNone) {
        return true;
    }
    const std::uint32_t index = acquire(true);
    if (index == kNone) {
        return false;
    }
    auto* chunk = reinterpret_cast<ChunkHeader*>(chunkAt(index));
    // Dropped records use up their numbers.
    const std::uint32_t first = m_historyNextSequence.load(std::memory_order_relaxed)
        + m_historyDropped.exchange(0, std::memory_order_relaxed);
    initHeader(*chunk, Lane::History, 0, first);
    std::atomic_ref(chunk->usedBytes).store(kHistoryPayload, std::memory_order_relaxed);
    std::atomic_ref(chunk->magic).store(raw::kChunkMagic, std::memory_order_release);
    m_slots[index].use = static_cast<std::uint32_t>(ChunkUse::History);
    m_notes[index].sealed.store(0, std::memory_order_relaxed);
    setState(index, ChunkState::Filling);
    historyCursor(index).store(0, std::memory_order_release);
    m_history.store(index, std::memory_order_release);
    return true;
}

void Ring::sealChunk(std::uint32_t index, std::uint32_t usedBytes, std::uint32_t records) noexcept {
    auto* chunk = reinterpret_cast<ChunkHeader*>(chunkAt(index));
    std::atomic_ref(chunk->usedBytes).store(usedBytes, std::memory_order_release);
    m_historyNextSequence.store(chunk->firstRecordSequence + records, std::memory_order_relaxed);
    m_history.store(kNone, std::memory_order_release);
    setState(index, ChunkState::Full);
}

char* Ring::reserveHistory(std::uint32_t bytes, std::uint32_t& sequence) noexcept {
    constexpr std::uint64_t kOneRecord = std::uint64_t{1} << 32;
    for (unsigned attempts = 0; attempts < 1000; ++attempts) {
        const std::uint32_t index = m_history.load(std::memory_order_acquire);
        if (index == kNone) {
            if (!openHistoryChunk()) {
                return nullptr;
            }
            continue;
        }
        const std::uint64_t old
            = historyCursor(index).fetch_add(kOneRecord | bytes, std::memory_order_acq_rel);
        const auto offset = static_cast<std::uint32_t>(old);
        auto* chunk = reinterpret_cast<ChunkHeader*>(chunkAt(index));
        if (offset + bytes <= kHistoryPayload) {
            sequence = chunk->firstRecordSequence + static_cast<std::uint32_t>(old >> 32);
            return reinterpret_cast<char*>(chunk + 1) + offset;
        }
        if (offset <= kHistoryPayload) {
            // The first one that does not fit closes the chunk; all before it fitted.
            sealChunk(index, offset, static_cast<std::uint32_t>(old >> 32));
            continue;
        }
        for (unsigned spins = 0; m_history.load(std::memory_order_acquire) == index && spins < 1000;
             ++spins) {
            sched_yield();
        }
    }
    return nullptr;
}

bool Ring::storeHistory(
    void* record, std::size_t recordBytes, const void* tail, std::size_t tailBytes) noexcept {
    const std::size_t total = recordBytes + (tailBytes + 7) / 8 * 8;
    auto* header = static_cast<raw::RecordHeader*>(record);
    std::uint32_t sequence = 0;
    char* to = total <= raw::kMaxRecordBytes ? reserveHistory(static_cast<std::uint32_t>(total), sequence)
                                             : nullptr;
    if (to == nullptr) {
        m_historyDropped.fetch_add(1, std::memory_order_relaxed);
        countDrop(Lane::History, total);
        return false;
    }
    std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(to));
    const std::uint64_t size8 = total / 8;
    const std::uint64_t sequencePart = std::uint64_t{sequence} << 32;
    // Until the commit `kind` says how long the hole is, so that a reader after a kill finds the next record.
    word.store(sequencePart | raw::kReservedRecordBit | size8, std::memory_order_relaxed);
    std::memcpy(to + 8, static_cast<const char*>(record) + 8, recordBytes - 8);
    if (tailBytes != 0) {
        std::memcpy(to + recordBytes, tail, tailBytes);
    }
    word.store(sequencePart | size8 << 16 | header->kind, std::memory_order_release);
    std::atomic_ref(m_header->historyRecords).fetch_add(1, std::memory_order_relaxed);
    return true;
}

void Ring::sealHistory() noexcept {
    const std::uint32_t index = m_history.load(std::memory_order_acquire);
    if (index == kNone) {
        return;
    }
    const std::uint64_t old = historyCursor(index).fetch_add(kHistoryPayload + 8, std::memory_order_acq_rel);
    const auto offset = static_cast<std::uint32_t>(old);
    if (offset <= kHistoryPayload) {
        sealChunk(index, offset, static_cast<std::uint32_t>(old >> 32));
    }
}

} // namespace gd::session
