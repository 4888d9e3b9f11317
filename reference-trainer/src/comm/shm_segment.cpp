// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_segment.h"

#include "comm/shm_communicator.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gdt::comm {

namespace {

constexpr const char* kFileName = "graphdoctor-trainer";
constexpr std::uint64_t kMagic = 0x32304d4853544447; // "GDTSHM02"

std::uint64_t randomNumber() {
    std::uint64_t number = 0;
    while (number == 0) {
        if (getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number)))
            number = static_cast<std::uint64_t>(monotonicNs()) * 0x9e3779b97f4a7c15U;
    }
    return number;
}

std::size_t segmentBytes(std::size_t ranks, std::size_t slotBytes, std::size_t channelBytes) {
    return sizeof(SegmentHeader) + ranks * (sizeof(RankCard) + slotBytes)
        + ranks * ranks * (sizeof(Channel) + channelBytes);
}

// A file left by a killed job may name a process that is another one now.
bool isSegment(const std::string& name) {
    char target[128] = {};
    const ssize_t length = readlink(name.c_str(), target, sizeof(target) - 1);
    return length > 0 && std::string(target).starts_with(std::string("/memfd:") + kFileName);
}

constexpr std::size_t roundUp(std::size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

} // namespace

std::int64_t monotonicNs() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void pauseMs(long ms) {
    const timespec pause{0, ms * 1'000'000};
    nanosleep(&pause, nullptr);
}

void sleepOn(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
    const timespec limit{0, 20'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wakeAll(std::atomic<std::uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

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

Channel& ShmSegment::channel(int from, int to) const {
    auto* channels = reinterpret_cast<Channel*>(m_base + sizeof(SegmentHeader) + ranks() * sizeof(RankCard));
    return channels[static_cast<std::size_t>(from) * ranks() + static_cast<std::size_t>(to)];
}

std::byte* ShmSegment::slot(int rank) const {
    std::byte* slots
        = m_base + sizeof(SegmentHeader) + ranks() * sizeof(RankCard) + ranks() * ranks() * sizeof(Channel);
    return slots + static_cast<std::size_t>(rank) * header().slotBytes;
}

std::byte* ShmSegment::channelData(int from, int to) const {
    const std::size_t index = static_cast<std::size_t>(from) * ranks() + static_cast<std::size_t>(to);
    return slot(static_cast<int>(ranks())) + index * header().channelBytes;
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

bool ShmSegment::create(int size, std::size_t slotBytes, std::size_t channelBytes, std::string& error) {
    const std::uint64_t hash = randomNumber();
    const int descriptor = memfd_create(kFileName, MFD_CLOEXEC);
    slotBytes = roundUp(slotBytes);
    channelBytes = size > 1 ? roundUp(channelBytes) : 0;
    const std::size_t bytes = segmentBytes(static_cast<std::size_t>(size), slotBytes, channelBytes);
    const int full = descriptor < 0 ? errno : posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    if (full != 0 || !map(descriptor, bytes)) {
        error = "cannot create a shared-memory segment of " + std::to_string(bytes)
            + " bytes: " + std::strerror(full != 0 ? full : errno);
        if (descriptor >= 0)
            ::close(descriptor);
        return false;
    }
    m_name = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor);
    SegmentHeader& head = header();
    head.magic = kMagic;
    head.size = static_cast<std::uint32_t>(size);
    head.slotBytes = slotBytes;
    head.channelBytes = channelBytes;
    head.hash = hash;
    head.ready.store(1, std::memory_order_release);
    if (!lockRank(0)) {
        error = std::string("cannot lock a place in the shared-memory segment: ") + std::strerror(errno);
        return false;
    }
    return true;
}

bool ShmSegment::attach(const std::string& name) {
    const int descriptor = isSegment(name) ? ::open(name.c_str(), O_RDWR | O_CLOEXEC) : -1;
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

bool ShmSegment::join(int rank, int size, std::int64_t deadlineNs, std::string& error) {
    if (header().size != static_cast<std::uint32_t>(size)) {
        error = "rank " + std::to_string(rank) + " expects " + std::to_string(size) + " ranks, rank 0 "
            + std::to_string(header().size);
        return false;
    }
    if (rank != 0 && !lockRank(rank)) {
        error = "rank " + std::to_string(rank) + " is taken by another process";
        return false;
    }
    card(rank).pid.store(static_cast<std::uint32_t>(getpid()), std::memory_order_relaxed);
    std::atomic<std::uint32_t>& joined = header().joined;
    joined.fetch_add(1, std::memory_order_acq_rel);
    wakeAll(joined);
    while (true) {
        const std::uint32_t seen = joined.load(std::memory_order_acquire);
        if (seen == header().size)
            return true;
        if (monotonicNs() > deadlineNs) {
            error = "only " + std::to_string(seen) + " of " + std::to_string(size) + " ranks came in time";
            return false;
        }
        if (rank != 0 && !alive(0) && joined.load(std::memory_order_acquire) != header().size) {
            error = "rank 0 has ended before all ranks came";
            return false;
        }
        sleepOn(joined, seen);
    }
}

} // namespace gdt::comm
