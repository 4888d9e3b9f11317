// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/import/issue_list.h"
#include "analyzer/import/raw_process.h"
#include "analyzer/import/ring_reader.h"
#include "analyzer/import/segment_name.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gd::importer {

// A piece of a process's event lane.
struct EventsFile {
    std::filesystem::path path;
    EventsName name;
    std::uint64_t bytes = 0;
};

// One segment file of a spool folder, that is one process, and its events.
struct SpoolSegment {
    std::filesystem::path path;
    SegmentName name;
    std::uint64_t bytes = 0;
    std::vector<EventsFile> events; // by number

    std::uint64_t allBytes() const;
};

// All segments of the folders (a path may also name one segment file: its events are those beside it), in
// order of the processes' start. Files with a segment's suffix and a name that says nothing become issues.
// Fails when a folder cannot be read.
Result<std::vector<SpoolSegment>> findSegments(
    std::span<const std::filesystem::path> folders, IssueList& issues);

// The record that opens a process, without reading more of the file than needed.
std::optional<raw::ProcessStart> readProcessStart(const SpoolSegment& segment);

// What reading a process gave besides its records.
struct SpoolProcess {
    RawProcess raw;
    std::optional<RingSummary> ring;
    std::filesystem::path ringPath; // empty = none was read
};

// Reads the segment, then the events, then what is left in the ring. Fails when nothing can be read of this
// process at all.
Result<std::unique_ptr<SpoolProcess>> readProcess(
    const SpoolSegment& segment, IssueList& issues, const BytesRead& bytesRead);

} // namespace gd::importer
