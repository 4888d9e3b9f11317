// SPDX-License-Identifier: Apache-2.0
#include "gui/model/details.h"

#include "analyzer/base/time.h"
#include "gui/model/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <tuple>

namespace gd::gui {
namespace {

bool endsWith(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// "end_ns" → "end", "launch_start_ns" → "launch start".
std::string label(std::string_view column) {
    for (const std::string_view unit : {"_ns", "_bytes"}) {
        if (endsWith(column, unit) && column != "message_bytes" && column != "wire_bytes")
            column.remove_suffix(unit.size());
    }
    std::string out(column);
    std::replace(out.begin(), out.end(), '_', ' ');
    return out;
}

bool isPointInTime(std::string_view column) {
    for (const std::string_view word :
        {"start_ns", "end_ns", "time_ns", "created_ns", "alloc_ns", "free_ns"}) {
        if (endsWith(column, word))
            return true;
    }
    return false;
}

// The name behind an id; empty: not a reference that we know, or it leads nowhere.
std::string resolve(Db& db, std::string_view column, std::int64_t id) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kQueries = {{
        {"api_id", "SELECT coalesce(runtime_name, name) FROM api WHERE api_id = ?"},
        {"name_id", "SELECT text FROM string WHERE string_id = ?"},
        {"domain_id", "SELECT text FROM string WHERE string_id = ?"},
        {"shape_id",
            "SELECT s.text FROM kernel_shape AS k JOIN string AS s ON s.string_id = k.name_id "
            "WHERE k.shape_id = ?"},
    }};
    for (const auto& [name, sql] : kQueries) {
        if (name != column)
            continue;
        auto statement = db.prepare(sql);
        if (!statement)
            return {};
        statement->bind(1, id);
        const auto row = statement->step();
        if (row && *row)
            return std::string(statement->text(0));
    }
    return {};
}

void addLocations(
    std::vector<DetailRow>& out, const std::string& key, const std::vector<rules::Location>& all) {
    constexpr int kShown = 6;
    const auto isSame = [](const rules::Location& a, const rules::Location& b) {
        return a.file == b.file && a.line == b.line && a.function == b.function && a.module == b.module;
    };
    auto at = all.begin();
    for (int shown = 0; shown < kShown && at != all.end(); ++shown) {
        // Frames of a program without names or lines are all alike.
        const auto past = std::find_if_not(
            at, all.end(), [&](const rules::Location& other) { return isSame(*at, other); });
        DetailRow row;
        row.key = shown == 0 ? key : "";
        row.file = at->file;
        row.line = at->line;
        row.value = at->file.empty() ? at->module : fmt::format("{}:{}", at->file, at->line);
        if (!at->function.empty())
            row.value += fmt::format(" in {}", at->function);
        if (past - at > 1)
            row.value = Words::fill(Words::tr("%1 (%2 frames)"), row.value, past - at);
        out.push_back(std::move(row));
        at = past;
    }
}

constexpr const char* kNotKnown = QT_TRANSLATE_NOOP("gd::gui::Words", "not known");

std::string valueText(const rules::Value& value, std::string_view unit) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        if (unit == "ns")
            return exactDuration(*number);
        if (unit == "bytes")
            return fmt::format("{} ({} bytes)", base::formatBytes(*number), *number);
        return fmt::format("{}{}{}", *number, unit.empty() ? "" : " ", unit);
    }
    if (const auto* real = std::get_if<double>(&value))
        return fmt::format("{:.4g}{}{}", *real, unit.empty() ? "" : " ", unit);
    if (const auto* text = std::get_if<std::string>(&value))
        return *text;
    return Words::fill(Words::tr(kNotKnown));
}

std::string translated(std::string_view word) {
    return Words::fill(Words::tr(std::string(word).c_str()));
}
[[maybe_unused]] constexpr const char* kLevels[]
    = {QT_TRANSLATE_NOOP("gd::gui::Words", "error"), QT_TRANSLATE_NOOP("gd::gui::Words", "warning"),
        QT_TRANSLATE_NOOP("gd::gui::Words", "info"), QT_TRANSLATE_NOOP("gd::gui::Words", "high"),
        QT_TRANSLATE_NOOP("gd::gui::Words", "medium"), QT_TRANSLATE_NOOP("gd::gui::Words", "low")};

} // namespace

