// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/sql_tokens.h"

#include <algorithm>
#include <cctype>

namespace gd::rules {
namespace {

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}
bool isWordStart(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'
        || static_cast<unsigned char>(c) >= 0x80;
}
bool isWordPart(char c) {
    return isWordStart(c) || isDigit(c) || c == '$';
}

class Scanner {
public:
    explicit Scanner(std::string_view sql)
        : m_sql(sql) { }

    std::vector<SqlToken> run() {
        while (skipSpaceAndComments())
            scanOne();
        return std::move(m_tokens);
    }

private:
    char peek(std::size_t ahead = 0) const {
        return m_at + ahead < m_sql.size() ? m_sql[m_at + ahead] : '\0';
    }

    bool skipSpaceAndComments() {
        while (m_at < m_sql.size()) {
            if (std::isspace(static_cast<unsigned char>(peek())) != 0)
                ++m_at;
            else if (peek() == '-' && peek(1) == '-')
                m_at = std::min(m_sql.find('\n', m_at), m_sql.size());
            else if (peek() == '/' && peek(1) == '*')
                m_at = endOf("*/", m_at + 2);
            else
                return true;
        }
        return false;
    }

    std::size_t endOf(std::string_view closing, std::size_t from) const {
        const std::size_t found = from <= m_sql.size() ? m_sql.find(closing, from) : std::string_view::npos;
        return found == std::string_view::npos ? m_sql.size() : found + closing.size();
    }

    // A doubled quote inside stands for itself.
    std::size_t endOfQuoted(char quote) const {
        for (std::size_t i = m_at + 1; i < m_sql.size(); ++i) {
            if (m_sql[i] != quote)
                continue;
            if (i + 1 == m_sql.size() || m_sql[i + 1] != quote)
                return i + 1;
            ++i;
        }
        return m_sql.size();
    }

    std::size_t endOfNumber() const {
        std::size_t i = m_at;
        const auto digits = [&] {
            while (i < m_sql.size() && isDigit(m_sql[i]))
                ++i;
        };
        if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
            i += 2;
            while (i < m_sql.size() && std::isxdigit(static_cast<unsigned char>(m_sql[i])) != 0)
                ++i;
            return i;
        }
        digits();
        if (i < m_sql.size() && m_sql[i] == '.') {
            ++i;
            digits();
        }
        if (i < m_sql.size() && (m_sql[i] == 'e' || m_sql[i] == 'E')) {
            std::size_t exponent = i + 1;
            if (exponent < m_sql.size() && (m_sql[exponent] == '+' || m_sql[exponent] == '-'))
                ++exponent;
            if (exponent < m_sql.size() && isDigit(m_sql[exponent])) {
                i = exponent;
                digits();
            }
        }
        return i;
    }

    std::size_t endOfWord(std::size_t from) const {
        while (from < m_sql.size() && isWordPart(m_sql[from]))
            ++from;
        return from;
    }

    void add(SqlTokenKind kind, std::size_t end) {
        m_tokens.push_back({kind, m_at, m_sql.substr(m_at, end - m_at)});
        m_at = end;
    }

    void scanOne() {
        const char c = peek();
        if (c == '\'')
            return add(SqlTokenKind::text, endOfQuoted('\''));
        if ((c == 'x' || c == 'X') && peek(1) == '\'') {
            ++m_at;
            const std::size_t end = endOfQuoted('\'');
            --m_at;
            return add(SqlTokenKind::text, end);
        }
        if (c == '"' || c == '`')
            return add(SqlTokenKind::quotedName, endOfQuoted(c));
        if (c == '[')
            return add(SqlTokenKind::quotedName, endOf("]", m_at + 1));
        if (isDigit(c) || (c == '.' && isDigit(peek(1))))
            return add(SqlTokenKind::number, endOfNumber());
        if (isWordStart(c))
            return add(SqlTokenKind::word, endOfWord(m_at));
        if ((c == ':' || c == '@' || c == '$') && isWordStart(peek(1)))
            return add(SqlTokenKind::parameter, endOfWord(m_at + 1));
        const bool twoChars = (c == '<' && (peek(1) == '=' || peek(1) == '>'))
            || ((c == '>' || c == '=' || c == '!') && peek(1) == '=');
        if (twoChars)
            return add(SqlTokenKind::comparison, m_at + 2);
        // << and >> are shifts.
        if ((c == '<' || c == '>') && peek(1) == c)
            return add(SqlTokenKind::other, m_at + 2);
        if (c == '<' || c == '>' || c == '=')
            return add(SqlTokenKind::comparison, m_at + 1);
        add(SqlTokenKind::other, m_at + 1);
    }

    std::string_view m_sql;
    std::size_t m_at = 0;
    std::vector<SqlToken> m_tokens;
};

} // namespace

std::vector<SqlToken> sqlTokens(std::string_view sql) {
    return Scanner(sql).run();
}

bool isKeyword(const SqlToken& token, std::string_view keyword) {
    return token.kind == SqlTokenKind::word
        && std::equal(token.text.begin(), token.text.end(), keyword.begin(), keyword.end(),
            [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; });
}

} // namespace gd::rules
