// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/db.h"

#include "analyzer/base/fd.h"
#include "analyzer/base/sql_functions.h"
#include "analyzer/base/sqlite_error.h"
#include "analyzer/base/text.h"
#include "analyzer/base/thread_time.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace gd::base {
namespace {

// Bounds of what one value and one statement of a stranger's rule or trace may take.
constexpr int kMaxValueBytes = 64 << 20;
constexpr int kMaxPatternBytes = 1000;
constexpr int kStepsBetweenClockReads = 2000;

enum class FileKind { rollback, writeAhead };

// What a file of another tool is, by its name or how it begins; empty: not known.
std::string_view foreignKind(std::string_view path, std::string_view begin) {
    if (path.ends_with(".nsys-rep") || path.ends_with(".qdrep"))
        return "a report of Nsight Systems";
    if (begin.starts_with("\x1f\x8b"))
        return "a file packed by gzip (PyTorch's profiler writes such traces)";
    const std::size_t first = begin.find_first_not_of(" \t\r\n");
    if (first != begin.npos && (begin[first] == '{' || begin[first] == '['))
        return "JSON (PyTorch's and Chrome's profilers write such traces)";
    return {};
}

// SQLite's own message for a missing, foreign or empty file is vague and comes only with the first statement.
Result<FileKind> checkHeader(const std::string& path) {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd)
        return fail(ErrorCode::io, "cannot open {}: {}", path, std::strerror(errno));
    struct stat info { };
    if (::fstat(fd.get(), &info) == 0 && !S_ISREG(info.st_mode))
        return fail(ErrorCode::badInput, "{} is not a regular file; expected a GraphDoctor trace", path);
    std::array<char, 100> header{};
    const ssize_t got = ::pread(fd.get(), header.data(), header.size(), 0);
    if (got < 0)
        return fail(ErrorCode::io, "cannot read {}: {}", path, std::strerror(errno));
    if (got == 0)
        return fail(ErrorCode::badInput, "{} is empty; expected a GraphDoctor trace", path);
    constexpr std::string_view kMagic("SQLite format 3\0", 16);
    const std::string_view begin(header.data(), static_cast<std::size_t>(got));
    if (begin.substr(0, kMagic.size()) != kMagic) {
        const std::string_view kind = foreignKind(path, begin);
        return kind.empty()
            ? fail(ErrorCode::badInput,
                "{} is not a GraphDoctor trace: byte 0 should start with \"SQLite format 3\"", path)
            : fail(ErrorCode::badInput,
                "{} is not a GraphDoctor trace but {}; other tools' traces cannot be opened, record the job "
                "with graphdoctor run",
                path, kind);
    }
    if (got < static_cast<ssize_t>(header.size()))
        return fail(
            ErrorCode::badInput, "{} is cut off after {} bytes; expected a GraphDoctor trace", path, got);
    // File format, https://www.sqlite.org/fileformat.html: read version at offset 19, 2 = WAL.
    return header[19] == 2 ? FileKind::writeAhead : FileKind::rollback;
}

std::string fileUri(const std::string& path, std::string_view query) {
    std::string uri = "file:";
    for (const char c : path) {
        if (c == '?' || c == '#' || c == '%')
            uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        else
            uri += c;
    }
    return uri.append("?").append(query);
}

bool isReadingPragma(const char* pragma, const char* argument) {
    constexpr std::array<std::string_view, 8> kDescribe{"table_info", "table_xinfo", "table_list",
        "index_list", "index_info", "index_xinfo", "foreign_key_list", "database_list"};
    constexpr std::array<std::string_view, 5> kValues{
        "user_version", "application_id", "page_count", "page_size", "schema_version"};
    const std::string_view name = pragma == nullptr ? "" : pragma;
    if (std::find(kDescribe.begin(), kDescribe.end(), name) != kDescribe.end())
        return true;
    return argument == nullptr && std::find(kValues.begin(), kValues.end(), name) != kValues.end();
}

