// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/chunk.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace gd::importer {

// A chunk of records, wherever it was read. `payload` is valid only during the call.
struct Chunk {
    raw::ChunkHeader header;
    std::span<const std::byte> payload;
    std::uint64_t position = 0; // of the header in its file
    bool fromRing = false;
    // The end is missing (cut-off file): records count only while their numbers prove them.
    bool cutOff = false;
};
using ChunkVisitor = std::function<void(const Chunk&)>;

// What the chunks of one process must say; a mismatch is damage.
struct ChunkOwner {
    std::uint32_t pid = 0;
    std::uint64_t processKey = 0;
};

// True when the fields of a header make sense for a chunk of that process in this version of the format.
bool plausibleHeader(const raw::ChunkHeader& header, const ChunkOwner& owner, std::uint32_t maxPayloadBytes);

// The same but for the version, which is newer than ours.
bool isNewerVersion(const raw::ChunkHeader& header);

} // namespace gd::importer
