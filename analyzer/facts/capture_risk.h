// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

namespace gd::facts {

// Fills table capture_risk: threads that make calls which a capture in global mode forbids every thread, so
// often that one will fall into a capture some day, although none did while the trace was recorded. Not those
// that the capturing thread drives: they rest whenever it does anything else.
Result<void> buildCaptureRisk(FactContext& context);

} // namespace gd::facts
