// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/source_location.h"

#include <cstdio>
#include <cstdlib>

namespace gd::base {

// Ends the process after naming the broken condition. For bugs only, never for bad input; on in release
// builds too.
[[noreturn]] inline void checkFailed(const char* condition, SourceLocation where) {
    std::fprintf(stderr, "graphdoctor: internal error: %s at %s:%u (%s)\n", condition, where.file, where.line,
        where.function);
    std::abort();
}

} // namespace gd::base

#define GD_CHECK(condition)                                                                                  \
    (static_cast<bool>(condition)                                                                            \
            ? static_cast<void>(0)                                                                           \
            : ::gd::base::checkFailed(#condition, ::gd::base::SourceLocation::current()))
