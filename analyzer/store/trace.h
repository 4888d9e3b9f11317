// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace gd::store {

// Marks our files in SQLite's header: "GDOC".
inline constexpr std::int64_t kApplicationId = 0x47444f43;
// meta.format of every trace.
inline constexpr std::string_view kTraceFormat = "graphdoctor.trace/1";

// The last analyzer/schema/NNN_*.sql that is compiled in: user_version of new traces.
int schemaVersion();

// How fact tables are filled, handed in by whoever opens or writes a trace (analyzer/facts provides one).
// `version` is compared with meta.facts_version. `build` finds empty fact tables, in main or in temp, under
// their plain names.
struct FactsBuilder {
    std::int64_t version = 0;
    std::function<Result<void>(Db&)> build;
};

// A trace that is being written. It has a temporary name beside the wanted one until finish(); a destroyed,
// unfinished one leaves nothing behind. Written without journal and without sync: after a crash of the
// machine the temporary file is worthless, and the spool is still there.
class NewTrace {
public:
    // Creates the raw tables. Fails when `path` exists and `replace` is false, also in finish().
    static Result<NewTrace> create(const std::filesystem::path& path, bool replace);
    NewTrace(NewTrace&&) noexcept;
    NewTrace& operator=(NewTrace&&) = delete;
    ~NewTrace();

    Db& db() { return m_db; }
    // Creates the fact tables and lets `facts` fill them, in one transaction.
    Result<void> buildFacts(const FactsBuilder& facts);
    // Closes the database and gives the file its name. The object is spent afterwards.
    Result<void> finish();
    // Names the wanted file in messages that name the temporary one.
    Error named(Error error) const;

private:
    NewTrace(Db db, std::filesystem::path path, std::filesystem::path temporary, bool replace);

    Db m_db;
    std::filesystem::path m_path;
    std::filesystem::path m_temporary; // empty = nothing to remove
    bool m_replace;
};

// Writes a small trace again in small pages: each of the many tables takes one at least, so that one with
// hardly any row would have a megabyte. Large ones stay as they are. Outside any transaction.
Result<void> shrinkSmallTrace(Db& db);

// A trace that is open for reading. Never writes beside or into the file. Belongs to one thread.
// Every refusal is one sentence that names the file: missing, a directory, empty, not SQLite, foreign SQLite,
// a newer schema (both numbers), cut off, damaged, no permission.
class Trace {
public:
    static Result<Trace> open(const std::filesystem::path& path);
    // Facts of another version (or none) are built into the temp schema of this connection, which shadows the
    // trace's own tables.
    static Result<Trace> open(const std::filesystem::path& path, const FactsBuilder& facts);

    Db& db() { return m_db; }
    const std::filesystem::path& path() const { return m_path; }
    bool rebuiltFacts() const { return m_rebuiltFacts; }

private:
    Trace(Db db, std::filesystem::path path)
        : m_db(std::move(db))
        , m_path(std::move(path)) { }

    Db m_db;
    std::filesystem::path m_path;
    bool m_rebuiltFacts = false;
};

// The tables of analyzer/schema/*.sql in an empty database: what tests and rule tests start from.
Result<void> createRawTables(Db& db);
enum class FactsPlace { main, temp };
// Drops the fact tables of that schema, if any, and creates them empty.
Result<void> createFactTables(Db& db, FactsPlace place);

} // namespace gd::store
