// SPDX-License-Identifier: Apache-2.0
#include "collector/session/overhead_windows.h"

#include <cstdlib>

namespace gd::session {

void OverheadWindows::open(const char* text) noexcept {
    constexpr std::int64_t kLongestNs = std::int64_t{3600} * 1'000'000'000; // thirty of them must not wrap
    const std::int64_t ns = text != nullptr ? std::strtoll(text, nullptr, 10) : 0;
    m_lengthNs = ns > 0 && ns <= kLongestNs ? ns : 0;
    m_roundsLeft = m_lengthNs > 0 ? kRounds : 0;
}

bool OverheadWindows::pauses(std::int64_t nowNs, const Job& job) noexcept {
    if (m_roundsLeft == 0) {
        return false;
    }
    m_barredBy = job.bar.why;
    if (m_barredBy != nullptr && job.bar.isLasting) {
        m_roundsLeft = 0;
        return false;
    }
    if (job.execs != m_execs || job.isCapturing || m_barredBy != nullptr) {
        m_execs = job.execs;
        m_changedNs = nowNs;
        if (m_isOff) { // what comes now is to be recorded
            m_isOff = false;
            m_nextNs = nowNs + kRecordedPart * m_lengthNs;
        }
        return false;
    }
    const bool isReplaying = job.replays != m_replays;
    m_replays = job.replays;
    if (m_nextNs == 0) {
        m_nextNs = job.replays != 0 ? nowNs + kFirstPart * m_lengthNs : 0;
        return false;
    }
    const bool isFull
        = job.replays - m_replaysBefore >= kReplays || nowNs >= m_nextNs + (kLongestPart - 1) * m_lengthNs;
    if (m_isOff && nowNs >= m_nextNs && isFull) {
        m_isOff = false;
        --m_roundsLeft;
        m_nextNs = nowNs + kRecordedPart * m_lengthNs;
    } else if (!m_isOff && isReplaying && nowNs >= m_nextNs
        && nowNs - m_changedNs >= kCalmPart * m_lengthNs) {
        m_isOff = true;
        m_replaysBefore = job.replays;
        m_nextNs = nowNs + m_lengthNs;
    }
    return m_isOff;
}

} // namespace gd::session
