// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/mutate.h"

#include "analyzer/rules/params.h"
#include "analyzer/rules/sql_tokens.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <set>

namespace gd::rules {
namespace {

struct Operands {
    std::size_t first; // token index, inclusive
    std::size_t end; // exclusive
};

// Words at which the operand of a comparison ends.
bool isBoundary(const SqlToken& token) {
    constexpr std::array<std::string_view, 33> kWords{"AND", "OR", "NOT", "WHERE", "ON", "HAVING", "WHEN",
        "THEN", "ELSE", "END", "CASE", "SELECT", "FROM", "AS", "BY", "GROUP", "ORDER", "LIMIT", "OFFSET",
        "UNION", "EXCEPT", "INTERSECT", "JOIN", "LEFT", "INNER", "CROSS", "WINDOW", "FILTER", "OVER", "ASC",
        "DESC", "DISTINCT", "USING"};
    if (token.kind == SqlTokenKind::comparison || token.text == "," || token.text == ";")
        return true;
    return std::any_of(
        kWords.begin(), kWords.end(), [&](std::string_view word) { return isKeyword(token, word); });
}

bool isLiteral(const SqlToken& token) {
    return token.kind == SqlTokenKind::number || token.kind == SqlTokenKind::text
        || token.kind == SqlTokenKind::parameter || isKeyword(token, "NULL") || isKeyword(token, "TRUE")
        || isKeyword(token, "FALSE");
}

class MutantMaker {
public:
    explicit MutantMaker(const RuleFile& rule)
        : m_rule(rule)
        , m_tokens(sqlTokens(rule.query)) { }

    std::vector<Mutant> run() {
        changeParams();
        for (std::size_t i = 0; i < m_tokens.size(); ++i) {
            if (m_tokens[i].kind == SqlTokenKind::comparison)
                changeComparison(i);
            else
                changeWord(i);
        }
        changeNumbers();
        return std::move(m_mutants);
    }

private:
    void add(const SqlToken& token, std::size_t length, const std::string& replacement) {
        std::string query = m_rule.query;
        const std::string before = query.substr(token.offset, length);
        query.replace(token.offset, length, replacement);
        m_mutants.push_back(
            {placeOf(m_rule.path, m_rule.query, m_rule.queryLine, static_cast<int>(token.offset)),
                fmt::format("`{}` becomes `{}`", before, replacement), std::move(query), m_rule.params});
    }

    void changeParams() {
        for (std::size_t i = 0; i < m_rule.params.size(); ++i) {
            const RuleParam& param = m_rule.params[i];
            if (std::holds_alternative<std::string>(param.value))
                continue;
            for (const int by : {-1, +1}) {
                const std::optional<std::string> text = bumpLastDigit(param.text, by);
                if (!text)
                    continue;
                Mutant mutant{fmt::format("{}:{}", m_rule.path, param.line),
                    fmt::format("parameter {} {} becomes {}", param.name, param.text, *text), m_rule.query,
                    m_rule.params};
                mutant.params[i].text = *text;
                mutant.params[i].value = parseParamValue(*text);
                m_mutants.push_back(std::move(mutant));
            }
        }
    }

    std::size_t startOfLeft(std::size_t at) const {
        int depth = 0;
        while (at > 0) {
            const SqlToken& token = m_tokens[at - 1];
            if (depth == 0 && (token.text == "(" || isBoundary(token)))
                break;
            depth += token.text == ")" ? 1 : token.text == "(" ? -1 : 0;
            --at;
        }
        return at;
    }

    // `ands`: how many AND at the same level belong to the operand (BETWEEN a AND b).
    std::size_t endOfRight(std::size_t at, int ands) const {
        int depth = 0;
        for (; at < m_tokens.size(); ++at) {
            const SqlToken& token = m_tokens[at];
            if (depth == 0 && isKeyword(token, "AND") && ands > 0) {
                --ands;
                continue;
            }
            if (depth == 0 && (token.text == ")" || isBoundary(token)))
                break;
            depth += token.text == "(" ? 1 : token.text == ")" ? -1 : 0;
        }
        return at;
    }

    // Notes the numbers of a comparison and says whether it touches a parameter or literal.
    bool touchesLiteral(std::size_t first, std::size_t end) {
        bool touches = false;
        for (std::size_t i = first; i < end; ++i) {
            touches = touches || isLiteral(m_tokens[i]);
            const bool isLimit
                = i > 0 && (isKeyword(m_tokens[i - 1], "LIMIT") || isKeyword(m_tokens[i - 1], "OFFSET"));
            if (m_tokens[i].kind == SqlTokenKind::number && !isLimit)
                m_numbers.insert(i);
        }
        return touches;
    }

