// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/segment_name.h"

#include "collector/raw/spool_name.h"

#include <charconv>

namespace gd::importer {
namespace {

template <class Number> bool parse(std::string_view text, Number& value, int base) {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return status == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Cuts the part after the last dot off `text`.
std::optional<std::string_view> takeLast(std::string_view& text) {
    const std::size_t dot = text.rfind('.');
    if (dot == text.npos)
        return std::nullopt;
    const std::string_view part = text.substr(dot + 1);
    text = text.substr(0, dot);
    return part;
}

} // namespace

std::optional<EventsName> parseEventsName(std::string_view fileName) {
    constexpr std::string_view kSuffix = raw::kEventsSuffix;
    if (!fileName.ends_with(kSuffix))
        return std::nullopt;
    EventsName name;
    std::string_view rest = fileName.substr(0, fileName.size() - kSuffix.size());
    const auto since = takeLast(rest);
    const auto number = takeLast(rest);
    if (!since || !number || !parse(*since, name.sinceNs, 10) || !parse(*number, name.number, 10))
        return std::nullopt;
    name.stem = rest;
    return name;
}

std::optional<SegmentName> parseSegmentName(std::string_view fileName) {
    if (!fileName.ends_with(raw::kSegmentSuffix))
        return std::nullopt;
    SegmentName name;
    std::string_view rest
        = fileName.substr(0, fileName.size() - std::string_view(raw::kSegmentSuffix).size());
    name.stem = rest;
    const auto key = takeLast(rest);
    const auto start = takeLast(rest);
    const auto pid = takeLast(rest);
    if (!key || !start || !pid || rest.empty())
        return std::nullopt;
    if (!parse(*key, name.processKey, 16) || !parse(*start, name.startNs, 10) || !parse(*pid, name.pid, 10))
        return std::nullopt;
    name.host = rest;
    return name;
}

} // namespace gd::importer
