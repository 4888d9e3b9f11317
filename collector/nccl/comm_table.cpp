// SPDX-License-Identifier: Apache-2.0
#include "collector/nccl/comm_table.h"

#include <atomic>
#include <cstddef>

namespace gd::nccl {

namespace {

constexpr std::size_t kSlots = 4096;
constexpr std::size_t kMaxProbes = 64;

struct Slot {
    std::atomic<std::uint64_t> hash; ///< 0 = free
    std::atomic<std::uint32_t> nranks;
    std::atomic<std::uint32_t> followed;
};

Slot g_slots[kSlots];
std::atomic<std::uint64_t> g_nextOp{1};
std::atomic<std::uint64_t> g_nextGroup{1};

Slot* slotOf(std::uint64_t hash, bool add) noexcept {
    if (hash == 0) {
        return nullptr;
    }
    const std::uint64_t start = hash * 0x9e3779b97f4a7c15 >> 32;
    for (std::size_t i = 0; i < kMaxProbes; ++i) {
        Slot& slot = g_slots[(start + i) % kSlots];
        std::uint64_t found = slot.hash.load(std::memory_order_relaxed);
        if (found == 0 && add && slot.hash.compare_exchange_strong(found, hash, std::memory_order_relaxed)) {
            return &slot;
        }
        if (found == hash) {
            return &slot;
        }
        if (found == 0) {
            return nullptr;
        }
    }
    return nullptr;
}

} // namespace

std::uint32_t ranksOf(std::uint64_t hash) noexcept {
    const Slot* slot = slotOf(hash, false);
    return slot != nullptr ? slot->nranks.load(std::memory_order_relaxed) : 0;
}

void setRanks(std::uint64_t hash, std::uint32_t nranks) noexcept {
    if (Slot* slot = slotOf(hash, true); slot != nullptr) {
        slot->nranks.store(nranks, std::memory_order_relaxed);
    }
}

bool followedByNvtx(std::uint64_t hash) noexcept {
    const Slot* slot = slotOf(hash, false);
    return slot != nullptr && slot->followed.load(std::memory_order_relaxed) != 0;
}

bool setFollowedByNvtx(std::uint64_t hash) noexcept {
    Slot* slot = slotOf(hash, true);
    return slot != nullptr && slot->followed.load(std::memory_order_relaxed) == 0
        && slot->followed.exchange(1, std::memory_order_relaxed) == 0;
}

std::uint64_t nextOp() noexcept {
    return g_nextOp.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t nextGroup() noexcept {
    return g_nextGroup.fetch_add(1, std::memory_order_relaxed);
}

} // namespace gd::nccl
