// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gd::gui {

// Which time a pixel shows: pixel x covers [nsAt(x), nsAt(x + 1)), at least one nanosecond. Times are int64
// ns of the trace clock; only differences inside the view are doubles (10 hours are 3.6e13 ns, exact below
// 2^53).
struct TimeScale {
    std::int64_t startNs = 0;
    double nsPerPx = 1;

    // From 20 px a nanosecond to a pixel of 10 minutes.
    static constexpr double kMinNsPerPx = 0.05;
    static constexpr double kMaxNsPerPx = 6e11;

    std::int64_t nsAt(double x) const {
        const double since = x * nsPerPx;
        const auto whole = static_cast<std::int64_t>(since); // cut, which is faster than std::floor
        return startNs + whole - (since < static_cast<double>(whole) ? 1 : 0);
    }
    double xAt(std::int64_t ns) const { return static_cast<double>(ns - startNs) / nsPerPx; }
    std::int64_t endNs(double width) const { return nsAt(width); }

    // The time under pixel x stays there; factor above 1 shows more time.
    TimeScale zoomed(double factor, double x) const {
        TimeScale out;
        out.nsPerPx = std::clamp(nsPerPx * factor, kMinNsPerPx, kMaxNsPerPx);
        out.startNs = startNs + static_cast<std::int64_t>(std::llround(x * (nsPerPx - out.nsPerPx)));
        return out;
    }
    TimeScale panned(double pixels) const {
        return {startNs + static_cast<std::int64_t>(std::llround(pixels * nsPerPx)), nsPerPx};
    }
    // Shows [fromNs, toNs] with `margin` (a share of the width) free on both sides.
    static TimeScale fit(std::int64_t fromNs, std::int64_t toNs, double width, double margin = 0) {
        const double span = std::max(1.0, static_cast<double>(toNs - fromNs));
        const double used = std::max(1.0, width * (1 - 2 * margin));
        TimeScale out;
        out.nsPerPx = std::clamp(span / used, kMinNsPerPx, kMaxNsPerPx);
        const double middle = span / 2;
        out.startNs = fromNs + static_cast<std::int64_t>(std::llround(middle - width / 2 * out.nsPerPx));
        return out;
    }
    bool operator==(const TimeScale&) const = default;
};

} // namespace gd::gui
