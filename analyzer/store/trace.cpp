// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/trace.h"

#include "analyzer/base/fd.h"
#include "analyzer/schema/schema_sql.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace gd::store {
namespace {

using base::Fd;

// 16 KiB pages and a small cache are the fastest for one sorted pass, and give the smallest file.
constexpr std::string_view kWritePragmas = "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA "
                                           "synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA "
                                           "cache_size = -2048; PRAGMA secure_delete = OFF;";

std::uint32_t bigEndian(const unsigned char* bytes, int count) {
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i)
        value = value << 8 | bytes[i];
    return value;
}

// SQLite notices a missing tail only when a query comes across it. Header fields:
// https://www.sqlite.org/fileformat.html section 1.3.
Result<void> checkLength(const std::string& path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) {
        const ErrorCode code = errno == ENOENT ? ErrorCode::notFound : ErrorCode::io;
        return fail(code, "cannot open {}: {}", path, std::strerror(errno));
    }
    struct stat info { };
    if (::fstat(fd.get(), &info) != 0)
        return fail(ErrorCode::io, "cannot read {}: {}", path, std::strerror(errno));
    if (S_ISDIR(info.st_mode))
        return fail(ErrorCode::badInput, "{} is a directory; expected a GraphDoctor trace", path);
    std::array<unsigned char, 100> header{};
    if (!S_ISREG(info.st_mode) || ::pread(fd.get(), header.data(), header.size(), 0) != 100)
        return {}; // Db's own check finds the right words
    if (std::memcmp(header.data(), "SQLite format 3", 16) != 0)
        return {};
    const std::uint32_t pageSizeField = bigEndian(&header[16], 2);
    const std::int64_t pageBytes = pageSizeField == 1 ? 65536 : pageSizeField;
    const bool countIsValid = bigEndian(&header[24], 4) == bigEndian(&header[92], 4);
    const std::int64_t expectedBytes = pageBytes * bigEndian(&header[28], 4);
    if (countIsValid && info.st_size < expectedBytes)
        return fail(ErrorCode::badInput, "{} is cut off: it has {} bytes, its header says {}", path,
            info.st_size, expectedBytes);
    return {};
}

Result<void> checkIdentity(Db& db, const std::string& path) {
    GD_TRY_ASSIGN(const auto applicationId, db.queryInt64("PRAGMA application_id"));
    GD_TRY_ASSIGN(const auto userVersion, db.queryInt64("PRAGMA user_version"));
    if (applicationId.value_or(0) != kApplicationId) {
        GD_TRY_ASSIGN(const bool isNsight, db.hasTable("TARGET_INFO_SESSION_START_TIME"));
        if (isNsight)
            return fail(ErrorCode::badInput,
                "{} is not a GraphDoctor trace but an export of Nsight Systems; other tools' traces cannot "
                "be "
                "opened, record the job with graphdoctor run",
                path);
        return fail(ErrorCode::badInput,
            "{} is an SQLite database but not a GraphDoctor trace: application_id is {}, expected {}", path,
            applicationId.value_or(0), kApplicationId);
    }
    if (userVersion.value_or(0) > schemaVersion())
        return fail(ErrorCode::badInput,
            "{} was written by a newer GraphDoctor: its schema has version {}, this one reads up to {}", path,
            *userVersion, schemaVersion());
    if (userVersion.value_or(0) < 1)
        return fail(ErrorCode::badInput, "{} is not a complete trace: it has no schema version", path);
    GD_TRY_ASSIGN(const bool hasMeta, db.hasTable("meta"));
    GD_TRY_ASSIGN(const bool hasProcess, db.hasTable("process"));
    if (!hasMeta || !hasProcess)
        return fail(ErrorCode::badInput, "{} is damaged: expected the tables meta and process", path);
    return {};
}

