// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/bench/gui/figures.h"

#include <QString>

#include <cstddef>
#include <string>

namespace gd::bench {

// Writes a trace of `events` kernels on 64 streams of one process: 1 to 9 us long, gaps below 1 us, one of 3
// ms every 2,000, 500 names, a launch for every tenth.
void makeTrace(const std::string& path, std::size_t events);

// Opens a trace in a window without a display: first row, all rows, longest stop of the event loop, resident
// bytes an event, first hits of a search, details of an event.
void benchTrace(const QString& path, Figures& figures);

} // namespace gd::bench
