// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace gdt::runtime {

/// Which call a thread is in, written down by that thread and read by a watchdog: a thread that stays in one
/// call waits for its device or for other ranks.
struct CallBoard {
    std::atomic<const char*> call{nullptr}; ///< a literal; null between calls
    std::atomic<std::uint64_t> entered{0}; ///< calls so far
    std::atomic<std::int64_t> limitNs{0}; ///< that this call may last; 0: what the watchdog grants to all
    std::atomic<bool> closed{false}; ///< the process is ending: the thread goes no further than this call
};

/// The board of the calling thread, null where nobody watches it.
[[nodiscard]] CallBoard*& callBoard();

/// For the length of a call that may wait. Costs a few stores where the thread is watched.
class WatchedCall {
public:
    explicit WatchedCall(const char* call, std::int64_t limitNs = 0);
    ~WatchedCall();
    WatchedCall(const WatchedCall&) = delete;
    WatchedCall& operator=(const WatchedCall&) = delete;

private:
    CallBoard* m_board;
    const char* m_outerCall = nullptr;
    std::int64_t m_outerLimitNs = 0;
};

} // namespace gdt::runtime
