// SPDX-License-Identifier: Apache-2.0
#pragma once

struct sqlite3;

namespace gd::base {

// Registers the aggregates percentile(x, p) and median(x), and counted(n, noun), which is base::counted(), on
// a connection. Returns an SQLite status.
int registerSqlFunctions(sqlite3* db);

} // namespace gd::base
