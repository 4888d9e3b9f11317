// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

namespace gd::facts {

// The graph holds kernels of an optimizer and none of a model's: not that of a whole step.
bool isOptimizerGraph(const ProcessData& process, const Graph& graph);

} // namespace gd::facts
