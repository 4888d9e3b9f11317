// SPDX-License-Identifier: Apache-2.0
// What recording costs the host trainer: recorded ÷ bare step time inside one process. The control page
// switches recording off and on every 20 steps; steps during which the collector takes notice (it looks every
// 50 ms) are left out. Separate processes differ by more than the effect, so they are not compared.
//   overhead_bench [--check] [WINDOWS]
#include "cli/run/control.h"

#include <fmt/format.h>

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kWindowSteps = 20;
constexpr int kLineSteps = 5; // steps between two lines of the trainer
constexpr int kLines = kWindowSteps / kLineSteps;
constexpr auto kSettle = std::chrono::milliseconds(60); // a tick of the collector and a little
constexpr int kWarmUpSteps = 100; // captures and instantiation are over
constexpr double kBudget = 1.02;
constexpr double kSlack = 5;

struct Window {
    bool recorded = false;
    double seconds = 0;
    int steps = 0;
    double perStep() const { return steps > 0 ? seconds / steps : 0; }
};

double quantile(std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    const double at = p * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, values.size() - 1);
    return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}

fs::path spoolBelow(const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().filename() == gd::raw::kControlPageName)
            return entry.path().parent_path();
    }
    return {};
}

// Reads the trainer's lines and switches at every window's end.
std::vector<Window> measure(std::FILE* trainer, const fs::path& folder) {
    std::vector<Window> windows;
    std::optional<gd::run::Control> control;
    Window window;
    window.recorded = true;
    int lines = 0;
    int step = 0;
    Clock::time_point last = Clock::now();
    Clock::time_point switched = last;
    char text[512];
    while (std::fgets(text, sizeof text, trainer) != nullptr) {
        if (std::sscanf(text, "step %d/", &step) != 1)
            continue;
        const Clock::time_point now = Clock::now();
        if (!control) {
            if (auto opened = gd::run::Control::open(spoolBelow(folder)))
                control.emplace(std::move(*opened));
            else
                return {};
        }
        if (step > kWarmUpSteps && last - switched >= kSettle) {
            window.seconds += std::chrono::duration<double>(now - last).count();
            window.steps += kLineSteps;
        }
        last = now;
        if (step <= kWarmUpSteps || ++lines < kLines)
            continue;
        windows.push_back(window);
        window = {!window.recorded, 0, 0};
        control->setLevel(window.recorded ? gd::raw::RecordingLevel::Standard : gd::raw::RecordingLevel::Off);
        switched = Clock::now();
        lines = 0;
    }
    return windows;
}

// Ratio of each recorded window to the mean of the bare ones on both sides: slow drifts cancel.
std::vector<double> ratios(const std::vector<Window>& windows) {
    std::vector<double> out;
    for (std::size_t i = 1; i + 1 < windows.size(); ++i) {
        const double before = windows[i - 1].perStep();
        const double after = windows[i + 1].perStep();
        if (windows[i].perStep() <= 0 || before <= 0 || after <= 0)
            continue;
        const double ratio = windows[i].perStep() / ((before + after) / 2);
        out.push_back(windows[i].recorded ? ratio : 1 / ratio);
    }
    return out;
}

} // namespace

int main(int argc, char** argv) {
    const bool check = argc > 1 && std::strcmp(argv[1], "--check") == 0;
    const int wanted = argc > (check ? 2 : 1) ? std::atoi(argv[check ? 2 : 1]) : 80;
    std::string name = (fs::temp_directory_path() / "gd-overhead-XXXXXX").string();
    const fs::path folder = mkdtemp(name.data());
    setenv("GRAPHDOCTOR_SPOOL_DIR", folder.c_str(), 1);
    const std::string command = fmt::format("{} run -o {} --no-report -- {} --backend host "
                                            "--steps {} --log-interval {} 2>/dev/null",
        GD_GRAPHDOCTOR, (folder / "x.gdt").string(), GD_TRAINER, kWarmUpSteps + kWindowSteps * wanted,
        kLineSteps);
    std::FILE* trainer = popen(command.c_str(), "r");
    const std::vector<Window> windows = trainer != nullptr ? measure(trainer, folder) : std::vector<Window>();
    const int status = trainer != nullptr ? pclose(trainer) : -1;
    std::error_code error;
    fs::remove_all(folder, error);
    const std::vector<double> all = ratios(windows);
    if (status != 0 || all.size() < 8) {
        fmt::print(stderr,
            "overhead_bench: the trainer gave {} windows (status {}); at least 10 are needed\n",
            windows.size(), status);
        return 1;
    }
    std::vector<double> bare;
    for (const Window& window : windows) {
        if (!window.recorded && window.steps > 0)
            bare.push_back(window.perStep());
    }
    const double median = quantile(all, 0.5);
    const double spread = quantile(all, 0.75) - quantile(all, 0.25);
    // Of a median of n values: 1.253 sigma / sqrt(n), with sigma from the quartiles.
    const double uncertainty = 1.253 * spread / 1.349 / std::sqrt(static_cast<double>(all.size()));
    fmt::print("recorded / bare step time: {:.4f} +- {:.4f} (quartiles {:.4f} to {:.4f}, {} comparisons of "
               "{} steps, "
               "bare step {:.2f} ms)\n",
        median, uncertainty, quantile(all, 0.25), quantile(all, 0.75), all.size(), kWindowSteps,
        quantile(bare, 0.5) * 1e3);
    const double limit = 1 + (kBudget - 1) * kSlack;
    if (check && median - 2 * uncertainty > limit) {
        fmt::print(
            stderr, "overhead_bench: above {:.2f} ({} times the budget of {})\n", limit, kSlack, kBudget);
        return 1;
    }
    return 0;
}
