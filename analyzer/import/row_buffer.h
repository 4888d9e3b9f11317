// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/check.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace gd::importer {

// A growing array of plain rows for millions of records. Grows by moving page tables (mremap), not bytes, and
// asks for huge pages: on virtual machines the first touch of a 4 KiB page costs microseconds. Move-only.
template <class T> class RowBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    RowBuffer() = default;
    RowBuffer(RowBuffer&& other) noexcept
        : m_rows(std::exchange(other.m_rows, nullptr))
        , m_size(std::exchange(other.m_size, 0))
        , m_mapped(std::exchange(other.m_mapped, 0)) { }
    RowBuffer& operator=(RowBuffer&& other) noexcept {
        std::swap(m_rows, other.m_rows);
        std::swap(m_size, other.m_size);
        std::swap(m_mapped, other.m_mapped);
        return *this;
    }
    ~RowBuffer() {
        if (m_rows != nullptr)
            ::munmap(m_rows, m_mapped);
    }

    void push(const T& row) {
        if ((m_size + 1) * sizeof(T) > m_mapped)
            grow();
        m_rows[m_size++] = row;
    }
    std::size_t size() const { return m_size; }
    bool empty() const { return m_size == 0; }
    std::span<T> rows() { return {m_rows, m_size}; }
    std::span<const T> rows() const { return {m_rows, m_size}; }
    const T& operator[](std::size_t index) const { return m_rows[index]; }

private:
    static constexpr std::size_t kFirstBytes = 64 << 10;
    static constexpr std::size_t kHugeFromBytes = 4 << 20;

    void grow() {
        const std::size_t bytes = m_mapped == 0 ? kFirstBytes : 2 * m_mapped;
        void* memory = m_rows == nullptr
            ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            : ::mremap(m_rows, m_mapped, bytes, MREMAP_MAYMOVE);
        GD_CHECK(memory != MAP_FAILED);
        if (bytes >= kHugeFromBytes)
            ::madvise(memory, bytes, MADV_HUGEPAGE);
        m_rows = static_cast<T*>(memory);
        m_mapped = bytes;
    }

    T* m_rows = nullptr;
    std::size_t m_size = 0;
    std::size_t m_mapped = 0; // bytes
};

} // namespace gd::importer
