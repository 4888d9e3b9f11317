// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device.h"

#include <map>

namespace gdt::runtime {

/// Memory for graphs: one reservation of a device, handed out in blocks whose addresses never move.
/// Allocating and releasing blocks are no API calls and are therefore legal inside a capture. Released blocks
/// are handed out again at once, lowest address first. One thread at a time.
class GraphPool {
public:
    GraphPool() = default;
    ~GraphPool();
    GraphPool(GraphPool&& other) noexcept;
    GraphPool& operator=(GraphPool&& other) noexcept;

    /// Reserves `limitBytes` of the device; a Device::allocate, so not inside a capture that forbids it.
    static Status create(Device& device, std::size_t limitBytes, GraphPool& pool);
    Status destroy();

    /// OutOfMemory when no gap is large enough; `usedBytes` and `limitBytes` say how much was missing.
    Status allocate(void** pointer, std::size_t bytes);
    Status release(void* pointer);

    [[nodiscard]] bool contains(const void* pointer) const;
    [[nodiscard]] std::size_t limitBytes() const { return m_limitBytes; }
    [[nodiscard]] std::size_t usedBytes() const { return m_usedBytes; }
    [[nodiscard]] std::size_t highWaterBytes() const { return m_highWaterBytes; }

private:
    std::shared_ptr<backend::Device> m_device;
    std::byte* m_base = nullptr;
    std::size_t m_limitBytes = 0;
    std::size_t m_usedBytes = 0;
    std::size_t m_highWaterBytes = 0;
    std::map<std::size_t, std::size_t> m_blocks; // offset -> bytes
};

} // namespace gdt::runtime
