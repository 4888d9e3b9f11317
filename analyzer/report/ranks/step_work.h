// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/ranks/step_comparison.h"

namespace gd::report {

// Reads what one rank did in one step, without a look at the others. nullopt: the process has no such step.
Result<std::optional<RankLane>> readLane(Db& trace, std::int64_t process, std::int64_t step);

} // namespace gd::report
