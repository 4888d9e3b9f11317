// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_test.h"

#include "analyzer/base/thread_time.h"
#include "analyzer/rules/params.h"
#include "analyzer/rules/rule_runner.h"
#include "analyzer/schema/schema_sql.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

namespace gd::rules {
namespace {

// Their tables hold a handful of rows.
constexpr std::chrono::seconds kTestTimeLimit{2};

// "cause TEXT NOT NULL," → "cause TEXT NOT NULL DEFAULT '',"
std::string withDefaults(std::string_view schema) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDefaults{
        {{"known INTEGER NOT NULL", " DEFAULT 1"}, {"INTEGER NOT NULL", " DEFAULT 0"},
            {"REAL NOT NULL", " DEFAULT 0.0"}, {"TEXT NOT NULL", " DEFAULT ''"}}};
    std::string result;
    for (std::size_t i = 0; i < schema.size();) {
        const auto match = std::find_if(kDefaults.begin(), kDefaults.end(), [&](const auto& entry) {
            return schema.substr(i).starts_with(entry.first) && (i == 0 || schema[i - 1] == ' ');
        });
        if (match == kDefaults.end()) {
            result += schema[i++];
            continue;
        }
        result.append(match->first).append(match->second);
        i += match->first.size();
    }
    return result;
}

std::optional<double> numberOf(const Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&value))
        return *real;
    return std::nullopt;
}

bool equals(const Value& actual, const std::string& expected) {
    if (std::holds_alternative<std::monostate>(actual))
        return expected == "null" || expected == "NULL";
    if (const auto* text = std::get_if<std::string>(&actual))
        return *text == expected;
    const Value wanted = parseParamValue(expected);
    if (std::holds_alternative<std::int64_t>(actual) && std::holds_alternative<std::int64_t>(wanted))
        return actual == wanted;
    const std::optional<double> a = numberOf(actual);
    const std::optional<double> b = numberOf(wanted);
    return a && b && std::abs(*a - *b) <= 1e-9 * std::max(std::abs(*a), std::abs(*b));
}

// What a finding says under that name: the effective severity, confidence and root, else the query's column.
std::optional<Value> columnOf(const Finding& finding, const std::string& column) {
    if (column == "severity")
        return Value(std::string(name(finding.severity)));
    if (column == "confidence")
        return Value(std::string(name(finding.confidence)));
    if (column == "root_kind")
        return Value(std::string(name(finding.rootKind)));
    if (column == "root_id")
        return finding.rootId ? Value(*finding.rootId) : Value();
    for (const auto& [key, value] : finding.columns) {
        if (key == column)
            return value;
    }
    return std::nullopt;
}

void compareRow(const std::string& path, const ExpectedFinding& expected, const Finding& actual,
    std::vector<std::string>& problems) {
    if (actual.message != expected.message)
        problems.push_back(fmt::format(R"({}:{}: expected the message "{}", got "{}")", path, expected.line,
            expected.message, actual.message));
    for (const auto& [column, wanted] : expected.columns) {
        const std::optional<Value> value = columnOf(actual, column);
        if (!value)
            problems.push_back(
                fmt::format("{}:{}: the query returns no column {}", path, expected.line, column));
        else if (!equals(*value, wanted))
            problems.push_back(fmt::format("{}:{}: expected {}={}, got {}", path, expected.line, column,
                wanted, std::holds_alternative<std::monostate>(*value) ? "null" : plainText(*value)));
    }
}

} // namespace

bool RuleTestReport::passed() const {
    return problems.empty() && std::all_of(tests.begin(), tests.end(), [](const TestResult& test) {
        return test.problems.empty();
    });
}

std::string RuleTestReport::text() const {
    std::string out;
    for (const TestResult& test : tests) {
        out += fmt::format("{} {}: {}\n", test.problems.empty() ? "ok    " : "FAILED", rule, test.name);
        for (const std::string& problem : test.problems)
            out += fmt::format("       {}\n", problem);
    }
    for (const std::string& problem : problems)
        out += fmt::format("FAILED {}: {}\n", rule, problem);
    return out;
}

Result<RuleTester> RuleTester::create() {
    GD_TRY_ASSIGN(Db db, Db::openInMemory());
    for (const schema::RawSchema& part : schema::rawSchemas())
        GD_TRY(db.exec(withDefaults(part.sql)).context("schema {}", part.name));
    GD_TRY(db.exec(withDefaults(schema::factsSchema())).context("schema facts.sql"));
    return RuleTester(std::move(db));
}

std::vector<std::string> RuleTester::runTest(
    const RuleFile& rule, const InlineTest& test, std::string_view query, std::span<const RuleParam> params) {
    const base::TimeLimitScope limit(m_db, kTestTimeLimit);
    Result<Transaction> transaction
        = Transaction::begin(m_db); // rolled back at the end: the next test starts empty
    if (!transaction)
        return {transaction.error().message};
    if (Result<void> filled = m_db.execRowsOnly(test.sql); !filled)
        return {placeOf(rule.path, test.sql, test.sqlLine, filled.error().offset) + ": "
            + filled.error().message};
    Result<std::vector<Finding>> findings = runQueryOnly(m_db, rule, query, params);
    if (!findings)
        return {findings.error().message};
    std::vector<std::string> problems;
    if (findings->size() != test.expected.size())
        problems.push_back(fmt::format("{}:{}: expected {} findings, got {}", rule.path, test.line,
            test.expected.size(), findings->size()));
    for (std::size_t i = 0; i < findings->size(); ++i) {
        if (i < test.expected.size())
            compareRow(rule.path, test.expected[i], (*findings)[i], problems);
        else
            problems.push_back(fmt::format(
                "{}:{}: unexpected finding \"{}\"", rule.path, test.line, (*findings)[i].message));
    }
    return problems;
}

RuleTestReport RuleTester::test(const RuleFile& rule) {
    RuleTestReport report{rule.id, rule.path, {}, {}};
    bool fires = false;
    bool quiet = false;
    for (const InlineTest& test : rule.tests) {
        (test.expected.empty() ? quiet : fires) = true;
        const auto start = base::threadTime();
        report.tests.push_back({test.name, test.line, runTest(rule, test, rule.query, rule.params)});
        if (!report.tests.back().problems.empty() && base::threadTime() - start >= kTestTimeLimit) {
            report.problems.push_back(
                fmt::format("{}: the query took longer than {} s; the tests after that one were left out",
                    rule.path, kTestTimeLimit.count()));
            return report;
        }
    }
    if (!fires)
        report.problems.push_back(fmt::format("{}: no test in which the rule fires", rule.path));
    if (!quiet)
        report.problems.push_back(
            fmt::format("{}: no test in which the rule just stays quiet (\"-- expect: none\")", rule.path));
    return report;
}

bool RuleTester::passes(const RuleFile& rule, std::string_view query, std::span<const RuleParam> params) {
    return std::all_of(rule.tests.begin(), rule.tests.end(),
        [&](const InlineTest& test) { return runTest(rule, test, query, params).empty(); });
}

} // namespace gd::rules
