// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runner.h"

#include "analyzer/rules/needs.h"
#include "analyzer/rules/params.h"
#include "analyzer/rules/row_reader.h"
#include "analyzer/rules/sql_tokens.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace gd::rules {
namespace {

void bindParams(Statement& statement, std::span<const RuleParam> params) {
    for (const RuleParam& param : params) {
        std::visit(
            [&](const auto& value) {
                if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
                    statement.bindIfUsed(":" + param.name, value);
            },
            param.value);
    }
}

// Puts file and line before a message about the query.
Error located(const RuleFile& rule, std::string_view query, Error error) {
    error.message = placeOf(rule.path, query, rule.queryLine, error.offset) + ": " + error.message;
    return error;
}

class Runner {
public:
    Runner(Db& db, const RunOptions& options, CoverageSummary coverage, LocationFinder locations)
        : m_db(db)
        , m_options(options)
        , m_coverage(std::move(coverage))
        , m_locations(std::move(locations)) { }

    Result<void> readRanks();
    // Which processes have no steps: what judges steps says nothing about them.
    Result<void> readStepless();
    void runRule(const RuleFile& rule, std::span<const RuleParam> params);
    RuleRun finish();

private:
    struct KnownRows {
        std::int64_t all = 0;
        std::int64_t known = 0;
        std::string why; // what most of the others say, where the table has a column for it
    };
    Result<void> collect(const RuleFile& rule, std::span<const RuleParam> params,
        CoverageSummary::Verdict verdict, RuleOutcome& outcome);
    Result<bool> judgesSteps(const std::vector<std::string>& tables);
    Result<std::optional<KnownRows>> knownRows(const std::string& table);
    Result<void> judgeKnown(const std::vector<std::string>& tables, RuleOutcome& outcome);
    void fail(const RuleFile& rule, RuleOutcome& outcome, const Error& error);

    Db& m_db;
    const RunOptions& m_options;
    CoverageSummary m_coverage;
    LocationFinder m_locations;
    std::map<base::ProcessId, base::RankId> m_ranks;
    std::map<std::string, std::optional<KnownRows>> m_knownRows;
    std::set<std::int64_t> m_stepless;
    RuleRun m_run;
};

// Without the tables that a query reads in NOT EXISTS (...) only: they take findings away, and what is not
// known of them makes no rule blind.
std::vector<std::string> judgedTables(std::string_view query, std::vector<std::string> tables) {
    std::set<std::string, std::less<>> named;
    const std::vector<SqlToken> tokens = sqlTokens(query);
    int depth = 0; // of brackets behind NOT EXISTS, 0 = outside
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::string_view text = tokens[i].text;
        const bool begins
            = i >= 2 && text == "(" && isKeyword(tokens[i - 1], "EXISTS") && isKeyword(tokens[i - 2], "NOT");
        if (begins || depth > 0)
            depth += text == "(" ? 1 : text == ")" ? -1 : 0;
        else if (tokens[i].kind == SqlTokenKind::word)
            named.emplace(text);
    }
    std::erase_if(tables, [&](const std::string& table) { return !named.contains(table); });
    return tables;
}

// Processes that a rule cannot judge, and in how many it can.
void leaveOut(
    const std::set<std::int64_t>& processes, std::string_view reason, CoverageSummary::Verdict& verdict) {
    for (const std::int64_t process : processes) {
        if (!verdict.blind.insert(process).second)
            continue;
        --verdict.seeing;
        if (verdict.reason.empty())
            verdict.reason = reason;
    }
}

Result<void> Runner::readRanks() {
    GD_TRY_ASSIGN(
        Statement rows, m_db.prepare("SELECT process_id, rank FROM process WHERE rank IS NOT NULL"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, rows.step());
        if (!row)
            return {};
        m_ranks.emplace(base::ProcessId(rows.int64(0)), base::RankId(rows.int64(1)));
    }
}

Result<void> Runner::readStepless() {
    GD_TRY_ASSIGN(const bool hasSteps, m_db.hasTable("steady_state"));
    if (!hasSteps)
        return {};
    GD_TRY_ASSIGN(Statement rows,
        m_db.prepare("SELECT DISTINCT process_id FROM coverage WHERE state <> 'absent' AND process_id NOT IN "
                     "(SELECT process_id FROM steady_state WHERE steps > 0)"));
    while (true) {
        GD_TRY_ASSIGN(const bool row, rows.step());
        if (!row)
            return {};
        m_stepless.insert(rows.int64(0));
    }
}

