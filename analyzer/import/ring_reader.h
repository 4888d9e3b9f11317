// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/import/chunk_source.h"
#include "analyzer/import/issue_list.h"
#include "analyzer/import/segment_reader.h"
#include "collector/raw/ring_header.h"

#include <array>
#include <filesystem>
#include <optional>

namespace gd::importer {

// What the header of a ring says about the whole process.
struct RingSummary {
    std::int64_t startNs = 0; // CLOCK_MONOTONIC
    bool closed = false; // the process closed its session itself
    std::array<raw::LossCounters, 2> loss{}; // by Lane
    std::uint64_t segmentBytes = 0;
    bool historyFull = false;
    std::optional<raw::RingMarks> marks; // what the collector was doing at the process's last moment
};

// Hands out what a ring still holds: chunks that were not written to the segment when the process ended, and
// perhaps some that were (the caller knows records by their numbers). Chunks have no checksum here; they
// count as far as their writers' commit words say. Fails when the file is no ring of that process or of a
// newer version.
Result<RingSummary> readRing(const std::filesystem::path& path, const ChunkOwner& owner, IssueList& issues,
    const ChunkVisitor& visit, const BytesRead& bytesRead);

} // namespace gd::importer
