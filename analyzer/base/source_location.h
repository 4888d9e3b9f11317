// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gd::base {

// Where in our own code a call was written; `current()` as a default argument gives the caller's place.
// std::source_location does the same, but clang-tidy 14 cannot read libstdc++'s.
struct SourceLocation {
    const char* file = "";
    unsigned line = 0;
    const char* function = "";

    static constexpr SourceLocation current(const char* file = __builtin_FILE(),
        unsigned line = static_cast<unsigned>(__builtin_LINE()),
        const char* function = __builtin_FUNCTION()) {
        return {file, line, function};
    }
};

} // namespace gd::base