// What the authorizer lets through. It is asked while a statement is compiled.
enum class Access { all, rows, read };

struct Policy {
    Access access = Access::all;
    std::vector<std::string>* tables = nullptr;
};

bool isReading(int action, const char* first, const char* second) {
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return true;
    case SQLITE_FUNCTION:
        return second == nullptr || sqlite3_stricmp(second, "load_extension") != 0;
    case SQLITE_UPDATE:
        // Asked when a table-valued function such as json_each is declared; nothing is written then, and a
        // real update of the schema table is refused by SQLite itself as writable_schema is off.
        return first != nullptr && std::string_view(first) == "sqlite_master";
    case SQLITE_PRAGMA:
        return isReadingPragma(first, second);
    default:
        return false;
    }
}

int authorize(void* data, int action, const char* first, const char* second, const char*, const char*) {
    const auto* policy = static_cast<const Policy*>(data);
    if (action == SQLITE_READ && policy->tables != nullptr && first != nullptr)
        policy->tables->emplace_back(first);
    if (policy->access == Access::all || isReading(action, first, second))
        return SQLITE_OK;
    const bool changesRows = action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE;
    const bool schemaTable = first != nullptr && std::string_view(first).starts_with("sqlite_");
    return policy->access == Access::rows && changesRows && !schemaTable ? SQLITE_OK : SQLITE_DENY;
}

std::string_view kindOfDenial() {
    return "only reading is allowed here (no ATTACH, no PRAGMA that sets something, no writing, no "
           "extensions)";
}

} // namespace

Result<void> sqliteError(sqlite3* db, int status, const std::string& source, SourceLocation where) {
    const char* text = db == nullptr ? sqlite3_errstr(status) : sqlite3_errmsg(db);
    const auto make = [&](ErrorCode code, std::string message) {
        Error error(code, std::move(message), where);
        error.offset = db == nullptr ? -1 : sqlite3_error_offset(db);
        return error;
    };
    switch (status & 0xff) {
    case SQLITE_AUTH:
        return make(ErrorCode::denied, fmt::format("{}: {}", text, kindOfDenial()));
    case SQLITE_READONLY:
        return make(ErrorCode::denied, fmt::format("{} is open for reading only", source));
    case SQLITE_INTERRUPT:
        return make(ErrorCode::timeLimit, "stopped at the time limit");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
        return make(
            ErrorCode::badInput, fmt::format("{} is damaged or not a GraphDoctor trace: {}", source, text));
    case SQLITE_FULL:
        return make(ErrorCode::io, fmt::format("cannot write {}: the disk is full", source));
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return make(ErrorCode::io, fmt::format("cannot access {}: {}", source, text));
    case SQLITE_NOMEM:
        return make(ErrorCode::internal, "out of memory");
    default:
        // A function that the authorizer refuses gives the general status with this text.
        if (std::string_view(text).starts_with("not authorized"))
            return make(ErrorCode::denied, fmt::format("{}: {}", text, kindOfDenial()));
        return make(ErrorCode::query, text);
    }
}

struct Db::State {
    sqlite3* db = nullptr;
    std::string source;
    bool hardened = false;
    Policy policy;
    std::chrono::nanoseconds deadline{}; // of the processor time of the thread that set it

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { sqlite3_close_v2(db); }

    static int onProgress(void* self) { return threadTime() >= static_cast<State*>(self)->deadline ? 1 : 0; }
};

Db::Db(std::unique_ptr<State> state)
    : m_state(std::move(state)) { }
Db::Db(Db&&) noexcept = default;
Db& Db::operator=(Db&&) noexcept = default;
Db::~Db() = default;

