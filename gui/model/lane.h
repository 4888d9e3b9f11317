// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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
// it. 26.7 bytes an event: start, prefix sum of durations (which gives each duration and, by one difference,
// the busy time of any range), name, row, and block maxima of durations.
class Lane {
public:
    std::size_t size() const { return m_starts.size(); }
    std::int64_t start(std::size_t i) const { return m_starts[i]; }
    std::int64_t duration(std::size_t i) const { return m_prefix[i + 1] - m_prefix[i]; }
    std::int64_t end(std::size_t i) const { return m_starts[i] + duration(i); }
    std::uint32_t name(std::size_t i) const { return m_names[i]; }
    std::uint32_t row(std::size_t i) const { return m_rows[i]; }

    // First event that starts at or after t (size(): none).
    std::size_t lowerBound(std::int64_t t) const;
    // The same among the events from `from` on, searched from `guess` in steps that double: cheap when the
    // answer is near it.
    std::size_t lowerBoundFrom(std::size_t from, std::size_t guess, std::int64_t t) const;
    // First event that ends after t; an event without duration counts while it starts at or after t.
    std::size_t firstEndingAfter(std::int64_t t) const;
    // Busy time of whole events [from, to).
    std::int64_t busy(std::size_t from, std::size_t to) const { return m_prefix[to] - m_prefix[from]; }
    // Longest event of [from, to), the first of equals; the range must not be empty.
    std::size_t longest(std::size_t from, std::size_t to) const;
    // First event of [from, to) with at least this duration; `to`: none.
    std::size_t nextAtLeast(std::size_t from, std::size_t to, std::int64_t durNs) const;
    // Soon the name of `named` and the times around `next` are asked for.
    void expect(std::size_t named, std::size_t next) const {
        __builtin_prefetch(m_names.data() + named);
        __builtin_prefetch(m_starts.data() + std::min(next, size() - 1));
        __builtin_prefetch(m_prefix.data() + std::min(next, size() - 1));
    }
    std::size_t bytes() const;

private:
    friend class LaneBuilder;
    // An event and its duration beside it, cut to 32 bits: comparing blocks needs no look at the events.
    struct Longest {
        std::uint32_t index = 0;
        std::uint32_t durNs = 0;
    };
    Longest entry(std::size_t i) const;
    Longest better(const Longest& a, const Longest& b) const;

    std::vector<std::int64_t> m_starts;
    std::vector<std::int64_t> m_prefix; // one more than events
    std::vector<std::uint32_t> m_names;
    std::vector<std::uint32_t> m_rows;
    // The longest event of each block: level 0 of 4 events, each further level of 4 blocks.
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
