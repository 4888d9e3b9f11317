// SPDX-License-Identifier: Apache-2.0
#include "collector/session/drainer.h"

#include "collector/session/session.h"
#include "collector/session/system.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gd::session {

using raw::ChunkHeader;
using raw::ChunkState;
using raw::ChunkUse;
using raw::Lane;

namespace {

constexpr std::int64_t kPollNs = 2'000'000;
constexpr std::int64_t kLongestPollNs = 16'000'000;
constexpr unsigned kQuietPolls = 50; ///< polls without a chunk before the pace slows down
constexpr std::int64_t kIdleAfterNs = 2'000'000'000;
constexpr std::int64_t kHousekeepingNs = 100'000'000;

bool fenceAllThreads() noexcept {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void sleepOn(std::atomic<std::uint32_t>& word, std::int64_t ns) noexcept {
    waitWhile(word, 0, ns);
    word.store(0, std::memory_order_relaxed);
}

struct Contents {
    std::uint64_t records = 0;
    std::int64_t untilNs = 0; ///< events: latest time in it
};

/// Every event begins with a time; those that last, with their end after it.
std::int64_t endOf(const char* record, std::uint16_t kind) noexcept {
    switch (static_cast<raw::RecordKind>(kind)) {
    case raw::RecordKind::ApiCall:
    case raw::RecordKind::Kernel:
    case raw::RecordKind::Memcpy:
    case raw::RecordKind::Memset:
    case raw::RecordKind::GraphTrace:
    case raw::RecordKind::Sync:
        record += sizeof(std::int64_t);
        break;
    default:
        break;
    }
    std::int64_t timeNs = 0;
    std::memcpy(&timeNs, record + sizeof(raw::RecordHeader), sizeof timeNs);
    return timeNs;
}

Contents lookInto(const char* payload, std::uint32_t bytes, bool isEvents) noexcept {
    Contents found;
    for (std::uint32_t at = 0; at + sizeof(raw::RecordHeader) <= bytes;) {
        raw::RecordHeader header{};
        std::memcpy(&header, payload + at, sizeof header);
        if (header.size8 == 0) {
            break;
        }
        if (isEvents && header.size8 >= 3) {
            found.untilNs = std::max(found.untilNs, endOf(payload + at, header.kind));
        }
        at += header.size8 * 8u;
        ++found.records;
    }
    return found;
}

} // namespace

bool Drainer::start() noexcept {
    return startThread("gd-drain", &Drainer::run, this);
}

void* Drainer::run(void* self) noexcept {
    static_cast<Drainer*>(self)->loop();
    return nullptr;
}

void Drainer::loop() noexcept {
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    Ring& ring = m_session.ring;
    const auto does = [&ring](raw::Doing what) noexcept {
        std::atomic_ref(ring.marks().drainer)
            .store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
    };
    does(raw::Doing::Begin);
    if (!ring.prepare()) {
        writeIssue(m_session, raw::IssueSeverity::Info, "ring_smaller",
            "shared memory ran out while the ring was being allocated: its pool stays smaller than asked "
            "for");
    }
    unsigned quiet = 0;
    std::int64_t pollNs = kPollNs;
    std::int64_t nextHousekeepingNs = 0;
    for (;;) {
        does(raw::Doing::Chunks);
        if (drainOnce() != 0) {
            quiet = 0;
            pollNs = kPollNs;
        } else if (++quiet > kQuietPolls && pollNs < kLongestPollNs) {
            pollNs *= 2;
        }
        const std::int64_t nowNs = monotonicNs();
        if (nowNs >= nextHousekeepingNs) {
            nextHousekeepingNs = nowNs + kHousekeepingNs;
            reclaimIdle(nowNs, false);
            noteLosses(nowNs);
        }
        if (beginFlush(nowNs)) {
            continue;
        }
        endFlush(nowNs);
        does(raw::Doing::Rest);
        sleepOn(ring.wakeWord(), m_isFlushing ? kPollNs : pollNs);
    }
}

// True: what is to be flushed has just been handed over.
bool Drainer::beginFlush(std::int64_t nowNs) noexcept {
    const std::uint32_t wanted = m_session.flushWanted.load(std::memory_order_acquire);
    if (wanted == m_flushSeen) {
        return false;
    }
    m_flushSeen = wanted;
    m_isFlushing = true;
    noteLosses(nowNs);
    // In this order: all that was begun before the mark is then handed over, or asked for.
    Ring& ring = m_session.ring;
    m_flushMark = ring.mark();
    ring.sealHistory();
    ring.sealSlices();
    reclaimIdle(nowNs, true);
    return true;
}

// Some of it may be with a thread that was inside the collector, or before a writer's commit.
void Drainer::endFlush(std::int64_t nowNs) noexcept {
    if (!m_isFlushing) {
        return;
    }
    if (m_session.ring.holdsBefore(m_flushMark)) {
        reclaimIdle(nowNs, false);
        return;
    }
    m_isFlushing = false;
    std::atomic_ref(m_session.ring.header().flushed).store(m_flushSeen, std::memory_order_release);
}

unsigned Drainer::drainOnce() noexcept {
    Ring& ring = m_session.ring;
    unsigned count = 0;
    for (std::uint32_t i = 0; i < ring.chunkCount(); ++i) {
        const std::uint32_t state = std::atomic_ref(ring.slot(i).state).load(std::memory_order_acquire);
        if (state == static_cast<std::uint32_t>(ChunkState::Full)) {
            m_full[count++] = i;
        }
    }
    // In the order in which they were begun: where only the latest events are kept, the oldest go first.
    std::sort(m_full, m_full + count, [&ring](std::uint32_t left, std::uint32_t right) {
        const auto sequence = [&ring](std::uint32_t index) {
            return reinterpret_cast<const ChunkHeader*>(ring.chunkAt(index))->chunkSequence;
        };
        return sequence(left) < sequence(right);
    });
    unsigned written = 0;
    for (unsigned i = 0; i < count; ++i) {
        written += drain(m_full[i]) ? 1 : 0;
    }
    return written;
}

bool Drainer::drain(std::uint32_t index) noexcept {
    if (m_session.stopped.load(std::memory_order_relaxed) != 0) {
        return false; // what is in the ring stays there for the importer
    }
    bool done = false;
    switch (static_cast<ChunkUse>(m_session.ring.slot(index).use)) {
    case ChunkUse::History:
        done = drainHistory(index);
        break;
    case ChunkUse::Slices:
        done = drainSlices(index);
        break;
    case ChunkUse::Owned: {
        const auto* chunk = reinterpret_cast<const ChunkHeader*>(m_session.ring.chunkAt(index));
        done = write(*chunk, reinterpret_cast<const char*>(chunk + 1));
        break;
    }
    }
    if (done) {
        m_session.ring.recycle(index);
    }
    return done;
}

bool Drainer::drainHistory(std::uint32_t index) noexcept {
    const auto* chunk = reinterpret_cast<const ChunkHeader*>(m_session.ring.chunkAt(index));
    char* payload = m_session.ring.chunkAt(index) + sizeof(ChunkHeader);
    // A writer may still be between reserving and committing: look again at the next poll.
    std::uint32_t& at = m_committedBytes[index];
    while (at < chunk->usedBytes) {
        std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(payload + at));
        const auto size8 = static_cast<std::uint16_t>(word.load(std::memory_order_acquire) >> 16);
        if (size8 == 0) {
            return false;
        }
        at += size8 * 8u;
    }
    if (!write(*chunk, payload)) {
        return false;
    }
    at = 0;
    return true;
}