std::vector<std::string> tablesOf(std::string_view sql) {
    std::vector<std::string> names;
    constexpr std::string_view kCreate = "\nCREATE TABLE ";
    for (std::size_t at = sql.find(kCreate); at != sql.npos; at = sql.find(kCreate, at + 1)) {
        const std::string_view rest = sql.substr(at + kCreate.size());
        names.emplace_back(rest.substr(0, rest.find_first_of(" (\n")));
    }
    return names;
}

std::string replaceAll(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

/// The tables that an older trace lacks, empty, in the temp schema of this connection.
Result<void> addMissingTables(Db& db, std::int64_t userVersion) {
    for (const schema::RawSchema& file : schema::rawSchemas()) {
        if (file.number <= userVersion)
            continue;
        std::string sql = replaceAll(std::string(file.sql), "\nCREATE TABLE ", "\nCREATE TABLE temp.");
        GD_TRY(db.exec(replaceAll(std::move(sql), "\nCREATE INDEX ", "\nCREATE INDEX temp.")));
    }
    return {};
}

// Facts of another version are kept in a temporary file of this connection: it, not the trace, has no room.
Error factsError(Error error, const std::string& path) {
    if (error.code != ErrorCode::io) {
        error.message = fmt::format("building facts of {}: {}", path, error.message);
        return error;
    }
    error.message = fmt::format("the facts of {} are of another version and need a temporary file, in "
                                "SQLITE_TMPDIR, else TMPDIR, else /var/tmp: {}",
        path, replaceAll(error.message, path, "it"));
    return error;
}

} // namespace

int schemaVersion() {
    return schema::rawSchemas().back().number;
}

Result<void> createRawTables(Db& db) {
    for (const schema::RawSchema& file : schema::rawSchemas())
        GD_TRY(db.exec(file.sql));
    GD_TRY(db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId)));
    return db.exec(fmt::format("PRAGMA user_version = {}", schemaVersion()));
}

Result<void> createFactTables(Db& db, FactsPlace place) {
    const std::string_view sql = schema::factsSchema();
    const std::string_view schemaName = place == FactsPlace::main ? "main" : "temp";
    for (const std::string& table : tablesOf(sql))
        GD_TRY(db.exec(fmt::format("DROP TABLE IF EXISTS {}.{}", schemaName, table)));
    if (place == FactsPlace::main)
        return db.exec(sql);
    std::string temporary = replaceAll(std::string(sql), "\nCREATE TABLE ", "\nCREATE TABLE temp.");
    return db.exec(replaceAll(std::move(temporary), "\nCREATE INDEX ", "\nCREATE INDEX temp."));
}

Result<void> shrinkSmallTrace(Db& db) {
    constexpr std::int64_t kSmallBytes = 4 << 20; // rewritten within some 20 ms
    GD_TRY_ASSIGN(const auto pages, db.queryInt64("PRAGMA page_count"));
    GD_TRY_ASSIGN(const auto pageBytes, db.queryInt64("PRAGMA page_size"));
    if (pages.value_or(0) * pageBytes.value_or(0) > kSmallBytes)
        return {};
    return db.exec("PRAGMA page_size = 1024; VACUUM");
}

NewTrace::NewTrace(Db db, std::filesystem::path path, std::filesystem::path temporary, bool replace)
    : m_db(std::move(db))
    , m_path(std::move(path))
    , m_temporary(std::move(temporary))
    , m_replace(replace) { }

NewTrace::NewTrace(NewTrace&& other) noexcept
    : m_db(std::move(other.m_db))
    , m_path(std::move(other.m_path))
    , m_temporary(std::exchange(other.m_temporary, {}))
    , m_replace(other.m_replace) { }

NewTrace::~NewTrace() {
    if (!m_temporary.empty())
        ::unlink(m_temporary.c_str());
}

