// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/ids.h"
#include "analyzer/base/result.h"
#include "analyzer/base/unique_handle.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace gd::base {

void finalizeStatement(sqlite3_stmt* statement) noexcept;

// One prepared SQL statement of a Db. Prepare once, then bind, step, reset in a loop.
//
//     GD_TRY_ASSIGN(auto insert, db.prepare("INSERT INTO t VALUES (?, ?, ?)"));
//     for (const Row& row : rows)
//         GD_TRY(insert.runWith(row.id, row.name, row.optionalCost));
//
//     GD_TRY_ASSIGN(auto select, db.prepare("SELECT id, name FROM t WHERE id >= :first"));
//     select.bind(":first", 7);
//     while (true) {
//         GD_TRY_ASSIGN(const bool row, select.step());
//         if (!row)
//             break;
//         use(select.int64(0), select.text("name"));
//     }
//
// Parameters are numbered from 1, columns from 0. A bind that fails is reported by the next step(). Texts and
// blobs read from a row are valid until the next step() or reset(). Reading a column that does not exist is a
// bug and aborts: ask columnIndex() first where the SQL is not ours. Belongs to one thread.
class Statement {
public:
    void bind(int index, std::int64_t value);
    void bind(int index, double value);
    void bind(int index, std::string_view value); // copied
    void bind(int index, std::span<const std::byte> value); // copied
    void bind(int index, std::nullptr_t);
    template <std::integral T> void bind(int index, T value) {
        bind(index, static_cast<std::int64_t>(value));
    }
    void bind(int index, const char* value) { bind(index, std::string_view(value)); }
    void bind(int index, const std::string& value) { bind(index, std::string_view(value)); }
    template <class Tag> void bind(int index, Id<Tag> id) {
        id.isNone() ? bind(index, nullptr) : bind(index, id.value());
    }
    template <class T> void bind(int index, const std::optional<T>& value) {
        value ? bind(index, *value) : bind(index, nullptr);
    }
    // No copy: the text must stay until the next reset(), bind() of this index, or the statement's end.
    void bindView(int index, std::string_view value);

    // By name with its ':'; naming a parameter that the SQL does not have is an error of the next step().
    template <class T> void bind(std::string_view name, const T& value) {
        if (const int index = parameterIndex(name); index != 0)
            bind(index, value);
        else
            noteMissingParameter(name);
    }
    // False when the SQL does not use that parameter.
    template <class T> bool bindIfUsed(std::string_view name, const T& value) {
        const int index = parameterIndex(name);
        if (index != 0)
            bind(index, value);
        return index != 0;
    }
    int parameterCount() const;
    int parameterIndex(std::string_view name) const; // 0 = none of that name
    std::string_view parameterName(int index) const; // empty for '?'

    // True: a row is there. False: done.
    Result<bool> step();
    // Steps to the end, ignoring rows, and resets.
    Result<void> run();
    // Binds the parameters 1, 2, … and runs.
    template <class... T> Result<void> runWith(const T&... values) {
        int index = 0;
        (bind(++index, values), ...);
        return run();
    }
    void reset();
    void clearBindings();

    int columnCount() const { return static_cast<int>(m_columns.size()); }
    const std::string& columnName(int column) const;
    std::optional<int> columnIndex(std::string_view name) const;
    bool readsOnly() const;

    bool isNull(int column) const;
    bool isInteger(int column) const; // the value of this row
    bool isReal(int column) const;
    bool isText(int column) const;
    std::int64_t int64(int column) const; // NULL reads as 0
    double real(int column) const;
    std::string_view text(int column) const;
    std::span<const std::byte> blob(int column) const;
    std::optional<std::int64_t> optionalInt64(int column) const;
    std::optional<double> optionalReal(int column) const;
    std::optional<std::string> optionalText(int column) const;

    bool isNull(std::string_view name) const { return isNull(column(name)); }
    std::int64_t int64(std::string_view name) const { return int64(column(name)); }
    double real(std::string_view name) const { return real(column(name)); }
    std::string_view text(std::string_view name) const { return text(column(name)); }
    std::optional<std::int64_t> optionalInt64(std::string_view name) const {
        return optionalInt64(column(name));
    }
    std::optional<double> optionalReal(std::string_view name) const { return optionalReal(column(name)); }
    std::optional<std::string> optionalText(std::string_view name) const {
        return optionalText(column(name));
    }

private:
    friend class Db;
    Statement(sqlite3* db, sqlite3_stmt* statement, const std::string* source);
    void noteBind(int status);
    void noteMissingParameter(std::string_view name);
    int column(std::string_view name) const;

    sqlite3* m_db = nullptr;
    UniqueHandle<sqlite3_stmt*, finalizeStatement> m_statement;
    const std::string* m_source = nullptr; // the file's name, owned by the Db
    std::vector<std::string> m_columns;
    std::optional<Error> m_bindError;
    bool m_running = false;
};

} // namespace gd::base

namespace gd {
using base::Statement;
} // namespace gd
