// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/arena.h"

#include <cstring>
#include <sys/mman.h>

namespace gdt::runtime::host {

namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kPageBytes = 4096;
// All bits set is a NaN as float and as double, so a stale read shows in any result.
constexpr int kPoison = 0xff;

std::size_t roundUp(std::size_t bytes, std::size_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace

Arena::Arena(std::size_t bytes, bool poisonFreed)
    : m_bytes(roundUp(bytes, kPageBytes))
    , m_poisonFreed(poisonFreed) {
    void* base
        = mmap(nullptr, m_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        m_bytes = 0;
        return;
    }
    m_base = static_cast<std::byte*>(base);
    m_gaps.emplace(0, m_bytes);
}

Arena::~Arena() {
    if (m_base != nullptr)
        munmap(m_base, m_bytes);
}

std::size_t Arena::offsetOf(const void* pointer) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - m_base);
}

bool Arena::contains(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const auto base = reinterpret_cast<std::uintptr_t>(m_base);
    return m_base != nullptr && address >= base && address < base + m_bytes;
}

Status Arena::allocate(void** pointer, std::size_t bytes) {
    if (pointer == nullptr || bytes == 0)
        return Status::InvalidValue;
    if (bytes > m_bytes)
        return Status::OutOfMemory;
    const std::size_t reserved = roundUp(bytes, kAlignment);
    std::lock_guard lock(m_mutex);
    for (auto gap = m_gaps.begin(); gap != m_gaps.end(); ++gap) {
        if (gap->second < reserved)
            continue;
        const std::size_t offset = gap->first;
        const std::size_t rest = gap->second - reserved;
        m_gaps.erase(gap);
        if (rest != 0)
            m_gaps.emplace(offset + reserved, rest);
        m_blocks.emplace(offset, Block{reserved, bytes, ++m_lastGeneration});
        m_usedBytes += reserved;
        *pointer = m_base + offset;
        return Status::Success;
    }
    return Status::OutOfMemory;
}

std::size_t Arena::sizeOf(const void* pointer) const {
    if (!contains(pointer))
        return 0;
    std::lock_guard lock(m_mutex);
    const auto block = m_blocks.find(offsetOf(pointer));
    return block != m_blocks.end() ? block->second.bytes : 0;
}

Status Arena::release(void* pointer) {
    if (!contains(pointer))
        return Status::InvalidValue;
    std::lock_guard lock(m_mutex);
    const auto block = m_blocks.find(offsetOf(pointer));
    if (block == m_blocks.end())
        return Status::InvalidValue;
    if (m_poisonFreed)
        std::memset(pointer, kPoison, block->second.reservedBytes);
    m_usedBytes -= block->second.reservedBytes;
    returnGap(block->first, block->second.reservedBytes);
    m_blocks.erase(block);
    return Status::Success;
}

void Arena::returnGap(std::size_t offset, std::size_t bytes) {
    auto next = m_gaps.lower_bound(offset);
    if (next != m_gaps.end() && next->first == offset + bytes) {
        bytes += next->second;
        next = m_gaps.erase(next);
    }
    if (next != m_gaps.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == offset) {
            previous->second += bytes;
            return;
        }
    }
    m_gaps.emplace(offset, bytes);
}

std::uint64_t Arena::generationAt(const void* pointer) const {
    if (!contains(pointer))
        return 0;
    const std::size_t offset = offsetOf(pointer);
    std::lock_guard lock(m_mutex);
    auto block = m_blocks.upper_bound(offset);
    if (block == m_blocks.begin())
        return 0;
    --block;
    return offset < block->first + block->second.bytes ? block->second.generation : 0;
}

std::size_t Arena::freeBytes() const {
    std::lock_guard lock(m_mutex);
    return m_bytes - m_usedBytes;
}

} // namespace gdt::runtime::host
