// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <map>
#include <string>

namespace gd::gui {

// Bytes by the name that the events have on the timeline: "memcpy HtoD", "memset".
using MovedBytes = std::map<std::string, std::int64_t>;

// Of all copies and fills that touch [fromNs, toNs), whole ones also where the area cuts them. Takes time of
// the rows in the area.
Result<MovedBytes> movedBytes(Db& db, std::int64_t fromNs, std::int64_t toNs);

} // namespace gd::gui
