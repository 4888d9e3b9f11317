// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gd::store {

// One value of a row. Text must live until the next cell is asked for.
struct Cell {
    enum class Kind : std::uint8_t { null, integer, real, text };
    Kind kind = Kind::null;
    std::int64_t integer = 0;
    double real = 0;
    std::string_view text;

    Cell() = default;
    Cell(std::int64_t value)
        : kind(Kind::integer)
        , integer(value) { }
    static Cell ofReal(double value) {
        Cell cell;
        cell.kind = Kind::real;
        cell.real = value;
        return cell;
    }
    static Cell ofText(std::string_view value) {
        Cell cell;
        cell.kind = Kind::text;
        cell.text = value;
        return cell;
    }
    // NULL stands for "none".
    static Cell nullIf(std::int64_t value, std::int64_t none) { return value == none ? Cell() : Cell(value); }
};

// Rows that lie ready in memory in the order in which they are to be stored.
class RowSource {
public:
    virtual ~RowSource() = default;
    virtual std::size_t rowCount() const = 0;
    virtual Cell cell(std::size_t row, int column) const = 0;
};

inline constexpr int kMaxBulkColumns = 32;

// Inserts all rows of `source` by one `INSERT INTO … SELECT` over a virtual table: about twice as fast as a
// bound statement a row. `columns` is a comma-separated list; cell() is asked for its positions. Call it
// inside a transaction. Not re-entrant for one Db.
Result<void> bulkInsert(Db& db, std::string_view table, std::string_view columns, const RowSource& source);

} // namespace gd::store
