// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gdt::bench {

/// Median, least and largest of the windows of a run.
struct Spread {
    double median = 0, least = 0, most = 0;
};

/// What one run of the trainer showed. Shares are of 1; negative: not measured.
struct Measured {
    std::string problem; ///< one sentence when the run did not end well; then nothing else holds
    int windows = 0;
    Spread tokensPerSecond; ///< of the whole job
    double hitShare = -1; ///< replays of graphs that were there already, of all runs after the warm-up
    double fellBackShare = -1; ///< eager runs where a graph was wanted, of the same
    double intervalDeviation = -1; ///< standard deviation of the times between steps, of their mean
    double intervalP999Ms = -1;
    int lateSteps = 0; ///< that took longer than the watchdog allows
    int steps = 0; ///< in the windows
    double busyShare = -1; ///< union of kernel times of the recorded run
    double commShare = -1; ///< part of the time in which nothing but communication ran
};

struct Programs {
    std::string trainer;
    std::string graphdoctor; ///< empty: busy and communication shares are not measured
    std::string folder; ///< for logs and traces
    double watchdogMs = 0; ///< 0: none
};

/// Steps of a run: those before the windows are not counted.
struct Windows {
    int warmUp = 8, count = 7, steps = 20;

    [[nodiscard]] int total() const { return warmUp + count * steps; }
};

/// Runs the trainer with `arguments` and, where graphdoctor is known and `recorded`, once more under it.
[[nodiscard]] Measured measure(const Programs& programs, const std::vector<std::string>& arguments,
    const Windows& windows, bool recorded);

} // namespace gdt::bench
