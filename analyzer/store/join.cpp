// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/join.h"

#include "analyzer/base/statement.h"
#include "analyzer/store/join_check.h"
#include "analyzer/store/join_columns.h"
#include "analyzer/store/readers.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

namespace gd::store {
namespace {

// One trace that goes into the joined one, and how its numbers are to be read there.
struct Part {
    Trace trace;
    JoinPart facts;
    std::int64_t shiftNs = 0;
    std::map<std::int64_t, std::int64_t> processes; // its process_id -> the joined one
    std::unordered_map<std::int64_t, std::int64_t> strings;
    std::map<JoinColumn, std::int64_t> offsets; // stack, shape, track, module
    std::map<std::string, std::int64_t, std::less<>> rowOffsets; // by table
};

struct Column {
    std::string name;
    JoinColumn what = JoinColumn::plain;
};

class Join {
public:
    Join(NewTrace& out, std::vector<Part>& parts, const JoinOptions& options)
        : m_out(out)
        , m_parts(parts)
        , m_options(options) { }

    Result<void> run() {
        GD_TRY_ASSIGN(auto transaction, Transaction::begin(m_out.db()));
        numberProcesses();
        GD_TRY(copyStrings());
        GD_TRY_ASSIGN(const auto tables, rawTables());
        for (Part& part : m_parts) {
            GD_TRY(reserveIds(part, tables));
            for (const std::string& table : tables)
                GD_TRY(copyTable(part, table).context("{}: table {}", part.trace.path().string(), table));
        }
        GD_TRY(writeMeta());
        return transaction.commit();
    }

private:
    // In order of start, as in every trace.
    void numberProcesses() {
        std::vector<std::tuple<std::int64_t, std::size_t, std::int64_t>> order;
        for (std::size_t i = 0; i < m_parts.size(); ++i) {
            for (const ProcessRow& process : m_parts[i].facts.processes)
                order.emplace_back(process.startNs + m_parts[i].shiftNs, i, process.id.value());
        }
        std::sort(order.begin(), order.end());
        std::int64_t next = 0;
        for (const auto& [start, part, process] : order)
            m_parts[part].processes[process] = ++next;
    }

    Result<void> copyStrings() {
        std::unordered_map<std::string, std::int64_t> known;
        GD_TRY_ASSIGN(auto insert, m_out.db().prepare("INSERT INTO string (string_id, text) VALUES (?, ?)"));
        for (Part& part : m_parts) {
            GD_TRY_ASSIGN(auto rows,
                part.trace.db().prepareReadOnly("SELECT string_id, text FROM string ORDER BY string_id"));
            while (true) {
                GD_TRY_ASSIGN(const bool more, rows.step());
                if (!more)
                    break;
                const auto [at, isNew]
                    = known.emplace(std::string(rows.text(1)), static_cast<std::int64_t>(known.size()) + 1);
                if (isNew)
                    GD_TRY(insert.runWith(at->second, at->first));
                part.strings[rows.int64(0)] = at->second;
            }
        }
        return {};
    }

    Result<std::vector<std::string>> rawTables() {
        std::vector<std::string> out;
        GD_TRY_ASSIGN(auto rows,
            m_out.db().prepareReadOnly("SELECT name FROM sqlite_master WHERE type = 'table' "
                                       "AND name NOT IN ('meta', 'string') AND name NOT LIKE 'sqlite_%'"));
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return out;
            out.emplace_back(rows.text(0));
        }
    }

    Result<std::vector<Column>> columnsOf(const std::string& table) {
        std::vector<Column> out;
        GD_TRY_ASSIGN(auto rows, m_out.db().prepare("SELECT name FROM pragma_table_info(?)"));
        rows.bind(1, table);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return out;
            const std::string name(rows.text(0));
            out.push_back({name, joinColumn(table, name)});
        }
    }

