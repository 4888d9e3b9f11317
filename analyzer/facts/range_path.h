// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <string>

namespace gd::facts {

// Names of the ranges of a thread that are open at a time, as "outer/inner"; empty when there is none.
std::string rangePathAt(
    const RawData& raw, const ProcessData& process, std::int32_t threadId, std::int64_t timeNs);

} // namespace gd::facts
