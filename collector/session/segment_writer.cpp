// SPDX-License-Identifier: Apache-2.0
#include "collector/session/segment_writer.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gd::session {

bool SegmentWriter::open(const char* path) noexcept {
    m_fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    return m_fd >= 0;
}

bool SegmentWriter::append(const raw::ChunkHeader& header, const void* payload) noexcept {
    if (m_fd < 0 || m_error != 0) {
        return false;
    }
    const std::size_t payloadBytes = (header.usedBytes + 7) / 8 * 8;
    raw::ChunkHeader copy = header;
    copy.checksum = raw::chunkChecksum(payload, payloadBytes);
    iovec parts[2] = {{&copy, sizeof copy}, {const_cast<void*>(payload), payloadBytes}};
    std::size_t left = sizeof copy + payloadBytes;
    while (left != 0) {
        const ssize_t written = writev(m_fd, parts, 2);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            m_error = written < 0 ? errno : ENOSPC;
            // A torn tail would only be noise: readers stop at segmentBytes anyway.
            if (ftruncate(m_fd, static_cast<off_t>(m_bytes)) != 0) {
                return false;
            }
            return false;
        }
        left -= static_cast<std::size_t>(written);
        auto done = static_cast<std::size_t>(written);
        for (iovec& part : parts) {
            const std::size_t step = done < part.iov_len ? done : part.iov_len;
            part.iov_base = static_cast<char*>(part.iov_base) + step;
            part.iov_len -= step;
            done -= step;
        }
    }
    m_bytes += sizeof copy + payloadBytes;
    return true;
}

} // namespace gd::session
