// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/ring_marks.h"

#include <string>

namespace gd::importer {

// The signal says that a process ran into something it cannot go on from.
bool isFault(int signal);

// One sentence about what the collector was doing when a fault ended the process; empty when its marks do not
// say.
std::string describeFault(int signal, const raw::RingMarks& marks);

} // namespace gd::importer
