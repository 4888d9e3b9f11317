// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <type_traits>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace gd::session {

/// Zeroed private memory straight from the kernel: the collector runs inside allocators' callers and in
/// forked children, so it leaves malloc alone. nullptr when there is none.
inline void* mapMemory(std::size_t bytes) noexcept {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

/// Same, for objects that live as long as the process and own memory from malloc: a leak checker has to look
/// there.
inline void* mapLastingObject(std::size_t bytes) noexcept {
    void* memory = mapMemory(bytes);
#if defined(__SANITIZE_ADDRESS__)
    if (memory != nullptr) {
        __lsan_register_root_region(memory, bytes);
    }
#endif
    return memory;
}

/// A growing array of plain values in mapped memory. Not synchronised; growth may move the elements. When the
/// kernel refuses memory push() returns nullptr and the array stays as it was.
template <class T> class MappedArray {
    static_assert(std::is_trivially_copyable_v<T>);
    static constexpr std::size_t kElementBytes
        = sizeof(T); // NOLINT(bugprone-sizeof-expression): pointers too

public:
    MappedArray() = default;
    ~MappedArray() {
        if (m_data != nullptr) {
            munmap(m_data, m_capacity * kElementBytes);
        }
    }
    MappedArray(const MappedArray&) = delete;
    MappedArray& operator=(const MappedArray&) = delete;

    std::size_t size() const noexcept { return m_size; }
    bool empty() const noexcept { return m_size == 0; }
    T& operator[](std::size_t i) noexcept { return m_data[i]; }
    const T& operator[](std::size_t i) const noexcept { return m_data[i]; }
    T* begin() noexcept { return m_data; }
    T* end() noexcept { return m_data + m_size; }
    const T* begin() const noexcept { return m_data; }
    const T* end() const noexcept { return m_data + m_size; }
    void clear() noexcept { m_size = 0; }
    void pop() noexcept { --m_size; }

    bool reserve(std::size_t count) noexcept {
        if (count <= m_capacity) {
            return true;
        }
        constexpr std::size_t kPage = 4096;
        std::size_t bytes = m_capacity == 0 ? kPage : m_capacity * kElementBytes * 2;
        if (bytes < count * kElementBytes) {
            bytes = count * kElementBytes;
        }
        bytes = (bytes + kPage - 1) / kPage * kPage;
        // The capacity must map back to whole pages, for mremap and munmap round up by themselves.
        void* memory = m_data == nullptr ? mapMemory(bytes)
                                         : mremap(m_data, m_capacity * kElementBytes, bytes, MREMAP_MAYMOVE);
        if (memory == nullptr || memory == MAP_FAILED) {
            return false;
        }
        m_data = static_cast<T*>(memory);
        m_capacity = bytes / kElementBytes;
        return true;
    }
    T* push(const T& value) noexcept {
        if (!reserve(m_size + 1)) {
            return nullptr;
        }
        m_data[m_size] = value;
        return &m_data[m_size++];
    }
    /// Room for `count` more elements at the end, uninitialised.
    T* extend(std::size_t count) noexcept {
        if (!reserve(m_size + count)) {
            return nullptr;
        }
        T* first = m_data + m_size;
        m_size += count;
        return first;
    }

private:
    T* m_data = nullptr;
    std::size_t m_size = 0;
    std::size_t m_capacity = 0;
};

} // namespace gd::session
