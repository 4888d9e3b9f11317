// SPDX-License-Identifier: Apache-2.0
#include "collector/session/interner.h"

#include <bit>
#include <cstring>

namespace gd::session {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} * 1024;
constexpr std::size_t kMaxStringBytes = 1 << 20;
/// Payload of one String record: the largest record less its head.
constexpr std::size_t kPartBytes = raw::kMaxRecordBytes - sizeof(raw::String);

std::uint64_t hashBytes(std::string_view bytes) noexcept {
    constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
    std::uint64_t hash = kMultiplier ^ bytes.size();
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, 8);
        hash = (hash ^ word) * kMultiplier;
        hash ^= hash >> 29;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, bytes.size() - i);
    hash = (hash ^ word) * kMultiplier;
    return hash ^ (hash >> 32);
}

} // namespace

Interner::Entry* Interner::Shard::find(std::uint64_t hash, std::string_view bytes) noexcept {
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
        Entry& entry = entries[i];
        if (entry.id == 0
            || (entry.hash == hash && entry.size == bytes.size()
                && std::memcmp(entry.bytes, bytes.data(), bytes.size()) == 0)) {
            return &entry;
        }
    }
}

bool Interner::Shard::grow() noexcept {
    const std::size_t newCapacity = entries == nullptr ? 128 : (mask + 1) * 2;
    auto* fresh = static_cast<Entry*>(mapMemory(newCapacity * sizeof(Entry)));
    if (fresh == nullptr) {
        return false;
    }
    for (std::size_t i = 0; entries != nullptr && i <= mask; ++i) {
        if (entries[i].id != 0) {
            std::size_t to = entries[i].hash & (newCapacity - 1);
            while (fresh[to].id != 0) {
                to = (to + 1) & (newCapacity - 1);
            }
            fresh[to] = entries[i];
        }
    }
    if (entries != nullptr) {
        munmap(entries, (mask + 1) * sizeof(Entry));
    }
    entries = fresh;
    mask = newCapacity - 1;
    return true;
}

bool Interner::Shard::reserve(std::size_t bytes) noexcept {
    if (bytes > blockLeft) {
        // Powers of two: sizes that rise slowly while nothing can be written must not map a block each.
        const std::size_t size = bytes > kBlockBytes ? std::bit_ceil(bytes) : kBlockBytes;
        auto* fresh = static_cast<char*>(mapMemory(size));
        if (fresh == nullptr) {
            return false;
        }
        block = fresh;
        blockLeft = size;
    }
    return true;
}

const char* Interner::Shard::copy(std::string_view bytes) noexcept {
    char* to = block;
    std::memcpy(to, bytes.data(), bytes.size());
    block += bytes.size();
    blockLeft -= bytes.size();
    return to;
}

template <class Write>
std::uint32_t Interner::intern(Table& table, std::string_view bytes, Write write) noexcept {
    const std::uint64_t hash = hashBytes(bytes);
    Shard& shard = table.shards[(hash >> 48) % kShards];
    SpinGuard guard(shard.lock);
    if ((shard.entries == nullptr || (shard.count + 1) * 4 > (shard.mask + 1) * 3) && !shard.grow()) {
        return 0;
    }
    Entry* entry = shard.find(hash, bytes);
    if (entry->id != 0) {
        return entry->id;
    }
    // Before it is written: what cannot be kept would be written again at each use.
    if (!shard.reserve(bytes.size())) {
        return 0;
    }
    const std::uint32_t id = table.nextId.fetch_add(1, std::memory_order_relaxed);
    // Written under the shard's lock, so that nobody can record this id before its record is in the ring. And
    // before it is kept: an attempt that fails because the ring is full must not cost memory each time.
    if (!write(id)) {
        return 0;
    }
    *entry = {hash, shard.copy(bytes), static_cast<std::uint32_t>(bytes.size()), id};
    ++shard.count;
    return id;
}

std::uint32_t Interner::known(Table& table, std::string_view bytes) noexcept {
    const std::uint64_t hash = hashBytes(bytes);
    Shard& shard = table.shards[(hash >> 48) % kShards];
    const SpinGuard guard(shard.lock);
    return shard.entries != nullptr ? shard.find(hash, bytes)->id : 0;
}

