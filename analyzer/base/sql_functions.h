// SPDX-License-Identifier: Apache-2.0
#pragma once

struct sqlite3;

namespace gd::base {

// Registers percentile(x, p) and median(x) on a connection. Returns an SQLite status.
int registerSqlFunctions(sqlite3* db);

} // namespace gd::base
