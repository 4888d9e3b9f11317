// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/statement.h"

#include "analyzer/base/sqlite_error.h"

#include <sqlite3.h>

#include <algorithm>

namespace gd::base {

void finalizeStatement(sqlite3_stmt* statement) noexcept {
    sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* db, sqlite3_stmt* statement, const std::string* source)
    : m_db(db)
    , m_statement(statement)
    , m_source(source) {
    const int count = sqlite3_column_count(statement);
    m_columns.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
        const char* columnName = sqlite3_column_name(statement, i);
        m_columns.emplace_back(columnName == nullptr ? "" : columnName);
    }
}

void Statement::noteBind(int status) {
    if (status != SQLITE_OK && !m_bindError)
        m_bindError = sqliteError(m_db, status, *m_source).error();
}

void Statement::noteMissingParameter(std::string_view name) {
    if (!m_bindError)
        m_bindError = Error(ErrorCode::query, fmt::format("the statement has no parameter {}", name));
}

void Statement::bind(int index, std::int64_t value) {
    noteBind(sqlite3_bind_int64(m_statement.get(), index, value));
}

void Statement::bind(int index, double value) {
    noteBind(sqlite3_bind_double(m_statement.get(), index, value));
}

void Statement::bind(int index, std::string_view value) {
    // A null data pointer would bind NULL instead of an empty text.
    const char* data = value.data() == nullptr ? "" : value.data();
    noteBind(
        sqlite3_bind_text64(m_statement.get(), index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bindView(int index, std::string_view value) {
    const char* data = value.data() == nullptr ? "" : value.data();
    noteBind(sqlite3_bind_text64(m_statement.get(), index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind(int index, std::span<const std::byte> value) {
    const void* data = value.empty() ? static_cast<const void*>("") : value.data();
    noteBind(sqlite3_bind_blob64(m_statement.get(), index, data, value.size(), SQLITE_TRANSIENT));
}

void Statement::bind(int index, std::nullptr_t) {
    noteBind(sqlite3_bind_null(m_statement.get(), index));
}

int Statement::parameterCount() const {
    return sqlite3_bind_parameter_count(m_statement.get());
}

int Statement::parameterIndex(std::string_view name) const {
    for (int i = 1, count = parameterCount(); i <= count; ++i) {
        if (parameterName(i) == name)
            return i;
    }
    return 0;
}

std::string_view Statement::parameterName(int index) const {
    const char* text = sqlite3_bind_parameter_name(m_statement.get(), index);
    return text == nullptr ? std::string_view() : std::string_view(text);
}

Result<bool> Statement::step() {
    if (m_bindError) {
        Error error = std::move(*m_bindError);
        m_bindError.reset();
        return error;
    }
    const int status = sqlite3_step(m_statement.get());
    m_running = status == SQLITE_ROW;
    if (status == SQLITE_ROW)
        return true;
    if (status == SQLITE_DONE)
        return false;
    Error error = sqliteError(m_db, status, *m_source).error();
    sqlite3_reset(m_statement.get());
    return error;
}

Result<void> Statement::run() {
    while (true) {
        Result<bool> row = step();
        if (!row)
            return std::move(row).error();
        if (!*row)
            break;
    }
    reset();
    return {};
}

void Statement::reset() {
    sqlite3_reset(m_statement.get());
    m_running = false;
}

void Statement::clearBindings() {
    sqlite3_clear_bindings(m_statement.get());
    m_bindError.reset();
}

const std::string& Statement::columnName(int column) const {
    GD_CHECK(column >= 0 && column < columnCount());
    return m_columns[static_cast<std::size_t>(column)];
}

std::optional<int> Statement::columnIndex(std::string_view name) const {
    const auto found = std::find(m_columns.begin(), m_columns.end(), name);
    if (found == m_columns.end())
        return std::nullopt;
    return static_cast<int>(found - m_columns.begin());
}

int Statement::column(std::string_view name) const {
    const std::optional<int> index = columnIndex(name);
    GD_CHECK(index.has_value());
    return *index;
}

bool Statement::readsOnly() const {
    return sqlite3_stmt_readonly(m_statement.get()) != 0;
}

bool Statement::isNull(int column) const {
    return sqlite3_column_type(m_statement.get(), column) == SQLITE_NULL;
}

bool Statement::isInteger(int column) const {
    return sqlite3_column_type(m_statement.get(), column) == SQLITE_INTEGER;
}

bool Statement::isReal(int column) const {
    return sqlite3_column_type(m_statement.get(), column) == SQLITE_FLOAT;
}

bool Statement::isText(int column) const {
    return sqlite3_column_type(m_statement.get(), column) == SQLITE_TEXT;
}

std::int64_t Statement::int64(int column) const {
    GD_CHECK(m_running && column >= 0 && column < columnCount());
    return sqlite3_column_int64(m_statement.get(), column);
}

double Statement::real(int column) const {
    GD_CHECK(m_running && column >= 0 && column < columnCount());
    return sqlite3_column_double(m_statement.get(), column);
}

std::string_view Statement::text(int column) const {
    GD_CHECK(m_running && column >= 0 && column < columnCount());
    const unsigned char* data = sqlite3_column_text(m_statement.get(), column);
    if (data == nullptr)
        return {};
    return {reinterpret_cast<const char*>(data),
        static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column))};
}

std::span<const std::byte> Statement::blob(int column) const {
    GD_CHECK(m_running && column >= 0 && column < columnCount());
    const void* data = sqlite3_column_blob(m_statement.get(), column);
    if (data == nullptr)
        return {};
    return {static_cast<const std::byte*>(data),
        static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column))};
}

std::optional<std::int64_t> Statement::optionalInt64(int column) const {
    return isNull(column) ? std::nullopt : std::optional(int64(column));
}

std::optional<double> Statement::optionalReal(int column) const {
    return isNull(column) ? std::nullopt : std::optional(real(column));
}

std::optional<std::string> Statement::optionalText(int column) const {
    return isNull(column) ? std::nullopt : std::optional(std::string(text(column)));
}

} // namespace gd::base
