// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/ring_reader.h"

#include "analyzer/base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace gd::importer {
namespace {

using base::Fd;

constexpr std::uint32_t kMaxChunkBytes = 16 << 20;
constexpr std::uint32_t kChunkHeaderBytes = sizeof(raw::ChunkHeader);

// Bytes read, less at the end of the file.
std::size_t readAt(int fd, std::uint64_t offset, void* to, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t got
            = ::pread(fd, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += static_cast<std::size_t>(got);
    }
    return done;
}

class RingReader {
public:
    RingReader(
        std::string name, const ChunkOwner& owner, IssueList& issues, const ChunkVisitor& visit, int fd)
        : m_name(std::move(name))
        , m_owner(owner)
        , m_issues(issues)
        , m_visit(visit)
        , m_fd(fd) { }

    Result<RingSummary> run(const BytesRead& bytesRead) {
        GD_TRY(readHeader());
        m_slots.resize(m_header.chunkCount);
        const std::size_t slotBytes = m_slots.size() * sizeof(raw::RingSlot);
        if (readAt(m_fd, raw::kRingSlotsOffset, m_slots.data(), slotBytes) != slotBytes)
            return fail(ErrorCode::badInput, "{} is cut off inside its table of chunks", m_name);
        m_chunk.resize(m_header.chunkBytes);
        for (std::uint32_t i = 0; i < m_header.chunkCount; ++i) {
            readSlot(i);
            if (bytesRead)
                bytesRead(m_header.chunkBytes);
        }
        RingSummary summary;
        summary.startNs = m_header.startNs;
        summary.closed = m_header.closed != 0;
        summary.loss = {m_header.loss[0], m_header.loss[1]};
        summary.segmentBytes = m_header.segmentBytes;
        summary.historyFull = m_header.historyFull != 0;
        raw::RingMarks marks{};
        if (m_header.headerBytes >= raw::kRingMarksOffset + sizeof marks
            && readAt(m_fd, raw::kRingMarksOffset, &marks, sizeof marks) == sizeof marks)
            summary.marks = marks;
        return summary;
    }

private:
    Result<void> readHeader() {
        if (readAt(m_fd, 0, &m_header, sizeof m_header) != sizeof m_header)
            return fail(ErrorCode::badInput, "{} is too short for a ring", m_name);
        if (m_header.magic != raw::kRingMagic)
            return fail(ErrorCode::badInput, "{} is not a ring: expected {:016x} at byte 0, found {:016x}",
                m_name, raw::kRingMagic, m_header.magic);
        if (m_header.version > raw::kRawVersion)
            return fail(ErrorCode::badInput,
                "{} was written by a newer collector: its format has version {}, this one reads up to {}",
                m_name, m_header.version, raw::kRawVersion);
        if (m_header.pid != m_owner.pid || m_header.processKey != m_owner.processKey)
            return fail(ErrorCode::badInput, "{} belongs to process {} ({:016x}), expected {} ({:016x})",
                m_name, m_header.pid, m_header.processKey, m_owner.pid, m_owner.processKey);
        const bool sane = m_header.headerBytes >= raw::kRingSlotsOffset && m_header.chunkBytes % 4096 == 0
            && m_header.chunkBytes >= raw::kSliceBytes && m_header.chunkBytes <= kMaxChunkBytes
            && m_header.chunkCount <= raw::kMaxRingChunks;
        if (!sane)
            return fail(ErrorCode::badInput, "{} has a damaged header: {} chunks of {} bytes", m_name,
                m_header.chunkCount, m_header.chunkBytes);
        return {};
    }

    void readSlot(std::uint32_t index) {
        const raw::RingSlot& slot = m_slots[index];
        if (slot.state == static_cast<std::uint32_t>(raw::ChunkState::Free))
            return;
        const std::uint64_t at = m_header.headerBytes + std::uint64_t{index} * m_header.chunkBytes;
        const std::size_t present = readAt(m_fd, at, m_chunk.data(), m_chunk.size());
        if (slot.state > static_cast<std::uint32_t>(raw::ChunkState::Draining)) {
            m_issues.dataLoss("damaged_chunk", 1,
                fmt::format("{}: chunk {} has the unknown state {}; it is read if its header is valid",
                    m_name, index, slot.state));
        }
        const bool slices = slot.use == static_cast<std::uint32_t>(raw::ChunkUse::Slices);
        const std::size_t step = slices ? raw::kSliceBytes : m_chunk.size();
        for (std::size_t offset = 0; offset + kChunkHeaderBytes <= present; offset += step)
            readPart(slot, at, offset, std::min(step, present - offset), slices);
    }

    void readPart(const raw::RingSlot& slot, std::uint64_t chunkAt, std::size_t offset, std::size_t bytes,
        bool slices) {
        Chunk chunk;
        std::memcpy(&chunk.header, m_chunk.data() + offset, kChunkHeaderBytes);
        if (chunk.header.magic == 0)
            return; // a slice that was not handed out, or a chunk whose owner was stopped before its first
                    // record
        chunk.position = chunkAt + offset;
        // Padding apart, a full history chunk counts bytes that do not fit any more.
        chunk.header.usedBytes = std::min<std::uint32_t>(
            chunk.header.usedBytes / 8 * 8, static_cast<std::uint32_t>(bytes - kChunkHeaderBytes));
        const bool history = chunk.header.lane == static_cast<std::uint8_t>(raw::Lane::History);
        if (history && !slices)
            chunk.header.usedBytes = std::min(chunk.header.usedBytes, slot.reservedBytes / 8 * 8);
        if (!plausibleHeader(chunk.header, m_owner, static_cast<std::uint32_t>(bytes - kChunkHeaderBytes))) {
            m_issues.dataLoss("damaged_chunk", 1,
                fmt::format("{}: the chunk at byte {} has no valid header", m_name, chunk.position));
            return;
        }
        chunk.payload = {m_chunk.data() + offset + kChunkHeaderBytes, chunk.header.usedBytes};
        chunk.fromRing = true;
        m_visit(chunk);
    }

    std::string m_name;
    ChunkOwner m_owner;
    IssueList& m_issues;
    const ChunkVisitor& m_visit;
    int m_fd;
    raw::RingHeader m_header{};
    std::vector<raw::RingSlot> m_slots;
    std::vector<std::byte> m_chunk;
};

} // namespace

Result<RingSummary> readRing(const std::filesystem::path& path, const ChunkOwner& owner, IssueList& issues,
    const ChunkVisitor& visit, const BytesRead& bytesRead) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd)
        return fail(errno == ENOENT ? ErrorCode::notFound : ErrorCode::io, "cannot open {}: {}",
            path.string(), std::strerror(errno));
    struct stat info { };
    if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
        return fail(ErrorCode::badInput, "{} is not a regular file; expected a ring", path.string());
    return RingReader(path.string(), owner, issues, visit, fd.get()).run(bytesRead);
}

} // namespace gd::importer
