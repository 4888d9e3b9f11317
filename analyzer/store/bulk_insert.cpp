// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/bulk_insert.h"

#include "analyzer/base/sqlite_error.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>

namespace gd::store {
namespace {

// A read-only virtual table that exists by its name alone (no xCreate), over the RowSource in its client
// data.
struct Table : sqlite3_vtab {
    const RowSource* source = nullptr;
};

struct Cursor : sqlite3_vtab_cursor {
    const RowSource* source = nullptr;
    std::size_t row = 0;
    std::size_t count = 0;
};

std::string declaration() {
    std::string text = "CREATE TABLE x(";
    for (int i = 0; i < kMaxBulkColumns; ++i)
        text += fmt::format("{}c{}", i == 0 ? "" : ", ", i);
    return text + ")";
}

int connect(sqlite3* db, void* client, int, const char* const*, sqlite3_vtab** out, char**) {
    if (const int status = sqlite3_declare_vtab(db, declaration().c_str()); status != SQLITE_OK)
        return status;
    auto* table = new Table();
    table->source = static_cast<const RowSource*>(client);
    *out = table;
    return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
    delete static_cast<Table*>(table);
    return SQLITE_OK;
}

int bestIndex(sqlite3_vtab*, sqlite3_index_info* info) {
    info->estimatedCost = 1e6;
    return SQLITE_OK;
}

int openCursor(sqlite3_vtab* table, sqlite3_vtab_cursor** out) {
    auto* cursor = new Cursor();
    cursor->source = static_cast<Table*>(table)->source;
    *out = cursor;
    return SQLITE_OK;
}

int closeCursor(sqlite3_vtab_cursor* cursor) {
    delete static_cast<Cursor*>(cursor);
    return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* base, int, const char*, int, sqlite3_value**) {
    auto* cursor = static_cast<Cursor*>(base);
    cursor->row = 0;
    cursor->count = cursor->source->rowCount();
    return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
    ++static_cast<Cursor*>(cursor)->row;
    return SQLITE_OK;
}

int atEnd(sqlite3_vtab_cursor* base) {
    const auto* cursor = static_cast<Cursor*>(base);
    return cursor->row >= cursor->count ? 1 : 0;
}

int column(sqlite3_vtab_cursor* base, sqlite3_context* context, int index) {
    const auto* cursor = static_cast<Cursor*>(base);
    const Cell cell = cursor->source->cell(cursor->row, index);
    switch (cell.kind) {
    case Cell::Kind::null:
        sqlite3_result_null(context);
        break;
    case Cell::Kind::integer:
        sqlite3_result_int64(context, cell.integer);
        break;
    case Cell::Kind::real:
        sqlite3_result_double(context, cell.real);
        break;
    case Cell::Kind::text:
        sqlite3_result_text64(context, cell.text.data(), cell.text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    }
    return SQLITE_OK;
}

int rowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
    *out = static_cast<sqlite3_int64>(static_cast<Cursor*>(cursor)->row);
    return SQLITE_OK;
}

const sqlite3_module& rowsModule() {
    static const sqlite3_module module = [] {
        sqlite3_module made{};
        made.xConnect = connect;
        made.xDisconnect = disconnect;
        made.xBestIndex = bestIndex;
        made.xOpen = openCursor;
        made.xClose = closeCursor;
        made.xFilter = filter;
        made.xNext = next;
        made.xEof = atEnd;
        made.xColumn = column;
        made.xRowid = rowId;
        return made;
    }();
    return module;
}

constexpr char kModuleName[] = "gd_rows";

} // namespace

Result<void> bulkInsert(Db& db, std::string_view table, std::string_view columns, const RowSource& source) {
    if (source.rowCount() == 0)
        return {};
    const auto count = 1 + std::count(columns.begin(), columns.end(), ',');
    GD_CHECK(count <= kMaxBulkColumns);
    // SQLite's interface is C: the source is only read.
    auto* client = const_cast<void*>(static_cast<const void*>(&source));
    if (const int status = sqlite3_create_module(db.handle(), kModuleName, &rowsModule(), client);
        status != SQLITE_OK)
        return base::sqliteError(db.handle(), status, db.source());
    std::string sql = fmt::format("INSERT INTO {}({}) SELECT ", table, columns);
    for (long i = 0; i < count; ++i)
        sql += fmt::format("{}c{}", i == 0 ? "" : ", ", i);
    Result<void> inserted = db.exec(sql + " FROM " + kModuleName);
    sqlite3_create_module(db.handle(), kModuleName, nullptr, nullptr);
    return inserted;
}

} // namespace gd::store