Result<Db> Db::open(const std::string& path, const std::string& uri, int flags, Origin origin) {
    auto state = std::make_unique<State>();
    state->source = path;
    const int opened = sqlite3_open_v2(uri.c_str(), &state->db,
        flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    if (opened != SQLITE_OK)
        return sqliteError(state->db, opened, path).error();
    sqlite3* db = state->db;
    int on = 0;
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &on);
    // A file that we create ourselves may go without a journal, which defensive mode forbids.
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, origin == Origin::existing ? 1 : 0, &on);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, &on);
    // A double-quoted word that is no column would silently become a text: a misspelt column in a rule.
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, &on);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, &on);
    sqlite3_busy_timeout(db, 2000);
    if (const int status = registerSqlFunctions(db); status != SQLITE_OK)
        return sqliteError(db, status, path).error();
    // Set once: setting it later would make every prepared statement compile anew.
    sqlite3_set_authorizer(db, authorize, &state->policy);
    return Db(std::move(state));
}

Result<Db> Db::openReadOnly(const std::string& path) {
    GD_TRY_ASSIGN(const FileKind kind, checkHeader(path));
    const bool writeAhead = kind == FileKind::writeAhead;
    GD_TRY_ASSIGN(Db db,
        open(path, fileUri(path, writeAhead ? "mode=ro&immutable=1" : "mode=ro"), SQLITE_OPEN_READONLY,
            Origin::existing));
    GD_TRY(db.exec("SELECT count(*) FROM sqlite_schema"));
    return db;
}

Result<Db> Db::openReadWrite(const std::string& path) {
    GD_TRY(checkHeader(path));
    GD_TRY_ASSIGN(Db db, open(path, fileUri(path, "mode=rw"), SQLITE_OPEN_READWRITE, Origin::existing));
    GD_TRY(db.exec("SELECT count(*) FROM sqlite_schema"));
    return db;
}

Result<Db> Db::create(const std::string& path) {
    // O_EXCL first: SQLite itself would open an existing file.
    const Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd)
        return fail(ErrorCode::io, "cannot create {}: {}", path, std::strerror(errno));
    return open(path, fileUri(path, "mode=rw"), SQLITE_OPEN_READWRITE, Origin::ours);
}

Result<Db> Db::openInMemory() {
    return open(":memory:", ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY,
        Origin::ours);
}

Result<void> Db::exec(std::string_view sql) {
    std::size_t at = 0;
    while (at < sql.size()) {
        sqlite3_stmt* raw = nullptr;
        const char* rest = nullptr;
        const std::string_view part = sql.substr(at);
        const int status
            = sqlite3_prepare_v2(m_state->db, part.data(), static_cast<int>(part.size()), &raw, &rest);
        const auto located = [&](Error error) {
            error.offset = static_cast<int>(at) + std::max(error.offset, 0);
            return error;
        };
        if (status != SQLITE_OK)
            return located(sqliteError(m_state->db, status, m_state->source).error());
        if (raw != nullptr) {
            Statement statement(m_state->db, raw, &m_state->source);
            if (Result<void> done = statement.run(); !done)
                return located(std::move(done).error());
        }
        at += static_cast<std::size_t>(rest - part.data());
    }
    return {};
}

Result<Statement> Db::prepare(std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    const char* rest = nullptr;
    const int status = sqlite3_prepare_v3(
        m_state->db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, &rest);
    if (status != SQLITE_OK)
        return sqliteError(m_state->db, status, m_state->source).error();
    if (raw == nullptr)
        return fail(ErrorCode::query, "expected one SQL statement, found none");
    Statement statement(m_state->db, raw, &m_state->source);
    const auto used = static_cast<std::size_t>(rest - sql.data());
    sqlite3_stmt* second = nullptr;
    const std::string_view tail = sql.substr(used);
    const int tailStatus
        = sqlite3_prepare_v2(m_state->db, tail.data(), static_cast<int>(tail.size()), &second, nullptr);
    const bool tailIsEmpty = tailStatus == SQLITE_OK && second == nullptr;
    sqlite3_finalize(second);
    if (!tailIsEmpty) {
        Error error(ErrorCode::query, "expected one SQL statement, found text after it");
        error.offset = static_cast<int>(used);
        return error;
    }
    return statement;
}

