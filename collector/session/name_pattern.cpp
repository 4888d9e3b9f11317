// SPDX-License-Identifier: Apache-2.0
#include "collector/session/name_pattern.h"

namespace gd::session {

void NamePattern::open(const char* pattern, const char* fallback) noexcept {
    for (const char* text : {pattern, fallback}) {
        m_isSet = m_isSet
            || (text != nullptr && text[0] != '\0'
                && regcomp(&m_pattern, text, REG_EXTENDED | REG_NOSUB) == 0);
    }
}

bool NamePattern::matches(raw::StringRef name, const char* text) noexcept {
    if (!m_isSet) {
        return false;
    }
    SpinGuard guard(m_lock);
    std::uint32_t* known = m_names.insert(name);
    if (known == nullptr) {
        return false;
    }
    if (*known == 0) {
        *known = regexec(&m_pattern, text, 0, nullptr, 0) == 0 ? 2 : 1;
    }
    return *known == 2;
}

} // namespace gd::session
