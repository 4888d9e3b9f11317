// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/records_activity.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_process.h"
#include "collector/session/mapped_array.h"
#include "collector/session/ring.h"

#include <cstdint>
#include <string_view>

namespace gd::session {

/// Numbers strings, stacks and kernel shapes and writes each once to the history lane, before anybody can use
/// its number. Any thread. Equal contents give equal ids; ids count from 1. 0 is returned for the empty
/// string, and when memory or the pool is exhausted (the next attempt tries again).
class Interner {
public:
    /// `firstString`: smaller string ids were used up by the opener of the segment.
    Interner(Ring& ring, raw::StringRef firstString) noexcept
        : m_ring(ring) {
        m_strings.nextId.store(firstString, std::memory_order_relaxed);
    }

    raw::StringRef string(std::string_view text) noexcept;
    /// The same for names that a job makes up as it goes, such as ranges that it numbers: when they have
    /// taken kNameBudget, one that is new is kept with each of its digits as 0, so that names which differ in
    /// numbers only become one, and counted.
    raw::StringRef name(std::string_view text) noexcept;
    std::uint64_t namesLeftOut() const noexcept { return m_namesLeftOut.load(std::memory_order_relaxed); }
    static constexpr std::uint64_t kNameBudget = std::uint64_t{16} << 20; ///< bytes, kNameCost more for each
    static constexpr std::uint64_t kNameCost = 64;
    /// `native`: return addresses, innermost first; both counts <= 64.
    raw::StackRef stack(const std::uint64_t* native, unsigned nativeCount, const raw::PythonFrame* python,
        unsigned pythonCount) noexcept;
    /// `count` <= kMaxScalarWords; `isCut`: there were more.
    std::uint32_t scalars(const raw::ScalarWord* words, unsigned count, bool isCut) noexcept;
    static constexpr unsigned kMaxScalarWords = 200; ///< fit a record
    /// `shape.shape` and the header are filled in here. Beyond kMaxShapes a new one is kept without its grid,
    /// block and shared memory, and counted: a job whose lengths vary launches each kernel in ever new sizes.
    raw::ShapeRef shape(raw::KernelShape shape) noexcept;
    std::uint64_t shapesLeftOut() const noexcept { return m_shapesLeftOut.load(std::memory_order_relaxed); }
    static constexpr std::uint32_t kMaxShapes = 1 << 19;

private:
    struct Entry {
        std::uint64_t hash;
        const char* bytes; ///< in a block of the shard, never moved
        std::uint32_t size;
        std::uint32_t id; ///< 0 = empty entry
    };
    /// An open-addressing table of byte strings with its own lock and memory.
    struct Shard {
        SpinLock lock;
        Entry* entries = nullptr;
        std::size_t mask = 0;
        std::size_t count = 0;
        char* block = nullptr;
        std::size_t blockLeft = 0;

        Entry* find(std::uint64_t hash, std::string_view bytes) noexcept;
        bool grow() noexcept;
        bool reserve(std::size_t bytes) noexcept;
        const char* copy(std::string_view bytes) noexcept; ///< after reserve()
    };
    static constexpr unsigned kShards = 16;
    struct Table {
        Shard shards[kShards];
        std::atomic<std::uint32_t> nextId{1};
    };

    std::uint32_t known(Table& table, std::string_view bytes) noexcept; ///< 0 = not yet
    template <class Write> std::uint32_t intern(Table& table, std::string_view bytes, Write write) noexcept;
    bool writeString(raw::StringRef id, std::string_view text) noexcept;

    Ring& m_ring;
    Table m_strings;
    Table m_stacks;
    Table m_shapes;
    Table m_scalars;
    std::atomic<std::uint64_t> m_nameBytes{0};
    std::atomic<std::uint64_t> m_standInBytes{0};
    std::atomic<std::uint64_t> m_namesLeftOut{0};
    std::atomic<std::uint64_t> m_shapesLeftOut{0};
};

} // namespace gd::session