raw::StringRef Interner::name(std::string_view text) noexcept {
    constexpr std::uint64_t kStandInBudget = kNameBudget / 16;
    text = text.substr(0, kMaxStringBytes);
    if (const raw::StringRef id = text.empty() ? 0 : known(m_strings, text); id != 0 || text.empty()) {
        return id;
    }
    const auto take = [](std::atomic<std::uint64_t>& used, std::uint64_t budget, std::size_t bytes) noexcept {
        // Tested first: an attempt beyond the budget leaves the sum as it is.
        return used.load(std::memory_order_relaxed) + bytes + kNameCost <= budget
            && used.fetch_add(bytes + kNameCost, std::memory_order_relaxed) < budget;
    };
    const auto keep = [this](std::atomic<std::uint64_t>& used, std::string_view kept) noexcept {
        const raw::StringRef id = string(kept);
        if (id == 0) { // a full ring must not use the budget up
            used.fetch_sub(kept.size() + kNameCost, std::memory_order_relaxed);
        }
        return id;
    };
    if (take(m_nameBytes, kNameBudget, text.size())) {
        return keep(m_nameBytes, text);
    }
    m_namesLeftOut.fetch_add(1, std::memory_order_relaxed);
    char standIn[256];
    const std::size_t length = text.size() < sizeof standIn ? text.size() : sizeof standIn;
    for (std::size_t i = 0; i < length; ++i) {
        standIn[i] = text[i] >= '0' && text[i] <= '9' ? '0' : text[i];
    }
    const std::string_view withoutNumbers(standIn, length);
    if (const raw::StringRef id = known(m_strings, withoutNumbers); id != 0) {
        return id;
    }
    return take(m_standInBytes, kStandInBudget, length) ? keep(m_standInBytes, withoutNumbers)
                                                        : string("(further names)");
}

raw::StringRef Interner::string(std::string_view text) noexcept {
    if (text.empty()) {
        return 0;
    }
    text = text.substr(0, kMaxStringBytes);
    return intern(m_strings, text, [this, text](std::uint32_t id) noexcept { return writeString(id, text); });
}

bool Interner::writeString(raw::StringRef id, std::string_view text) noexcept {
    std::uint16_t part = 0;
    for (std::size_t offset = 0; offset < text.size(); offset += kPartBytes, ++part) {
        const std::string_view piece = text.substr(offset, kPartBytes);
        raw::String record{};
        record.id = id;
        record.part = part;
        record.bytes = static_cast<std::uint16_t>(piece.size());
        record.offset = static_cast<std::uint32_t>(offset);
        record.totalBytes = static_cast<std::uint32_t>(text.size());
        if (!m_ring.appendHistory(record, piece.data(), piece.size())) {
            return false;
        }
    }
    return true;
}

raw::StackRef Interner::stack(const std::uint64_t* native, unsigned nativeCount,
    const raw::PythonFrame* python, unsigned pythonCount) noexcept {
    if (nativeCount == 0 && pythonCount == 0) {
        return 0;
    }
    struct {
        std::uint64_t counts;
        std::uint64_t native[64];
        raw::PythonFrame python[64];
    } buffer;
    buffer.counts = std::uint64_t{nativeCount} << 32 | pythonCount;
    const std::size_t nativeBytes = nativeCount * sizeof native[0];
    const std::size_t pythonBytes = pythonCount * sizeof python[0];
    auto* bytes = reinterpret_cast<char*>(buffer.native);
    if (nativeBytes != 0) {
        std::memcpy(bytes, native, nativeBytes);
    }
    if (pythonBytes != 0) {
        std::memcpy(bytes + nativeBytes, python, pythonBytes);
    }
    const std::string_view key(
        bytes - sizeof buffer.counts, sizeof buffer.counts + nativeBytes + pythonBytes);
    return intern(m_stacks, key, [&](std::uint32_t id) noexcept {
        raw::Stack record{};
        record.id = id;
        record.nativeCount = static_cast<std::uint16_t>(nativeCount);
        record.pythonCount = static_cast<std::uint16_t>(pythonCount);
        return m_ring.appendHistory(record, bytes, nativeBytes + pythonBytes);
    });
}

std::uint32_t Interner::scalars(const raw::ScalarWord* words, unsigned count, bool isCut) noexcept {
    if (count == 0) {
        return 0;
    }
    const std::string_view key(reinterpret_cast<const char*>(words), count * sizeof *words);
    return intern(m_scalars, key, [&](std::uint32_t id) noexcept {
        raw::ScalarSet record{};
        record.id = id;
        record.count = static_cast<std::uint16_t>(count);
        record.isCut = isCut ? 1 : 0;
        return m_ring.appendHistory(record, key.data(), key.size());
    });
}

raw::ShapeRef Interner::shape(raw::KernelShape shape) noexcept {
    shape.header = {};
    shape.shape = 0;
    raw::KernelShape keyed = shape;
    const std::string_view key(reinterpret_cast<const char*>(&keyed), sizeof keyed);
    if (m_shapes.nextId.load(std::memory_order_relaxed) > kMaxShapes) {
        if (const raw::ShapeRef id = known(m_shapes, key); id != 0) {
            return id;
        }
        m_shapesLeftOut.fetch_add(1, std::memory_order_relaxed);
        shape = {};
        shape.name = keyed.name;
        keyed = shape;
    }
    return intern(m_shapes, key, [&](std::uint32_t id) noexcept {
        shape.shape = id;
        return m_ring.appendHistory(shape);
    });
}

} // namespace gd::session
