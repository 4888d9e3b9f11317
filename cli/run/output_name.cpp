// SPDX-License-Identifier: Apache-2.0
#include "cli/run/output_name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace gd::run {
namespace {

Result<std::string> variableOf(std::string_view pattern, std::size_t& at, const NameValues& values) {
    const std::size_t end = pattern.find('}', at);
    if (at + 1 >= pattern.size() || pattern[at + 1] != '{' || end == std::string_view::npos)
        return fail(ErrorCode::usage, "{}: %q needs a variable's name in braces, such as %q{{SLURM_JOB_ID}}",
            pattern);
    const std::string_view name = pattern.substr(at + 2, end - at - 2);
    at = end;
    const auto value = values.read(name);
    if (!value)
        return fail(ErrorCode::usage, "{}: the variable {} is not set", pattern, name);
    return *value;
}

} // namespace

Result<std::string> expandName(std::string_view pattern, const NameValues& values) {
    std::string out;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        if (pattern[at] != '%') {
            out += pattern[at];
            continue;
        }
        const char letter = ++at < pattern.size() ? pattern[at] : '\0';
        if (letter == '%') {
            out += '%';
        } else if (letter == 'h') {
            out += safeName(values.host);
        } else if (letter == 'p') {
            out += fmt::format("{}", values.pid);
        } else if (letter == 'r') {
            const auto rank = rankOf(values.read);
            if (!rank)
                return fail(
                    ErrorCode::usage, "{}: %r is the rank, but no launcher gave this process one", pattern);
            out += safeName(*rank);
        } else if (letter == 'q') {
            GD_TRY_ASSIGN(const std::string value, variableOf(pattern, at, values));
            out += value;
        } else {
            return fail(ErrorCode::usage,
                "{}: after % one of h (host), p (pid), r (rank), q{{VAR}} or % is expected", pattern);
        }
    }
    return out;
}

std::string defaultName(
    const std::optional<JobIdentity>& job, const std::string& host, std::int64_t unixSeconds) {
    std::string middle;
    if (job) {
        middle = job->jobId;
    } else {
        const std::time_t time = unixSeconds;
        std::tm parts = {};
        gmtime_r(&time, &parts);
        std::array<char, 32> text = {};
        std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &parts);
        middle = text.data();
    }
    return fmt::format("graphdoctor-{}-{}.gdt", middle, safeName(host));
}

Result<void> checkWritable(const std::string& path, bool replace) {
    struct stat info = {};
    // Renaming onto a device, a pipe or a link to one would take it away from everybody.
    if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
        return fail(ErrorCode::io, "{} is not a regular file; a trace needs one", path);
    if (lstat(path.c_str(), &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return fail(ErrorCode::io, "{} is a folder; a file name is expected", path);
        if (!replace)
            return fail(ErrorCode::io, "{} exists; --force overwrites it", path);
    }
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (folder.empty())
        folder = ".";
    if (stat(folder.c_str(), &info) != 0)
        return fail(ErrorCode::io, "{}: the folder {} cannot be used: {}", path, folder.string(),
            std::strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return fail(ErrorCode::io, "{}: {} is not a folder", path, folder.string());
    // Only trying tells: access() knows nothing of quotas, full or read-only file systems.
    const std::string probe = (folder / fmt::format(".graphdoctor-{}.probe", getpid())).string();
    const int fd = ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(ErrorCode::io, "{} cannot be written: {}", path, std::strerror(errno));
    close(fd);
    unlink(probe.c_str());
    // What the probe does not try: the name itself.
    if (lstat(path.c_str(), &info) != 0 && errno == ENAMETOOLONG)
        return fail(ErrorCode::io, "{} cannot be written: {}", path, std::strerror(errno));
    return {};
}

std::string freeName(const std::string& output) {
    std::filesystem::path path(output);
    path.replace_filename(fmt::format("{}-{}{}", path.stem().string(), getpid(), path.extension().string()));
    return path.string();
}

std::string behindLinks(const std::string& path) {
    constexpr int kMostLinks = 40; // as many as the kernel follows
    std::filesystem::path target(path);
    std::error_code error;
    for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(target, error); ++i)
        target = target.parent_path() / std::filesystem::read_symlink(target, error);
    return target.string();
}

Result<void> checkReportTarget(const std::string& path) {
    struct stat info = {};
    if (stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
        if (access(path.c_str(), W_OK) != 0)
            return fail(ErrorCode::io, "{} cannot be written: {}", path, std::strerror(errno));
        return {};
    }
    return checkWritable(behindLinks(path), true);
}

std::string hostName() {
    std::array<char, 256> name = {};
    return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

} // namespace gd::run
