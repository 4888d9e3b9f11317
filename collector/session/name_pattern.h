// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/record.h"
#include "collector/session/flat_map.h"
#include "collector/session/spin_lock.h"

#include <cstdint>
#include <regex.h>

namespace gd::session {

/// Whether names of ranges match a POSIX pattern; each of the first 65,536 names is matched
/// once (or once a thread that meets it first at the same moment), later ones every time. Any thread.
class NamePattern {
public:
    /// The first of `pattern` and `fallback` that can be read is meant; either may be null. Without one
    /// nothing matches. Called once, before names are looked at.
    void open(const char* pattern, const char* fallback) noexcept;
    /// `text` is what `name` stands for. False for name 0.
    bool matches(raw::StringRef name, const char* text) noexcept;

private:
    SpinLock m_lock;
    FlatMap<bool> m_names; ///< whether it matches
    regex_t m_pattern;
    bool m_isSet = false;
};

} // namespace gd::session
