// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gd::gui {

// From now on screen readers get each row of a timeline as a list item with its time range, and the selected
// event as the focused one. Once per program; later calls change nothing.
void makeTimelineAccessible();

} // namespace gd::gui
