// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

namespace gd::facts {

// Fills table rank_divergence: the first call at which the ranks of a communicator did not do the same.
Result<void> buildRankDivergence(FactContext& context);

} // namespace gd::facts
