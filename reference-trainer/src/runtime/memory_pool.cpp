// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_pool.h"

#include "runtime/backend.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gdt::runtime {

namespace {

// Small blocks share a reservation instead of asking the device each.
constexpr std::size_t kLeastGrowth = std::size_t{1} << 20;

} // namespace

GraphPool::~GraphPool() {
    static_cast<void>(destroy());
}

GraphPool::GraphPool(GraphPool&& other) noexcept {
    *this = std::move(other);
}

GraphPool& GraphPool::operator=(GraphPool&& other) noexcept {
    if (this != &other) {
        static_cast<void>(destroy());
        m_device = std::exchange(other.m_device, nullptr);
        m_reservations = std::exchange(other.m_reservations, {});
        m_limitBytes = std::exchange(other.m_limitBytes, 0);
        m_usedBytes = std::exchange(other.m_usedBytes, 0);
        m_frozen = std::exchange(other.m_frozen, false);
    }
    return *this;
}

Status GraphPool::create(Device& device, std::size_t limitBytes, GraphPool& pool) {
    return create(device, limitBytes, limitBytes, pool);
}

Status GraphPool::create(Device& device, std::size_t limitBytes, std::size_t firstBytes, GraphPool& pool) {
    if (firstBytes > limitBytes)
        return Status::InvalidValue;
    GraphPool created;
    created.m_device = device.backend();
    created.m_limitBytes = limitBytes;
    if (firstBytes > 0)
        GDT_TRY(created.grow(firstBytes));
    pool = std::move(created);
    return Status::Success;
}

Status GraphPool::destroy() {
    if (m_device == nullptr)
        return Status::InvalidHandle;
    for (const Reservation& reservation : m_reservations) {
        for (const auto& [offset, bytes] : reservation.blocks)
            note(reservation.base + offset, bytes, true);
    }
    for (; !m_reservations.empty(); m_reservations.pop_back()) {
        const Status status = m_device->release(m_reservations.back().base);
        if (!ok(status))
            return status;
    }
    m_device.reset();
    m_limitBytes = 0;
    m_usedBytes = 0;
    return Status::Success;
}

Status GraphPool::grow(std::size_t bytes) {
    void* base = nullptr;
    GDT_TRY(m_device->allocate(&base, bytes));
    m_reservations.push_back({static_cast<std::byte*>(base), bytes, 0, {}});
    return Status::Success;
}

bool GraphPool::mayGrow(std::size_t bytes) const {
    return !m_frozen && bytes <= m_limitBytes - reservedBytes();
}

void GraphPool::note(const void* block, std::size_t bytes, bool freed) const {
    m_device->notePoolBlock({m_reservations.front().base, block, bytes, freed});
}

void* GraphPool::Reservation::take(std::size_t wanted) {
    std::size_t offset = 0;
    auto next = blocks.begin();
    for (; next != blocks.end() && next->first < offset + wanted; ++next)
        offset = rounded(next->first + next->second);
    if (offset > bytes || wanted > bytes - offset)
        return nullptr;
    blocks.emplace_hint(next, offset, wanted);
    highWaterBytes = std::max(highWaterBytes, offset + wanted);
    return base + offset;
}

bool GraphPool::Reservation::contains(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const auto first = reinterpret_cast<std::uintptr_t>(base);
    return address >= first && address < first + bytes;
}

Status GraphPool::allocate(void** pointer, std::size_t bytes) {
    if (m_device == nullptr)
        return Status::InvalidHandle;
    if (pointer == nullptr || bytes == 0)
        return Status::InvalidValue;
    void* block = nullptr;
    for (Reservation& reservation : m_reservations) {
        block = block == nullptr ? reservation.take(bytes) : block;
    }
    if (block == nullptr) {
        if (!mayGrow(bytes))
            return Status::OutOfMemory;
        GDT_TRY(grow(std::max(bytes, std::min(kLeastGrowth, m_limitBytes - reservedBytes()))));
        block = m_reservations.back().take(bytes);
    }
    m_usedBytes += bytes;
    *pointer = block;
    note(block, bytes, false);
    return Status::Success;
}

Status GraphPool::release(void* pointer) {
    for (Reservation& reservation : m_reservations) {
        if (!reservation.contains(pointer))
            continue;
        const auto block = reservation.blocks.find(
            static_cast<std::size_t>(static_cast<std::byte*>(pointer) - reservation.base));
        if (block == reservation.blocks.end())
            return Status::InvalidValue;
        note(pointer, block->second, true);
        m_usedBytes -= block->second;
        reservation.blocks.erase(block);
        return Status::Success;
    }
    return Status::InvalidValue;
}

bool GraphPool::contains(const void* pointer) const {
    return std::any_of(m_reservations.begin(), m_reservations.end(),
        [&](const Reservation& reservation) { return reservation.contains(pointer); });
}

std::size_t GraphPool::reservedBytes() const {
    return std::accumulate(m_reservations.begin(), m_reservations.end(), std::size_t{0},
        [](std::size_t sum, const Reservation& reservation) { return sum + reservation.bytes; });
}

std::size_t GraphPool::highWaterBytes() const {
    return std::accumulate(m_reservations.begin(), m_reservations.end(), std::size_t{0},
        [](std::size_t sum, const Reservation& reservation) { return sum + reservation.highWaterBytes; });
}

} // namespace gdt::runtime