    Result<std::int64_t> highest(const std::string& table, const std::string& column) {
        GD_TRY_ASSIGN(
            const auto value, m_out.db().queryInt64(fmt::format("SELECT max({}) FROM {}", column, table)));
        return value.value_or(0);
    }

    // Ids of this part follow those that are there.
    Result<void> reserveIds(Part& part, const std::vector<std::string>& tables) {
        const std::pair<JoinColumn, std::pair<const char*, const char*>> kIds[]
            = {{JoinColumn::stack, {"stack", "stack_id"}}, {JoinColumn::shape, {"kernel_shape", "shape_id"}},
                {JoinColumn::track, {"track", "track_id"}}, {JoinColumn::module, {"module", "module_id"}}};
        for (const auto& [what, place] : kIds) {
            GD_TRY_ASSIGN(part.offsets[what], highest(place.first, place.second));
        }
        for (const std::string& table : tables) {
            GD_TRY_ASSIGN(const auto columns, columnsOf(table));
            for (const Column& column : columns) {
                if (column.what == JoinColumn::row) {
                    GD_TRY_ASSIGN(part.rowOffsets[table], highest(table, column.name));
                }
            }
        }
        return {};
    }

    Result<void> copyTable(Part& part, const std::string& table) {
        GD_TRY_ASSIGN(const auto columns, columnsOf(table));
        std::string names, marks;
        std::size_t tableColumn = columns.size();
        for (std::size_t i = 0; i < columns.size(); ++i) {
            names += (i == 0 ? "" : ", ") + columns[i].name;
            marks += i == 0 ? "?" : ", ?";
            if (columns[i].name == "table_name")
                tableColumn = i;
        }
        // The tables of calls and results are the same in every trace.
        const bool shared = table == "api" || table == "result_code";
        GD_TRY_ASSIGN(auto insert,
            m_out.db().prepare(fmt::format(
                "INSERT {}INTO {} ({}) VALUES ({})", shared ? "OR IGNORE " : "", table, names, marks)));
        GD_TRY_ASSIGN(
            auto rows, part.trace.db().prepareReadOnly(fmt::format("SELECT {} FROM {}", names, table)));
        for (std::size_t n = 0;; ++n) {
            if (n % 4096 == 0 && m_options.stop != nullptr && *m_options.stop)
                return fail(ErrorCode::internal, "joining the traces was given up");
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            for (std::size_t i = 0; i < columns.size(); ++i)
                bindMoved(part, table, columns[i], rows, static_cast<int>(i), insert,
                    tableColumn < columns.size() ? rows.text(static_cast<int>(tableColumn))
                                                 : std::string_view());
            GD_TRY(insert.run());
        }
    }

    static void bindMoved(const Part& part, const std::string& table, const Column& column,
        const Statement& rows, int index, Statement& insert, std::string_view namedTable) {
        const int to = index + 1;
        if (rows.isNull(index))
            return insert.bind(to, nullptr);
        if (rows.isText(index)) {
            // A time that a fact of a process tells as text.
            const bool isTime = table == "process_fact" && column.name == "value"
                && rows.text(index - 1) == "events_from_ns";
            if (!isTime)
                return insert.bind(to, rows.text(index));
            return insert.bind(
                to, std::to_string(std::atoll(std::string(rows.text(index)).c_str()) + part.shiftNs));
        }
        if (rows.isReal(index))
            return insert.bind(to, rows.real(index));
        if (!rows.isInteger(index))
            return insert.bind(to, rows.blob(index));
        insert.bind(to, moved(part, table, column.what, rows.int64(index), namedTable));
    }

