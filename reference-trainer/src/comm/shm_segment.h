// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/signature.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gdt::comm {

/// What a rank waits for while it sleeps, for the others to see whether anybody can still move. Read as a
/// seqlock: `epoch` is odd while it is written, and changes with every new wait.
struct Waiting {
    std::atomic<std::uint32_t> epoch;
    std::atomic<std::uint32_t> blocked; ///< 0 runs, 1 in a collective, 2 in sends and receives
    std::atomic<std::uint64_t> sendsTo; ///< bit per rank
    std::atomic<std::uint64_t> receivesFrom;
    std::atomic<std::uint32_t> round; ///< collective: of the round that is waited for
    std::atomic<std::uint32_t> bellSeen; ///< transfers: the bell before the last look at the channels
    Signature signature; ///< of the collective, or of one pending transfer
};

/// One rank's part of the segment; its data slot lies behind all channels. Zero-filled memory is a valid
/// start. Numbers of rounds and pieces wrap; they are compared by their difference.
struct alignas(64) RankCard {
    std::atomic<std::uint32_t> pid;
    std::atomic<std::uint32_t> posted; ///< last round whose signature and data are in place; a futex
    std::atomic<std::uint32_t> consumed; ///< last round that this rank has read from everybody; a futex
    std::atomic<std::uint32_t> bell; ///< futex: changes when a channel from or to this rank moves
    std::atomic<std::uint32_t> sleepers; ///< ranks that sleep on `posted` or `consumed`
    std::atomic<std::uint32_t> bellSleeper;
    Signature signature;
    Waiting waiting;
};

/// Messages from one rank to another, one piece at a time.
struct alignas(64) Channel {
    std::atomic<std::uint32_t> produced; ///< pieces put
    std::atomic<std::uint32_t> taken; ///< pieces taken
    Signature signature; ///< of the message that the present piece belongs to
};

struct alignas(64) SegmentHeader {
    std::uint64_t magic;
    std::uint32_t size;
    std::atomic<std::uint32_t> spoken; ///< 1: a rank says why the job ends
    std::uint64_t slotBytes;
    std::uint64_t channelBytes;
    std::uint64_t hash;
    std::atomic<std::uint32_t> ready; ///< set last by rank 0
    std::atomic<std::uint32_t> joined; ///< futex
    std::atomic<std::uint32_t> failed; ///< 0 none, 1 being written, 2 reason is complete
    char reason[512];
};

/// The mapped segment of one communicator. Rank 0 creates it, in memory that has no name in any folder, and
/// tells the others where among its own open files they find it: nothing stays behind, even after a kill. A
/// rank holds a lock on one byte of the segment, which the kernel drops when the process ends: so a dead peer
/// is seen, a zombie too.
class ShmSegment {
public:
    ShmSegment() = default;
    ~ShmSegment();
    ShmSegment(const ShmSegment&) = delete;
    ShmSegment& operator=(const ShmSegment&) = delete;

    /// Rank 0 of `size`. False, with one sentence in `error`, when there is no memory for it.
    [[nodiscard]] bool create(int size, std::size_t slotBytes, std::size_t channelBytes, std::string& error);
    /// The others. False when `name` is no live segment.
    [[nodiscard]] bool attach(const std::string& name);
    /// After create() or attach(): takes the place of `rank` and waits for all. False, with one sentence.
    [[nodiscard]] bool join(int rank, int size, std::int64_t deadlineNs, std::string& error);
    /// Of rank 0, while it lives: for attach().
    [[nodiscard]] const std::string& name() const { return m_name; }

    [[nodiscard]] SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(m_base); }
    [[nodiscard]] RankCard& card(int rank) const;
    [[nodiscard]] std::byte* slot(int rank) const;
    [[nodiscard]] Channel& channel(int from, int to) const;
    [[nodiscard]] std::byte* channelData(int from, int to) const;
    [[nodiscard]] bool alive(int rank) const;

private:
    [[nodiscard]] bool map(int descriptor, std::size_t bytes);
    [[nodiscard]] bool lockRank(int rank) const;
    [[nodiscard]] std::size_t ranks() const { return header().size; }
    void close();

    int m_descriptor = -1;
    std::byte* m_base = nullptr;
    std::size_t m_bytes = 0;
    std::string m_name;
};

[[nodiscard]] std::int64_t monotonicNs();
/// Sleeps until somebody wakes the word or it differs from `seen`, at most some milliseconds: a peer that
/// dies wakes nobody, so the sleep is short enough to look for one now and then.
void sleepOn(std::atomic<std::uint32_t>& word, std::uint32_t seen);
void wakeAll(std::atomic<std::uint32_t>& word);
void pauseMs(long ms);

} // namespace gdt::comm
