// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "cli/run/spool_folder.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gd::run {

// A job that is being recorded on this host.
struct FoundRun {
    std::filesystem::path spool;
    std::vector<RunEntry> runs; // living ones
    std::vector<std::int64_t> processes; // living ones that have recorded something
};

// Finds the running job that a user means by `word`: its spool folder (path, or name in the user's folder),
// the trace it will write, or the pid of a `graphdoctor run` or of a process it records. Folders that others
// could have made or written to are refused, and so are jobs that have ended.
Result<FoundRun> findRun(const std::filesystem::path& user, const std::string& word, const std::string& host);

} // namespace gd::run
