// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/ranks/step_comparison.h"

namespace gd::report {

// Finds the collectives and messages of a step in its lanes' communication (comm/matches.h) and derives what
// depends on them: waits, skews, who holds up whom. What could not be matched becomes a note.
Result<void> matchCollectives(Db& trace, StepComparison& comparison);

} // namespace gd::report
