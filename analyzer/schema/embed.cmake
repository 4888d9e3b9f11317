# SPDX-License-Identifier: Apache-2.0
# cmake -D OUTPUT=schema_sql.cpp -D "RAW=001_raw.sql;…" -D FACTS=facts.sql -P embed.cmake
# Writes the SQL files as raw string literals. They may hold any text but ")gdsql".
set(code "// SPDX-License-Identifier: Apache-2.0\n// Generated from analyzer/schema/*.sql by embed.cmake.\n")
string(APPEND code "#include \"analyzer/schema/schema_sql.h\"\n\n#include <array>\n\nnamespace gd::schema {\nnamespace {\n\n")
list(LENGTH RAW count)
string(APPEND code "constexpr std::array<RawSchema, ${count}> kRaw {{\n")
set(previous 0)
foreach(file IN LISTS RAW)
    get_filename_component(name "${file}" NAME)
    if(NOT name MATCHES "^([0-9][0-9][0-9])_[a-z0-9_]+\\.sql$")
        message(FATAL_ERROR "${file}: expected a name like 002_add_column.sql")
    endif()
    math(EXPR number "1${CMAKE_MATCH_1} - 1000")
    math(EXPR expected "${previous} + 1")
    if(NOT number EQUAL expected)
        message(FATAL_ERROR "${file}: expected number ${expected}, numbers must not have gaps")
    endif()
    set(previous ${number})
    file(READ "${file}" sql)
    string(APPEND code "    {${number}, \"${name}\", R\"gdsql(${sql})gdsql\"},\n")
endforeach()
file(READ "${FACTS}" sql)
string(APPEND code "}};\n\nconstexpr std::string_view kFacts = R\"gdsql(${sql})gdsql\";\n\n} // namespace\n\n"
    "std::span<const RawSchema> rawSchemas() { return kRaw; }\n\n"
    "std::string_view factsSchema() { return kFacts; }\n\n} // namespace gd::schema\n")
file(WRITE "${OUTPUT}" "${code}")
