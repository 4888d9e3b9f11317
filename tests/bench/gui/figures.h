// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <ctime>

namespace gd::bench {

using Clock = std::chrono::steady_clock;

inline double msSince(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Processor time of this thread so far: what its work costs, also on a machine that others use.
inline double threadMs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// The same of all threads of the program.
inline double programMs() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// Prints figures beside their budgets. With `check` times may be five times as long: the machine may be busy.
struct Figures {
    bool check = false;
    bool good = true;

    void print(const char* what, double value, double budget, const char* unit, bool isTime = true) {
        const bool kept = value <= budget * (isTime && check ? 5 : 1);
        std::printf("%-58s %10.2f %-6s budget %8.2f%s\n", what, value, unit, budget, kept ? "" : "  MISSED");
        good = good && kept;
    }
    // Something that has to be so for the figures to mean anything.
    void require(bool so, const char* what) {
        if (!so)
            std::printf("%s: NOT SO\n", what);
        good = good && so;
    }
};

} // namespace gd::bench
