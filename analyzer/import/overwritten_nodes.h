// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/import/import_context.h"

#include <cstdint>
#include <unordered_set>

namespace gd::importer {

// CUPTI keeps one pair of times for each node of an executable. Where node recording was switched off before
// the device came to a replay that had been launched with it, the times are read later, and a replay of long
// after has written its own end over the first one's: kernels of microseconds last as long as the rest of the
// job (seen on an H200). An executable never runs beside itself, so an end behind the start of its next
// replay gives them away.
//
// Takes such records of kernels, copies and fills out of `process`, and says so in its issues. Returns the
// correlations of the replays that they belonged to: when those ended is not known.
std::unordered_set<std::uint64_t> takeOutOverwrittenNodes(ProcessImport& process);

} // namespace gd::importer
