// SPDX-License-Identifier: Apache-2.0
#include "collector/session/system.h"

#include "collector/session/mapped_array.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace gd::session {

namespace {

struct ThreadStart {
    const char* name;
    void* (*run)(void*);
    void* argument;
};

// The thread names itself: one that has ended may be no longer there when its starter goes on.
void* beginThread(void* memory) noexcept {
    const ThreadStart start = *static_cast<const ThreadStart*>(memory);
    munmap(memory, sizeof start);
    prctl(PR_SET_NAME, start.name);
    return start.run(start.argument);
}

} // namespace

bool startThread(const char* name, void* (*run)(void*), void* argument) noexcept {
    // Static thread-local storage of a large job counts against the stack, so not the smallest possible one.
    constexpr std::size_t kStackBytes = 1 << 20;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    // What a thread brings on itself ends the process at once where it is blocked, past the job's own
    // handler: no faulthandler prints a stack, no sandbox carries a forbidden call out.
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) {
        sigdelset(&all, number);
    }
    pthread_attr_t attributes;
    auto* start = static_cast<ThreadStart*>(mapMemory(sizeof(ThreadStart)));
    if (start == nullptr) {
        return false;
    }
    *start = {name, run, argument};
    if (pthread_attr_init(&attributes) != 0) {
        munmap(start, sizeof *start);
        return false;
    }
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    const int error = pthread_create(&thread, &attributes, beginThread, start);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        munmap(start, sizeof *start);
    }
    return error == 0;
}

int aboveStandardStreams(int fd) noexcept {
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int reason = errno;
    close(fd);
    errno = reason;
    return above;
}

const char* errorText(int number) noexcept {
    const char* text = strerrordesc_np(number);
    return text != nullptr ? text : "unknown error";
}

std::size_t readFile(const char* path, char* buffer, std::size_t capacity) noexcept {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    std::size_t length = 0;
    while (fd >= 0 && length + 1 < capacity) {
        const ssize_t got = read(fd, buffer + length, capacity - 1 - length);
        if (got <= 0) {
            break;
        }
        length += static_cast<std::size_t>(got);
    }
    if (fd >= 0) {
        close(fd);
    }
    buffer[length] = '\0';
    return length;
}

std::uint64_t randomNumber() noexcept {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        number = static_cast<std::uint64_t>(now.tv_nsec) << 32 ^ static_cast<std::uint64_t>(now.tv_sec)
            ^ static_cast<std::uint64_t>(getpid()) * 0x9e3779b97f4a7c15;
    }
    return number == 0 ? 1 : number;
}

namespace {

struct ThreadLook {
    char state = '?'; ///< as in /proc
    std::int64_t processorNs = 0; ///< that it has used
};

ThreadLook lookAt(std::uint32_t tid) noexcept {
    char path[64];
    char stat[512];
    formatInto(path, "/proc/self/task/", decimal(tid), "/stat");
    readFile(path, stat, sizeof stat);
    const char* field = std::strrchr(stat, ')'); // the name itself may hold anything
    ThreadLook look;
    if (field == nullptr || field[1] != ' ') {
        return look;
    }
    look.state = field[2];
    constexpr int kBeforeTimes = 12; // fields 3 to 13, proc(5); then come two of 10 ms each
    for (int i = 0; i < kBeforeTimes && field != nullptr; ++i) {
        field = std::strchr(field + 1, ' ');
    }
    char* end = nullptr;
    const std::uint64_t user = field != nullptr ? strtoull(field, &end, 10) : 0;
    const std::uint64_t system = end != nullptr ? strtoull(end, nullptr, 10) : 0;
    look.processorNs = static_cast<std::int64_t>(user + system) * 10'000'000;
    return look;
}

} // namespace

bool isRunnable(std::uint32_t tid) noexcept {
    const char state = lookAt(tid).state;
    return state == 'R' || state == 'D';
}