Result<NewTrace> NewTrace::create(const std::filesystem::path& path, bool replace) {
    std::error_code ignored;
    const bool exists = std::filesystem::exists(path, ignored);
    if (exists && std::filesystem::is_directory(path, ignored))
        return fail(ErrorCode::io, "cannot write {}: it is a directory", path.string());
    if (exists && !replace)
        return fail(ErrorCode::io, "{} exists already; it is replaced only with --force", path.string());
    if (path.filename().empty())
        return fail(ErrorCode::usage, "expected the name of a trace file, found \"{}\"", path.string());
    std::filesystem::path temporary = path;
    temporary.replace_filename(fmt::format(".{}.{}.part", path.filename().string(), ::getpid()));
    ::unlink(temporary.c_str());
    Result<Db> db = Db::create(temporary.string());
    if (!db)
        return fail(db.error().code, "{}", replaceAll(db.error().message, temporary.string(), path.string()));
    NewTrace trace(std::move(db).value(), path, std::move(temporary), replace);
    const auto fill = [&trace]() -> Result<void> {
        GD_TRY(trace.m_db.exec(kWritePragmas));
        return createRawTables(trace.m_db);
    };
    if (Result<void> filled = fill(); !filled)
        return trace.named(std::move(filled).error());
    return trace;
}

Error NewTrace::named(Error error) const {
    if (!m_temporary.empty())
        error.message = replaceAll(std::move(error.message), m_temporary.string(), m_path.string());
    return error;
}

Result<void> NewTrace::buildFacts(const FactsBuilder& facts) {
    const auto build = [&]() -> Result<void> {
        GD_TRY_ASSIGN(Transaction transaction, Transaction::begin(m_db));
        GD_TRY(createFactTables(m_db, FactsPlace::main));
        GD_TRY(facts.build(m_db).context("building facts"));
        GD_TRY_ASSIGN(Statement note,
            m_db.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES ('facts_version', ?)"));
        GD_TRY(note.runWith(std::to_string(facts.version)));
        return transaction.commit();
    };
    if (Result<void> built = build(); !built)
        return named(std::move(built).error());
    return {};
}

Result<void> NewTrace::finish() {
    if (Result<void> closed = m_db.close(); !closed)
        return named(std::move(closed).error());
    // link() refuses an existing name, rename() replaces it: no moment in which somebody else's file is lost.
    if (!m_replace && ::link(m_temporary.c_str(), m_path.c_str()) == 0)
        return {}; // the destructor removes the temporary name
    if (!m_replace && errno == EEXIST)
        return fail(ErrorCode::io, "{} exists already; it is replaced only with --force", m_path.string());
    // Some file systems have no hard links.
    if (::rename(m_temporary.c_str(), m_path.c_str()) != 0)
        return fail(ErrorCode::io, "cannot write {}: {}", m_path.string(), std::strerror(errno));
    m_temporary.clear();
    return {};
}

Result<Trace> Trace::open(const std::filesystem::path& path) {
    const std::string name = path.string();
    GD_TRY(checkLength(name));
    GD_TRY_ASSIGN(Db db, Db::openReadOnly(name));
    GD_TRY(checkIdentity(db, name));
    GD_TRY_ASSIGN(const auto userVersion, db.queryInt64("PRAGMA user_version"));
    GD_TRY(addMissingTables(db, userVersion.value_or(0)).context("opening {}", name));
    return Trace(std::move(db), path);
}

Result<Trace> Trace::open(const std::filesystem::path& path, const FactsBuilder& facts) {
    GD_TRY_ASSIGN(Trace trace, open(path));
    GD_TRY_ASSIGN(
        const auto version, trace.m_db.queryText("SELECT value FROM meta WHERE key = 'facts_version'"));
    if (version == std::to_string(facts.version))
        return trace;
    const auto build = [&]() -> Result<void> {
        GD_TRY(createFactTables(trace.m_db, FactsPlace::temp));
        return facts.build(trace.m_db);
    };
    if (Result<void> built = build(); !built)
        return factsError(std::move(built).error(), path.string());
    trace.m_rebuiltFacts = true;
    return trace;
}

} // namespace gd::store
