// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/html_page.h"

#include "analyzer/report/escape.h"

#include <fmt/format.h>

namespace gd::report {

HtmlPage& HtmlPage::open(std::string_view name, std::string_view kind) {
    return openWith(name, {{"class", kind}});
}

HtmlPage& HtmlPage::openWith(std::string_view name, std::initializer_list<Attribute> attributes) {
    (m_out += '<') += name;
    for (const auto& [attribute, value] : attributes) {
        if (!value.empty())
            m_out += fmt::format(" {}=\"{}\"", attribute, xml(value));
    }
    m_out += '>';
    return *this;
}

HtmlPage& HtmlPage::close(std::string_view name) {
    ((m_out += "</") += name) += '>';
    return *this;
}

HtmlPage& HtmlPage::lineBreak() {
    m_out += '\n';
    return *this;
}

HtmlPage& HtmlPage::text(std::string_view text) {
    m_out += xml(text);
    return *this;
}

HtmlPage& HtmlPage::prose(std::string_view text) {
    m_out += xml(plainProse(text));
    return *this;
}

HtmlPage& HtmlPage::element(std::string_view name, std::string_view text, std::string_view kind) {
    return open(name, kind).prose(text).close(name);
}

HtmlPage& HtmlPage::raw(std::string_view html) {
    m_out += html;
    return *this;
}

void HtmlPage::term(std::string_view label, std::string_view text) {
    if (!text.empty())
        element("dt", label).element("dd", text).lineBreak();
}

} // namespace gd::report
