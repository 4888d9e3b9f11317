// SPDX-License-Identifier: Apache-2.0
#include "collector/session/recording_window.h"

#include <cstdlib>
#include <cstring>

namespace gd::session {

namespace {

/// Reads a number behind `name` and moves on; false: something else stands there.
bool readNumber(const char*& at, const char* name, std::uint64_t& value) noexcept {
    const std::size_t length = std::strlen(name);
    if (std::strncmp(at, name, length) != 0 || at[length] < '0' || at[length] > '9') {
        return false;
    }
    char* end = nullptr;
    value = strtoull(at + length, &end, 10);
    at = end;
    return true;
}

std::int64_t later(std::int64_t fromNs, std::uint64_t ns) noexcept {
    std::int64_t sum = 0;
    constexpr std::uint64_t kMost = INT64_MAX;
    const auto step = static_cast<std::int64_t>(ns < kMost ? ns : kMost);
    return __builtin_add_overflow(fromNs, step, &sum) ? INT64_MAX : sum;
}

} // namespace

void RecordingWindow::open(const char* text, std::int64_t originNs) noexcept {
    if (text == nullptr) {
        return;
    }
    std::uint64_t first = 0;
    std::uint64_t last = m_last;
    std::uint64_t ns = 0;
    if (std::strcmp(text, "range") == 0) {
        m_kind = Kind::Range;
        return;
    }
    if (readNumber(text, "steps=", first)) {
        readNumber(text, ":", last);
        m_kind = Kind::Steps;
        m_first = first;
        m_last = last < m_last ? last : m_last;
        return;
    }
    m_fromNs = originNs;
    if (readNumber(text, "delay=", ns)) {
        m_kind = Kind::Time;
        m_fromNs = later(originNs, ns);
        text += *text == ',' ? 1 : 0;
    }
    if (readNumber(text, "duration=", ns)) {
        m_kind = Kind::Time;
        m_toNs = later(m_fromNs, ns);
    }
}

bool RecordingWindow::holds(std::int64_t nowNs, std::uint64_t stepsEnded, bool anyRange) const noexcept {
    switch (m_kind) {
    case Kind::Time:
        return nowNs >= m_fromNs && nowNs < m_toNs;
    case Kind::Steps:
        return stepsEnded >= m_first && stepsEnded <= m_last;
    case Kind::Range:
        return anyRange;
    case Kind::Everything:
        break;
    }
    return true;
}

} // namespace gd::session
