// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/segment_reader.h"

#include "analyzer/base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

namespace gd::importer {
namespace {

using base::Fd;

constexpr std::size_t kWindowBytes = 1 << 20;
constexpr std::size_t kHeaderBytes = sizeof(raw::ChunkHeader);
static_assert(kWindowBytes >= 2 * (raw::kChunkBytes + kHeaderBytes));

// A sliding part of a file. Fresh memory costs more than copying: the buffer is used over and over.
class Window {
public:
    Window(int fd, const BytesRead& bytesRead)
        : m_fd(fd)
        , m_bytesRead(bytesRead)
        , m_buffer(kWindowBytes) { }

    // Makes up to `bytes` bytes available from the cursor on; less at the end of the file.
    std::size_t ensure(std::size_t bytes) {
        if (m_end - m_cursor >= bytes)
            return m_end - m_cursor;
        if (m_cursor + bytes > m_buffer.size()) {
            std::memmove(m_buffer.data(), m_buffer.data() + m_cursor, m_end - m_cursor);
            m_end -= m_cursor;
            m_cursor = 0;
        }
        while (m_end - m_cursor < bytes && !m_atEnd) {
            const ssize_t got = ::read(m_fd, m_buffer.data() + m_end, m_buffer.size() - m_end);
            if (got < 0 && errno == EINTR)
                continue;
            if (got < 0)
                m_error = errno;
            if (got <= 0) {
                m_atEnd = true;
                break;
            }
            m_end += static_cast<std::size_t>(got);
            if (m_bytesRead)
                m_bytesRead(static_cast<std::uint64_t>(got));
        }
        return m_end - m_cursor;
    }
    const std::byte* data() const { return m_buffer.data() + m_cursor; }
    void skip(std::size_t bytes) {
        m_cursor += bytes;
        m_position += bytes;
    }
    std::uint64_t position() const { return m_position; }
    int error() const { return m_error; }

private:
    int m_fd;
    const BytesRead& m_bytesRead;
    std::vector<std::byte> m_buffer;
    std::size_t m_cursor = 0;
    std::size_t m_end = 0;
    std::uint64_t m_position = 0;
    bool m_atEnd = false;
    int m_error = 0;
};

class SegmentReader {
public:
    SegmentReader(const std::filesystem::path& path, const ChunkOwner& owner, IssueList& issues,
        const std::function<bool(const Chunk&)>& visit, int fd, const BytesRead& bytesRead,
        std::optional<TornEnd>* torn)
        : m_torn(torn)
        , m_name(path.string())
        , m_owner(owner)
        , m_issues(issues)
        , m_visit(visit)
        , m_window(fd, bytesRead) { }

    Result<void> run() {
        bool more = true;
        while (more && m_window.ensure(kHeaderBytes) >= kHeaderBytes)
            more = step();
        if (m_window.error() != 0)
            return fail(ErrorCode::io, "cannot read {} beyond byte {}: {}", m_name, m_window.position(),
                std::strerror(m_window.error()));
        const std::size_t rest = m_window.ensure(1);
        if (more && rest > 0 && !m_damageFrom)
            cutOffAt({},
                fmt::format("{}: the file ends inside the header of the chunk at byte {}", m_name,
                    m_window.position()));
        else if (more && rest > 0)
            damaged(rest);
        reportDamage();
        if (m_chunks == 0 && m_newerVersion != 0)
            return fail(ErrorCode::badInput,
                "{} was written by a newer collector: its format has version {}, this one reads up to {}",
                m_name, m_newerVersion, raw::kRawVersion);
        return {};
    }

private:
    enum class Fit { whole, cutOff, no };

    Fit look(raw::ChunkHeader& header) {
        std::memcpy(&header, m_window.data(), kHeaderBytes);
        if (!plausibleHeader(header, m_owner, raw::kChunkBytes)) {
            if (m_newerVersion == 0 && isNewerVersion(header) && header.processKey == m_owner.processKey)
                m_newerVersion = header.version;
            return Fit::no;
        }
        const std::size_t whole = kHeaderBytes + header.usedBytes;
        if (m_window.ensure(whole) < whole)
            return Fit::cutOff;
        const bool intact = raw::chunkChecksum(header, m_window.data() + kHeaderBytes) == header.checksum;
        return intact ? Fit::whole : Fit::no;
    }

