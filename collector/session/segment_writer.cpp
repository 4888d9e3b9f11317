// SPDX-License-Identifier: Apache-2.0
#include "collector/session/segment_writer.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gd::session {

namespace {

/// Beyond the job's own file size limit the kernel would send the writing thread SIGXFSZ, which ends the job.
bool exceedsLimit(std::uint64_t bytes) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

} // namespace

bool SegmentWriter::open(const char* path) noexcept {
    m_fd = aboveStandardStreams(::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    m_error = 0;
    m_bytes = 0;
    m_path = path;
    m_file.remember(m_fd);
    return m_fd >= 0;
}

void SegmentWriter::close() noexcept {
    if (m_file.holdsFor(m_fd)) {
        ::close(m_fd);
    }
    m_fd = -1;
    m_path = nullptr;
}

bool SegmentWriter::hasDescriptor() noexcept {
    if (m_file.holdsFor(m_fd)) {
        // A file that was removed can never be read, and would fill the disk unseen.
        struct stat status { };
        if (fstat(m_fd, &status) == 0 && status.st_nlink == 0) {
            errno = ENOENT;
            return false;
        }
        return true;
    }
    // The number may be a file of the job's by now: left alone.
    m_fd = aboveStandardStreams(::open(m_path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (m_fd >= 0 && !m_file.holdsFor(m_fd)) {
        ::close(m_fd);
        m_fd = -1;
        errno = ESTALE;
    }
    return m_fd >= 0 && lseek(m_fd, static_cast<off_t>(m_bytes), SEEK_SET) >= 0;
}

bool SegmentWriter::append(const raw::ChunkHeader& header, const void* payload) noexcept {
    if (m_path == nullptr || m_error != 0) {
        return false;
    }
    const std::size_t payloadBytes = (header.usedBytes + 7) / 8 * 8;
    raw::ChunkHeader copy = header;
    copy.usedBytes = static_cast<std::uint32_t>(payloadBytes);
    copy.checksum = raw::chunkChecksum(copy, payload);
    if (!hasDescriptor()) {
        m_error = errno;
        return false;
    }
    if (exceedsLimit(m_bytes + sizeof copy + payloadBytes)) {
        errno = m_error = EFBIG;
        return false;
    }
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
