// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/text_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace gd::rules {

Result<std::string> readTextFile(const std::string& path, std::string_view what) {
    namespace fs = std::filesystem;
    constexpr std::uintmax_t kMaxBytes = 1 << 20;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
        return fail(ErrorCode::io, "cannot open the {} {}: {}", what, path,
            error ? error.message() : std::string(std::strerror(ENOENT)));
    if (!fs::is_regular_file(status))
        return fail(ErrorCode::badInput, "{} is not a regular file; expected a {}", path, what);
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (error)
        return fail(ErrorCode::io, "cannot read the {} {}: {}", what, path, error.message());
    if (bytes > kMaxBytes)
        return fail(
            ErrorCode::badInput, "{} has {} bytes; a {} has at most {}", path, bytes, what, kMaxBytes);
    std::ifstream file(path, std::ios::binary);
    std::string text(static_cast<std::size_t>(bytes), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file)
        return fail(ErrorCode::io, "cannot read the {} {}: {}", what, path, std::strerror(errno));
    return text;
}

} // namespace gd::rules
