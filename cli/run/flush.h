// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run/control.h"
#include "cli/run/job_identity.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gd::run {

// Asks every process that records into the spool to write what it holds back, and waits until those of this
// host have done so or have ended, at most `longest`. Returns the pids of those that have not: they are
// stopped, or their rings cannot be found.
std::vector<std::int64_t> flush(Control& control, const std::filesystem::path& spool, const std::string& host,
    const ReadVariable& read, std::chrono::milliseconds longest);

} // namespace gd::run
