// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/shm_communicator.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace gdt::comm {

/// What a rank says it does in one round. Equal on all ranks, or the round fails.
struct Signature {
    std::uint64_t operation = 0; ///< operations of the communicator, from 1
    std::uint64_t count = 0;
    std::uint32_t kind = 0;
    std::uint32_t dataType = 0;
    std::uint32_t reduceOp = 0;
    std::int32_t root = -1;
    std::uint32_t captured = 0;
    std::uint32_t reserved = 0;

    bool operator==(const Signature&) const = default;
};

/// One rank's part of the segment; its data slot lies behind all cards. Zero-filled memory is a valid start.
struct alignas(64) RankCard {
    std::atomic<std::uint32_t> pid;
    std::atomic<std::uint64_t> posted; ///< last round whose signature and data are in place
    std::atomic<std::uint64_t> consumed; ///< last round that this rank has read from everybody
    Signature signature;
};

struct alignas(64) SegmentHeader {
    std::uint64_t magic;
    std::uint32_t size;
    std::uint32_t reserved;
    std::uint64_t slotBytes;
    std::uint64_t hash;
    std::atomic<std::uint32_t> ready; ///< set last by rank 0
    std::atomic<std::uint32_t> joined;
    std::atomic<std::uint32_t> bell; ///< futex: changes whenever anything below or in a card changes
    std::atomic<std::uint32_t> failed; ///< 0 none, 1 being written, 2 reason is complete
    char reason[256];
};

/// The mapped segment of one communicator. Rank 0 creates it and leaves its name in the rendezvous file; when
/// all ranks have come, both names are removed, so that nothing stays behind even after a kill. A rank holds
/// a lock on one byte of the segment, which the kernel drops when the process ends: so a dead peer is seen, a
/// zombie too.
class ShmSegment {
public:
    ShmSegment() = default;
    ~ShmSegment();
    ShmSegment(const ShmSegment&) = delete;
    ShmSegment& operator=(const ShmSegment&) = delete;

    /// False, with one sentence in `error`, when the ranks did not all come before the time limit.
    [[nodiscard]] bool open(const ShmOptions& options, std::string& error);

    [[nodiscard]] SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(m_base); }
    [[nodiscard]] RankCard& card(int rank) const;
    [[nodiscard]] std::byte* slot(int rank) const;
    [[nodiscard]] bool alive(int rank) const;

    void ring() const;
    /// Sleeps until the bell differs from `seen`, or some milliseconds have passed.
    void sleepUnlessRung(std::uint32_t seen) const;

private:
    [[nodiscard]] bool create(const ShmOptions& options, const std::string& file, std::string& error);
    [[nodiscard]] bool join(const std::string& file, std::int64_t deadlineNs, std::string& error);
    [[nodiscard]] bool attach(const std::string& name);
    [[nodiscard]] bool map(int descriptor, std::size_t bytes);
    [[nodiscard]] bool lockRank(int rank) const;
    void close();

    int m_descriptor = -1;
    std::byte* m_base = nullptr;
    std::size_t m_bytes = 0;
};

} // namespace gdt::comm