    void changeComparison(std::size_t i) {
        constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kNeighbours{{{">=", ">"},
            {">", ">="}, {"<=", "<"}, {"<", "<="}, {"=", "<>"}, {"==", "<>"}, {"<>", "="}, {"!=", "="}}};
        if (!touchesLiteral(startOfLeft(i), endOfRight(i + 1, 0)))
            return;
        const SqlToken& token = m_tokens[i];
        const auto* neighbour = std::find_if(kNeighbours.begin(), kNeighbours.end(),
            [&](const auto& entry) { return entry.first == token.text; });
        if (neighbour != kNeighbours.end())
            add(token, token.text.size(), std::string(neighbour->second));
    }

    void changeWord(std::size_t i) {
        const SqlToken& token = m_tokens[i];
        const bool isIs = isKeyword(token, "IS");
        const bool isBetween = isKeyword(token, "BETWEEN");
        if (!isIs && !isBetween && !isKeyword(token, "IN") && !isKeyword(token, "LIKE")
            && !isKeyword(token, "GLOB"))
            return;
        const bool notAfter = isIs && i + 1 < m_tokens.size() && isKeyword(m_tokens[i + 1], "NOT");
        const bool notBefore = !isIs && i > 0 && isKeyword(m_tokens[i - 1], "NOT");
        const std::size_t left = startOfLeft(notBefore ? i - 1 : i);
        const std::size_t right = endOfRight(i + (notAfter ? 2 : 1), isBetween ? 1 : 0);
        if (!touchesLiteral(left, right))
            return;
        const std::string word(token.text);
        if (notAfter)
            add(token, m_tokens[i + 1].offset + m_tokens[i + 1].text.size() - token.offset, word);
        else if (notBefore)
            add(m_tokens[i - 1], token.offset + token.text.size() - m_tokens[i - 1].offset, word);
        else
            add(token, token.text.size(), isIs ? word + " NOT" : "NOT " + word);
    }

    void changeNumbers() {
        for (const std::size_t i : m_numbers) {
            for (const int by : {-1, +1}) {
                const std::optional<std::string> text = bumpLastDigit(m_tokens[i].text, by);
                if (text)
                    // In parentheses: "- -1" without a space would start a comment.
                    add(m_tokens[i], m_tokens[i].text.size(),
                        text->starts_with('-') ? "(" + *text + ")" : *text);
            }
        }
    }

    const RuleFile& m_rule;
    std::vector<SqlToken> m_tokens;
    std::set<std::size_t> m_numbers; // token indices
    std::vector<Mutant> m_mutants;
};

} // namespace

std::optional<std::string> bumpLastDigit(std::string_view number, int by) {
    const std::size_t exponentAt = std::min(number.find_first_of("eE"), number.size());
    const std::string_view exponent = number.substr(exponentAt);
    std::string digits(number.substr(0, exponentAt));
    const std::size_t dot = digits.find('.');
    const std::size_t decimals = dot == std::string::npos ? 0 : digits.size() - dot - 1;
    if (dot != std::string::npos)
        digits.erase(dot, 1);
    std::int64_t value = 0;
    const auto [rest, errc] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    constexpr std::int64_t kLargest = 1'000'000'000'000'000'000;
    if (errc != std::errc() || rest != digits.data() + digits.size() || value > kLargest || value < -kLargest)
        return std::nullopt;
    value += by;
    std::string text = fmt::format("{:0{}}", value < 0 ? -value : value, decimals + 1);
    if (decimals > 0)
        text.insert(text.size() - decimals, 1, '.');
    return (value < 0 ? "-" : "") + text + std::string(exponent);
}

std::vector<Mutant> mutantsOf(const RuleFile& rule) {
    return MutantMaker(rule).run();
}

std::string MutationReport::text() const {
    std::string out;
    for (const Mutant& survivor : survivors)
        out += fmt::format("SURVIVED {}: {}: no test notices that {}\n", survivor.place, rule, survivor.what);
    out += fmt::format("{}: {} of {} changes noticed\n", rule, mutants - survivors.size(), mutants);
    return out;
}

Result<MutationReport> mutate(RuleTester& tester, const RuleFile& rule) {
    if (const RuleTestReport report = tester.test(rule); !report.passed())
        return fail(ErrorCode::badInput, "{}: its tests must pass before it can be mutated:\n{}", rule.path,
            report.text());
    MutationReport report{rule.id, 0, {}};
    for (Mutant& mutant : mutantsOf(rule)) {
        ++report.mutants;
        if (tester.passes(rule, mutant.query, mutant.params))
            report.survivors.push_back(std::move(mutant));
    }
    return report;
}

} // namespace gd::rules
