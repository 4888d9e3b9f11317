// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <string>
#include <string_view>

namespace gd::cli {

// Writes a file that appears when it is whole: under a temporary name in its folder, renamed by finish(). It
// takes the place of an older file and follows links. What is no regular file (/dev/stdout, a named pipe) is
// written in place. Without finish() nothing stays behind, nor when SIGINT or SIGTERM ends the process.
class FileWriter {
public:
    static Result<FileWriter> open(const std::string& path);
    FileWriter(FileWriter&& other) noexcept;
    FileWriter& operator=(FileWriter&&) = delete;
    ~FileWriter();

    Result<void> write(std::string_view text);
    Result<void> finish();

private:
    FileWriter(std::string path, int fd, std::string temporary, std::string target);
    Error cannot(int error) const;

    std::string m_path; // as the user named it
    int m_fd = -1;
    std::string m_temporary, m_target; // empty: written in place
};

} // namespace gd::cli
