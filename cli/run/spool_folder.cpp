// SPDX-License-Identifier: Apache-2.0
#include "cli/run/spool_folder.h"

#include "collector/raw/control_page.h"
#include "collector/raw/ring_header.h"
#include "collector/raw/spool_name.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fstream>

namespace gd::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRunPrefix = "run."; // registration of a living run
constexpr std::string_view kEndPrefix = "end."; // how a run's command ended
constexpr char kClosedName[] = "closed"; // nobody may join any more
constexpr char kImportedName[] = "imported"; // the trace is written
constexpr char kLockName[] = "lock"; // of the user's folder, held for registration only

std::vector<fs::path> entries(const fs::path& folder) {
    std::vector<fs::path> out;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        out.push_back(it->path());
    std::sort(out.begin(), out.end());
    return out;
}

Result<Fd> lockUser(const fs::path& user) {
    Fd fd(::open((user / kLockName).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd || flock(fd.get(), LOCK_EX) != 0)
        return fail(
            ErrorCode::io, "{} cannot be locked: {}", (user / kLockName).string(), std::strerror(errno));
    return fd;
}

// By LOCK_SH: somebody holds it alone; by LOCK_EX: somebody holds it at all.
bool isLocked(const fs::path& file, int how = LOCK_SH) {
    const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    return fd && flock(fd.get(), how | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// `except`: a registration that does not count.
bool hasLivingRun(const fs::path& spool, const fs::path& except = {}) {
    const auto files = entries(spool);
    return std::any_of(files.begin(), files.end(), [&](const fs::path& file) {
        return file != except && file.filename().string().starts_with(kRunPrefix) && isLocked(file);
    });
}

int countFiles(const fs::path& spool, std::string_view prefix) {
    const auto files = entries(spool);
    return static_cast<int>(std::count_if(files.begin(), files.end(),
        [&](const fs::path& file) { return file.filename().string().starts_with(prefix); }));
}

void touch(const fs::path& file) {
    const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

std::string firstLine(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

// A folder that can be joined, or a free name for a new one.
fs::path placeFor(const fs::path& user, const std::string& key) {
    fs::path place = user / key;
    for (int number = 2; fs::exists(place); ++number) {
        if (!fs::exists(place / kClosedName) && hasLivingRun(place))
            break;
        place = user / fmt::format("{}-{}", key, number);
    }
    return place;
}

bool isAlive(std::int64_t pid) {
    return kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

// <host>.<pid>.<start>.<random>, and the host may hold dots: count from the end.
std::optional<SegmentStem> parseStem(const fs::path& file) {
    SegmentStem segment{file.stem().string(), {}, 0, 0};
    std::string rest = segment.stem;
    rest.resize(std::min(rest.rfind('.'), rest.size())); // random
    rest.resize(std::min(rest.rfind('.'), rest.size())); // start
    const std::size_t dot = rest.rfind('.');
    if (dot == std::string::npos)
        return std::nullopt;
    segment.host = rest.substr(0, dot);
    const auto parsed = std::from_chars(rest.data() + dot + 1, rest.data() + rest.size(), segment.pid);
    if (parsed.ec != std::errc() || segment.pid <= 0)
        return std::nullopt;
    return segment;
}

// A ring whose process is gone and whose segment was deleted: nothing can read it any more, and it holds
// memory until the machine restarts.
bool isOrphan(const fs::path& file, const std::string& host) {
    const auto stem = parseStem(file);
    if (!stem || stem->host != host || isAlive(stem->pid) || isLocked(file, LOCK_EX))
        return false;
    raw::RingHeader header = {};
    std::ifstream in(file, std::ios::binary);
    if (!in.read(reinterpret_cast<char*>(&header), sizeof header) || header.magic != raw::kRingMagic)
        return false;
    header.segmentPath[sizeof header.segmentPath - 1] = '\0';
    struct stat info = {};
    return lstat(header.segmentPath, &info) != 0 && errno == ENOENT;
}

} // namespace

fs::path userFolder(const ReadVariable& read) {
    const std::string base = read("GRAPHDOCTOR_SPOOL_DIR").value_or(read("TMPDIR").value_or("/tmp"));
    return fs::absolute(fs::path(base)) / fmt::format("{}{}", raw::kFolderPrefix, geteuid());
}

std::vector<fs::path> ringFolders(const ReadVariable& read, const fs::path& spool) {
    const std::string folder = fmt::format("{}{}", raw::kFolderPrefix, geteuid());
    std::vector<fs::path> out;
    if (const auto runtime = read("XDG_RUNTIME_DIR"))
        out.push_back(fs::path(*runtime) / folder);
    out.push_back(fs::path("/dev/shm") / folder);
    out.push_back(spool);
    return out;
}

Result<void> ensurePrivateFolder(const fs::path& folder) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return fail(ErrorCode::io, "the folder {} cannot be made: {}", folder.string(), std::strerror(errno));
    struct stat info = {};
    if (lstat(folder.c_str(), &info) != 0)
        return fail(ErrorCode::io, "{} cannot be read: {}", folder.string(), std::strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return fail(ErrorCode::io, "{} is not a folder; a private folder of this user is expected there",
            folder.string());
    if (info.st_uid != geteuid())
        return fail(ErrorCode::io, "{} belongs to user {}; set GRAPHDOCTOR_SPOOL_DIR to a folder of your own",
            folder.string(), info.st_uid);
    if ((info.st_mode & 077) != 0)
        return fail(ErrorCode::io, "{} is open to other users (mode {:o}); 0700 is expected", folder.string(),
            info.st_mode & 0777);
    return {};
}

SpoolFolder::SpoolFolder(fs::path path, Fd registration, fs::path file, bool first)
    : m_path(std::move(path))
    , m_registration(std::move(registration))
    , m_file(std::move(file))
    , m_first(first) { }

Result<SpoolFolder> SpoolFolder::join(
    const fs::path& user, const std::string& key, const std::string& output) {
    std::error_code error;
    fs::create_directories(user.parent_path(), error);
    GD_TRY(ensurePrivateFolder(user));
    GD_TRY_ASSIGN(const Fd lock, lockUser(user));
    const fs::path place = placeFor(user, key);
    const bool first = !fs::exists(place);
    GD_TRY(ensurePrivateFolder(place));
    const fs::path file = place / fmt::format("{}{}.{}", kRunPrefix, getpid(), randomKey());
    Fd registration(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!registration || flock(registration.get(), LOCK_EX | LOCK_NB) != 0)
        return fail(ErrorCode::io, "{} cannot be made: {}", file.string(), std::strerror(errno));
    const std::string line = output + "\n";
    if (write(registration.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        return fail(ErrorCode::io, "{} cannot be written: {}", file.string(), std::strerror(errno));
    return SpoolFolder(place, std::move(registration), file, first);
}

void SpoolFolder::noteEnd(pid_t pid, int status) {
    std::ofstream(m_path / fmt::format("{}{}", kEndPrefix, pid)) << status << '\n';
}

Result<bool> SpoolFolder::leave() {
    GD_TRY_ASSIGN(const Fd lock, lockUser(m_path.parent_path()));
    if (hasLivingRun(m_path, m_file)) {
        m_registration.reset();
        return false;
    }
    touch(m_path / kClosedName);
    return true;
}

int SpoolFolder::joined() const {
    return countFiles(m_path, kRunPrefix);
}

std::vector<std::pair<std::int64_t, int>> SpoolFolder::ends() const {
    std::vector<std::pair<std::int64_t, int>> out;
    for (const fs::path& file : entries(m_path)) {
        const std::string name = file.filename().string();
        if (!name.starts_with(kEndPrefix))
            continue;
        const std::string pid = name.substr(kEndPrefix.size());
        const std::string status = firstLine(file);
        std::pair<std::int64_t, int> end;
        if (std::from_chars(pid.data(), pid.data() + pid.size(), end.first).ec == std::errc()
            && std::from_chars(status.data(), status.data() + status.size(), end.second).ec == std::errc())
            out.push_back(end);
    }
    return out;
}

std::vector<SegmentStem> segmentsIn(const fs::path& spool) {
    std::vector<SegmentStem> out;
    const std::vector<fs::path> files = entries(spool);
    for (const fs::path& file : files) {
        if (file.extension() != raw::kSegmentSuffix)
            continue;
        auto segment = parseStem(file);
        if (!segment)
            continue;
        for (const fs::path& part : files) {
            const std::string name = part.filename().string();
            std::error_code error;
            const auto bytes = name.starts_with(segment->stem + ".") && part.extension() != raw::kRingSuffix
                ? fs::file_size(part, error)
                : 0;
            segment->bytes += error ? 0 : bytes;
        }
        out.push_back(std::move(*segment));
    }
    return out;
}

void markImported(const fs::path& spool) {
    touch(spool / kImportedName);
}

void removeSpool(const fs::path& spool, const ReadVariable& read) {
    std::error_code error;
    for (const SegmentStem& segment : segmentsIn(spool)) {
        for (const fs::path& folder : ringFolders(read, spool))
            fs::remove(folder / (segment.stem + raw::kRingSuffix), error);
    }
    // The mark last: what a killed command leaves of an imported spool must not look like a leftover.
    for (const fs::path& file : entries(spool)) {
        if (file.filename() != kImportedName)
            fs::remove_all(file, error);
    }
    fs::remove_all(spool, error);
}

std::vector<RunEntry> runsIn(const fs::path& spool) {
    std::vector<RunEntry> out;
    const bool closed = fs::exists(spool / kClosedName);
    for (const fs::path& file : entries(spool)) {
        const std::string name = file.filename().string();
        if (!name.starts_with(kRunPrefix))
            continue;
        RunEntry run{0, firstLine(file), !closed && isLocked(file)};
        const char* pid = name.data() + kRunPrefix.size();
        if (std::from_chars(pid, name.data() + name.size(), run.pid).ec == std::errc())
            out.push_back(std::move(run));
    }
    return out;
}

std::vector<fs::path> spoolsOf(const fs::path& user) {
    std::vector<fs::path> out = entries(user);
    std::erase_if(out, [](const fs::path& path) {
        struct stat info = {};
        return lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid();
    });
    return out;
}

std::vector<std::int64_t> livingProcesses(const fs::path& spool, const std::string& host) {
    std::vector<std::int64_t> out;
    for (const SegmentStem& segment : segmentsIn(spool)) {
        if (segment.host == host && isAlive(segment.pid))
            out.push_back(segment.pid);
    }
    return out;
}

std::vector<Leftover> sweepLeftovers(
    const fs::path& user, const fs::path& own, const std::string& host, const ReadVariable& read) {
    std::vector<Leftover> out;
    const auto lock = lockUser(user);
    if (!lock)
        return out;
    for (const fs::path& spool : entries(user)) {
        struct stat info = {};
        if (spool == own || lstat(spool.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)
            || info.st_uid != geteuid() || hasLivingRun(spool) || !livingProcesses(spool, host).empty())
            continue;
        const auto segments = segmentsIn(spool);
        // Without any run a folder was made by --print-env: its processes may still come.
        const bool hadRun = countFiles(spool, kRunPrefix) > 0;
        if (fs::exists(spool / kImportedName) || (segments.empty() && hadRun)) {
            removeSpool(spool, read);
            continue;
        }
        if (segments.empty())
            continue;
        Leftover leftover{spool, {}};
        for (const fs::path& file : entries(spool)) {
            if (file.filename().string().starts_with(kRunPrefix))
                leftover.output = firstLine(file);
        }
        out.push_back(std::move(leftover));
    }
    return out;
}

void sweepRings(const std::string& host, const ReadVariable& read) {
    for (const fs::path& folder : ringFolders(read, {})) {
        std::error_code error;
        for (const fs::path& file : folder.empty() ? std::vector<fs::path>() : entries(folder)) {
            if (file.extension() == raw::kRingSuffix && isOrphan(file, host))
                fs::remove(file, error);
        }
    }
}

std::string randomKey() {
    std::array<unsigned char, 8> bytes = {};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        timespec now = {};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const std::int64_t mixed = now.tv_nsec * 1'000'003 + getpid();
        std::memcpy(bytes.data(), &mixed, bytes.size());
    }
    std::string out;
    for (const unsigned char byte : bytes)
        out += fmt::format("{:02x}", byte);
    return out;
}

} // namespace gd::run
