// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

namespace gd::facts {

Result<void> buildUnorderedCopy(FactContext& context);

} // namespace gd::facts
