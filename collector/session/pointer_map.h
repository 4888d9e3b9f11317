// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/mapped_array.h"

#include <cstdint>

namespace gd::session {

/// A live allocation.
struct LiveRange {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t allocation; ///< raw::Alloc::allocation
    std::uint16_t kind; ///< gd_rt_memory_kind
    std::uint16_t device;
    std::uint16_t referenced; ///< 1: a graph node points or pointed into it
    std::uint16_t context; ///< it goes with this context; 0 = none
};

/// Live allocations by address: "which one holds this word?". Ranges do not overlap; an insert over older
/// ones forgets those (their free was not seen). Leaves of up to 256 sorted ranges below one sorted array, so
/// that an insert moves kilobytes, not the whole set, and a lookup is two binary searches. Not synchronised.
class PointerMap {
public:
    PointerMap() = default;
    ~PointerMap();
    PointerMap(const PointerMap&) = delete;
    PointerMap& operator=(const PointerMap&) = delete;

    /// False when the kernel refuses memory. A range of 0 bytes counts as one byte.
    bool insert(const LiveRange& range) noexcept;
    /// The range that holds `address`, nullptr = none. Valid until the next change.
    LiveRange* find(std::uint64_t address) noexcept;
    /// The lowest range that starts at or above `address`, nullptr = none. Valid until the next change.
    LiveRange* atOrAbove(std::uint64_t address) noexcept;
    /// Removes the range that starts at `address`; false when there is none.
    bool erase(std::uint64_t address, LiveRange& removed) noexcept;
    std::size_t size() const noexcept { return m_size; }
    void clear() noexcept;

private:
    static constexpr std::uint32_t kLeafRanges = 256;
    struct Leaf {
        std::uint64_t firstAddress;
        LiveRange* ranges;
        std::uint32_t count;
        std::uint32_t reserved;
    };

    std::size_t leafOf(std::uint64_t address) const noexcept;
    static std::uint32_t positionIn(const Leaf& leaf, std::uint64_t address) noexcept;
    bool splitLeaf(std::size_t index) noexcept;
    void removeAt(std::size_t leafIndex, std::uint32_t position) noexcept;
    void forgetOverlaps(std::uint64_t from, std::uint64_t to) noexcept;
    LiveRange* newRanges() noexcept;

    MappedArray<Leaf> m_leaves;
    MappedArray<LiveRange*> m_spare;
    std::size_t m_size = 0;
};

} // namespace gd::session
