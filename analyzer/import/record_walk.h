// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/import/chunk_source.h"
#include "collector/raw/record.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gd::importer {

// One record inside a chunk; `data` starts with its header and is 8-byte aligned relative to the payload.
struct RecordView {
    raw::RecordHeader header;
    const std::byte* data;
    std::size_t bytes;
};

// What walkRecords met besides good records.
struct WalkProblems {
    std::uint64_t unknownKinds = 0; // skipped by their size
    std::uint64_t holes = 0; // room that was taken but never committed
    std::int64_t brokenAt = -1; // offset in the payload where nothing fits any more, -1 = none
};

// True for a size that a record of this kind can have.
bool plausibleSize(std::uint16_t kind, std::size_t bytes);
bool isKnownKind(std::uint16_t kind);

// Offset of the next committed record at or after `offset` in a chunk with commit words, or the payload's
// size. A thread that was killed between taking room and committing leaves a hole whose length may be
// unknown.
std::size_t nextCommitted(const Chunk& chunk, std::size_t offset);

// Calls `use` for each committed record of a chunk in file order. Records of a chunk whose end is missing
// count while their numbers are in order.
template <class Use> WalkProblems walkRecords(const Chunk& chunk, Use&& use) {
    WalkProblems problems;
    const bool history = chunk.header.lane == static_cast<std::uint8_t>(raw::Lane::History);
    const std::size_t size = chunk.payload.size();
    std::uint32_t expected = chunk.header.firstRecordSequence;
    std::size_t offset = 0;
    while (offset + sizeof(raw::RecordHeader) <= size) {
        RecordView record;
        record.data = chunk.payload.data() + offset;
        std::memcpy(&record.header, record.data, sizeof record.header);
        record.bytes = std::size_t{record.header.size8} * 8;
        if (record.header.size8 == 0) {
            if (!history)
                break; // the owner stopped here
            const std::size_t next = nextCommitted(chunk, offset);
            problems.holes += next < size ? 1 : 0;
            offset = next;
            continue;
        }
        const bool fits = record.bytes <= raw::kMaxRecordBytes && record.bytes <= size - offset;
        const bool inOrder = history
            ? record.header.sequence - chunk.header.firstRecordSequence <= raw::kChunkBytes / 8
            : record.header.sequence == expected;
        if (!fits || !inOrder) {
            if (!(chunk.cutOff && !fits))
                problems.brokenAt = static_cast<std::int64_t>(offset);
            break;
        }
        if (!isKnownKind(record.header.kind))
            ++problems.unknownKinds;
        else if (plausibleSize(record.header.kind, record.bytes))
            use(record);
        else
            ++problems.unknownKinds;
        expected = record.header.sequence + 1;
        offset += record.bytes;
    }
    return problems;
}

} // namespace gd::importer
