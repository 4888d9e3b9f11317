// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/error.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace gdt::runtime::host {

/// The memory of a device: one reservation, handed out in 256-byte aligned blocks at the lowest address that
/// fits, so that a freed address is reused soon, as below a caching allocator. Each allocation has a
/// generation, never reused. Any thread.
class Arena {
public:
    Arena(std::size_t bytes, bool poisonFreed);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    Status allocate(void** pointer, std::size_t bytes);
    /// InvalidValue unless `pointer` is the start of a live block.
    Status release(void* pointer);
    /// The size that was asked for, 0 when `pointer` is not the start of a live block.
    [[nodiscard]] std::size_t sizeOf(const void* pointer) const;

    /// Whether the address lies in the reservation, live or not.
    [[nodiscard]] bool contains(const void* pointer) const;
    /// Generation of the live block around the address, 0 when there is none.
    [[nodiscard]] std::uint64_t generationAt(const void* pointer) const;

    [[nodiscard]] std::size_t freeBytes() const;
    [[nodiscard]] std::size_t totalBytes() const { return m_bytes; }

private:
    struct Block {
        std::size_t reservedBytes = 0;
        std::size_t bytes = 0;
        std::uint64_t generation = 0;
    };

    [[nodiscard]] std::size_t offsetOf(const void* pointer) const;
    void returnGap(std::size_t offset, std::size_t bytes);

    std::byte* m_base = nullptr;
    std::size_t m_bytes = 0;
    bool m_poisonFreed = false;
    mutable std::mutex m_mutex;
    std::map<std::size_t, Block> m_blocks; // by offset
    std::map<std::size_t, std::size_t> m_gaps; // offset -> bytes, never adjacent
    std::size_t m_usedBytes = 0;
    std::uint64_t m_lastGeneration = 0;
};

} // namespace gdt::runtime::host
