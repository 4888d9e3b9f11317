// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/comm/matches.h"
#include "gui/model/lane.h"
#include "gui/model/lod.h"

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gd::gui {

// What a row of the timeline shows, in the order in which rows of a process stand.
// `busy` only exists on the timeline: all device work of a process in one lane, see RowLayout.
enum class RowKind : std::uint8_t { step, range, replay, gap, stream, comm, commCall, memory, host, busy };

// Rows whose events mean that the device is at work.
inline bool showsDeviceWork(RowKind kind, bool measured) {
    return kind == RowKind::stream || (kind == RowKind::replay && measured);
}

// One row of the timeline. Immutable once delivered.
struct TrackRow {
    // A part of a table that the row's events come from.
    struct Slice {
        std::string table;
        std::int64_t firstRowId = 0;
    };
    struct Place {
        std::string table;
        std::int64_t rowId = 0;
    };
    static constexpr unsigned kOffsetBits = 30;

    RowKind kind = RowKind::host;
    std::int64_t process = 0;
    std::int64_t device = -1; // -1: none, likewise below
    std::int64_t number = -1; // of the stream or thread
    std::string title;
    bool measured = true; // false: times of launches, because those on the device are not known
    std::vector<std::shared_ptr<const Lane>> lanes;
    std::vector<Slice> slices; // at most 4
    std::shared_ptr<const StepCurve> curve; // memory rows; they have no lanes
    std::shared_ptr<const report::CommMatches> matches; // rows of kind comm: which waits for whom

    // Event::row of a row of `slices[slice]`.
    static std::uint32_t encode(std::size_t slice, std::int64_t offset) {
        return static_cast<std::uint32_t>(slice << kOffsetBits) | static_cast<std::uint32_t>(offset);
    }
    // Where an event's details lie.
    Place place(std::uint32_t row) const {
        const Slice& slice = slices[row >> kOffsetBits];
        return {slice.table, slice.firstRowId + (row & ((1U << kOffsetBits) - 1))};
    }
    std::size_t events() const {
        std::size_t out = 0;
        for (const auto& lane : lanes)
            out += lane->size();
        return out;
    }
    // Order of the rows of one trace.
    std::strong_ordering operator<=>(const TrackRow& other) const {
        if (const auto c = process <=> other.process; std::is_neq(c))
            return c;
        if (const auto c = kind <=> other.kind; std::is_neq(c))
            return c;
        if (const auto c = device <=> other.device; std::is_neq(c))
            return c;
        if (const auto c = number <=> other.number; std::is_neq(c))
            return c;
        return title <=> other.title;
    }
};
using RowPtr = std::shared_ptr<const TrackRow>;

// An event of the timeline, by row object.
struct EventKey {
    RowPtr row; // null: no event
    std::size_t lane = 0;
    std::size_t index = 0;

    explicit operator bool() const { return row != nullptr; }
    bool operator==(const EventKey&) const = default;
    const Lane& in() const { return *row->lanes[lane]; }
    std::int64_t startNs() const { return in().start(index); }
    std::int64_t endNs() const { return in().end(index); }
    std::uint32_t name() const { return in().name(index); }
};

} // namespace gd::gui
