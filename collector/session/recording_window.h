// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/control_page.h"

#include <cstdint>

namespace gd::session {

/// The part of a run that is recorded at the wanted level, as the command line asked for it in the
/// environment (raw::kEnvWindow); before and after it the level is History. Immutable after open().
class RecordingWindow {
public:
    /// `originNs` is what times count from. A text that cannot be read is no window.
    void open(const char* text, std::int64_t originNs) noexcept;

    /// Whether anything is restricted at all.
    bool isSet() const noexcept { return m_kind != Kind::Everything; }
    /// `stepsEnded`: step ranges that have ended so far, so that the window opens and closes between steps.
    /// `anyRange`: a range that delimits the window is open, or was until a moment ago.
    bool holds(std::int64_t nowNs, std::uint64_t stepsEnded, bool anyRange = false) const noexcept;
    /// Ranges of a name open and close it.
    bool isByRange() const noexcept { return m_kind == Kind::Range; }
    /// Whether the end of a step that makes `stepsEnded` opens or closes it.
    bool turnsAt(std::uint64_t stepsEnded) const noexcept {
        return m_kind == Kind::Steps && (stepsEnded == m_first || stepsEnded == m_last + 1);
    }

private:
    enum class Kind : std::uint8_t { Everything, Time, Steps, Range };
    Kind m_kind = Kind::Everything;
    std::uint64_t m_first = 0;
    std::uint64_t m_last = UINT64_MAX - 1; ///< inclusive; + 1 must not wrap
    std::int64_t m_fromNs = 0;
    std::int64_t m_toNs = INT64_MAX;
};

} // namespace gd::session
