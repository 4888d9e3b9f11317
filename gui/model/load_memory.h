// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "gui/model/load_draft.h"

#include <atomic>
#include <vector>

namespace gd::gui {

// Bytes of each device: what the driver gave out (as memory_step counts it: without the graphs' own
// allocations of a real device, whose sizes do not add up), the framework's blocks inside that, and what
// looks at the device found in use by anybody.
Result<std::vector<Draft>> readMemoryRows(Db& db, const std::atomic<bool>& stop);

} // namespace gd::gui
