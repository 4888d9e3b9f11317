// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

namespace gd::facts {

// Brings times to within 400 days of the trace's start and sizes to within a pebibyte, so that sums of them
// fit. Only damaged or forged traces hold others.
void makeSane(ProcessData& process);

} // namespace gd::facts
