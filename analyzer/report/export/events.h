// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gd::report {

// One line of a drawing: a thread, or a stream of a device. Numbers are unique in the export, not those of
// the operating system, which processes of several hosts may share.
struct EventTrack {
    std::int64_t process = 0;
    std::int64_t thread = 0;
};

// A named value of an event; texts stay with the caller.
struct EventArgument {
    std::string_view name;
    std::variant<std::int64_t, double, std::string_view, std::array<std::int64_t, 3>> value;
};

// Something that takes time. On one track slices are nested or apart. Times are ns of the trace.
struct EventSlice {
    EventTrack track;
    std::int64_t startNs = 0, endNs = 0;
    std::string_view category, name; // category: ours, without characters to escape
    std::span<const EventArgument> arguments;

    // Of a forged trace the difference may be anything.
    std::int64_t durationNs() const {
        return endNs <= startNs ? 0
                                : static_cast<std::int64_t>(
                                    (static_cast<std::uint64_t>(endNs) - static_cast<std::uint64_t>(startNs))
                                    & 0x7fff'ffff'ffff'ffffU);
    }
};

// What the exported trace is, for the head of the file.
struct EventHead {
    std::int64_t startUnixNs = 0;
    std::string command;
    std::int64_t rank = -1, worldSize = 0; // of a trace with one rank; -1: several, or none
    struct Device {
        std::int64_t id = 0, memoryBytes = 0, multiprocessors = 0;
        std::string name, computeCapability;
    };
    std::vector<Device> devices; // of the first process
};

// Takes the events of a trace one by one, in no order of time, and writes them in one format. Names of
// processes and tracks come before their events.
class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void head(const EventHead& head) = 0;
    // Processes and tracks stand in the order of their places.
    virtual void process(std::int64_t process, std::string_view name, std::int64_t place) = 0;
    virtual void track(const EventTrack& track, std::string_view name, std::int64_t place) = 0;
    virtual void slice(const EventSlice& slice) = 0;
    // A slice without a length.
    virtual void instant(const EventSlice& slice) = 0;
    // A slice that others of its track may overlap without holding it.
    virtual void overlapping(const EventSlice& slice) = 0;
    // Values of a named counter of a process from this time on.
    virtual void counter(std::int64_t process, std::string_view name, std::int64_t timeNs,
        std::span<const EventArgument> values)
        = 0;
    // An arrow from inside a slice to the start of another.
    virtual void arrow(const EventTrack& from, std::int64_t fromNs, const EventTrack& to, std::int64_t toNs)
        = 0;
    virtual void end() = 0;
    // The first failure of writing; the reader of the trace asks now and then.
    virtual const Result<void>& state() const = 0;
};

// Where a sink writes to: a part of the file. Parts come in order.
using EventOutput = std::function<Result<void>(std::string_view)>;

} // namespace gd::report
