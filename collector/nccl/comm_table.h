// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gd::nccl {

/// What is known of a communicator by its hash, whichever source said it. Static memory; entries stay for
/// the process's life, and when the table is full further communicators are simply unknown. Any thread.
/// Several ranks of one communicator in one process share an entry.

/// 0 = nobody said it.
std::uint32_t ranksOf(std::uint64_t hash) noexcept;
void setRanks(std::uint64_t hash, std::uint32_t nranks) noexcept;
/// NVTX shows this communicator's calls, with their streams.
bool followedByNvtx(std::uint64_t hash) noexcept;
/// True: it was not known before.
bool setFollowedByNvtx(std::uint64_t hash) noexcept;

/// Numbers of calls and groups, unique in the process over all sources.
std::uint64_t nextOp() noexcept;
std::uint64_t nextGroup() noexcept;

} // namespace gd::nccl
