// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace gd::schema {

// One analyzer/schema/NNN_*.sql, compiled in. `number` is the user_version of a trace that has it.
struct RawSchema {
    int number;
    std::string_view name; // "001_raw.sql"
    std::string_view sql;
};

// All of them, in the order in which they are applied.
std::span<const RawSchema> rawSchemas();

// analyzer/schema/facts.sql: tables that are dropped and rebuilt.
std::string_view factsSchema();

} // namespace gd::schema
