// SPDX-License-Identifier: Apache-2.0
#include "cli/run/core_dump.h"

#include "analyzer/import/end_marks.h"

#include <fmt/format.h>

#include <fstream>
#include <sys/resource.h>

namespace gd::run {

std::string coreClause(bool isWritten, std::uint64_t limitBytes, std::string_view pattern) {
    // A program that takes cores from a pipe gets them whatever the limit says.
    const bool isPipe = pattern.starts_with('|');
    if (isWritten)
        return fmt::format("a core was written (core_pattern {})", pattern);
    if (limitBytes == 0 && !isPipe)
        return "no core was written (ulimit -c is 0)";
    return fmt::format("no core was written (core_pattern {})", pattern.empty() ? "is empty" : pattern);
}

std::string coreClause(int signal, bool isWritten) {
    if (!importer::isFault(signal))
        return {};
    rlimit limit{};
    getrlimit(RLIMIT_CORE, &limit);
    std::string pattern;
    std::ifstream file("/proc/sys/kernel/core_pattern");
    std::getline(file, pattern);
    return coreClause(isWritten, limit.rlim_cur, pattern);
}

} // namespace gd::run
