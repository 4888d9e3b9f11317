// SPDX-License-Identifier: Apache-2.0
#include "collector/session/name_pattern.h"

#include <cstddef>

namespace gd::session {

namespace {

constexpr std::size_t kMostKept = 1 << 16; ///< a job that numbers its ranges must not fill its memory with us

} // namespace

void NamePattern::open(const char* pattern, const char* fallback) noexcept {
    for (const char* text : {pattern, fallback}) {
        m_isSet = m_isSet
            || (text != nullptr && text[0] != '\0'
                && regcomp(&m_pattern, text, REG_EXTENDED | REG_NOSUB) == 0);
    }
}

bool NamePattern::matches(raw::StringRef name, const char* text) noexcept {
    if (!m_isSet || name == 0) {
        return false;
    }
    {
        const SpinGuard guard(m_lock);
        if (const bool* known = m_names.find(name); known != nullptr) {
            return *known;
        }
    }
    // Outside the lock: it allocates, and other threads would spin meanwhile. Two may both do it.
    const bool matches = regexec(&m_pattern, text, 0, nullptr, 0) == 0;
    const SpinGuard guard(m_lock);
    if (m_names.size() < kMostKept) {
        if (bool* known = m_names.insert(name); known != nullptr) {
            *known = matches;
        }
    }
    return matches;
}

} // namespace gd::session
