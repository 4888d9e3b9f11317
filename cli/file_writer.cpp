// SPDX-License-Identifier: Apache-2.0
#include "cli/file_writer.h"

#include "cli/run/output_name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace gd::cli {
namespace {

// A short name, so that a file whose own name is as long as may be can be written too.
std::string temporaryBeside(const std::string& target) {
    static int number = 0;
    std::filesystem::path path(target);
    path.replace_filename(fmt::format(".graphdoctor-{}-{}.tmp", getpid(), ++number));
    return path.string();
}

// Without a name as long as it is written: whatever ends this process, nothing stays behind. -1 with errno
// where the file system cannot do that.
int openNameless(const std::string& target) {
    std::filesystem::path folder = std::filesystem::path(target).parent_path();
    if (folder.empty())
        folder = ".";
    if (::access("/proc/self/fd", X_OK) != 0)
        return -1;
    return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

bool giveName(int fd, const std::string& name) {
    const std::string link = fmt::format("/proc/self/fd/{}", fd);
    return ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

} // namespace

FileWriter::FileWriter(std::string path, int fd, std::string temporary, std::string target)
    : m_path(std::move(path))
    , m_fd(fd)
    , m_temporary(std::move(temporary))
    , m_target(std::move(target)) { }

FileWriter::FileWriter(FileWriter&& other) noexcept
    : m_path(std::move(other.m_path))
    , m_fd(std::exchange(other.m_fd, -1))
    , m_temporary(std::exchange(other.m_temporary, {}))
    , m_target(std::exchange(other.m_target, {})) { }

FileWriter::~FileWriter() {
    if (m_fd >= 0)
        ::close(m_fd);
    if (!m_temporary.empty())
        ::unlink(m_temporary.c_str());
}

Result<FileWriter> FileWriter::open(const std::string& path) {
    struct stat info = {};
    // /dev/stdout, named pipes: a file of that name in their place is not what anybody wants.
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        FileWriter file(path, ::open(path.c_str(), O_WRONLY | O_CLOEXEC), {}, {});
        if (file.m_fd < 0)
            return file.cannot(errno);
        return file;
    }
    const std::string target = run::behindLinks(path);
    const std::string temporary = temporaryBeside(target);
    if (const int fd = openNameless(target); fd >= 0)
        return FileWriter(path, fd, {}, target);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(ErrorCode::io, "{} cannot be written: {}", path, std::strerror(errno));
    return FileWriter(path, fd, temporary, target);
}

Result<void> FileWriter::write(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(m_fd, text.data(), text.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return cannot(errno);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Result<void> FileWriter::finish() {
    if (!m_target.empty() && m_temporary.empty()) {
        std::string name = temporaryBeside(m_target);
        if (!giveName(m_fd, name))
            return cannot(errno);
        m_temporary = std::move(name);
    }
    if (::close(std::exchange(m_fd, -1)) != 0)
        return cannot(errno);
    if (!m_target.empty() && std::rename(m_temporary.c_str(), m_target.c_str()) != 0)
        return cannot(errno);
    m_temporary.clear();
    return {};
}

Error FileWriter::cannot(int error) const {
    return fail(ErrorCode::io, "{} cannot be written: {}", m_path, std::strerror(error));
}

} // namespace gd::cli
