// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_parser.h"

#include "analyzer/base/text.h"
#include "analyzer/rules/params.h"
#include "analyzer/rules/sql_tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

namespace gd::rules {
namespace {

using base::split;
using base::trim;

constexpr std::array<std::string_view, 13> kHeaderWords{"rule", "title", "severity", "impact", "confidence",
    "root", "parent", "needs", "param", "why", "fix", "source", "message"};
constexpr std::array<std::string_view, 8> kRequiredWords{
    "title", "severity", "impact", "confidence", "why", "fix", "source", "message"};
// Table coverage; comm_ops stands for the best of the ways in which communication can be seen.
constexpr std::array<std::string_view, 16> kSources{"callbacks", "launch_callbacks", "node_params",
    "graph_trace", "node_activity", "eager_kernel_activity", "memory", "sync", "nvtx", "nccl_nvtx",
    "nccl_plugin", "comm_ops", "stacks_native", "stacks_python", "framework_allocator", "ranks"};
constexpr std::string_view kWordList
    = "rule, title, severity, impact, confidence, root, parent, needs, param NAME, "
      "why, fix, source, message, test, expect";

bool isKnownWord(std::string_view word) {
    return word == "test" || word == "expect"
        || std::find(kHeaderWords.begin(), kHeaderWords.end(), word) != kHeaderWords.end();
}

bool isName(std::string_view text) {
    return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_')
        && std::all_of(
            text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

// Upper-case letters, then three or four digits: GD101; a user's own rules take another prefix.
bool isRuleId(std::string_view text) {
    const std::size_t digits = text.find_first_of("0123456789");
    if (digits == std::string_view::npos || digits < 2 || digits > 10)
        return false;
    const std::string_view number = text.substr(digits);
    return (number.size() == 3 || number.size() == 4)
        && std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(digits),
            [](char c) { return c >= 'A' && c <= 'Z'; })
        && std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool isSlug(std::string_view text) {
    return !text.empty() && text.front() != '-' && text.back() != '-'
        && std::all_of(text.begin(), text.end(),
            [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

// "-- word: value" → {word, value}; the word of a parameter is "param NAME".
std::optional<std::pair<std::string_view, std::string_view>> sectionOf(std::string_view line) {
    if (!line.starts_with("-- ") || line.starts_with("--  "))
        return std::nullopt;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    return std::pair(trim(line.substr(3, colon - 3)), trim(line.substr(colon + 1)));
}

std::string_view firstWord(std::string_view text) {
    return text.substr(0, text.find(' '));
}

bool isContinuation(std::string_view line) {
    return line.starts_with("--  ") || line.starts_with("--\t");
}

// "name=value name='a text'" with '' for a quote inside; nullopt when it is something else.
std::optional<std::vector<std::pair<std::string, std::string>>> parseColumns(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> result;
    for (text = trim(text); !text.empty(); text = trim(text)) {
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || !isName(text.substr(0, equals)))
            return std::nullopt;
        std::string name(text.substr(0, equals));
        text.remove_prefix(equals + 1);
        std::string value;
        if (text.starts_with('\'')) {
            std::size_t i = 1;
            for (; i < text.size(); ++i) {
                if (text[i] == '\'' && i + 1 < text.size() && text[i + 1] == '\'')
                    ++i;
                else if (text[i] == '\'')
                    break;
                value += text[i];
            }
            if (i >= text.size())
                return std::nullopt;
            text.remove_prefix(i + 1);
        } else {
            const std::size_t end = std::min(text.find(' '), text.size());
            value = text.substr(0, end);
            text.remove_prefix(end);
        }
        result.emplace_back(std::move(name), std::move(value));
    }
    return result;
}

} // namespace

RuleParser::RuleParser(std::string text, const std::string& path) {
    m_rule.text = std::move(text);
    m_rule.path = path;
    m_rule.group = std::filesystem::path(path).parent_path().filename().string();
}

Error RuleParser::at(int line, std::string message) const {
    return {ErrorCode::badInput, fmt::format("{}:{}: {}", m_rule.path, line, message)};
}

Result<RuleFile> RuleParser::run() {
    const std::string text = m_rule.text;
    if (text.find('\0') != std::string::npos)
        return at(1
                + static_cast<int>(std::count(
                    text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find('\0')), '\n')),
            "found a NUL byte; expected SQL text");
    for (std::string_view line : split(text, '\n')) {
        ++m_line;
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t'))
            line.remove_suffix(1);
        GD_TRY(readLine(line));
    }
    GD_TRY(closeSection());
    GD_TRY(checkWhole());
    return std::move(m_rule);
}

Result<void> RuleParser::readLine(std::string_view line) {
    if (isContinuation(line) && m_section) {
        m_section->value += m_section->value.empty() ? "" : " ";
        m_section->value += trim(line.substr(2));
        return {};
    }
    GD_TRY(closeSection());
    return m_part == Part::header ? readHeaderLine(line) : readBodyLine(line);
}

Result<void> RuleParser::readHeaderLine(std::string_view line) {
    if (line.empty() || line == "--" || line.starts_with("-- SPDX-License-Identifier:"))
        return {};
    if (!line.starts_with("--")) {
        if (m_seen.empty())
            return at(m_line, "expected \"-- rule: ID short-name\" before the query");
        m_part = Part::query;
        m_rule.queryLine = m_line;
        return readBodyLine(line);
    }
    if (isContinuation(line))
        return at(m_line, "this line continues nothing; expected \"-- word: value\" before it");
    const auto section = sectionOf(line);
    if (!section)
        return at(m_line, fmt::format("expected \"-- word: value\", where word is one of {}", kWordList));
    const std::string_view word = firstWord(section->first);
    if (!isKnownWord(word) || (word != "param" && word != section->first))
        return at(
            m_line, fmt::format("unknown section \"{}\"; expected one of {}", section->first, kWordList));
    if (word == "test" || word == "expect")
        return at(m_line, fmt::format("section {} must come after the query", word));
    if (m_seen.empty() && word != "rule")
        return at(m_line, fmt::format("expected \"-- rule: ID short-name\" first, found section {}", word));
    if (!m_seen.insert(std::string(section->first)).second)
        return at(m_line, fmt::format("section {} appears twice", section->first));
    m_section = Section{std::string(section->first), std::string(section->second), m_line};
    return {};
}

Result<void> RuleParser::readBodyLine(std::string_view line) {
    if (const auto section = sectionOf(line); section && isKnownWord(firstWord(section->first))) {
        const std::string_view word = section->first;
        if (word == "test") {
            if (m_part == Part::testSql)
                return at(m_line,
                    fmt::format("test \"{}\" has no expect: before the next test", m_rule.tests.back().name));
            if (section->second.empty())
                return at(m_line, "expected a name after \"-- test:\"");
            m_rule.tests.push_back({std::string(section->second), m_line, {}, m_line + 1, {}});
            m_part = Part::testSql;
            m_expectsNone = false;
            return {};
        }
        if (word == "expect") {
            if (m_part == Part::query)
                return at(m_line, "expect: before the first test:");
            m_part = Part::testExpect;
            m_section = Section{"expect", std::string(section->second), m_line};
            return {};
        }
        return at(m_line, fmt::format("section {} must come before the query", word));
    }
    switch (m_part) {
    case Part::query:
        m_rule.query.append(line).push_back('\n');
        break;
    case Part::testSql:
        m_rule.tests.back().sql.append(line).push_back('\n');
        break;
    default:
        if (!line.empty() && line != "--")
            return at(m_line, R"(expected "-- expect:" or "-- test:" after an expect: section)");
    }
    return {};
}

Result<void> RuleParser::closeSection() {
    if (!m_section)
        return {};
    const Section section = *std::exchange(m_section, std::nullopt);
    if (section.value.empty())
        return at(section.line, fmt::format("section {} is empty", section.word));
    if (section.word == "rule")
        return useRule(section);
    if (section.word == "needs")
        return useNeeds(section);
    if (firstWord(section.word) == "param")
        return useParam(section);
    if (section.word == "message")
        return useMessage(section);
    if (section.word == "expect")
        return useExpect(section);
    return useWord(section);
}

Result<void> RuleParser::useRule(const Section& section) {
    const std::size_t space = section.value.find(' ');
    m_rule.id = section.value.substr(0, space);
    m_rule.slug
        = space == std::string::npos ? "" : std::string(trim(std::string_view(section.value).substr(space)));
    if (!isRuleId(m_rule.id) || !isSlug(m_rule.slug))
        return at(section.line,
            fmt::format(
                R"(expected an id and a short name such as "GD301 replay-gap", found "{}")", section.value));
    const std::string expected = m_rule.id + "-" + m_rule.slug + ".sql";
    const std::string actual = std::filesystem::path(m_rule.path).filename().string();
    if (actual != expected)
        return at(
            section.line, fmt::format("the file must be named {} after its rule, not {}", expected, actual));
    return {};
}

Result<void> RuleParser::useWord(const Section& section) {
    const auto wrong = [&](std::string_view expected) {
        return at(section.line,
            fmt::format("{} must be one of {}, found \"{}\"", section.word, expected, section.value));
    };
    if (section.word == "title")
        m_rule.title = section.value;
    else if (section.word == "why")
        m_rule.why = section.value;
    else if (section.word == "fix")
        m_rule.fix = section.value;
    else if (section.word == "source")
        m_rule.source = section.value;
    else if (section.word == "severity") {
        const auto severity = severityFrom(section.value);
        if (!severity)
            return wrong("info, warning, error");
        m_rule.severity = *severity;
    } else if (section.word == "impact") {
        const auto impact = impactFrom(section.value);
        if (!impact)
            return wrong("none, slow, wrong, job_dies, job_hangs");
        m_rule.impact = *impact;
    } else if (section.word == "confidence") {
        const auto confidence = confidenceFrom(section.value);
        if (!confidence)
            return wrong("high, medium, low");
        m_rule.confidence = *confidence;
    } else if (section.word == "root") {
        const auto root = rootKindFrom(section.value);
        if (!root)
            return wrong("none, capture, exec, comm, step, process_fault");
        m_rule.root = *root;
    } else if (section.word == "parent") {
        if (!isRuleId(section.value) || section.value == m_rule.id)
            return at(section.line,
                fmt::format("parent must be the id of another rule, found \"{}\"", section.value));
        m_rule.parent = section.value;
    }
    return {};
}

Result<void> RuleParser::useNeeds(const Section& section) {
    for (const std::string_view part : split(section.value, ',')) {
        const std::string_view need = trim(part);
        const std::size_t relation = need.find(">=");
        const std::string_view state
            = relation == std::string_view::npos ? "" : trim(need.substr(relation + 2));
        if (state != "partial" && state != "complete")
            return at(section.line,
                fmt::format(
                    "expected SOURCE>=partial or SOURCE>=complete, separated by commas, found \"{}\"", need));
        CoverageNeed entry;
        entry.atLeast = state == "complete" ? CoverageState::complete : CoverageState::partial;
        for (const std::string_view alternative : split(need.substr(0, relation), '|')) {
            const std::string_view source = trim(alternative);
            if (std::find(kSources.begin(), kSources.end(), source) == kSources.end())
                return at(section.line,
                    fmt::format(
                        "unknown source \"{}\"; expected one of {}", source, fmt::join(kSources, ", ")));
            entry.sources.emplace_back(source);
        }
        m_rule.needs.push_back(std::move(entry));
    }
    return {};
}

Result<void> RuleParser::useParam(const Section& section) {
    const std::string_view paramName
        = trim(std::string_view(section.word).substr(std::string_view("param").size()));
    if (!isName(paramName))
        return at(
            section.line, fmt::format(R"(expected "-- param NAME: VALUE", found the name "{}")", paramName));
    m_rule.params.push_back(
        {std::string(paramName), section.value, parseParamValue(section.value), section.line});
    return {};
}

Result<void> RuleParser::useMessage(const Section& section) {
    Result<MessageTemplate> parsed = MessageTemplate::parse(section.value);
    if (!parsed)
        return at(section.line, "message, " + parsed.error().message);
    m_rule.message = section.value;
    m_rule.messageTemplate = std::move(*parsed);
    m_rule.messageLine = section.line;
    return {};
}

Result<void> RuleParser::useExpect(const Section& section) {
    InlineTest& test = m_rule.tests.back();
    if (m_expectsNone || (section.value == "none" && !test.expected.empty()))
        return at(section.line, "\"expect: none\" must be the only expect: of its test");
    if (section.value == "none") {
        m_expectsNone = true;
        return {};
    }
    ExpectedFinding expected{section.value, {}, section.line};
    if (const std::size_t bar = section.value.rfind(" | "); bar != std::string::npos) {
        auto columns = parseColumns(std::string_view(section.value).substr(bar + 3));
        if (!columns)
            return at(section.line,
                R"(expected "message | column=value column='a text'" after the last " | " of expect:)");
        expected.message = section.value.substr(0, bar);
        expected.columns = std::move(*columns);
    }
    test.expected.push_back(std::move(expected));
    return {};
}

Result<void> RuleParser::checkWhole() {
    if (m_seen.empty())
        return at(1, "expected \"-- rule: ID short-name\", found an empty file");
    for (const std::string_view word : kRequiredWords) {
        if (!m_seen.contains(std::string(word)))
            return at(1, fmt::format("section {} is missing", word));
    }
    while (!m_rule.query.empty() && std::isspace(static_cast<unsigned char>(m_rule.query.back())) != 0)
        m_rule.query.pop_back();
    if (m_rule.query.empty())
        return at(m_line, "expected a SELECT after the sections, found none");
    if (m_part == Part::testSql)
        return at(
            m_rule.tests.back().line, fmt::format("test \"{}\" has no expect:", m_rule.tests.back().name));
    return checkParams();
}

Result<void> RuleParser::checkParams() const {
    std::set<std::string, std::less<>> used;
    for (const SqlToken& token : sqlTokens(m_rule.query)) {
        const bool isOther = token.kind == SqlTokenKind::other && token.text == "?";
        if (!isOther && token.kind != SqlTokenKind::parameter)
            continue;
        const std::string place
            = placeOf(m_rule.path, m_rule.query, m_rule.queryLine, static_cast<int>(token.offset));
        const std::string_view paramName = token.text.substr(1);
        if (isOther || token.text[0] != ':')
            return Error(ErrorCode::badInput,
                fmt::format("{}: expected parameters as :name, found {}", place, token.text));
        if (m_rule.param(paramName) == nullptr)
            return Error(ErrorCode::badInput,
                fmt::format("{}: the query uses :{}, but there is no \"-- param {}: VALUE\"", place,
                    paramName, paramName));
        used.emplace(paramName);
    }
    for (const std::string& paramName : m_rule.messageTemplate.names())
        used.insert(paramName);
    for (const RuleParam& param : m_rule.params) {
        if (!used.contains(param.name))
            return at(param.line,
                fmt::format("parameter {} is used neither in the query nor in the message", param.name));
    }
    return {};
}

} // namespace gd::rules
