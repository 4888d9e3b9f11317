// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/chunk.h"
#include "collector/raw/ring_header.h"
#include "collector/session/system.h"

#include <cstdint>

namespace gd::session {

/// The segment file of a process: chunks appended with write(), so that a full disk is an error code and
/// never a signal. One thread at a time: first the opener, then the drainer.
class SegmentWriter {
public:
    /// Creates the file; false with errno when that fails. `path` must live as long as the writer: when the
    /// job has closed the descriptor, the file is opened again.
    bool open(const char* path) noexcept;
    /// Appends a chunk: `header` with usedBytes set, its checksum is computed here. After an error the file
    /// is cut back to its last whole chunk and nothing more is written: false, error() says why.
    bool append(const raw::ChunkHeader& header, const void* payload) noexcept;
    /// Ends the file; open() may begin another one.
    void close() noexcept;
    /// Bytes that are completely written.
    std::uint64_t bytes() const noexcept { return m_bytes; }
    /// errno of the first failed write, 0 = none.
    int error() const noexcept { return m_error; }

private:
    bool hasDescriptor() noexcept;

    const char* m_path = nullptr;
    FileIdentity m_file;
    int m_fd = -1;
    int m_error = 0;
    std::uint64_t m_bytes = 0;
};

} // namespace gd::session
