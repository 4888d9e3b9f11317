// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <string_view>
#include <sys/types.h>

namespace gd::session {

/// Sleeps until `word` differs from `value`, somebody calls wakeAll() or `ns` are over; may return early.
void waitWhile(std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t ns) noexcept;
void wakeAll(std::atomic<std::uint32_t>& word) noexcept;

/// Which file a descriptor of ours stands for. Jobs close descriptors that they did not open (daemons do),
/// and the next file they open gets the number.
class FileIdentity {
public:
    void remember(int fd) noexcept;
    bool holdsFor(int fd) const noexcept;

private:
    dev_t m_device = 0;
    ino_t m_inode = 0; ///< 0: none
};

/// `fd`, or in its place a number that is none of the standard streams: a job that runs with those closed
/// writes into whatever has theirs. -1 with errno where there is none.
int aboveStandardStreams(int fd) noexcept;

/// A detached thread of ours, with every signal blocked but those of its own faults (the job's other handlers
/// must never run on it). `name` is at most 15 bytes and lives for ever. False when the kernel refuses one.
bool startThread(const char* name, void* (*run)(void*), void* argument) noexcept;

/// What errno `number` means, in words.
const char* errorText(int number) noexcept;

/// Reads at most `capacity - 1` bytes of a file and ends them with a 0. Returns the length, 0 on failure.
std::size_t readFile(const char* path, char* buffer, std::size_t capacity) noexcept;

/// A 64-bit number that no other process has; never 0.
std::uint64_t randomNumber() noexcept;

/// Whether a thread of this process runs, or would if it got a processor, rather than waiting for something.
/// False where /proc does not tell.
bool isRunnable(std::uint32_t tid) noexcept;
/// Waits until `done` is not 0, which a thread of ours sets and wakes. At most `ns` where that thread waits
/// itself, perhaps for something that the caller holds, and four times that where it polls instead; up to ten
/// seconds where it only has no processor.
/// `tid` is that thread, 0 = it has not begun.
void awaitThread(
    std::atomic<std::uint32_t>& done, const std::atomic<std::uint32_t>& tid, std::int64_t ns) noexcept;

/// `path` is a folder of ours (owner = effective user, no access for others), created when it is missing.
bool ensurePrivateFolder(const char* path) noexcept;

/// Holds a cancellation of the calling thread (pthread_cancel) off while in scope: it would unwind the stack
/// through functions that allow no exception, which ends the job. What waits or reads on a thread of the job
/// is inside one.
class NoCancellation {
public:
    NoCancellation() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &m_before); }
    ~NoCancellation() { pthread_setcancelstate(m_before, nullptr); }
    NoCancellation(const NoCancellation&) = delete;
    NoCancellation& operator=(const NoCancellation&) = delete;

private:
    int m_before = PTHREAD_CANCEL_ENABLE;
};

/// One line on stderr, "graphdoctor: " in front.
void complain(std::string_view text) noexcept;

/// Joins `parts` into `buffer`, cut where it is full, always ended with a 0. Returns the length.
std::size_t joinInto(
    char* buffer, std::size_t capacity, const std::string_view* parts, std::size_t count) noexcept;
template <std::size_t N, class... Parts>
std::size_t formatInto(char (&buffer)[N], const Parts&... parts) noexcept {
    const std::string_view views[] = {std::string_view(parts)...};
    return joinInto(buffer, N, views, sizeof...(parts));
}

/// Decimal or hexadecimal digits of a number, for formatInto.
struct Digits {
    char text[21];
    operator std::string_view() const noexcept { return text; }
};
Digits decimal(std::uint64_t number) noexcept;
Digits hex16(std::uint64_t number) noexcept;

} // namespace gd::session
