// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/base/statement.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct sqlite3;

namespace gd::base {

// One SQLite connection. Move-only, belongs to one thread at a time; must outlive its statements' use.
//
// Traces and rules may come from strangers. Every connection is opened with trusted_schema off and without
// extensions, an existing file in defensive mode. harden() then allows nothing but reading: call it after
// temporary tables were built. Opening never creates a file except by create(). Opening for reading never
// writes, also beside the file: a trace in WAL mode is read as immutable.
//
// Functions for SQL: percentile(x, p) with p from 0 to 100, interpolated, NULLs ignored; median(x).
class Db {
public:
    static Result<Db> openReadOnly(const std::string& path);
    static Result<Db> openReadWrite(const std::string& path);
    // Fails when the file exists.
    static Result<Db> create(const std::string& path);
    static Result<Db> openInMemory();

    Db(Db&&) noexcept;
    Db& operator=(Db&&) noexcept;
    ~Db();

    // Runs every statement of the text; on failure Error::offset is the position in the whole text.
    Result<void> exec(std::string_view sql);
    // Compiles one statement; text after it (other than comments) is an error.
    Result<Statement> prepare(std::string_view sql);
    // The same, and a statement that writes, attaches or controls the connection is refused. `tables` gets
    // the names of the tables and views it reads, sorted, each once.
    Result<Statement> prepareReadOnly(std::string_view sql, std::vector<std::string>* tables = nullptr);
    // First column of the first row; nullopt when there is no row or it is NULL.
    Result<std::optional<std::int64_t>> queryInt64(std::string_view sql);
    Result<std::optional<std::string>> queryText(std::string_view sql);
    // Table or view of that name in main or temp.
    Result<bool> hasTable(std::string_view table);

    // From here on only SELECT works: ATTACH, PRAGMA that sets something, writes, new tables, transactions on
    // other terms and load_extension() fail with ErrorCode::denied. Cannot be taken back.
    Result<void> harden();
    bool isHardened() const;
    // Runs statements of a stranger that may fill tables, but do nothing else that changes the connection or
    // a file.
    Result<void> execRowsOnly(std::string_view sql);

    // Statements that run when the limit is over fail with ErrorCode::timeLimit. Not positive = no limit.
    void setTimeLimit(std::chrono::nanoseconds limit);
    void clearTimeLimit();

    std::int64_t lastInsertRowId() const;
    std::int64_t changes() const;
    const std::string& source() const; // the path, or ":memory:"
    // Closes and reports; the destructor closes too, but cannot report.
    Result<void> close();
    // For analyzer/store only (bulk loading, backup).
    sqlite3* handle() const;

private:
    struct State;
    explicit Db(std::unique_ptr<State> state);
    enum class Origin { existing, ours };
    static Result<Db> open(const std::string& path, const std::string& uri, int flags, Origin origin);

    std::unique_ptr<State> m_state;
};

// BEGIN at construction, ROLLBACK at destruction unless commit() was called and worked.
class Transaction {
public:
    static Result<Transaction> begin(Db& db);
    Transaction(Transaction&& other) noexcept
        : m_db(std::exchange(other.m_db, nullptr)) { }
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    Result<void> commit();

private:
    explicit Transaction(Db& db)
        : m_db(&db) { }
    Db* m_db;
};

// Stops a Db's statements after a while, until the end of the scope.
class TimeLimitScope {
public:
    TimeLimitScope(Db& db, std::chrono::nanoseconds limit)
        : m_db(db) {
        m_db.setTimeLimit(limit);
    }
    TimeLimitScope(const TimeLimitScope&) = delete;
    TimeLimitScope& operator=(const TimeLimitScope&) = delete;
    ~TimeLimitScope() { m_db.clearTimeLimit(); }

private:
    Db& m_db;
};

} // namespace gd::base

namespace gd {
using base::Db;
using base::Transaction;
} // namespace gd
