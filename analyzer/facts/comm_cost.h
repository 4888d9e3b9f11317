// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

namespace gd::facts {

Result<void> buildCommCost(FactContext& context); // reads device_busy, nccl_step and nccl_replay

} // namespace gd::facts
