// SPDX-License-Identifier: Apache-2.0
#include "collector/session/pointer_map.h"

#include <cstring>

namespace gd::session {

PointerMap::~PointerMap() {
    clear();
    for (LiveRange* ranges : m_spare) {
        munmap(ranges, kLeafRanges * sizeof(LiveRange));
    }
}

void PointerMap::clear() noexcept {
    for (Leaf& leaf : m_leaves) {
        munmap(leaf.ranges, kLeafRanges * sizeof(LiveRange));
    }
    m_leaves.clear();
    m_size = 0;
}

LiveRange* PointerMap::newRanges() noexcept {
    if (!m_spare.empty()) {
        LiveRange* ranges = m_spare[m_spare.size() - 1];
        m_spare.pop();
        return ranges;
    }
    return static_cast<LiveRange*>(mapMemory(kLeafRanges * sizeof(LiveRange)));
}

// The last leaf whose first address is <= address; 0 when there is none.
std::size_t PointerMap::leafOf(std::uint64_t address) const noexcept {
    std::size_t low = 0;
    std::size_t high = m_leaves.size();
    while (high - low > 1) {
        const std::size_t middle = (low + high) / 2;
        (m_leaves[middle].firstAddress <= address ? low : high) = middle;
    }
    return low;
}

// Number of ranges of the leaf that start at or below `address`.
std::uint32_t PointerMap::positionIn(const Leaf& leaf, std::uint64_t address) noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = leaf.count;
    while (low < high) {
        const std::uint32_t middle = (low + high) / 2;
        if (leaf.ranges[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

LiveRange* PointerMap::find(std::uint64_t address) noexcept {
    if (m_size == 0) {
        return nullptr;
    }
    Leaf& leaf = m_leaves[leafOf(address)];
    const std::uint32_t position = positionIn(leaf, address);
    if (position == 0) {
        return nullptr;
    }
    LiveRange& range = leaf.ranges[position - 1];
    return address - range.address < range.bytes ? &range : nullptr;
}

void PointerMap::removeAt(std::size_t leafIndex, std::uint32_t position) noexcept {
    Leaf& leaf = m_leaves[leafIndex];
    std::memmove(
        leaf.ranges + position, leaf.ranges + position + 1, (leaf.count - position - 1) * sizeof(LiveRange));
    --leaf.count;
    --m_size;
    if (leaf.count != 0) {
        leaf.firstAddress = leaf.ranges[0].address;
        return;
    }
    if (m_spare.push(leaf.ranges) == nullptr) {
        munmap(leaf.ranges, kLeafRanges * sizeof(LiveRange));
    }
    std::memmove(m_leaves.begin() + leafIndex, m_leaves.begin() + leafIndex + 1,
        (m_leaves.size() - leafIndex - 1) * sizeof(Leaf));
    m_leaves.pop();
}

bool PointerMap::erase(std::uint64_t address, LiveRange& removed) noexcept {
    LiveRange* range = find(address);
    if (range == nullptr || range->address != address) {
        return false;
    }
    removed = *range;
    const std::size_t leafIndex = leafOf(address);
    removeAt(leafIndex, static_cast<std::uint32_t>(range - m_leaves[leafIndex].ranges));
    return true;
}

LiveRange* PointerMap::atOrAbove(std::uint64_t address) noexcept {
    if (m_size == 0) {
        return nullptr;
    }
    const std::size_t leafIndex = leafOf(address);
    Leaf& leaf = m_leaves[leafIndex];
    const std::uint32_t position = positionIn(leaf, address);
    if (position != 0 && leaf.ranges[position - 1].address == address) {
        return &leaf.ranges[position - 1];
    }
    if (position != leaf.count) {
        return &leaf.ranges[position];
    }
    return leafIndex + 1 == m_leaves.size() ? nullptr : &m_leaves[leafIndex + 1].ranges[0];
}

void PointerMap::forgetOverlaps(std::uint64_t from, std::uint64_t to) noexcept {
    LiveRange removed{};
    if (LiveRange* range = find(from); range != nullptr) {
        erase(range->address, removed);
    }
    for (LiveRange* range = atOrAbove(from); range != nullptr && range->address < to;
         range = atOrAbove(from)) {
        erase(range->address, removed);
    }
}

bool PointerMap::splitLeaf(std::size_t index) noexcept {
    LiveRange* ranges = newRanges();
    if (ranges == nullptr || m_leaves.extend(1) == nullptr) {
        return false;
    }
    std::memmove(m_leaves.begin() + index + 2, m_leaves.begin() + index + 1,
        (m_leaves.size() - index - 2) * sizeof(Leaf));
    Leaf& low = m_leaves[index];
    Leaf& high = m_leaves[index + 1];
    const std::uint32_t keep = low.count / 2;
    std::memcpy(ranges, low.ranges + keep, (low.count - keep) * sizeof(LiveRange));
    high = {ranges[0].address, ranges, low.count - keep, 0};
    low.count = keep;
    return true;
}

bool PointerMap::insert(const LiveRange& wanted) noexcept {
    LiveRange range = wanted;
    range.bytes = range.bytes == 0 ? 1 : range.bytes;
    const std::uint64_t end = range.address + range.bytes;
    forgetOverlaps(range.address, end < range.address ? ~std::uint64_t{0} : end);
    if (m_leaves.empty()) {
        LiveRange* ranges = newRanges();
        if (ranges == nullptr || m_leaves.push({range.address, ranges, 0, 0}) == nullptr) {
            return false;
        }
    }
    std::size_t leafIndex = leafOf(range.address);
    if (m_leaves[leafIndex].count == kLeafRanges) {
        if (!splitLeaf(leafIndex)) {
            return false;
        }
        leafIndex = leafOf(range.address);
    }
    Leaf& leaf = m_leaves[leafIndex];
    const std::uint32_t position = positionIn(leaf, range.address);
    std::memmove(
        leaf.ranges + position + 1, leaf.ranges + position, (leaf.count - position) * sizeof(LiveRange));
    leaf.ranges[position] = range;
    ++leaf.count;
    ++m_size;
    leaf.firstAddress = leaf.ranges[0].address;
    return true;
}

} // namespace gd::session
