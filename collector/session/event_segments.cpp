// SPDX-License-Identifier: Apache-2.0
#include "collector/session/event_segments.h"

#include "collector/raw/spool_name.h"
#include "collector/session/system.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace gd::session {

SizeLimits SizeLimits::from(const char* text) noexcept {
    SizeLimits limits;
    while (text != nullptr && *text != '\0') {
        const auto number = [text](std::string_view name) noexcept {
            const bool is = std::strncmp(text, name.data(), name.size()) == 0 && text[name.size()] >= '0'
                && text[name.size()] <= '9';
            return is ? strtoull(text + name.size(), nullptr, 10) : 0;
        };
        limits.totalBytes = std::max<std::uint64_t>(limits.totalBytes, number("size="));
        limits.keptBytes = std::max<std::uint64_t>(limits.keptBytes, number("keep="));
        const std::uint64_t ns = std::min<std::uint64_t>(number("keep_ns="), INT64_MAX);
        limits.keptNs = std::max(limits.keptNs, static_cast<std::int64_t>(ns));
        const char* comma = std::strchr(text, ',');
        text = comma != nullptr ? comma + 1 : nullptr;
    }
    return limits;
}

template <std::size_t N>
void EventSegments::nameOf(std::uint64_t number, std::int64_t sinceNs, char (&path)[N]) const noexcept {
    formatInto(path, m_stem, ".", decimal(number), ".", decimal(static_cast<std::uint64_t>(sinceNs)),
        raw::kEventsSuffix);
}

bool EventSegments::open(const char* segmentPath, const SizeLimits& limits, std::int64_t startNs) noexcept {
    m_limits = limits;
    m_latestNs = startNs;
    const std::string_view path = segmentPath;
    const std::string_view suffix = raw::kSegmentSuffix;
    formatInto(m_stem, path.ends_with(suffix) ? path.substr(0, path.size() - suffix.size()) : path);
    return begin(0);
}

bool EventSegments::begin(std::uint64_t number) noexcept {
    const unsigned next = number == 0 ? 0 : 1 - m_current;
    nameOf(number, m_latestNs, m_paths[next]);
    if (!m_writers[next].open(m_paths[next])) {
        return false;
    }
    if (number != 0) {
        writer().close();
    }
    m_current = next;
    m_last = number;
    piece(number) = {m_latestNs, m_latestNs, 0};
    return true;
}

void EventSegments::setBudget(std::uint64_t historyBytes) noexcept {
    m_budget = UINT64_MAX;
    if (m_limits.totalBytes != 0) {
        m_budget = m_limits.totalBytes > historyBytes ? m_limits.totalBytes - historyBytes : 0;
    }
    if (m_limits.keptBytes != 0) {
        m_budget = std::min(m_budget, m_limits.keptBytes);
    }
}

// Where no new piece can be begun (the job has used up its descriptors), the one at hand goes on: better too
// much than nothing.
void EventSegments::beginWhenDue(std::uint64_t chunkBytes) noexcept {
    const Piece& current = piece(m_last);
    const bool isLong = current.bytes + chunkBytes > m_budget / kPiecesPerLimit;
    const bool isOld
        = m_limits.keptNs != 0 && m_latestNs - current.sinceNs >= m_limits.keptNs / kPiecesPerLimit;
    if (current.bytes != 0 && (isLong || isOld) && m_last - m_first + 1 < kMaxPieces) {
        begin(m_last + 1);
    }
}

void EventSegments::removeOld() noexcept {
    for (; m_first < m_last; ++m_first) {
        const Piece& oldest = piece(m_first);
        const bool isTooMuch = m_bytes > m_budget;
        const bool isTooOld = m_limits.keptNs != 0 && m_latestNs - oldest.untilNs > m_limits.keptNs;
        if (!isTooMuch && !isTooOld) {
            return;
        }
        char path[PATH_MAX];
        nameOf(m_first, oldest.sinceNs, path);
        unlink(path);
        m_bytes -= oldest.bytes;
    }
}

bool EventSegments::append(const raw::ChunkHeader& header, const void* payload, std::int64_t untilNs,
    std::uint64_t historyBytes) noexcept {
    const std::uint64_t bytes = sizeof header + (header.usedBytes + 7) / 8 * 8;
    setBudget(historyBytes);
    beginWhenDue(bytes);
    if (!writer().append(header, payload)) {
        return false;
    }
    m_latestNs = std::max(m_latestNs, untilNs);
    Piece& current = piece(m_last);
    current.bytes += bytes;
    current.untilNs = m_latestNs;
    m_bytes += bytes;
    removeOld();
    return true;
}

void EventSegments::remove() noexcept {
    for (std::uint64_t number = m_first; number <= m_last && m_paths[m_current][0] != '\0'; ++number) {
        char path[PATH_MAX];
        nameOf(number, piece(number).sinceNs, path);
        unlink(path);
    }
}

} // namespace gd::session
