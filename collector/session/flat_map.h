// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/mapped_array.h"

#include <cstdint>
#include <new>

namespace gd::session {

/// Map from a 64-bit id (never 0) to a plain value: linear probing in mapped memory, deletion by shifting
/// back. Not synchronised. Pointers to values are valid until the next insert or erase. When the kernel
/// refuses memory insert() returns nullptr.
template <class Value> class FlatMap {
    struct Entry {
        std::uint64_t key;
        Value value;
    };

public:
    FlatMap() = default;
    ~FlatMap() {
        if (m_entries != nullptr) {
            munmap(m_entries, (m_mask + 1) * sizeof(Entry));
        }
    }
    FlatMap(const FlatMap&) = delete;
    FlatMap& operator=(const FlatMap&) = delete;

    std::size_t size() const noexcept { return m_size; }

    Value* find(std::uint64_t key) noexcept {
        if (m_size == 0) {
            return nullptr;
        }
        for (std::size_t i = hash(key) & m_mask;; i = (i + 1) & m_mask) {
            if (m_entries[i].key == key) {
                return &m_entries[i].value;
            }
            if (m_entries[i].key == 0) {
                return nullptr;
            }
        }
    }
    /// The value of `key`, new ones value-initialised.
    Value* insert(std::uint64_t key) noexcept {
        if (key == 0 || ((m_size + 1) * 4 > capacity() * 3 && !grow())) {
            return nullptr;
        }
        std::size_t i = hash(key) & m_mask;
        for (; m_entries[i].key != 0; i = (i + 1) & m_mask) {
            if (m_entries[i].key == key) {
                return &m_entries[i].value;
            }
        }
        m_entries[i].key = key;
        ++m_size;
        return new (&m_entries[i].value) Value{};
    }
    /// insert(), but the map never holds more than `most`: a new one then takes the place of all others. For
    /// what is only convenient to know and may never be erased one by one.
    Value* insertAmong(std::uint64_t key, std::size_t most) noexcept {
        if (m_size >= most && find(key) == nullptr) {
            clear();
        }
        return insert(key);
    }
    bool erase(std::uint64_t key) noexcept {
        Value* value = find(key);
        if (value == nullptr) {
            return false;
        }
        auto* entry = reinterpret_cast<Entry*>(reinterpret_cast<char*>(value) - offsetof(Entry, value));
        auto hole = static_cast<std::size_t>(entry - m_entries);
        for (std::size_t i = (hole + 1) & m_mask; m_entries[i].key != 0; i = (i + 1) & m_mask) {
            const std::size_t home = hash(m_entries[i].key) & m_mask;
            // An entry may move into the hole unless its home lies cyclically after the hole.
            if (((i - home) & m_mask) >= ((i - hole) & m_mask)) {
                m_entries[hole] = m_entries[i];
                hole = i;
            }
        }
        m_entries[hole].key = 0;
        --m_size;
        return true;
    }
    template <class Visitor> void forEach(Visitor visit) noexcept {
        for (std::size_t i = 0; m_entries != nullptr && i <= m_mask; ++i) {
            if (m_entries[i].key != 0) {
                visit(m_entries[i].key, m_entries[i].value);
            }
        }
    }
    void clear() noexcept {
        for (std::size_t i = 0; m_entries != nullptr && i <= m_mask; ++i) {
            m_entries[i].key = 0;
        }
        m_size = 0;
    }

private:
    static std::size_t hash(std::uint64_t key) noexcept {
        key *= 0x9e3779b97f4a7c15; // odd multiplier near 2^64 / golden ratio
        return static_cast<std::size_t>(key ^ (key >> 32));
    }
    std::size_t capacity() const noexcept { return m_entries == nullptr ? 0 : m_mask + 1; }
    bool grow() noexcept {
        const std::size_t newCapacity = m_entries == nullptr ? 64 : (m_mask + 1) * 2;
        auto* fresh = static_cast<Entry*>(mapMemory(newCapacity * sizeof(Entry)));
        if (fresh == nullptr) {
            return false;
        }
        for (std::size_t i = 0; m_entries != nullptr && i <= m_mask; ++i) {
            if (m_entries[i].key != 0) {
                std::size_t to = hash(m_entries[i].key) & (newCapacity - 1);
                while (fresh[to].key != 0) {
                    to = (to + 1) & (newCapacity - 1);
                }
                fresh[to] = m_entries[i];
            }
        }
        if (m_entries != nullptr) {
            munmap(m_entries, (m_mask + 1) * sizeof(Entry));
        }
        m_entries = fresh;
        m_mask = newCapacity - 1;
        return true;
    }

    Entry* m_entries = nullptr;
    std::size_t m_mask = 0;
    std::size_t m_size = 0;
};

} // namespace gd::session