    bool step() {
        raw::ChunkHeader header;
        switch (look(header)) {
        case Fit::whole:
            reportDamage();
            return handOut(header, header.usedBytes, false);
        case Fit::cutOff: {
            // The last chunk of a cut-off file, unless the length itself is what was damaged: then a valid
            // chunk lies behind.
            if (validChunkBehind())
                break;
            reportDamage();
            const std::size_t present = (m_window.ensure(kWindowBytes) - kHeaderBytes) / 8 * 8;
            cutOffAt(header,
                fmt::format("{}: the chunk at byte {} is cut off: {} of {} bytes of records are there",
                    m_name, m_window.position(), present, header.usedBytes));
            handOut(header, std::min<std::size_t>(present, header.usedBytes), true);
            return false;
        }
        case Fit::no:
            break;
        }
        damaged(8);
        return true;
    }

    void cutOffAt(std::optional<raw::ChunkHeader> header, std::string sentence) {
        if (m_torn != nullptr)
            *m_torn = TornEnd{header, std::move(sentence)};
        else
            m_issues.dataLoss("cut_off_segment", 1, std::move(sentence));
    }

    bool validChunkBehind() {
        const std::size_t present = m_window.ensure(kWindowBytes);
        for (std::size_t at = 8; at + kHeaderBytes <= present; at += 8) {
            raw::ChunkHeader header;
            std::memcpy(&header, m_window.data() + at, kHeaderBytes);
            const std::size_t payloadAt = at + kHeaderBytes;
            if (plausibleHeader(header, m_owner, raw::kChunkBytes) && present - payloadAt >= header.usedBytes
                && raw::chunkChecksum(header, m_window.data() + payloadAt) == header.checksum)
                return true;
        }
        return false;
    }

    bool handOut(const raw::ChunkHeader& header, std::size_t bytes, bool cutOff) {
        ++m_chunks;
        Chunk chunk;
        chunk.header = header;
        chunk.payload = {m_window.data() + kHeaderBytes, bytes};
        chunk.position = m_window.position();
        chunk.cutOff = cutOff;
        const bool more = m_visit(chunk);
        m_window.skip(kHeaderBytes + bytes);
        return more;
    }

    void damaged(std::size_t bytes) {
        if (!m_damageFrom)
            m_damageFrom = m_window.position();
        m_window.skip(bytes);
    }

    void reportDamage() {
        if (!m_damageFrom)
            return;
        m_issues.dataLoss("damaged_chunk", 1,
            fmt::format(
                "{}: bytes {} to {} are damaged: expected a chunk of process {} with a valid checksum; "
                "reading goes on behind them",
                m_name, *m_damageFrom, m_window.position(), m_owner.pid));
        m_damageFrom.reset();
    }

    std::optional<TornEnd>* m_torn;
    std::string m_name;
    ChunkOwner m_owner;
    IssueList& m_issues;
    const std::function<bool(const Chunk&)>& m_visit;
    Window m_window;
    std::uint64_t m_chunks = 0;
    std::uint16_t m_newerVersion = 0;
    std::optional<std::uint64_t> m_damageFrom;
};

} // namespace

bool plausibleHeader(const raw::ChunkHeader& header, const ChunkOwner& owner, std::uint32_t maxPayloadBytes) {
    if (header.magic != raw::kChunkMagic || header.version == 0 || header.version > raw::kRawVersion)
        return false;
    if (header.pid != owner.pid || header.processKey != owner.processKey)
        return false;
    if (header.usedBytes % 8 != 0 || header.usedBytes > maxPayloadBytes || header.isSlice > 1)
        return false;
    const bool history = header.lane == static_cast<std::uint8_t>(raw::Lane::History);
    const bool events = header.lane == static_cast<std::uint8_t>(raw::Lane::Events);
    return (history && header.thread == 0) || (events && header.thread != 0);
}

bool isNewerVersion(const raw::ChunkHeader& header) {
    return header.magic == raw::kChunkMagic && header.version > raw::kRawVersion;
}

Result<void> readSegment(const std::filesystem::path& path, const ChunkOwner& owner, IssueList& issues,
    const std::function<bool(const Chunk&)>& visit, const BytesRead& bytesRead,
    std::optional<TornEnd>* torn) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd)
        return fail(ErrorCode::io, "cannot open {}: {}", path.string(), std::strerror(errno));
    struct stat info { };
    if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
        return fail(ErrorCode::badInput, "{} is not a regular file; expected a segment", path.string());
    return SegmentReader(path, owner, issues, visit, fd.get(), bytesRead, torn).run();
}

} // namespace gd::importer