// A table of facts about steps has a column `steady`.
Result<bool> Runner::judgesSteps(const std::vector<std::string>& tables) {
    for (const std::string& table : tables) {
        GD_TRY_ASSIGN(
            Statement has, m_db.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = 'steady'"));
        has.bind(1, table);
        GD_TRY_ASSIGN(const bool marked, has.step());
        if (marked || table == "steady_state")
            return true;
    }
    return false;
}

void Runner::fail(const RuleFile& rule, RuleOutcome& outcome, const Error& error) {
    const bool slow = error.code == ErrorCode::timeLimit;
    outcome.outcome = Outcome::notEvaluated;
    outcome.failed = true;
    outcome.count = 0;
    outcome.reason = slow ? fmt::format("the rule took longer than {:.3g} s",
                         std::chrono::duration<double>(m_options.timeLimit).count())
                          : "the rule failed: " + error.message;
    m_run.issues.push_back({"error", slow ? "rule_timeout" : "rule_failed", 1,
        slow ? fmt::format("{}: {}", rule.path, outcome.reason) : error.message});
}

void Runner::runRule(const RuleFile& rule, std::span<const RuleParam> params) {
    RuleOutcome outcome;
    outcome.id = rule.id;
    outcome.title = rule.title;
    outcome.severity = rule.severity;
    for (std::size_t i = 0; i < params.size(); ++i)
        outcome.params.push_back({params[i].name, params[i].text, rule.params[i].text});
    CoverageSummary::Verdict verdict;
    if (m_options.judgeNeeds)
        verdict = m_coverage.judge(rule.needs);
    const bool blind = m_options.judgeNeeds && !rule.needs.empty() && verdict.seeing == 0;
    if (blind) {
        outcome.reason = verdict.reason;
    } else {
        const std::size_t findings = m_run.findings.size();
        const base::TimeLimitScope limit(m_db, m_options.timeLimit);
        if (Result<void> done = collect(rule, params, verdict, outcome); !done) {
            m_run.findings.resize(findings);
            fail(rule, outcome, done.error());
        }
    }
    m_run.outcomes.push_back(std::move(outcome));
}

Result<void> Runner::collect(const RuleFile& rule, std::span<const RuleParam> params,
    CoverageSummary::Verdict verdict, RuleOutcome& outcome) {
    std::vector<std::string> tables;
    Result<Statement> prepared = m_db.prepareReadOnly(rule.query, &tables);
    if (!prepared)
        return located(rule, rule.query, prepared.error());
    GD_TRY_ASSIGN(const bool ofSteps, judgesSteps(tables));
    if (ofSteps && m_options.judgeNeeds && !rule.needs.empty()) {
        leaveOut(m_stepless, "it judges steps in steady state, and none were found", verdict);
        if (verdict.seeing == 0) {
            outcome.reason = verdict.reason;
            return {};
        }
    }
    Statement& statement = *prepared;
    Result<RowReader> reader = RowReader::open(statement, rule, params);
    if (!reader)
        return located(rule, rule.query, reader.error());
    bindParams(statement, params);
    while (true) {
        Result<bool> row = statement.step();
        if (!row)
            return located(rule, rule.query, row.error());
        if (!*row)
            break;
        Result<Finding> read = reader->read();
        if (!read)
            return located(rule, rule.query, read.error());
        Finding& finding = *read;
        if (verdict.blind.contains(finding.processId.value()))
            continue;
        if (static_cast<std::size_t>(outcome.count++) >= m_options.maxFindings)
            continue;
        finding.processes = {finding.processId};
        if (const auto rank = m_ranks.find(finding.processId); rank != m_ranks.end()) {
            finding.rank = rank->second;
            finding.ranks = {rank->second};
        }
        GD_TRY_ASSIGN(LocationFinder::Found found, m_locations.find(finding.stackId));
        finding.locations = std::move(found.locations);
        finding.locationReason = reader->namesCalls()
            ? std::move(found.reason)
            : "the finding is about the run as a whole, not about one call";
        m_run.findings.push_back(std::move(finding));
    }
    outcome.outcome = outcome.count > 0 ? Outcome::fired : Outcome::clean;
    if (!verdict.blind.empty())
        outcome.reason = fmt::format("judged in {} of {} processes: {}", verdict.seeing,
            verdict.seeing + verdict.blind.size(), verdict.reason);
    // A job that was hardly looked at is not clean without a word.
    constexpr double kMostOfTheTime = 0.5;
    if (verdict.share < kMostOfTheTime) {
        const std::string note = fmt::format("looked at {:.2g} % of the time{}{}", verdict.share * 100,
            verdict.gap.empty() ? "" : ": ", verdict.gap);
        outcome.reason += outcome.reason.empty() ? note : "; " + note;
    }
    if (static_cast<std::size_t>(outcome.count) > m_options.maxFindings)
        m_run.issues.push_back(
            {"info", "rule_truncated", outcome.count - static_cast<std::int64_t>(m_options.maxFindings),
                fmt::format("{} fired {} times; the first {} are kept", rule.id, outcome.count,
                    m_options.maxFindings)});
    return judgeKnown(judgedTables(rule.query, tables), outcome);
}

// Rows and known rows of a fact table; nullopt for a table without a column `known`.
Result<std::optional<Runner::KnownRows>> Runner::knownRows(const std::string& table) {
    if (const auto found = m_knownRows.find(table); found != m_knownRows.end())
        return found->second;
    std::optional<KnownRows> rows;
    GD_TRY_ASSIGN(Statement has, m_db.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = 'known'"));
    has.bind(1, table);
    GD_TRY_ASSIGN(const bool marked, has.step());
    if (marked) {
        std::string quoted;
        for (const char c : table)
            quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
        GD_TRY_ASSIGN(Statement count,
            m_db.prepareReadOnly("SELECT count(*), coalesce(sum(known <> 0), 0) FROM \"" + quoted + "\""));
        GD_TRY_ASSIGN(const bool row, count.step());
        if (row)
            rows = KnownRows{count.int64(0), count.int64(1), {}};
        GD_TRY_ASSIGN(
            Statement explains, m_db.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = 'why'"));
        explains.bind(1, table);
        GD_TRY_ASSIGN(const bool explained, explains.step());
        if (explained && rows) {
            GD_TRY_ASSIGN(Statement why,
                m_db.prepareReadOnly("SELECT why FROM \"" + quoted
                    + "\" WHERE known = 0 AND why IS NOT NULL "
                      "GROUP BY why ORDER BY count(*) DESC, why LIMIT 1"));
            GD_TRY_ASSIGN(const bool any, why.step());
            if (any)
                rows->why = why.text(0);
        }
    }
    m_knownRows.emplace(table, rows);
    return rows;
}

// What it means that a row of this table is not known, where the table has no column that says it.
std::string whyUnknown(std::string_view table) {
    if (table == "frozen_scalar")
        return ": no eager run of a graph's kernels was recorded to compare it with";
    if (table == "unordered_access")
        return ": edges or parameters of the graphs were not recorded";
    return {};
}

Result<void> Runner::judgeKnown(const std::vector<std::string>& tables, RuleOutcome& outcome) {
    std::string worst;
    std::string why;
    for (const std::string& table : tables) {
        GD_TRY_ASSIGN(const std::optional<KnownRows> rows, knownRows(table));
        if (!rows || rows->all == 0)
            continue;
        const double share = static_cast<double>(rows->known) / static_cast<double>(rows->all);
        if (!outcome.knownShare || share < *outcome.knownShare) {
            outcome.knownShare = share;
            worst = table;
            why = rows->why;
        }
    }
    if (!outcome.knownShare || *outcome.knownShare >= 1)
        return {};
    const std::string share = *outcome.knownShare <= 0
        ? std::string("nothing could be judged")
        : fmt::format("only {:.4g} % could be judged", std::floor(*outcome.knownShare * 1000) / 10);
    const std::string note
        = fmt::format("{}{} (table {})", share, why.empty() ? whyUnknown(worst) : ": " + why, worst);
    outcome.reason = outcome.reason.empty() ? note : fmt::format("{}; {}", outcome.reason, note);
    if (*outcome.knownShare <= 0 && outcome.outcome == Outcome::clean)
        outcome.outcome = Outcome::notEvaluated;
    return {};
}

RuleRun Runner::finish() {
    m_run.findings = foldMergeAndSort(std::move(m_run.findings), m_options.precedence);
    return std::move(m_run);
}

} // namespace

Result<RuleRun> runRules(Db& db, std::span<const RuleFile> rules, const RunOptions& options) {
    FrameFilter frames = options.frames;
    GD_TRY_ASSIGN(const ParamTable params, applyParams(rules, options.params, frames));
    // Also what is read before the rules may be a view of a stranger.
    std::optional<base::TimeLimitScope> limit(std::in_place, db, options.timeLimit);
    for (const std::string_view table : {"coverage", "process", "stack_frame"}) {
        GD_TRY_ASSIGN(const bool exists, db.hasTable(table));
        if (!exists)
            return gd::fail(
                ErrorCode::badInput, "{} is not a GraphDoctor trace: it has no table {}", db.source(), table);
    }
    GD_TRY_ASSIGN(CoverageSummary coverage, CoverageSummary::load(db));
    GD_TRY_ASSIGN(LocationFinder locations, LocationFinder::open(db, frames));
    Runner runner(db, options, std::move(coverage), std::move(locations));
    GD_TRY(runner.readRanks());
    GD_TRY(runner.readStepless());
    limit.reset();
    for (const RuleFile& rule : rules)
        runner.runRule(rule, params.at(rule.id));
    return runner.finish();
}

Result<std::vector<Finding>> runQueryOnly(
    Db& db, const RuleFile& rule, std::string_view query, std::span<const RuleParam> params) {
    Result<Statement> prepared = db.prepareReadOnly(query);
    if (!prepared)
        return located(rule, query, prepared.error());
    Statement& statement = *prepared;
    // The message prints the rule's own values, so that a changed parameter shows only in what the query
    // returns.
    Result<RowReader> reader = RowReader::open(statement, rule, rule.params);
    if (!reader)
        return located(rule, query, reader.error());
    bindParams(statement, params);
    std::vector<Finding> findings;
    while (true) {
        Result<bool> row = statement.step();
        if (!row)
            return located(rule, query, row.error());
        if (!*row)
            return findings;
        Result<Finding> finding = reader->read();
        if (!finding)
            return located(rule, query, finding.error());
        findings.push_back(std::move(*finding));
        if (findings.size() > 10000)
            return gd::fail(
                ErrorCode::query, "{}:{}: the query returns more than 10000 rows", rule.path, rule.queryLine);
    }
}

} // namespace gd::rules
