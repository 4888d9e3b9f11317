// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

namespace gd::facts {

// Fills graph_payoff, uncaptured_region and launch_cost; reads device_busy and replay_gap.
Result<void> buildGraphPayoff(FactContext& context);

} // namespace gd::facts
