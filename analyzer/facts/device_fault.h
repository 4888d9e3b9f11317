// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

namespace gd::facts {

// Fills table device_fault; reads stale_pointer.
Result<void> buildDeviceFault(FactContext& context);

} // namespace gd::facts