bool ensurePrivateFolder(const char* path) noexcept {
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return false;
    }
    struct stat status { };
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid()
        && (status.st_mode & 077) == 0;
}

void complain(std::string_view text) noexcept {
    const NoCancellation whole;
    constexpr char kPrefix[] = "graphdoctor: ";
    char newline = '\n';
    iovec parts[3] = {{const_cast<char*>(kPrefix), sizeof kPrefix - 1},
        {const_cast<char*>(text.data()), text.size()}, {&newline, 1}};
    // A closed pipe and the job's own file size limit come as signals that would end the job.
    sigset_t ending;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGPIPE);
    sigaddset(&ending, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &ending, &before);
    if (writev(STDERR_FILENO, parts, 3) < 0) { // nobody listens
        const int ours = errno == EPIPE ? SIGPIPE : SIGXFSZ;
        sigemptyset(&ending);
        sigaddset(&ending, ours);
        const timespec atOnce{};
        if (sigismember(&pending, ours) == 0) {
            sigtimedwait(&ending, nullptr, &atOnce);
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void waitWhile(std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t ns) noexcept {
    const timespec timeout{ns / 1'000'000'000, ns % 1'000'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &timeout, nullptr, 0);
}

void awaitThread(
    std::atomic<std::uint32_t>& done, const std::atomic<std::uint32_t>& tid, std::int64_t ns) noexcept {
    constexpr std::int64_t kLookNs = 20'000'000;
    constexpr std::int64_t kLongestNs = 10'000'000'000;
    constexpr int kSleepingLooks = 3; // in a row: one alone may be a short wait for a page or a lock
    constexpr int kBlockedLooks = 50; // inside the kernel, for a page, or a driver that does not answer
    int sleeping = 0;
    int blocked = 0;
    std::int64_t usedNs = 0; // a thread that polls needs no processor either
    for (std::int64_t waitedNs = 0; waitedNs < ns
         || (sleeping < kSleepingLooks && blocked < kBlockedLooks && usedNs < 4 * ns
             && waitedNs < kLongestNs);
         waitedNs += kLookNs) {
        if (done.load(std::memory_order_acquire) != 0) {
            return;
        }
        waitWhile(done, 0, kLookNs);
        if (const std::uint32_t thread = tid.load(std::memory_order_relaxed); thread != 0) {
            const ThreadLook look = lookAt(thread);
            sleeping = look.state == 'R' || look.state == 'D' ? 0 : sleeping + 1;
            blocked += look.state == 'D' ? 1 : 0;
            usedNs = look.processorNs;
        }
    }
}

void wakeAll(std::atomic<std::uint32_t>& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void FileIdentity::remember(int fd) noexcept {
    struct stat status { };
    if (fstat(fd, &status) == 0) {
        m_device = status.st_dev;
        m_inode = status.st_ino;
    }
}

bool FileIdentity::holdsFor(int fd) const noexcept {
    struct stat status { };
    return m_inode != 0 && fstat(fd, &status) == 0 && status.st_dev == m_device && status.st_ino == m_inode;
}

std::size_t joinInto(
    char* buffer, std::size_t capacity, const std::string_view* parts, std::size_t count) noexcept {
    std::size_t length = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t room = capacity - 1 - length;
        const std::size_t bytes = parts[i].size() < room ? parts[i].size() : room;
        if (bytes != 0) {
            std::memcpy(buffer + length, parts[i].data(), bytes);
        }
        length += bytes;
    }
    buffer[length] = '\0';
    return length;
}

Digits decimal(std::uint64_t number) noexcept {
    char reversed[20];
    std::size_t count = 0;
    do {
        reversed[count++] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    Digits digits{};
    for (std::size_t i = 0; i < count; ++i) {
        digits.text[i] = reversed[count - 1 - i];
    }
    return digits;
}

Digits hex16(std::uint64_t number) noexcept {
    Digits digits{};
    for (unsigned i = 0; i < 16; ++i) {
        digits.text[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
    }
    return digits;
}

} // namespace gd::session
