// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/import/chunk_source.h"
#include "analyzer/import/issue_list.h"

#include <filesystem>
#include <optional>
#include <string>

namespace gd::importer {

// Called with the bytes read since the last call.
using BytesRead = std::function<void(std::uint64_t)>;

// A write that the end of the process cut off: the last chunk of a file is not whole.
struct TornEnd {
    std::optional<raw::ChunkHeader> header; // none: not even that is whole
    std::string sentence; // file, position, what is there
};

// Reads a segment file from its beginning through one warm buffer of about 1 MiB and hands out every chunk
// whose checksum holds. After damage it looks for the next valid header at 8-byte steps. Damage becomes
// issues (damaged_chunk, cut_off_segment) that name the file and the position. Fails when the file cannot be
// opened or read, or when it is of a newer version of the format. `visit` returns false to stop early. With
// `torn`, a torn end is told there and is no issue: the ring may hold what was being written.
Result<void> readSegment(const std::filesystem::path& path, const ChunkOwner& owner, IssueList& issues,
    const std::function<bool(const Chunk&)>& visit, const BytesRead& bytesRead,
    std::optional<TornEnd>* torn = nullptr);

} // namespace gd::importer
