// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device.h"

#include <map>
#include <vector>

namespace gdt::runtime {

/// Memory for graphs: reservations of a device, handed out in blocks whose addresses never move. Released
/// blocks are handed out again at once, lowest address of the oldest reservation first. Allocating and
/// releasing blocks are no API calls unless the pool grows, and are therefore legal inside a capture as long
/// as it is frozen. One thread at a time.
class GraphPool {
public:
    GraphPool() = default;
    ~GraphPool();
    GraphPool(GraphPool&& other) noexcept;
    GraphPool& operator=(GraphPool&& other) noexcept;

    /// Reserves `limitBytes` of the device; a Device::allocate, so not inside a capture that forbids it.
    static Status create(Device& device, std::size_t limitBytes, GraphPool& pool);
    /// Reserves `firstBytes` (0: nothing) at once and more, up to `limitBytes` together, when blocks need it.
    static Status create(Device& device, std::size_t limitBytes, std::size_t firstBytes, GraphPool& pool);
    Status destroy();

    /// OutOfMemory when no gap is large enough and the pool may not grow; `usedBytes`, `reservedBytes` and
    /// `limitBytes` say how much was missing.
    Status allocate(void** pointer, std::size_t bytes);
    Status release(void* pointer);

    /// While frozen, as during a capture, the pool does not grow.
    void freeze(bool frozen) { m_frozen = frozen; }

    [[nodiscard]] bool contains(const void* pointer) const;
    [[nodiscard]] std::size_t limitBytes() const { return m_limitBytes; }
    [[nodiscard]] std::size_t reservedBytes() const;
    [[nodiscard]] std::size_t usedBytes() const { return m_usedBytes; }
    /// How much of the reservations blocks have ever touched.
    [[nodiscard]] std::size_t highWaterBytes() const;

    /// What a block of so many bytes takes.
    [[nodiscard]] static constexpr std::size_t rounded(std::size_t bytes) {
        return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }

private:
    static constexpr std::size_t kAlignment = 256;

    struct Reservation {
        std::byte* base = nullptr;
        std::size_t bytes = 0;
        std::size_t highWaterBytes = 0;
        std::map<std::size_t, std::size_t> blocks; // offset -> bytes

        [[nodiscard]] void* take(std::size_t wanted);
        [[nodiscard]] bool contains(const void* pointer) const;
    };

    [[nodiscard]] bool mayGrow(std::size_t bytes) const;
    Status grow(std::size_t bytes);
    void note(const void* block, std::size_t bytes, bool freed) const;

    std::shared_ptr<backend::Device> m_device;
    std::vector<Reservation> m_reservations;
    std::size_t m_limitBytes = 0;
    std::size_t m_usedBytes = 0;
    bool m_frozen = false;
};

} // namespace gdt::runtime
