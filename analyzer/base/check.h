// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace gd::base {

// Ends the process after naming the broken condition. For bugs only, never for bad input; on in release
// builds too.
[[noreturn]] inline void checkFailed(const char* condition, std::source_location where) {
    std::fprintf(stderr, "graphdoctor: internal error: %s at %s:%u (%s)\n", condition, where.file_name(),
        static_cast<unsigned>(where.line()), where.function_name());
    std::abort();
}

} // namespace gd::base

#define GD_CHECK(condition)                                                                                  \
    (static_cast<bool>(condition) ? static_cast<void>(0)                                                     \
                                  : ::gd::base::checkFailed(#condition, std::source_location::current()))
