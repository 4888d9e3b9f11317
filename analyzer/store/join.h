// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/store/trace.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace gd::store {

struct JoinOptions {
    bool replace = false; // an existing output
    const std::atomic<bool>* stop = nullptr; // true: gives up soon
};

struct JoinSummary {
    std::int64_t processes = 0;
    // Sentences on what the traces do not say of each other: clocks that are not aligned, ranks that are
    // missing. They are also rows of trace_issue (codes clocks_not_fitted, rank_missing, job_not_proven,
    // step_range_dropped).
    std::vector<std::string> notes;
};

// Writes the traces of several hosts or ranks of one job into one trace: processes in order of start, strings
// once, every other id moved out of the way, times moved by the difference of the traces' starts. Raw tables
// only: readers build the facts, which then see all ranks. Hosts are
// related by their wall clocks only; facts do not compare times of different hosts.
//
// Traces that do not belong together are refused in one sentence that names two of them: the same file twice,
// the same rank in two, other numbers of ranks, other job numbers, or, while no communicator is shared, times
// that have nothing in common or a trace that does not say which rank it holds.
Result<JoinSummary> joinTraces(std::span<const std::filesystem::path> traces,
    const std::filesystem::path& out, const JoinOptions& options);

} // namespace gd::store
