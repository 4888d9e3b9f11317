// SPDX-License-Identifier: Apache-2.0
#include "collector/session/open_spool.h"

#include "collector/raw/records_process.h"
#include "collector/raw/spool_name.h"
#include "collector/session/session.h"
#include "collector/session/system.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace gd::session {

namespace {

constexpr std::uint64_t kDefaultRingBytes = 16u << 20;
constexpr std::uint64_t kLeastRingBytes = 1u << 20;
constexpr std::size_t kLongestSpool = 2700; ///< the ring header has room for 3,072 bytes of segment path

/// Records are collected in a buffer here, because the segment's first chunk precedes the ring.
class FirstChunk {
public:
    template <raw::Record R> void add(R record, std::string_view tail = {}) noexcept {
        const std::size_t bytes = sizeof record + (tail.size() + 7) / 8 * 8;
        if (m_used + bytes > sizeof m_payload) {
            return;
        }
        record.header
            = {static_cast<std::uint16_t>(R::kKind), static_cast<std::uint16_t>(bytes / 8), m_records++};
        std::memcpy(m_payload + m_used, &record, sizeof record);
        if (!tail.empty()) {
            std::memcpy(m_payload + m_used + sizeof record, tail.data(), tail.size());
        }
        m_used += bytes;
    }
    raw::StringRef string(std::string_view text) noexcept {
        raw::String record{};
        record.id = m_nextString++;
        record.bytes = static_cast<std::uint16_t>(text.size());
        record.totalBytes = record.bytes;
        add(record, text);
        return record.id;
    }
    void fact(std::int64_t timeNs, std::string_view key, std::string_view value) noexcept {
        raw::ProcessFact record{};
        record.timeNs = timeNs;
        record.key = string(key);
        record.value = string(value);
        add(record);
    }
    bool write(SegmentWriter& segment, const Identity& identity) noexcept {
        raw::ChunkHeader header{};
        header.magic = raw::kChunkMagic;
        header.version = raw::kRawVersion;
        header.lane = static_cast<std::uint8_t>(raw::Lane::History);
        header.pid = identity.pid;
        header.processKey = identity.processKey;
        header.usedBytes = static_cast<std::uint32_t>(m_used);
        return segment.append(header, m_payload);
    }
    std::uint32_t records() const noexcept { return m_records; }
    raw::StringRef nextString() const noexcept { return m_nextString; }

private:
    alignas(8) char m_payload[3 * PATH_MAX] = {};
    std::size_t m_used = 0;
    std::uint32_t m_records = 0;
    raw::StringRef m_nextString = 1;
};

std::int64_t realtimeOffsetNs() noexcept {
    timespec real{};
    clock_gettime(CLOCK_REALTIME, &real);
    return real.tv_sec * std::int64_t{1'000'000'000} + real.tv_nsec - monotonicNs();
}

bool spoolFolder(Identity& identity) noexcept {
    const char* spool = getenv(raw::kEnvSpool);
    const char* parentHost = getenv(raw::kEnvParentHost);
    const char* remote = getenv(raw::kEnvRemoteSpool);
    if (parentHost != nullptr && remote != nullptr && remote[0] != '\0'
        && std::strcmp(parentHost, identity.host) != 0) {
        spool = remote;
    }
    if (spool == nullptr || spool[0] == '\0' || std::strlen(spool) > kLongestSpool) {
        return false;
    }
    formatInto(identity.spool, spool);
    if (ensurePrivateFolder(spool)) {
        return true;
    }
    char text[PATH_MAX + 128];
    formatInto(text, "the spool folder ", spool,
        " is missing, not owned by this user or open to others: nothing is recorded in this process");
    complain(text);
    return false;
}

std::uint64_t wantedRingBytes() noexcept {
    const char* text = getenv(raw::kEnvRingBytes);
    const std::uint64_t wanted = text != nullptr ? strtoull(text, nullptr, 10) : 0;
    return wanted == 0 ? kDefaultRingBytes : wanted < kLeastRingBytes ? kLeastRingBytes : wanted;
}

/// A ring in `folder`, at most an eighth of what is free there and within the job's own file size limit
/// (beyond which the kernel would send the job a signal).
bool ringIn(
    const char* folder, Ring& ring, Ring::Options options, Identity& identity, const char* stem) noexcept {
    struct statvfs space { };
    rlimit limit{};
    if (statvfs(folder, &space) != 0 || getrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return false;
    }
    const std::uint64_t asked = options.bytes;
    const std::uint64_t freeEighth = std::uint64_t{space.f_bavail} * space.f_frsize / 8;
    options.bytes = freeEighth < options.bytes ? freeEighth : options.bytes;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < options.bytes + raw::kRingHeaderBytes) {
        options.bytes = limit.rlim_cur > raw::kRingHeaderBytes ? limit.rlim_cur - raw::kRingHeaderBytes : 0;
        if (options.bytes < kLeastRingBytes) {
            errno = EFBIG;
            return false;
        }
    }
    options.bytes = options.bytes < kLeastRingBytes ? kLeastRingBytes : options.bytes;
    formatInto(identity.ringPath, folder, "/", stem, raw::kRingSuffix);
    options.path = identity.ringPath;
    if (!ring.open(options)) {
        return false;
    }
    if (options.bytes < asked) {
        formatInto(identity.ringNote, "the ring is ", decimal(options.bytes >> 10), " KiB instead of ",
            decimal(asked >> 10), " KiB: little space in ", folder);
    }
    return true;
}

bool isTmpfs(const char* folder) noexcept {
    struct statfs status { };
    return statfs(folder, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

bool openRing(SessionState& session, const Ring::Options& options, const char* stem) noexcept {
    Identity& identity = session.identity;
    for (const char* tmpfs : {static_cast<const char*>(getenv("XDG_RUNTIME_DIR")), "/dev/shm"}) {
        char folder[PATH_MAX];
        if (tmpfs == nullptr || tmpfs[0] != '/' || std::strlen(tmpfs) > PATH_MAX - 256 || !isTmpfs(tmpfs)) {
            continue;
        }
        formatInto(folder, tmpfs, "/", raw::kFolderPrefix, decimal(geteuid()));
        if (ensurePrivateFolder(folder) && ringIn(folder, session.ring, options, identity, stem)) {
            return true;
        }
    }
    if (!ringIn(identity.spool, session.ring, options, identity, stem)) {
        return false;
    }
    formatInto(identity.ringNote,
        "no shared memory to be had: the ring lies in the spool folder, appends may stall");
    return true;
}

void removeFiles(const Identity& identity) noexcept {
    unlink(identity.segmentPath);
    if (identity.ringPath[0] != '\0') {
        unlink(identity.ringPath);
    }
}

raw::ProcessStart processStart(const Identity& identity) noexcept {
    raw::ProcessStart start{};
    start.timeNs = identity.startNs;
    start.realtimeOffsetNs = realtimeOffsetNs();
    start.processKey = identity.processKey;
    start.parentKey = identity.parentKey;
    start.pid = identity.pid;
    start.parentPid = static_cast<std::uint32_t>(getppid());
    start.role = static_cast<std::uint32_t>(
        identity.parentKey != 0 ? raw::ProcessRole::ForkedChild : raw::ProcessRole::Primary);
    start.uid = geteuid();
    return start;
}

/// Fact strings whose number is known before the ring exists: ring_path and its value, segment_path and its
/// value.
constexpr raw::StringRef kFirstStrings = 4;

} // namespace

SessionState* openSpool(std::uint64_t parentKey) noexcept {
    void* memory = mapLastingObject(sizeof(SessionState));
    void* chunkMemory = mapMemory(sizeof(FirstChunk));
    if (memory == nullptr || chunkMemory == nullptr) {
        return nullptr;
    }
    auto* session = new (memory) SessionState(kFirstStrings + 1);
    Identity& identity = session->identity;
    utsname names{};
    uname(&names);
    formatInto(identity.host, names.nodename);
    if (!spoolFolder(identity)) {
        return nullptr;
    }
    identity.pid = static_cast<std::uint32_t>(getpid());
    identity.processKey = randomNumber();
    identity.parentKey = parentKey;
    identity.startNs = monotonicNs();
    char stem[256];
    formatInto(stem, identity.host, ".", decimal(identity.pid), ".",
        decimal(static_cast<std::uint64_t>(identity.startNs)), ".", hex16(identity.processKey));
    formatInto(identity.segmentPath, identity.spool, "/", stem, raw::kSegmentSuffix);

    constexpr std::uint32_t kFirstRecords = 1 + kFirstStrings + 2;
    Ring::Options options;
    options.segmentPath = identity.segmentPath;
    options.bytes = wantedRingBytes();
    options.pid = identity.pid;
    options.processKey = identity.processKey;
    options.startNs = identity.startNs;
    options.firstHistorySequence = kFirstRecords;
    options.firstHistoryChunk = 1;
    auto* first = new (chunkMemory) FirstChunk;
    bool ok = session->segment.open(identity.segmentPath)
        && session->events.open(
            identity.segmentPath, SizeLimits::from(getenv(raw::kEnvLimits)), identity.startNs)
        && openRing(*session, options, stem);
    if (ok) {
        first->add(processStart(identity));
        first->fact(identity.startNs, "ring_path", identity.ringPath);
        first->fact(identity.startNs, "segment_path", identity.segmentPath);
        ok = first->records() == kFirstRecords && first->write(session->segment, identity);
    }
    if (!ok) {
        char text[2 * PATH_MAX];
        formatInto(text, "cannot create ", identity.segmentPath, " and its ring: ", errorText(errno),
            "; nothing is recorded in this process");
        complain(text);
        session->events.remove();
        removeFiles(identity);
        return nullptr;
    }
    std::atomic_ref(session->ring.header().segmentBytes)
        .store(session->segment.bytes(), std::memory_order_release);
    munmap(chunkMemory, sizeof(FirstChunk));
    return session;
}

const raw::ControlPage* mapControlPage(const char* spool) noexcept {
    char path[PATH_MAX + 16];
    formatInto(path, spool, "/", raw::kControlPageName);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return nullptr;
    }
    struct stat status { };
    void* map = MAP_FAILED;
    if (fstat(fd, &status) == 0 && status.st_size >= raw::kControlPageBytes && status.st_uid == geteuid()) {
        map = mmap(nullptr, raw::kControlPageBytes, PROT_READ, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (map == MAP_FAILED) {
        return nullptr;
    }
    const auto* page = static_cast<const raw::ControlPage*>(map);
    if (page->magic == raw::kControlMagic && page->version == raw::kRawVersion) {
        return page;
    }
    munmap(map, raw::kControlPageBytes); // looked for again many times a second
    return nullptr;
}

raw::RecordingLevel initialLevel(const raw::ControlPage* page) noexcept {
    constexpr auto kHighest = static_cast<std::uint32_t>(raw::RecordingLevel::Full);
    if (page != nullptr) {
        auto& word = const_cast<std::uint32_t&>(page->level);
        const std::uint32_t level = std::atomic_ref(word).load(std::memory_order_acquire);
        return static_cast<raw::RecordingLevel>(level > kHighest ? kHighest : level);
    }
    const char* text = getenv(raw::kEnvLevel);
    if (text != nullptr) {
        static constexpr const char* kNames[] = {"off", "history", "light", "standard", "full"};
        for (std::uint32_t i = 0; i <= kHighest; ++i) {
            if (std::strcmp(text, kNames[i]) == 0
                || (text[0] == static_cast<char>('0' + i) && text[1] == '\0')) {
                return static_cast<raw::RecordingLevel>(i);
            }
        }
    }
    return raw::RecordingLevel::Standard;
}

raw::RecordingLevel levelOfRun() noexcept {
    const char* spool = getenv(raw::kEnvSpool);
    const raw::ControlPage* page = spool != nullptr ? mapControlPage(spool) : nullptr;
    const raw::RecordingLevel level = initialLevel(page);
    if (page == nullptr) {
        return level;
    }
    const auto wanted = static_cast<raw::RecordingLevel>(page->wantedLevel); // set once, before the page
    munmap(const_cast<raw::ControlPage*>(page), raw::kControlPageBytes);
    return wanted > level && wanted <= raw::RecordingLevel::Full ? wanted : level;
}

raw::RecordingLevel levelAtStart() noexcept {
    if (currentSession() != nullptr) {
        return publishedLevel();
    }
    const char* spool = getenv(raw::kEnvSpool);
    const raw::ControlPage* page = spool != nullptr ? mapControlPage(spool) : nullptr;
    const raw::RecordingLevel level = initialLevel(page);
    if (page != nullptr) {
        munmap(const_cast<raw::ControlPage*>(page), raw::kControlPageBytes);
    }
    const char* window = getenv(raw::kEnvWindow);
    const bool isWindowed = window != nullptr && window[0] != '\0';
    return isWindowed && level > raw::RecordingLevel::History ? raw::RecordingLevel::History : level;
}

raw::RecordingLevel windowedLevel(
    const SessionState& session, raw::RecordingLevel wanted, std::int64_t nowNs, bool anyRange) noexcept {
    if (!session.window.isSet() || wanted <= raw::RecordingLevel::History) {
        return wanted;
    }
    if (const raw::ControlPage* page = session.control.load(std::memory_order_relaxed); page != nullptr) {
        auto& manual = const_cast<std::uint32_t&>(page->manual);
        if (std::atomic_ref(manual).load(std::memory_order_acquire) != 0) {
            return wanted;
        }
    }
    const bool inside
        = session.window.holds(nowNs, session.stepsEnded.load(std::memory_order_acquire), anyRange);
    return inside ? wanted : raw::RecordingLevel::History;
}

} // namespace gd::session