    static std::int64_t moved(const Part& part, const std::string& table, JoinColumn what, std::int64_t value,
        std::string_view namedTable) {
        const auto rowOffset = [&part](std::string_view of) {
            const auto at = part.rowOffsets.find(of);
            return at == part.rowOffsets.end() ? 0 : at->second;
        };
        switch (what) {
        case JoinColumn::plain:
            return value;
        case JoinColumn::time:
            return value + part.shiftNs;
        case JoinColumn::process: {
            const auto at = part.processes.find(value);
            return at == part.processes.end() ? -1 : at->second;
        }
        case JoinColumn::string: {
            const auto at = part.strings.find(value);
            return at == part.strings.end() ? -1 : at->second;
        }
        case JoinColumn::row:
            return value + rowOffset(table);
        case JoinColumn::trackRow:
            return value + rowOffset(namedTable);
        default:
            // 0 stands for "none" where it is used at all.
            return value == 0 ? 0 : value + part.offsets.at(what);
        }
    }

    Result<void> writeMeta() {
        std::map<std::string, std::string> meta = m_parts.front().facts.meta;
        std::int64_t startNs = m_parts.front().facts.startUnixNs;
        std::int64_t endNs = 0;
        for (const Part& part : m_parts) {
            startNs = std::min(startNs, part.facts.startUnixNs);
            endNs = std::max(endNs, part.facts.endNs + part.shiftNs);
            // What they do not agree on is said of none.
            for (auto at = meta.begin(); at != meta.end();) {
                const auto other = part.facts.meta.find(at->first);
                const bool differs = other == part.facts.meta.end() || other->second != at->second;
                at = differs ? meta.erase(at) : std::next(at);
            }
        }
        meta.erase("facts_version");
        meta["format"] = kTraceFormat;
        meta["start_unix_ns"] = std::to_string(startNs);
        meta["duration_ns"] = std::to_string(endNs);
        GD_TRY_ASSIGN(auto insert, m_out.db().prepare("INSERT INTO meta (key, value) VALUES (?, ?)"));
        for (const auto& [key, value] : meta)
            GD_TRY(insert.runWith(key, value));
        return {};
    }

    NewTrace& m_out;
    std::vector<Part>& m_parts;
    const JoinOptions& m_options;
};

Result<void> writeNotes(Db& db, const std::vector<JoinNote>& notes) {
    GD_TRY_ASSIGN(auto insert,
        db.prepare(
            "INSERT INTO trace_issue (process_id, severity, code, count, detail) VALUES (NULL, ?, ?, 1, ?)"));
    for (const JoinNote& note : notes)
        GD_TRY(insert.runWith(note.severity, note.code, note.sentence));
    return {};
}

} // namespace

Result<JoinSummary> joinTraces(std::span<const std::filesystem::path> traces,
    const std::filesystem::path& out, const JoinOptions& options) {
    std::vector<Part> parts;
    std::vector<JoinPart> facts;
    for (const std::filesystem::path& path : traces) {
        GD_TRY_ASSIGN(Trace trace, Trace::open(path));
        GD_TRY_ASSIGN(JoinPart part, readJoinPart(trace));
        facts.push_back(part);
        parts.push_back({std::move(trace), std::move(part), 0, {}, {}, {}, {}});
    }
    GD_TRY_ASSIGN(const std::vector<JoinNote> notes, checkJoin(facts));
    const auto first = std::min_element(facts.begin(), facts.end(),
        [](const JoinPart& a, const JoinPart& b) { return a.startUnixNs < b.startUnixNs; });
    JoinSummary summary;
    for (Part& part : parts) {
        part.shiftNs = part.facts.startUnixNs - first->startUnixNs;
        summary.processes += static_cast<std::int64_t>(part.facts.processes.size());
    }
    for (const JoinNote& note : notes)
        summary.notes.push_back(note.sentence);
    GD_TRY_ASSIGN(NewTrace trace, NewTrace::create(out, options.replace));
    const auto fill = [&]() -> Result<void> {
        GD_TRY(Join(trace, parts, options).run());
        GD_TRY(writeNotes(trace.db(), notes));
        return trace.finish();
    };
    if (Result<void> filled = fill(); !filled)
        return trace.named(std::move(filled).error());
    return summary;
}

} // namespace gd::store
