// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_pool.h"

#include "runtime/backend.h"

#include <algorithm>
#include <utility>

namespace gdt::runtime {

namespace {

constexpr std::size_t kAlignment = 256;

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
        m_base = std::exchange(other.m_base, nullptr);
        m_limitBytes = std::exchange(other.m_limitBytes, 0);
        m_usedBytes = std::exchange(other.m_usedBytes, 0);
        m_highWaterBytes = std::exchange(other.m_highWaterBytes, 0);
        m_blocks = std::exchange(other.m_blocks, {});
    }
    return *this;
}

Status GraphPool::create(Device& device, std::size_t limitBytes, GraphPool& pool) {
    void* base = nullptr;
    GDT_TRY(device.allocate(&base, limitBytes));
    GraphPool created;
    created.m_device = device.backend();
    created.m_base = static_cast<std::byte*>(base);
    created.m_limitBytes = limitBytes;
    pool = std::move(created);
    return Status::Success;
}

Status GraphPool::destroy() {
    if (m_base == nullptr)
        return Status::InvalidHandle;
    for (const auto& [offset, bytes] : m_blocks)
        m_device->notePoolBlock({m_base, m_base + offset, bytes, true});
    const Status status = m_device->release(m_base);
    if (!ok(status))
        return status;
    m_device.reset();
    m_base = nullptr;
    m_limitBytes = 0;
    m_usedBytes = 0;
    m_blocks.clear();
    return Status::Success;
}

Status GraphPool::allocate(void** pointer, std::size_t bytes) {
    if (m_base == nullptr)
        return Status::InvalidHandle;
    if (pointer == nullptr || bytes == 0)
        return Status::InvalidValue;
    std::size_t offset = 0;
    auto next = m_blocks.begin();
    for (; next != m_blocks.end() && next->first < offset + bytes; ++next)
        offset = (next->first + next->second + kAlignment - 1) / kAlignment * kAlignment;
    if (offset > m_limitBytes || bytes > m_limitBytes - offset)
        return Status::OutOfMemory;
    m_blocks.emplace_hint(next, offset, bytes);
    m_usedBytes += bytes;
    m_highWaterBytes = std::max(m_highWaterBytes, offset + bytes);
    *pointer = m_base + offset;
    m_device->notePoolBlock({m_base, *pointer, bytes, false});
    return Status::Success;
}

Status GraphPool::release(void* pointer) {
    if (!contains(pointer))
        return Status::InvalidValue;
    const auto block = m_blocks.find(static_cast<std::size_t>(static_cast<std::byte*>(pointer) - m_base));
    if (block == m_blocks.end())
        return Status::InvalidValue;
    m_device->notePoolBlock({m_base, pointer, block->second, true});
    m_usedBytes -= block->second;
    m_blocks.erase(block);
    return Status::Success;
}

bool GraphPool::contains(const void* pointer) const {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const auto base = reinterpret_cast<std::uintptr_t>(m_base);
    return m_base != nullptr && address >= base && address < base + m_limitBytes;
}

} // namespace gdt::runtime
