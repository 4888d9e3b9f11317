// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/shm_communicator.h"
#include "comm/shm_segment.h"

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace gdt::comm {

/// Runs the operations of one communicator over its segment. Operations of several streams run one after the
/// other. Collectives go in rounds: each rank posts up to a slot of data with its signature, waits for all,
/// compares signatures, reads what it needs in rank order and says so. Messages go through the channel of
/// the pair, piece by piece; all transfers of a group make progress together, and a send is complete when its
/// receiver has taken the last piece.
class ShmEndpoint final : public runtime::CommEndpoint {
public:
    /// `jobRanks` are the ranks of its members in the whole job, by which sentences name them.
    ShmEndpoint(const ShmOptions& options, int rank, std::vector<int> jobRanks)
        : m_options(options)
        , m_rank(rank)
        , m_size(static_cast<int>(jobRanks.size()))
        , m_jobRanks(std::move(jobRanks)) { }

    [[nodiscard]] int jobRank(int rank) const { return m_jobRanks[static_cast<std::size_t>(rank)]; }

    [[nodiscard]] ShmSegment& segment() { return m_segment; }
    [[nodiscard]] const ShmOptions& options() const { return m_options; }

    runtime::Status execute(const runtime::CommArguments& arguments, bool captured) override;
    [[nodiscard]] std::uint64_t commHash() const override { return m_segment.header().hash; }
    [[nodiscard]] std::uint32_t commRanks() const override { return static_cast<std::uint32_t>(m_size); }

    runtime::Status fail(const std::string& reason);
    [[nodiscard]] std::string error() const;

private:
    struct Transfer {
        runtime::CommArguments arguments;
        Signature signature;
        std::uint64_t moved = 0; // bytes
        bool started = false; // receive: signature compared
        bool done = false;

        [[nodiscard]] bool sends() const;
    };

    /// What a rank waits for; see Waiting.
    struct Need {
        std::uint32_t kind = 1;
        std::uint64_t sendsTo = 0;
        std::uint64_t receivesFrom = 0;
        std::uint32_t round = 0;
        std::uint32_t bellSeen = 0;
        Signature signature;
    };

    runtime::Status collective(const Signature& signature, const runtime::CommArguments& arguments);
    runtime::Status post(const Signature& signature, const std::function<void(std::byte*)>& write);
    runtime::Status awaitPosts(const Signature& own);
    void finishRound();
    runtime::Status awaitAll(
        const Signature& own, std::uint32_t round, std::atomic<std::uint32_t> RankCard::*counter);

    runtime::Status exchange(std::vector<Transfer>& transfers);
    runtime::Status advance(Transfer& transfer, bool& moved);
    runtime::Status advanceSend(Transfer& transfer, bool& moved);
    runtime::Status advanceReceive(Transfer& transfer, bool& moved);
    void ringBell(int rank);

    /// Called while nothing moves: fails on a dead peer, a failure elsewhere, the time limit, or (strict)
    /// when nobody can move any more. `peer` is one that is waited for.
    runtime::Status check(int peer, const Need& need, std::int64_t deadlineNs);
    void publish(const Need& need);
    void unpublish();
    [[nodiscard]] std::vector<std::uint32_t> lookAround() const;
    [[nodiscard]] bool blocked(int rank) const;
    [[nodiscard]] bool needsInVain(int rank, int peer) const;
    [[nodiscard]] std::uint64_t stuckRanks() const;
    /// One sentence when this rank is among ranks none of which can ever move, else empty.
    [[nodiscard]] std::string deadlock();
    /// "rank N", as the job counts.
    [[nodiscard]] std::string name(int rank) const { return "rank " + std::to_string(jobRank(rank)); }
    [[nodiscard]] std::string ended(int peer, const Signature& own) const;
    runtime::Status mismatch(const Signature& own, int rank, const Signature& other);

    ShmOptions m_options;
    int m_rank;
    int m_size;
    std::vector<int> m_jobRanks;
    ShmSegment m_segment;
    std::mutex m_running;
    std::uint32_t m_round = 0;
    std::uint64_t m_collectives = 0;
    std::vector<std::uint64_t> m_sent = std::vector<std::uint64_t>(kMaxShmRanks); // messages, by peer
    std::vector<std::uint64_t> m_received = std::vector<std::uint64_t>(kMaxShmRanks);
    std::vector<Transfer> m_group; // deferred transfers of the group in progress
    std::vector<std::uint32_t> m_lastLook; // all ranks when this one last seemed stuck
    mutable std::mutex m_errorMutex;
    std::string m_error;
};

} // namespace gdt::comm