bool Drainer::drainSlices(std::uint32_t index) noexcept {
    const char* base = m_session.ring.chunkAt(index);
    for (std::uint32_t offset = 0; offset < raw::kChunkBytes; offset += raw::kSliceBytes) {
        const auto* slice = reinterpret_cast<const ChunkHeader*>(base + offset);
        if (slice->magic == raw::kChunkMagic && !write(*slice, reinterpret_cast<const char*>(slice + 1))) {
            return false;
        }
    }
    return true;
}

bool Drainer::write(const ChunkHeader& header, const char* payload) noexcept {
    raw::RingHeader& ringHeader = m_session.ring.header();
    const bool isEvents = header.lane == static_cast<std::uint8_t>(Lane::Events);
    const auto [records, untilNs] = lookInto(payload, header.usedBytes, isEvents);
    SegmentWriter& history = m_session.segment;
    EventSegments& events = m_session.events;
    if (!isEvents && isHistoryFull(sizeof header + header.usedBytes)) {
        raw::LossCounters& loss = ringHeader.loss[static_cast<int>(Lane::History)];
        std::atomic_ref(loss.droppedRecords).fetch_add(records, std::memory_order_relaxed);
        std::atomic_ref(loss.droppedBytes).fetch_add(header.usedBytes, std::memory_order_relaxed);
        return true;
    }
    const bool done = isEvents
        ? events.append(header, payload, std::min(untilNs, monotonicNs()), history.bytes())
        : history.append(header, payload);
    if (!done) {
        std::atomic_ref(ringHeader.loss[header.lane].failedWrites).fetch_add(1, std::memory_order_relaxed);
        char why[PATH_MAX + 160];
        formatInto(why, "cannot write ", isEvents ? events.path() : m_session.identity.segmentPath, ": ",
            errorText(isEvents ? events.error() : history.error()));
        writeIssue(m_session, raw::IssueSeverity::DataLoss, "segment_write_failed", why);
        stopCollecting(m_session, why);
        history
            .close(); // what they hold of a disk that is full, or of a folder that was removed, is given back
        events.close();
        return false;
    }
    if (isEvents) {
        std::atomic_ref(ringHeader.eventRecords).fetch_add(records, std::memory_order_relaxed);
        sayFirstRemoval();
    } else {
        std::atomic_ref(ringHeader.segmentBytes).store(history.bytes(), std::memory_order_release);
    }
    return true;
}

