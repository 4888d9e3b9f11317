// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>

namespace gd::bench {

using Clock = std::chrono::steady_clock;

inline double msSince(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
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
