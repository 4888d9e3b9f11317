// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/hooks.h"

#include <cstdint>

namespace gd::session {

/// Stretches without device activity, a few of them and early in a run, so that a trace tells what recording
/// it costs: the analyzer compares the steps inside them with those around. The history goes on meanwhile.
/// Nothing begins before a graph has been replayed for a while, nor while graphs are still being captured:
/// the first replays are worth more than the figure. Pure state; by the collector's own thread.
class OverheadWindows {
public:
    static constexpr unsigned kRounds = 5; ///< the report wants five steps, and a stretch may hold only one
    static constexpr std::uint64_t kReplays = 16; ///< a stretch is to hold so many,
    static constexpr std::int64_t kLongestPart = 5; ///< and is at most so many lengths long for it
    static constexpr std::int64_t kRecordedPart = 4; ///< recorded between two stretches, in their length,
    static constexpr std::int64_t kFirstPart = 30; ///< from the first replay to the first one,
    static constexpr std::int64_t kCalmPart = 2; ///< and without a new executable before each

    struct Job {
        std::uint64_t execs; ///< instantiated so far
        std::uint64_t replays;
        bool isCapturing;
        SwitchBar bar; ///< why kinds of activity may not be switched now
    };

    /// Nanoseconds of a stretch as text; null, empty or anything else: none.
    void open(const char* text) noexcept;
    /// Whether device activity is to be off now.
    bool pauses(std::int64_t nowNs, const Job& job) noexcept;
    /// What keeps it from being measured, now or, when it is a lasting one, for good; null = nothing.
    const char* barredBy() const noexcept { return m_barredBy; }

private:
    std::int64_t m_lengthNs = 0;
    unsigned m_roundsLeft = 0;
    const char* m_barredBy = nullptr;
    bool m_isOff = false;
    std::uint64_t m_execs = 0;
    std::uint64_t m_replays = 0; ///< at the last look
    std::uint64_t m_replaysBefore = 0; ///< when the stretch began
    std::int64_t m_changedNs = 0; ///< an executable was made, or a capture was open
    std::int64_t m_nextNs = 0; ///< of the next switch; 0 = no replay yet
};

} // namespace gd::session
