// SPDX-License-Identifier: Apache-2.0
#include "data/token_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace gdt::data {

namespace {

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

// All bytes of the file; false with one sentence when it cannot be read.
bool readAll(const std::string& path, std::vector<unsigned char>& bytes, std::string& problem) {
    struct stat info = {};
    const bool known = ::stat(path.c_str(), &info) == 0;
    if (known && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        const bool device = S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode);
        problem = path
            + (device ? " is a device, which may never end" : " is a pipe, which each rank would empty")
            + "; a file is expected";
        return false;
    }
    const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "rb"));
    if (file == nullptr) {
        problem = path + " cannot be read: " + std::strerror(errno);
        return false;
    }
    std::vector<unsigned char> piece(std::size_t{1} << 20);
    for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), file.get())) > 0;) {
        bytes.insert(bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    if (std::ferror(file.get()) != 0) {
        problem = path + " cannot be read: " + std::strerror(errno);
        return false;
    }
    return true;
}

std::int64_t tokenAt(const unsigned char* at, TokenFormat format) {
    switch (format) {
    case TokenFormat::Uint16:
        return at[0] | at[1] << 8;
    case TokenFormat::Int32: {
        const std::uint32_t bits = static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8
            | static_cast<std::uint32_t>(at[2]) << 16 | static_cast<std::uint32_t>(at[3]) << 24;
        return static_cast<std::int32_t>(bits);
    }
    case TokenFormat::Bytes:
        break;
    }
    return at[0];
}

} // namespace

std::size_t tokenBytes(TokenFormat format) {
    return format == TokenFormat::Bytes ? 1 : (format == TokenFormat::Uint16 ? 2 : 4);
}

std::vector<std::int32_t> readTokenFile(const std::string& path, TokenFormat format, std::int64_t vocab,
    std::int64_t leastTokens, std::string& problem) {
    std::vector<unsigned char> bytes;
    if (!readAll(path, bytes, problem)) {
        return {};
    }
    const std::size_t each = tokenBytes(format);
    if (bytes.size() % each != 0) {
        problem = path + " has " + std::to_string(bytes.size()) + " bytes, no whole number of tokens of "
            + std::to_string(each) + " bytes";
        return {};
    }
    const std::size_t count = bytes.size() / each;
    if (count < static_cast<std::size_t>(leastTokens)) {
        problem = path + " has " + std::to_string(count) + " tokens; a sequence and the token after it need "
            + std::to_string(leastTokens);
        return {};
    }
    std::vector<std::int32_t> tokens(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t token = tokenAt(bytes.data() + i * each, format);
        if (token < 0 || token >= vocab) {
            problem = path + ": token " + std::to_string(token) + " at byte " + std::to_string(i * each)
                + " is not in the vocabulary of " + std::to_string(vocab);
            return {};
        }
        tokens[i] = static_cast<std::int32_t>(token);
    }
    return tokens;
}

} // namespace gdt::data