Result<Statement> Db::prepareReadOnly(std::string_view sql, std::vector<std::string>* tables) {
    // SQLite calls ATTACH and some PRAGMA read-only; the authorizer does not.
    const Policy before = std::exchange(m_state->policy, {Access::read, tables});
    Result<Statement> statement = prepare(sql);
    m_state->policy = before;
    if (statement && !statement->readsOnly())
        return fail(ErrorCode::denied, "the statement writes; {}", kindOfDenial());
    if (tables != nullptr) {
        std::sort(tables->begin(), tables->end());
        tables->erase(std::unique(tables->begin(), tables->end()), tables->end());
    }
    return statement;
}

Result<void> Db::execRowsOnly(std::string_view sql) {
    const Policy before = m_state->policy;
    if (before.access == Access::all)
        m_state->policy.access = Access::rows;
    Result<void> done = exec(sql);
    m_state->policy = before;
    return done;
}

Result<std::optional<std::int64_t>> Db::queryInt64(std::string_view sql) {
    GD_TRY_ASSIGN(Statement statement, prepare(sql));
    GD_TRY_ASSIGN(const bool row, statement.step());
    return row ? statement.optionalInt64(0) : std::nullopt;
}

Result<std::optional<std::string>> Db::queryText(std::string_view sql) {
    GD_TRY_ASSIGN(Statement statement, prepare(sql));
    GD_TRY_ASSIGN(const bool row, statement.step());
    return row ? statement.optionalText(0) : std::nullopt;
}

Result<bool> Db::hasTable(std::string_view table) {
    GD_TRY_ASSIGN(Statement statement,
        prepare("SELECT 1 FROM (SELECT name, type FROM sqlite_schema UNION ALL SELECT name, type FROM "
                "sqlite_temp_schema) WHERE type IN ('table', 'view') AND name = ?"));
    statement.bind(1, table);
    return statement.step();
}

Result<void> Db::harden() {
    GD_TRY(exec("PRAGMA query_only = ON"));
    sqlite3* db = m_state->db;
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMaxPatternBytes);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 100);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    m_state->policy.access = Access::read;
    m_state->hardened = true;
    return {};
}

bool Db::isHardened() const {
    return m_state->hardened;
}

void Db::setTimeLimit(std::chrono::nanoseconds limit) {
    if (limit.count() <= 0)
        return clearTimeLimit();
    m_state->deadline = threadTime() + limit;
    sqlite3_progress_handler(m_state->db, kStepsBetweenClockReads, State::onProgress, m_state.get());
}

void Db::clearTimeLimit() {
    sqlite3_progress_handler(m_state->db, 0, nullptr, nullptr);
}

std::int64_t Db::lastInsertRowId() const {
    return sqlite3_last_insert_rowid(m_state->db);
}
std::int64_t Db::changes() const {
    return sqlite3_changes64(m_state->db);
}
const std::string& Db::source() const {
    return m_state->source;
}
sqlite3* Db::handle() const {
    return m_state->db;
}

Result<void> Db::close() {
    const int status = sqlite3_close(m_state->db);
    if (status != SQLITE_OK)
        return sqliteError(m_state->db, status, m_state->source).context("closing");
    m_state->db = nullptr;
    return {};
}

Result<Transaction> Transaction::begin(Db& db) {
    GD_TRY(db.exec("BEGIN"));
    return Transaction(db);
}

Transaction::~Transaction() {
    if (m_db != nullptr)
        static_cast<void>(m_db->exec("ROLLBACK"));
}

Result<void> Transaction::commit() {
    GD_TRY(m_db->exec("COMMIT"));
    m_db = nullptr;
    return {};
}

} // namespace gd::base
