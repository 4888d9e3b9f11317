// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/report/compare/comparison.h"
#include "analyzer/report/compare/step_times.h"

#include <vector>

namespace gd::report {

// Reads every figure of a trace that a comparison needs, over steady state: of all ranks together and, where
// there are several, of each. The duration of a step is that of `steps`, one value a step. Reads each kernel
// once; nothing proportional to the events is kept but eight bytes of each kernel.
Result<std::vector<Figure>> readFigures(Db& trace, const std::vector<StepTime>& steps);

} // namespace gd::report
