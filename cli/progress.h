// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace gd::cli {

// One line on stderr that says how far a long task is, at what rate and how long it still takes. Only on a
// terminal, only after the first half second, at most ten times a second; gone when the task ends.
class Progress {
public:
    explicit Progress(std::string_view what);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

    void update(std::uint64_t doneBytes, std::uint64_t totalBytes);

    // "importing: 1.20 GiB of 4.00 GiB (30 %), 250.00 MiB/s, 11.5 s left"
    static std::string line(std::string_view what, std::uint64_t doneBytes, std::uint64_t totalBytes,
        std::chrono::nanoseconds elapsed);

private:
    std::string m_what;
    bool m_terminal;
    bool m_shown = false;
    std::chrono::steady_clock::time_point m_start;
    std::chrono::steady_clock::time_point m_last;
};

} // namespace gd::cli
