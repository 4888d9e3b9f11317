// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/name_counts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gd::gui {

// One event before it has a lane. Times are ns of the trace clock.
struct Event {
    std::int64_t startNs = 0;
    std::int64_t durNs = 0; // not negative
    std::uint32_t name = 0; // id in NameTable
    std::uint32_t row = 0; // where its details lie, see TrackRow::place
};

// Events of one line of the drawing: sorted by start, disjoint. Immutable once built, so that threads share
// it. 17.7 bytes an event: times in blocks of 16, each a start and the busy time before it in 64 bits and for
// its events 32 bits each of start and of busy time up to their end (which gives each duration and, by one
// difference, the busy time of any range), name, row, and block maxima of durations. A pixel of many events
// needs four lines of memory of them, most of which lie one after the other for one pixel after the other.
class Lane {
public:
    static constexpr std::size_t kBlock = 16;

    std::size_t size() const { return m_names.size(); }
    std::int64_t start(std::size_t i) const {
        const Block& block = m_blocks[i / kBlock];
        return block.isWide() ? wide(block).starts[i % kBlock]
                              : m_heads[i / kBlock].startNs + block.offsets[i % kBlock];
    }
    std::int64_t duration(std::size_t i) const {
        const Block& block = m_blocks[i / kBlock];
        const std::size_t k = i % kBlock;
        if (block.isWide())
            return wide(block).sums[k] - (k == 0 ? 0 : wide(block).sums[k - 1]);
        return block.sums[k] - (k == 0 ? 0 : block.sums[k - 1]);
    }
    std::int64_t end(std::size_t i) const { return start(i) + duration(i); }
    std::uint32_t name(std::size_t i) const { return m_names[i]; }
    std::uint32_t row(std::size_t i) const { return m_rows[i]; }

    // First event that starts at or after t (size(): none).
    std::size_t lowerBound(std::int64_t t) const { return lowerBoundIn(blocksBefore(t, 0), t); }
    // The same in two halves, so that the memory of the second can be on its way meanwhile. First how many
    // blocks begin before t, searched from `guess` in steps that double: cheap when the answer is near it.
    std::size_t blocksBefore(std::int64_t t, std::size_t guess) const {
        const std::size_t at = std::min(guess, m_blocks.size());
        return m_heads[at].startNs >= t && (at == 0 || m_heads[at - 1].startNs < t) ? at
                                                                                    : searchBlocks(t, at);
    }
    std::size_t lowerBoundIn(std::size_t blocksBefore, std::int64_t t) const;
    // First event that ends after t; an event without duration counts while it starts at or after t.
    std::size_t firstEndingAfter(std::int64_t t) const;
    // Busy time of whole events [from, to).
    std::int64_t busy(std::size_t from, std::size_t to) const { return busyBefore(to) - busyBefore(from); }
    // Longest event of [from, to), the first of equals; the range must not be empty.
    std::size_t longest(std::size_t from, std::size_t to) const;
    // First event of [from, to) with at least this duration; `to`: none.
    std::size_t nextAtLeast(std::size_t from, std::size_t to, std::int64_t durNs) const;
    // How many of [from, to) have a wanted name; the first and the last of them (`to`: none).
    std::size_t countNamed(const WantedNames& wanted, std::size_t from, std::size_t to) const {
        return m_counts.count(m_names, wanted, from, to);
    }
    std::size_t nextNamed(const WantedNames& wanted, std::size_t from, std::size_t to) const {
        return m_counts.next(m_names, wanted, from, to);
    }
    std::size_t lastNamed(const WantedNames& wanted, std::size_t from, std::size_t to) const {
        return m_counts.last(m_names, wanted, from, to);
    }
    // Soon the times of the last of so many blocks, or the name of an event, are asked for.
    void expectBlock(std::size_t blocks) const {
        const Block* const block = m_blocks.data() + (blocks == 0 ? 0 : blocks - 1);
        __builtin_prefetch(block->offsets.data());
        __builtin_prefetch(block->sums.data());
    }
    void expectName(std::size_t i) const { __builtin_prefetch(m_names.data() + i); }
    std::size_t bytes() const;

private:
    friend class LaneFiller;
    struct Head {
        std::int64_t startNs = 0; // of its first event
        std::int64_t busyNs = 0; // of all events before it
    };
    // Ns since the head's start, and busy ns of the block's events up to and including each. A block that 32
    // bits cannot hold has offsets[0], else 0, as 1 + its place among the wide ones. Places behind the last
    // event have the largest offset.
    struct alignas(64) Block {
        std::array<std::uint32_t, kBlock> offsets;
        std::array<std::uint32_t, kBlock> sums;
        bool isWide() const { return offsets[0] != 0; }
    };
    struct WideBlock {
        std::array<std::int64_t, kBlock> starts; // of the trace clock
        std::array<std::int64_t, kBlock> sums;
    };
    // An event and its duration beside it, cut to 32 bits: comparing blocks needs no look at the events.
    struct Longest {
        std::uint32_t index = 0;
        std::uint32_t durNs = 0;
    };
    const WideBlock& wide(const Block& block) const { return m_wide[block.offsets[0] - 1]; }
    std::int64_t busyBefore(std::size_t i) const {
        const std::size_t k = i % kBlock;
        if (k == 0)
            return m_heads[i / kBlock].busyNs;
        const Block& block = m_blocks[i / kBlock];
        return m_heads[i / kBlock].busyNs + (block.isWide() ? wide(block).sums[k - 1] : block.sums[k - 1]);
    }
    std::size_t searchBlocks(std::int64_t t, std::size_t guess) const;
    struct Best {
        std::size_t index = 0;
        std::int64_t durNs = -1;
    };
    // The longest of [from, to), which lie in one block.
    Best longestInBlock(std::size_t from, std::size_t to) const;
    std::int64_t durationOf(const Longest& longest) const;
    Longest better(const Longest& a, const Longest& b) const;

    std::vector<Head> m_heads; // one more than blocks: the last begins after every time
    std::vector<Block> m_blocks;
    std::vector<WideBlock> m_wide;
    std::vector<std::uint32_t> m_names;
    NameCounts m_counts; // of m_names
    std::vector<std::uint32_t> m_rows;
    // The longest event of each block: level 0 of kBlock events, each further level of 4 blocks.
    std::vector<std::vector<Longest>> m_maxima;
};

// Splits events into lanes: each goes to the first lane that is free at its start. Takes events in any order
// (sorted input costs nothing, and a few sorted runs one after the other hardly anything).
class LaneBuilder {
public:
    static constexpr std::size_t kMaxLanes = 256;

    void reserve(std::size_t events) { m_events.reserve(events); }
    void add(const Event& event);
    bool empty() const { return m_events.empty(); }
    struct Built {
        std::vector<std::shared_ptr<const Lane>> lanes;
        std::size_t leftOut = 0; // events that would have needed more than kMaxLanes
    };
    Built build() &&;

private:
    void sort();

    std::vector<Event> m_events;
    std::vector<std::size_t> m_runs; // where a sorted run begins, but the first
};

} // namespace gd::gui
