// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/chunk.h"
#include "collector/raw/records_activity.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"
#include "collector/raw/ring_header.h"
#include "collector/raw/spool_name.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gd::test {

/// Writes the segment (and ring) of one made-up process by the format in collector/raw, with nothing of the
/// collector itself. One chunk is open for the history and one for each thread; closed chunks lie in the
/// segment in the order in which they were closed.
class SpoolWriter {
public:
    struct Chunk {
        raw::ChunkHeader header;
        std::vector<char> payload;
    };

    explicit SpoolWriter(std::filesystem::path folder, std::uint32_t pid = 4711, std::string host = "node7",
        std::int64_t startNs = 1'000'000'000, std::uint64_t key = 0x0123456789abcdef)
        : m_folder(std::move(folder))
        , m_pid(pid)
        , m_key(key)
        , m_startNs(startNs) {
        char name[64];
        std::snprintf(name, sizeof name, ".%u.%lld.%016llx", pid, static_cast<long long>(startNs),
            static_cast<unsigned long long>(key));
        m_stem = host + name;
        std::filesystem::create_directories(m_folder);
    }

    std::filesystem::path segmentPath() const { return m_folder / (m_stem + raw::kSegmentSuffix); }
    std::filesystem::path ringPath() const { return m_folder / (m_stem + raw::kRingSuffix); }
    std::int64_t startNs() const { return m_startNs; }
    /// Chunks are closed before they would grow beyond this.
    void setChunkBytes(std::uint32_t bytes) { m_chunkBytes = bytes; }

    /// The usual first record.
    void start(std::int64_t realtimeOffsetNs = 1'700'000'000'000'000'000, std::uint64_t parentKey = 0) {
        raw::ProcessStart record{};
        record.timeNs = m_startNs;
        record.realtimeOffsetNs = realtimeOffsetNs;
        record.processKey = m_key;
        record.parentKey = parentKey;
        record.pid = m_pid;
        record.parentPid = 1;
        record.role = parentKey != 0 ? 1 : 0;
        history(record);
    }
    void end(std::int64_t timeNs) {
        raw::ProcessEnd record{};
        record.timeNs = timeNs;
        history(record);
    }

    template <raw::Record R> void history(R record, const void* tail = nullptr, std::size_t tailBytes = 0) {
        append(m_history, raw::Lane::History, 0, record, tail, tailBytes);
    }
    template <raw::Record R> void event(raw::ThreadRef thread, R record) {
        append(m_threads[thread], raw::Lane::Events, thread, record, nullptr, 0);
    }
    /// As if the collector had dropped the next `count` records of a thread.
    void dropEvents(raw::ThreadRef thread, std::uint32_t count) {
        closeChunk(m_threads[thread], raw::Lane::Events, thread);
        m_threads[thread].nextSequence += count;
    }

    raw::StringRef string(std::string_view text) {
        const auto [found, isNew]
            = m_strings.emplace(text, static_cast<raw::StringRef>(m_strings.size() + 1));
        if (isNew)
            writeString(found->second, text);
        return found->second;
    }
    void fact(std::string_view key, std::string_view value) {
        raw::ProcessFact record{};
        record.key = string(key);
        record.value = string(value);
        history(record);
    }
    raw::StackRef stack(
        const std::vector<std::uint64_t>& native, const std::vector<raw::PythonFrame>& python = {}) {
        raw::Stack record{};
        record.id = ++m_stacks;
        record.nativeCount = static_cast<std::uint16_t>(native.size());
        record.pythonCount = static_cast<std::uint16_t>(python.size());
        const std::size_t nativeBytes = native.size() * sizeof(std::uint64_t);
        std::vector<char> tail(nativeBytes + python.size() * sizeof(raw::PythonFrame));
        if (!native.empty())
            std::memcpy(tail.data(), native.data(), nativeBytes);
        if (!python.empty())
            std::memcpy(tail.data() + nativeBytes, python.data(), tail.size() - nativeBytes);
        history(record, tail.data(), tail.size());
        return record.id;
    }

    /// Closes all chunks; may be changed before they are written.
    std::vector<Chunk>& chunks() {
        closeChunk(m_history, raw::Lane::History, 0);
        for (auto& [thread, open] : m_threads)
            closeChunk(open, raw::Lane::Events, thread);
        return m_closed;
    }
    void writeSegment() { writeSegment(chunks()); }
    /// The last `inRing` chunks go to the ring, and `copied` of those before them to both, as when the
    /// process was killed between writing a chunk and freeing it.
    void writeSegmentAndRing(std::size_t inRing, std::size_t copied, raw::LossCounters eventLoss = {}) {
        const std::vector<Chunk>& all = chunks();
        const auto cut = static_cast<std::ptrdiff_t>(all.size() - std::min(inRing, all.size()));
        const auto from = cut - std::min(static_cast<std::ptrdiff_t>(copied), cut);
        writeSegment(std::vector<Chunk>(all.begin(), all.begin() + cut));
        writeRing(std::vector<Chunk>(all.begin() + from, all.end()), eventLoss);
    }

private:
    struct Open {
        std::vector<char> payload;
        std::uint32_t firstSequence = 0;
        std::uint32_t nextSequence = 0;
    };

    void writeString(raw::StringRef id, std::string_view text) {
        constexpr std::size_t kPartBytes = 3000;
        std::size_t at = 0;
        for (std::uint16_t part = 0; part == 0 || at < text.size(); ++part) {
            raw::String record{};
            record.id = id;
            record.part = part;
            record.bytes = static_cast<std::uint16_t>(std::min(kPartBytes, text.size() - at));
            record.offset = static_cast<std::uint32_t>(at);
            record.totalBytes = static_cast<std::uint32_t>(text.size());
            history(record, text.data() + at, record.bytes);
            at += record.bytes;
        }
    }

    template <raw::Record R>
    void append(Open& open, raw::Lane lane, raw::ThreadRef thread, R& record, const void* tail,
        std::size_t tailBytes) {
        const std::size_t total = sizeof record + (tailBytes + 7) / 8 * 8;
        if (open.payload.size() + total > m_chunkBytes - sizeof(raw::ChunkHeader))
            closeChunk(open, lane, thread);
        if (open.payload.empty())
            open.firstSequence = open.nextSequence;
        record.header.kind = static_cast<std::uint16_t>(R::kKind);
        record.header.size8 = static_cast<std::uint16_t>(total / 8);
        record.header.sequence = open.nextSequence++;
        const std::size_t at = open.payload.size();
        open.payload.resize(at + total, 0);
        std::memcpy(open.payload.data() + at, &record, sizeof record);
        if (tailBytes != 0)
            std::memcpy(open.payload.data() + at + sizeof record, tail, tailBytes);
    }

    void closeChunk(Open& open, raw::Lane lane, raw::ThreadRef thread) {
        if (open.payload.empty())
            return;
        raw::ChunkHeader header{};
        header.magic = raw::kChunkMagic;
        header.version = raw::kRawVersion;
        header.lane = static_cast<std::uint8_t>(lane);
        header.pid = m_pid;
        header.thread = thread;
        header.processKey = m_key;
        header.chunkSequence = m_chunkSequence[static_cast<int>(lane)]++;
        header.firstRecordSequence = open.firstSequence;
        header.usedBytes = static_cast<std::uint32_t>(open.payload.size());
        m_closed.push_back({header, std::move(open.payload)});
        open.payload = {};
    }

    void writeSegment(const std::vector<Chunk>& list) {
        std::ofstream file(segmentPath(), std::ios::binary | std::ios::trunc);
        for (const Chunk& chunk : list) {
            raw::ChunkHeader header = chunk.header;
            header.checksum = raw::chunkChecksum(header, chunk.payload.data());
            file.write(reinterpret_cast<const char*>(&header), sizeof header);
            file.write(chunk.payload.data(), static_cast<std::streamsize>(chunk.payload.size()));
        }
    }

    void writeRing(const std::vector<Chunk>& list, raw::LossCounters eventLoss) {
        std::vector<char> file(
            raw::kRingHeaderBytes + (list.size() + 1) * std::size_t{raw::kChunkBytes}, '\0');
        raw::RingHeader header{};
        header.magic = raw::kRingMagic;
        header.version = raw::kRawVersion;
        header.headerBytes = raw::kRingHeaderBytes;
        header.pid = m_pid;
        header.processKey = m_key;
        header.chunkBytes = raw::kChunkBytes;
        header.chunkCount = static_cast<std::uint32_t>(list.size() + 1);
        header.startNs = m_startNs;
        header.loss[1] = eventLoss;
        std::memcpy(file.data(), &header, sizeof header);
        for (std::size_t i = 0; i < list.size(); ++i) {
            const bool isHistory = list[i].header.lane == 0;
            raw::RingSlot slot{};
            slot.state = static_cast<std::uint32_t>(raw::ChunkState::Filling);
            slot.use = static_cast<std::uint32_t>(isHistory ? raw::ChunkUse::History : raw::ChunkUse::Owned);
            slot.reservedBytes = static_cast<std::uint32_t>(list[i].payload.size());
            std::memcpy(file.data() + raw::kRingSlotsOffset + i * sizeof slot, &slot, sizeof slot);
            char* at = file.data() + raw::kRingHeaderBytes + i * std::size_t{raw::kChunkBytes};
            raw::ChunkHeader chunk = list[i].header;
            if (isHistory) // only an upper bound: commit words decide
                chunk.usedBytes = raw::kChunkBytes - sizeof chunk;
            std::memcpy(at, &chunk, sizeof chunk);
            std::memcpy(at + sizeof chunk, list[i].payload.data(), list[i].payload.size());
        }
        std::ofstream out(ringPath(), std::ios::binary | std::ios::trunc);
        out.write(file.data(), static_cast<std::streamsize>(file.size()));
    }

    std::filesystem::path m_folder;
    std::string m_stem;
    std::uint32_t m_pid;
    std::uint64_t m_key;
    std::int64_t m_startNs;
    std::uint32_t m_chunkBytes = raw::kChunkBytes;
    Open m_history;
    std::map<raw::ThreadRef, Open> m_threads;
    std::vector<Chunk> m_closed;
    std::uint64_t m_chunkSequence[2] = {};
    std::map<std::string, raw::StringRef, std::less<>> m_strings;
    raw::StackRef m_stacks = 0;
};

} // namespace gd::test
