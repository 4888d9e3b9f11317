// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/text.h"
#include "analyzer/base/time.h"
#include "analyzer/report/wrap.h"
#include "cli/analysis.h"
#include "cli/common.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace gd::cli {
namespace {

constexpr std::string_view kQueryExamples
    = "  graphdoctor query job.gdt \"SELECT * FROM capture_outcome\"\n"
      "  graphdoctor query job.gdt \"SELECT name, value, unit FROM vital_sign\" --format json\n"
      "  graphdoctor query job.gdt \"SELECT name, sql FROM sqlite_schema\"";

std::string cellText(const Statement& row, int column) {
    if (row.isNull(column))
        return {};
    if (row.isInteger(column))
        return fmt::format("{}", row.int64(column));
    if (row.isReal(column))
        return fmt::format("{}", row.real(column));
    if (row.isText(column))
        return std::string(row.text(column));
    std::string hex = "x'";
    for (const std::byte byte : row.blob(column))
        hex += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return hex + "'";
}

std::string csvCell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"')
            out += '"';
        out += c;
    }
    return out + "\"";
}

nlohmann::ordered_json jsonCell(const Statement& row, int column) {
    if (row.isNull(column))
        return nullptr;
    if (row.isInteger(column))
        return row.int64(column);
    if (row.isReal(column))
        return std::isfinite(row.real(column)) ? nlohmann::ordered_json(row.real(column)) : nullptr;
    return cellText(row, column);
}

// Rows leave as they come, so that a query over millions of them needs no memory; false = stdout is gone.
Result<bool> writeCsv(Statement& select) {
    std::string out;
    for (int i = 0; i < select.columnCount(); ++i)
        out += (i == 0 ? "" : ",") + csvCell(select.columnName(i));
    out += "\n";
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row || out.size() > 65536) {
            if (!print("query", out))
                return false;
            out.clear();
        }
        if (!row || readerLeft())
            return true;
        for (int i = 0; i < select.columnCount(); ++i)
            out += (i == 0 ? "" : ",") + csvCell(cellText(select, i));
        out += "\n";
    }
}

// Members of an object have different names; columns need not: the second `a` is `a:2`.
std::vector<std::string> memberNames(const Statement& select) {
    std::vector<std::string> names;
    for (int i = 0; i < select.columnCount(); ++i) {
        const std::string column(select.columnName(i));
        std::string name = column;
        for (int n = 2; std::find(names.begin(), names.end(), name) != names.end(); ++n)
            name = fmt::format("{}:{}", column, n);
        names.push_back(std::move(name));
    }
    return names;
}

Result<bool> writeJsonRows(Statement& select) {
    const std::vector<std::string> names = memberNames(select);
    std::string out = "[";
    bool first = true;
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            out += first ? "]\n" : "\n]\n";
        if (!row || out.size() > 65536) {
            if (!print("query", out))
                return false;
            out.clear();
        }
        if (!row || readerLeft())
            return true;
        nlohmann::ordered_json object;
        for (int i = 0; i < select.columnCount(); ++i)
            object[names[static_cast<std::size_t>(i)]] = jsonCell(select, i);
        out += first ? "\n  " : ",\n  ";
        first = false;
        out += object.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
    }
}

Result<bool> writeTable(Statement& select) {
    const int columns = select.columnCount();
    std::vector<std::vector<std::string>> rows(1);
    std::vector<bool> right(static_cast<std::size_t>(columns), true);
    for (int i = 0; i < columns; ++i)
        rows[0].push_back(base::escapeForTerminal(select.columnName(i)));
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            break;
        rows.emplace_back();
        for (int i = 0; i < columns; ++i) {
            const bool number = select.isInteger(i) || select.isReal(i) || select.isNull(i);
            right[static_cast<std::size_t>(i)] = right[static_cast<std::size_t>(i)] && number;
            rows.back().push_back(select.isNull(i) ? "NULL" : base::escapeForTerminal(cellText(select, i)));
        }
    }
    std::vector<std::size_t> widths(static_cast<std::size_t>(columns), 0);
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], report::columns(row[i]));
    }
    std::string out;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        std::string line;
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const std::string space(widths[i] - report::columns(rows[r][i]), ' ');
            line += i == 0 ? "" : "  ";
            line += right[i] ? space + rows[r][i] : rows[r][i] + space;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
        if (r == 0) {
            for (std::size_t i = 0; i < widths.size(); ++i)
                out += (i == 0 ? "" : "  ") + std::string(widths[i], '-');
            out += "\n";
        }
    }
    return print("query", out);
}

struct QueryWish {
    std::string path;
    std::string sql;
    std::string format = "table";
    std::string timeLimit = "1min";
};

Result<bool> runQuery(const QueryWish& wish) {
    GD_TRY_ASSIGN(const std::int64_t limitNs, base::parseDuration(wish.timeLimit).context("--time-limit"));
    if (limitNs == 0)
        return fail(ErrorCode::usage, "--time-limit {}: no query would run", wish.timeLimit);
    GD_TRY_ASSIGN(auto trace, openTrace(wish.path));
    GD_TRY(trace.db().harden());
    const std::string& sql = wish.sql;
    const std::string& format = wish.format;
    // Statements come from strangers as well: one that never ends must not hold a machine.
    const base::TimeLimitScope limit(trace.db(), std::chrono::nanoseconds(limitNs));
    GD_TRY_ASSIGN(auto select, trace.db().prepareReadOnly(sql));
    if (format == "csv")
        return writeCsv(select);
    return format == "json" ? writeJsonRows(select) : writeTable(select);
}

} // namespace

int cmdQuery(const Arguments& arguments) {
    CLI::App app;
    describe(app, "query", "ask a trace in SQL", kQueryExamples);
    QueryWish wish;
    app.add_option("TRACE", wish.path, "trace file (.gdt)")->required();
    app.add_option("SQL", wish.sql, "one SELECT; analyzer/schema documents the tables")->required();
    app.add_option("--format", wish.format, "table, csv or json")
        ->check(CLI::IsMember({"table", "csv", "json"}))
        ->capture_default_str();
    app.add_option(
           "--time-limit", wish.timeLimit, "the query is stopped when it has used this much processor time")
        ->type_name("DUR")
        ->capture_default_str();
    if (const auto stop = parseArguments(app, arguments))
        return *stop;
    const auto done = runQuery(wish);
    if (!done && done.error().code == ErrorCode::timeLimit) {
        note("query", fmt::format("stopped after {}; --time-limit allows more", wish.timeLimit));
        return kUnusable;
    }
    if (!done) {
        // A statement that is wrong or not allowed is the user's argument, not the trace.
        const bool wrongSql = done.error().code == ErrorCode::query || done.error().code == ErrorCode::denied;
        note("query", done.error().message);
        return wrongSql ? kUsage : base::exitStatus(done.error().code);
    }
    return *done ? kOk : kUnusable;
}

} // namespace gd::cli
