// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_segment.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gdt::comm {

namespace {

constexpr std::uint64_t kMagic = 0x31304d4853544447; // "GDTSHM01"

std::int64_t monotonicNs() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void pauseMs(long ms) {
    const timespec pause{0, ms * 1'000'000};
    nanosleep(&pause, nullptr);
}

std::uint64_t randomNumber() {
    std::uint64_t number = 0;
    while (number == 0) {
        if (getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number)))
            number = static_cast<std::uint64_t>(monotonicNs()) * 0x9e3779b97f4a7c15U;
    }
    return number;
}

std::size_t segmentBytes(std::size_t ranks, std::size_t slotBytes) {
    return sizeof(SegmentHeader) + ranks * (sizeof(RankCard) + slotBytes);
}

bool writeFile(const std::string& path, const std::string& text) {
    const std::string temporary = path + "." + std::to_string(getpid());
    std::FILE* file = std::fopen(temporary.c_str(), "w");
    if (file == nullptr)
        return false;
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = std::fclose(file) == 0;
    if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0)
        return true;
    std::remove(temporary.c_str());
    return false;
}

std::string readFile(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "r");
    if (file == nullptr)
        return {};
    char text[256] = {};
    const std::size_t length = std::fread(text, 1, sizeof(text) - 1, file);
    std::fclose(file);
    return std::string(text, length);
}

} // namespace

ShmSegment::~ShmSegment() {
    close();
}

void ShmSegment::close() {
    if (m_base != nullptr)
        munmap(m_base, m_bytes);
    if (m_descriptor >= 0)
        ::close(m_descriptor);
    m_base = nullptr;
    m_descriptor = -1;
}

RankCard& ShmSegment::card(int rank) const {
    auto* cards = reinterpret_cast<RankCard*>(m_base + sizeof(SegmentHeader));
    return cards[rank];
}

std::byte* ShmSegment::slot(int rank) const {
    std::byte* slots = m_base + sizeof(SegmentHeader) + header().size * sizeof(RankCard);
    return slots + static_cast<std::size_t>(rank) * header().slotBytes;
}

bool ShmSegment::map(int descriptor, std::size_t bytes) {
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (base == MAP_FAILED)
        return false;
    m_base = static_cast<std::byte*>(base);
    m_bytes = bytes;
    m_descriptor = descriptor;
    return true;
}

bool ShmSegment::lockRank(int rank) const {
    struct flock lock { };
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = rank;
    lock.l_len = 1;
    return fcntl(m_descriptor, F_OFD_SETLK, &lock) == 0;
}

bool ShmSegment::alive(int rank) const {
    struct flock lock { };
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = rank;
    lock.l_len = 1;
    return fcntl(m_descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool ShmSegment::create(const ShmOptions& options, const std::string& file, std::string& error) {
    const std::uint64_t hash = randomNumber();
    char name[64];
    std::snprintf(name, sizeof(name), "/graphdoctor-trainer-%d-%016llx", static_cast<int>(getpid()),
        static_cast<unsigned long long>(hash));
    const int descriptor = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    const std::size_t bytes = segmentBytes(static_cast<std::size_t>(options.size), options.slotBytes);
    if (descriptor < 0 || posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) != 0
        || !map(descriptor, bytes)) {
        error = "cannot create a shared-memory segment of " + std::to_string(bytes)
            + " bytes: " + std::strerror(errno);
        if (descriptor >= 0)
            ::close(descriptor);
        shm_unlink(name);
        return false;
    }
    SegmentHeader& head = header();
    head.magic = kMagic;
    head.size = static_cast<std::uint32_t>(options.size);
    head.slotBytes = options.slotBytes;
    head.hash = hash;
    head.ready.store(1, std::memory_order_release);
    if (!lockRank(0) || !writeFile(file, name)) {
        error = "cannot write the rendezvous file " + file + ": " + std::strerror(errno);
        shm_unlink(name);
        return false;
    }
    return true;
}

bool ShmSegment::attach(const std::string& name) {
    const int descriptor = name.empty() ? -1 : shm_open(name.c_str(), O_RDWR, 0600);
    if (descriptor < 0)
        return false;
    struct stat status { };
    if (fstat(descriptor, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(SegmentHeader))
        || !map(descriptor, static_cast<std::size_t>(status.st_size))) {
        ::close(descriptor);
        return false;
    }
    // A file left by a killed job names a segment whose rank 0 is gone.
    if (header().magic == kMagic && header().ready.load(std::memory_order_acquire) == 1 && alive(0))
        return true;
    close();
    return false;
}

bool ShmSegment::join(const std::string& file, std::int64_t deadlineNs, std::string& error) {
    while (!attach(readFile(file))) {
        if (monotonicNs() > deadlineNs) {
            error = "rank 0 did not come: no live segment is named in " + file;
            return false;
        }
        pauseMs(2);
    }
    return true;
}

bool ShmSegment::open(const ShmOptions& options, std::string& error) {
    if (options.size < 1 || options.rank < 0 || options.rank >= options.size || options.slotBytes < 64) {
        error = "rank " + std::to_string(options.rank) + " of " + std::to_string(options.size)
            + " ranks is no valid place in a communicator";
        return false;
    }
    const std::string file = options.folder + "/" + options.name + ".rendezvous";
    const std::int64_t deadlineNs = monotonicNs() + options.timeoutNs;
    if (options.rank == 0 ? !create(options, file, error) : !join(file, deadlineNs, error))
        return false;
    if (header().size != static_cast<std::uint32_t>(options.size)) {
        error = "rank " + std::to_string(options.rank) + " expects " + std::to_string(options.size)
            + " ranks, rank 0 " + std::to_string(header().size);
        return false;
    }
    const std::string name = options.rank == 0 ? readFile(file) : std::string();
    if (options.rank != 0 && !lockRank(options.rank)) {
        error = "rank " + std::to_string(options.rank) + " is taken by another process";
        return false;
    }
    card(options.rank).pid.store(static_cast<std::uint32_t>(getpid()), std::memory_order_relaxed);
    header().joined.fetch_add(1, std::memory_order_acq_rel);
    ring();
    bool complete = false;
    while (!complete && monotonicNs() <= deadlineNs) {
        const std::uint32_t seen = header().bell.load(std::memory_order_acquire);
        complete = header().joined.load(std::memory_order_acquire) == header().size;
        if (!complete)
            sleepUnlessRung(seen);
    }
    if (!complete) {
        error = "only " + std::to_string(header().joined.load()) + " of " + std::to_string(header().size)
            + " ranks came to " + file + " in time";
    }
    if (options.rank == 0) {
        shm_unlink(name.c_str());
        std::remove(file.c_str());
    }
    return complete;
}

void ShmSegment::ring() const {
    header().bell.fetch_add(1, std::memory_order_acq_rel);
    syscall(SYS_futex, &header().bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void ShmSegment::sleepUnlessRung(std::uint32_t seen) const {
    // A peer that dies rings no bell, so the sleep is short enough to look for one now and then.
    const timespec limit{0, 20'000'000};
    syscall(SYS_futex, &header().bell, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

} // namespace gdt::comm
