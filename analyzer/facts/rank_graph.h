// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

namespace gd::facts {

// Fills table rank_graph: graphs that some processes captured while others launch the same kernels one by
// one.
Result<void> buildRankGraph(FactContext& context);

} // namespace gd::facts