// Whether `bytes` more of history would pass its share of the size limit. From then on nothing of it is
// written: what is said about that stands in the ring.
bool Drainer::isHistoryFull(std::uint64_t bytes) noexcept {
    const std::uint64_t limit = m_session.events.limits().historyBytes();
    std::atomic_ref full(m_session.ring.header().historyFull);
    if (limit != 0 && m_session.segment.bytes() + bytes > limit) {
        full.store(1, std::memory_order_relaxed);
    }
    return full.load(std::memory_order_relaxed) != 0;
}

void Drainer::sayFirstRemoval() noexcept {
    const SizeLimits& limits = m_session.events.limits();
    if (m_saidRemoval || m_session.events.removed() == 0) {
        return;
    }
    m_saidRemoval = true;
    const bool wanted = limits.keptBytes != 0 || limits.keptNs != 0;
    writeIssue(m_session, wanted ? raw::IssueSeverity::Info : raw::IssueSeverity::DataLoss,
        "older_events_dropped",
        wanted
            ? "only the latest events of this process were kept, as --keep-last asked; its history is "
              "complete"
            : "the size limit of this process was reached (--max-size): its oldest events were dropped, the "
              "latest and its history were kept");
}

void Drainer::reclaimIdle(std::int64_t nowNs, bool all) noexcept {
    for (ThreadState* thread = m_session.threads.load(std::memory_order_acquire); thread != nullptr;
         thread = thread->next.load(std::memory_order_acquire)) {
        ThreadLane& lane = thread->lane;
        const ChunkHeader* chunk = lane.chunk.load(std::memory_order_acquire);
        if (chunk == nullptr) {
            continue;
        }
        // Only a hint: the chunk may change hands meanwhile, then another idle time starts.
        const auto used
            = std::atomic_ref(const_cast<std::uint32_t&>(chunk->usedBytes)).load(std::memory_order_relaxed);
        if (chunk != lane.seenChunk || used != lane.seenUsedBytes) {
            lane.seenChunk = chunk;
            lane.seenUsedBytes = used;
            lane.seenSinceNs = nowNs;
        }
        const bool isAsked = lane.revoked.load(std::memory_order_relaxed) != 0;
        if (all || isAsked || nowNs - lane.seenSinceNs > kIdleAfterNs) {
            m_session.ring.reclaim(lane, &fenceAllThreads);
        }
    }
}

void Drainer::noteLosses(std::int64_t nowNs) noexcept {
    for (unsigned lane = 0; lane < 2; ++lane) {
        raw::LossCounters& loss = m_session.ring.header().loss[lane];
        const std::uint64_t dropped = std::atomic_ref(loss.droppedRecords).load(std::memory_order_relaxed);
        if (dropped != m_losses[lane] && m_session.ring.freeChunks() > 2) {
            m_losses[lane] = dropped;
            raw::Loss record{};
            record.timeNs = nowNs;
            record.lane = lane;
            record.droppedRecords = dropped;
            m_session.ring.appendHistory(record);
        }
    }
}

} // namespace gd::session
