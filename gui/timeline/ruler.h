// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/time_scale.h"

#include <cstdint>
#include <vector>

namespace gd::gui {

// Times that get a line and a label: multiples of `stepNs`, which is 1, 2 or 5 times a power of ten and at
// least `minPx` wide.
struct Ticks {
    std::int64_t stepNs = 1;
    std::vector<std::int64_t> times;
};
Ticks ticksFor(const TimeScale& scale, double width, double minPx);

} // namespace gd::gui
