// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"

#include <memory>

namespace gdt::comm {

struct ShmOptions {
    /// Folder that all ranks see, for the rendezvous file; it must exist.
    std::string folder;
    /// Tells the communicators of one job apart; the same on all ranks.
    std::string name = "world";
    /// What must be the same on all ranks, an entry a line; a rank with other lines than rank 0 is refused.
    std::string agreement;
    int rank = 0;
    int size = 1;
    std::int64_t startNs = 30'000'000'000; ///< until all ranks have come
    std::int64_t timeoutNs = 30'000'000'000; ///< that an operation waits for others
    /// Bytes that one rank can publish at a time in a collective, and on the way to one peer; longer messages
    /// go in several rounds.
    std::size_t slotBytes = std::size_t{1} << 18;
    std::size_t channelBytes = std::size_t{1} << 16;
    /// Operations that do not fit together fail at once and are named; else they hang until the time limit,
    /// as on a GPU.
    bool strict = true;
};

/// Most ranks of one communicator.
inline constexpr int kMaxShmRanks = 64;

/// Ranks are processes of one host over one POSIX shared-memory segment. Blocks until all ranks have come. On
/// failure returns null and puts one sentence into `error`.
[[nodiscard]] std::unique_ptr<Communicator> createShmCommunicator(
    const ShmOptions& options, std::string& error);

} // namespace gdt::comm
