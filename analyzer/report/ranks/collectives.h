// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/ranks/step_comparison.h"

namespace gd::report {

// Finds the collectives and messages of a step in its lanes' communication and derives what depends on them:
// waits, skews, who holds up whom. A communicator's calls are matched by their order in the step, and only
// where its ranks made the same ones and nothing contradicts it (nobody leaves a collective before all have
// come). The rest becomes a note.
Result<void> matchCollectives(Db& trace, StepComparison& comparison);

} // namespace gd::report
