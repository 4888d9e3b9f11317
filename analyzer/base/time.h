// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gd::base {

// Reads "500ms", "1.5s", "10us", "200ns", "2min" or "1h"; a unit is needed. Result in ns, never negative.
Result<std::int64_t> parseDuration(std::string_view text);

// Reads "4GB", "256MB", "64KiB", "1000B": decimal units are powers of 1000, those with i powers of 1024.
Result<std::int64_t> parseBytes(std::string_view text);

// "412 ns", "16.3 us", "2.05 ms", "1.50 s", "2 min 05 s": at most three significant digits below a minute.
std::string formatDuration(std::int64_t ns);

// "512 B", "1.50 KiB", "4.00 MiB": powers of 1024.
std::string formatBytes(std::int64_t bytes);

} // namespace gd::base
