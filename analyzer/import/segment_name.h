// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gd::importer {

// What a segment's file name says, see collector/raw/spool_name.h: <host>.<pid>.<start>.<random>.seg
struct SegmentName {
    std::string stem; // the name without ".seg"
    std::string host; // may hold dots
    std::uint32_t pid = 0;
    std::int64_t startNs = 0; // CLOCK_MONOTONIC
    std::uint64_t processKey = 0;
};

// What the name of a piece of an event lane says (collector/raw/spool_name.h).
struct EventsName {
    std::string stem; // of the segment it belongs to
    std::uint64_t number = 0;
    std::int64_t sinceNs = 0; // CLOCK_MONOTONIC
};
std::optional<EventsName> parseEventsName(std::string_view fileName);

std::optional<SegmentName> parseSegmentName(std::string_view fileName);

} // namespace gd::importer
