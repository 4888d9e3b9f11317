// SPDX-License-Identifier: Apache-2.0
#include "tests/support/raw_reader.h"

#include "collector/raw/records_process.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace gd::test {

namespace {

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::string text(file ? static_cast<std::size_t>(file.tellg()) : 0, '\0');
    file.seekg(0);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text;
}

struct EventsPiece {
    std::string path;
    std::uint64_t number;
    std::int64_t sinceNs;
};

/// <segment stem>.<number>.<since>.events, by number.
std::vector<EventsPiece> piecesOf(const std::string& segment) {
    const std::filesystem::path path(segment);
    const std::string prefix = path.stem().string() + ".";
    std::vector<EventsPiece> pieces;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), ignored)) {
        const std::string name = entry.path().filename().string();
        unsigned long long number = 0;
        long long sinceNs = 0;
        if (name.starts_with(prefix) && name.ends_with(".events")
            && std::sscanf(name.c_str() + prefix.size(), "%llu.%lld", &number, &sinceNs) == 2) {
            pieces.push_back({entry.path().string(), number, sinceNs});
        }
    }
    std::sort(pieces.begin(), pieces.end(),
        [](const EventsPiece& a, const EventsPiece& b) { return a.number < b.number; });
    return pieces;
}

bool bySequence(const RawRecord& left, const RawRecord& right) {
    return left.sequence < right.sequence;
}

} // namespace

RawSpool::RawSpool(const std::string& segment, const std::string& ring)
    : m_ring(contents(ring)) {
    const std::vector<EventsPiece> pieces = piecesOf(segment);
    m_files.reserve(1 + pieces.size()); // records point into it
    m_files.push_back(contents(segment));
    for (const EventsPiece& piece : pieces) {
        m_files.push_back(contents(piece.path));
        eventBytes += m_files.back().size();
    }
    if (!pieces.empty() && pieces.front().number != 0) {
        eventsFromNs = pieces.front().sinceNs;
    }
    for (const std::string& file : m_files) {
        readFile(file);
    }
    readRing();
    std::sort(history.begin(), history.end(), bySequence);
    for (auto& [thread, records] : events) {
        std::sort(records.begin(), records.end(), bySequence);
    }
}

void RawSpool::addChunk(const raw::ChunkHeader& chunk, const char* payload, std::uint32_t usedBytes) {
    for (std::uint32_t at = 0; at + sizeof(raw::RecordHeader) <= usedBytes;) {
        raw::RecordHeader record{};
        std::memcpy(&record, payload + at, sizeof record);
        if (record.size8 != 0) {
            const RawRecord found{
                static_cast<raw::RecordKind>(record.kind), record.sequence, payload + at, record.size8 * 8u};
            (chunk.lane == 0 ? history : events[chunk.thread]).push_back(found);
            at += record.size8 * 8u;
        } else if ((record.kind & raw::kReservedRecordBit) != 0) {
            at += (record.kind & ~raw::kReservedRecordBit & 0xffffu) * 8u;
        } else {
            at += 8;
        }
    }
}

void RawSpool::readFile(const std::string& file) {
    for (std::size_t at = 0; at + sizeof(raw::ChunkHeader) <= file.size();) {
        raw::ChunkHeader chunk{};
        std::memcpy(&chunk, file.data() + at, sizeof chunk);
        const char* payload = file.data() + at + sizeof chunk;
        if (chunk.magic != raw::kChunkMagic || at + sizeof chunk + chunk.usedBytes > file.size()
            || raw::chunkChecksum(chunk, payload) != chunk.checksum) {
            return;
        }
        if (m_seen.emplace(chunk.lane, chunk.chunkSequence).second) {
            addChunk(chunk, payload, chunk.usedBytes);
            ++segmentChunks;
        }
        at += sizeof chunk + chunk.usedBytes;
    }
}

void RawSpool::readRing() {
    if (m_ring.size() < raw::kRingHeaderBytes) {
        return;
    }
    std::memcpy(&header, m_ring.data(), sizeof header);
    for (std::uint32_t i = 0; i < header.chunkCount; ++i) {
        raw::RingSlot slot{};
        std::memcpy(&slot, m_ring.data() + raw::kRingSlotsOffset + i * sizeof slot, sizeof slot);
        if (slot.state == static_cast<std::uint32_t>(raw::ChunkState::Free)) {
            continue;
        }
        const bool slices = slot.use == static_cast<std::uint32_t>(raw::ChunkUse::Slices);
        const std::uint32_t step = slices ? raw::kSliceBytes : raw::kChunkBytes;
        for (std::uint32_t offset = 0; offset < raw::kChunkBytes; offset += step) {
            const char* at
                = m_ring.data() + raw::kRingHeaderBytes + std::size_t{i} * raw::kChunkBytes + offset;
            raw::ChunkHeader chunk{};
            std::memcpy(&chunk, at, sizeof chunk);
            if (chunk.magic != raw::kChunkMagic || !m_seen.emplace(chunk.lane, chunk.chunkSequence).second) {
                continue;
            }
            addChunk(chunk, at + sizeof chunk, chunk.usedBytes);
            ++ringChunks;
        }
    }
}

std::string RawSpool::string(raw::StringRef id) const {
    std::string text;
    for (const RawRecord& record : history) {
        if (record.kind == raw::RecordKind::String && record.as<raw::String>().id == id) {
            text += record.tail<raw::String>(record.as<raw::String>().bytes);
        }
    }
    return text;
}

std::string RawSpool::fact(const std::string& key) const {
    for (const raw::ProcessFact& fact : historyOf<raw::ProcessFact>()) {
        if (string(fact.key) == key) {
            return string(fact.value);
        }
    }
    return {};
}

} // namespace gd::test
