// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <string>

namespace gd::rules {

// A small text file as a whole (at most 1 MiB). `what` names it in errors: "rule", "list of frames".
Result<std::string> readTextFile(const std::string& path, std::string_view what);

} // namespace gd::rules
