// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/spin_lock.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gd::nvtx {

/// A registered string or domain. Its address is the handle the job gets; it lives for ever, because handles
/// are valid in every module of the process and the job may use one at any time.
struct Name {
    Name* next;
    std::uint64_t number; ///< from 1, unique per table
    std::size_t length;
    char text[1]; ///< 0-terminated
};

/// Names by text: the same text gives the same Name, whichever module registered it. Any thread.
class NameTable {
public:
    /// nullptr: no memory.
    const Name* intern(std::string_view text) noexcept;
    /// In a forked child: a thread that is not there may have held the lock. What it added is whole, or not
    /// there.
    void afterFork() noexcept { m_lock.unlock(); }

private:
    static constexpr std::size_t kBuckets = 256;

    session::SpinLock m_lock;
    Name* m_buckets[kBuckets] = {};
    std::uint64_t m_count = 0;
};

/// Wide text (as NVTX's W functions take) as UTF-8 in `out`, cut to its size; returns what was written.
std::string_view narrow(const wchar_t* text, char* out, std::size_t bytes) noexcept;

} // namespace gd::nvtx