std::string exactDuration(std::int64_t ns) {
    return ns < 1000 ? fmt::format("{} ns", ns) : fmt::format("{} ({} ns)", base::formatDuration(ns), ns);
}

std::string formatTime(std::int64_t ns, std::int64_t resolutionNs) {
    struct Unit {
        std::string_view name;
        std::int64_t size;
    };
    constexpr std::array<Unit, 4> kUnits
        = {{{"s", 1'000'000'000}, {"ms", 1'000'000}, {"µs", 1'000}, {"ns", 1}}};
    const std::int64_t magnitude = std::abs(ns);
    const auto* unit
        = std::find_if(kUnits.begin(), kUnits.end() - 1, [&](const Unit& u) { return magnitude >= u.size; });
    int digits = 0;
    for (std::int64_t part = unit->size; part > std::max<std::int64_t>(1, resolutionNs) && digits < 9;
         part /= 10)
        ++digits;
    return fmt::format(
        "{:.{}f} {}", static_cast<double>(ns) / static_cast<double>(unit->size), digits, unit->name);
}

Result<std::vector<DetailRow>> eventDetails(
    Db& db, const TrackRow::Place& place, rules::LocationFinder* locations) {
    // Table names come from our own code; the view adds what kernels keep in other tables.
    const std::string sql = place.table == "kernel"
        ? "SELECT * FROM kernel_full WHERE kernel_id = ?"
        : fmt::format("SELECT * FROM {} WHERE rowid = ?", place.table);
    GD_TRY_ASSIGN(auto row, db.prepare(sql));
    row.bind(1, place.rowId);
    GD_TRY_ASSIGN(const bool found, row.step());
    if (!found)
        return fail(ErrorCode::badInput, "{}",
            Words::fill(Words::tr("row %1 of table %2 is gone from the trace"), place.rowId, place.table));
    std::vector<DetailRow> out;
    out.push_back({"row", Words::fill(Words::tr("%1 of table %2"), place.rowId, place.table), {}, 0, -1, -1});
    std::optional<std::int64_t> startNs, endNs;
    for (int i = 0; i < row.columnCount(); ++i) {
        const std::string& column = row.columnName(i);
        if (row.isNull(i))
            continue;
        DetailRow detail;
        detail.key = label(column);
        if (column == "start_ns")
            startNs = row.int64(i);
        if (column == "end_ns")
            endNs = row.int64(i);
        if (endsWith(column, "stack_id")) {
            if (locations == nullptr)
                continue;
            const auto stack = locations->find(base::StackId(row.int64(i)));
            if (stack && !stack->locations.empty())
                addLocations(out, column == "stack_id" ? "called from" : label(column), stack->locations);
            continue;
        }
        if (row.isInteger(i)) {
            const std::int64_t value = row.int64(i);
            const std::string name = resolve(db, column, value);
            if (!name.empty())
                detail.value = name;
            else if (isPointInTime(column))
                detail.value = fmt::format("{} ({} ns)", formatTime(value, 100), value);
            else if (endsWith(column, "_ns"))
                detail.value = exactDuration(value);
            else if (column == "bytes" || endsWith(column, "_bytes"))
                detail.value = valueText(value, "bytes");
            else
                detail.value = fmt::format("{}", value);
        } else if (row.isReal(i)) {
            detail.value = fmt::format("{:.6g}", row.real(i));
        } else {
            detail.value = std::string(row.text(i));
        }
        out.push_back(std::move(detail));
    }
    if (startNs && endNs)
        out.insert(out.begin(), {"duration", exactDuration(*endNs - *startNs), {}, 0, -1, -1});
    return out;
}

