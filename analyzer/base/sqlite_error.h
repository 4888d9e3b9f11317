// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"

#include <string>

struct sqlite3;

namespace gd::base {

// The last error of a connection as an Error: `status` decides the kind, `source` is the file's name for
// messages
// ("memory" for none).
Result<void> sqliteError(
    sqlite3* db, int status, const std::string& source, SourceLocation where = SourceLocation::current());

} // namespace gd::base
