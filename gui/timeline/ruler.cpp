// SPDX-License-Identifier: Apache-2.0
#include "gui/timeline/ruler.h"

namespace gd::gui {

Ticks ticksFor(const TimeScale& scale, double width, double minPx) {
    const double wanted = scale.nsPerPx * minPx;
    std::int64_t power = 1;
    while (static_cast<double>(power) * 10 <= wanted)
        power *= 10;
    Ticks out;
    for (const std::int64_t factor : {1, 2, 5, 10}) {
        out.stepNs = power * factor;
        if (static_cast<double>(out.stepNs) >= wanted)
            break;
    }
    const std::int64_t first = scale.startNs - ((scale.startNs % out.stepNs) + out.stepNs) % out.stepNs;
    for (std::int64_t t = first; t <= scale.endNs(width); t += out.stepNs) {
        if (t >= scale.startNs)
            out.times.push_back(t);
    }
    return out;
}

} // namespace gd::gui