RowTimes evidenceTimes(Db& db, const std::vector<rules::Finding>& findings) {
    RowTimes out;
    std::map<std::string, std::optional<Statement>> queries;
    const auto find = [&](const std::string& table, std::int64_t id) -> Result<void> {
        const auto [query, isNew] = queries.try_emplace(table);
        if (isNew) {
            // The name comes from a rule, which may be a stranger's: it must be that of a table.
            GD_TRY_ASSIGN(const bool known, db.hasTable(table));
            if (!known || table.find('"') != std::string::npos)
                return {};
            GD_TRY_ASSIGN(auto statement,
                db.prepareReadOnly(fmt::format("SELECT * FROM \"{}\" WHERE rowid = ?", table)));
            query->second.emplace(std::move(statement));
        }
        if (!query->second)
            return {};
        Statement& row = *query->second;
        row.reset();
        row.bind(1, id);
        GD_TRY_ASSIGN(const bool found, row.step());
        const auto start = row.columnIndex("start_ns");
        const auto end = row.columnIndex("end_ns");
        const auto duration = row.columnIndex("dur_ns");
        if (!found || !start || row.isNull(*start))
            return {};
        std::int64_t until = row.int64(*start);
        if (end && !row.isNull(*end))
            until = row.int64(*end);
        else if (duration)
            until += row.int64(*duration);
        out[{table, id}] = {row.int64(*start), until};
        return {};
    };
    for (const rules::Finding& finding : findings) {
        for (const rules::Evidence& evidence : finding.evidence) {
            // A row that cannot be read has no place on the timeline, that is all.
            if (evidence.id && !evidence.table.empty() && !find(evidence.table, *evidence.id))
                continue;
        }
    }
    return out;
}

std::vector<DetailRow> findingDetails(const rules::Finding& finding, const RowTimes& times) {
    std::vector<DetailRow> out;
    const auto add = [&out](std::string key, std::string value) {
        if (!value.empty())
            out.push_back({std::move(key), std::move(value), {}, 0, -1, -1});
    };
    add("finding", fmt::format("{}: {}", finding.rule, finding.title));
    add("what", finding.message);
    addLocations(out, "source", finding.locations);
    if (finding.locations.empty())
        add("source",
            finding.locationReason.empty() ? Words::fill(Words::tr("not known")) : finding.locationReason);
    add("why", finding.why);
    add("fix", finding.fix);
    if (finding.startNs) {
        const std::int64_t end = finding.endNs.value_or(*finding.startNs);
        out.push_back({"when",
            Words::fill(Words::tr("%1 for %2"), formatTime(*finding.startNs, 1000),
                exactDuration(end - *finding.startNs)),
            {}, 0, *finding.startNs, end});
    }
    if (finding.step)
        add("step", fmt::format("{}", *finding.step));
    std::string ranks;
    for (const base::RankId rank : finding.ranks)
        ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank.value());
    add("ranks", ranks);
    if (finding.costNs)
        add("cost", exactDuration(*finding.costNs));
    if (finding.costBytes)
        add("cost", valueText(*finding.costBytes, "bytes"));
    add("severity", translated(rules::name(finding.severity)));
    add("confidence", translated(rules::name(finding.confidence)));
    for (const rules::Evidence& evidence : finding.evidence) {
        DetailRow row;
        row.key = "evidence";
        row.value = fmt::format("{}: {}", evidence.label, valueText(evidence.value, evidence.unit));
        const auto at = evidence.id ? times.find({evidence.table, *evidence.id}) : times.end();
        if (at != times.end()) {
            std::tie(row.startNs, row.endNs) = at->second;
            row.value = Words::fill(Words::tr("%1, at %2"), row.value, formatTime(row.startNs, 1000));
        }
        out.push_back(std::move(row));
    }
    for (const rules::Finding& other : finding.folded) {
        out.push_back({"with it", fmt::format("{}: {}", other.rule, other.message), {}, 0,
            other.startNs.value_or(-1), other.endNs.value_or(other.startNs.value_or(-1))});
    }
    DetailRow page;
    page.key = "rule";
    page.value
        = Words::fill(Words::tr("%1: Enter shows its page, as graphdoctor rules show does"), finding.rule);
    page.rule = finding.rule;
    out.push_back(std::move(page));
    return out;
}

} // namespace gd::gui
