// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

namespace gd::facts {

// Fills table recapture: every successful capture, beside the one of the same region before it. A region is
// the range path of what was captured; without ranges, the place in the code that began the capture.
Result<void> buildRecapture(FactContext& context);

} // namespace gd::facts
