// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/report/xml_check.h"

#include "analyzer/base/text.h"

#include <set>
#include <vector>

namespace gd::test {
namespace {

bool isChar(char32_t c) {
    return c == 0x9 || c == 0xa || c == 0xd || (c >= 0x20 && c <= 0xd7ff) || (c >= 0xe000 && c <= 0xfffd)
        || (c >= 0x10000 && c <= 0x10ffff);
}

class Parser {
public:
    explicit Parser(std::string_view text)
        : m_text(text) { }

    XmlCheck run() {
        checkCharacters();
        const std::string_view declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
        if (!m_text.starts_with(declaration))
            problem("no declaration");
        m_at = declaration.size();
        while (m_result.problem.empty() && m_at < m_text.size()) {
            if (m_text[m_at] == '<')
                tag();
            else
                text('<');
        }
        if (!m_open.empty())
            problem("not closed: " + m_open.back());
        return m_result;
    }

private:
    void problem(const std::string& what) {
        if (m_result.problem.empty())
            m_result.problem = what + " at byte " + std::to_string(m_at);
    }

    void checkCharacters() {
        std::string_view rest = m_text;
        while (!rest.empty()) {
            const base::CodePoint c = base::decodeUtf8(rest);
            m_at = m_text.size() - rest.size();
            if (c.length == 0 || !isChar(c.value))
                return problem("forbidden character");
            rest.remove_prefix(c.length);
        }
    }

    void text(char end) {
        while (m_at < m_text.size() && m_text[m_at] != end) {
            if (m_text[m_at] == '<' || m_text[m_at] == '>')
                return problem("bare < or >");
            if (m_text[m_at] == '&')
                entity();
            ++m_at;
        }
    }

    void entity() {
        static const std::set<std::string, std::less<>> kKnown = {"amp", "lt", "gt", "quot", "apos"};
        const std::size_t end = m_text.find(';', m_at);
        if (end == std::string_view::npos || !kKnown.contains(m_text.substr(m_at + 1, end - m_at - 1)))
            return problem("bare &");
        m_at = end;
    }

    std::string word() {
        std::string out;
        while (m_at < m_text.size()
            && (std::isalnum(static_cast<unsigned char>(m_text[m_at])) != 0 || m_text[m_at] == '-'))
            out += m_text[m_at++];
        return out;
    }

    void tag() {
        ++m_at;
        if (m_text.substr(m_at, 1) == "/") {
            ++m_at;
            const std::string closing = word();
            if (m_open.empty() || m_open.back() != closing || m_text.substr(m_at, 1) != ">")
                return problem("unexpected </" + closing);
            m_open.pop_back();
            ++m_at;
            return;
        }
        const std::string element = word();
        if (element.empty())
            return problem("bare <");
        ++m_result.elements[element];
        while (m_text.substr(m_at, 1) == " ") {
            ++m_at;
            if (word().empty() || m_text.substr(m_at, 2) != "=\"")
                return problem("bad attribute");
            m_at += 2;
            text('"');
            ++m_at;
        }
        if (m_text.substr(m_at, 2) == "/>") {
            m_at += 2;
        } else if (m_text.substr(m_at, 1) == ">") {
            m_open.push_back(element);
            ++m_at;
        } else {
            problem("tag does not end");
        }
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    std::vector<std::string> m_open;
    XmlCheck m_result;
};

} // namespace

XmlCheck checkXml(std::string_view document) {
    return Parser(document).run();
}

} // namespace gd::test
