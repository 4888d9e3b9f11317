// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace gd::report {

// Writes elements of an HTML page that is well-formed XML, too. Text and attributes are escaped here; the
// names of elements and attributes are ours.
class HtmlPage {
public:
    // <name> or <name class="kind">, to be closed by close(name).
    HtmlPage& open(std::string_view name, std::string_view kind = {});
    // The same with any attributes; those without a value are left out.
    using Attribute = std::pair<std::string_view, std::string_view>;
    HtmlPage& openWith(std::string_view name, std::initializer_list<Attribute> attributes);
    HtmlPage& close(std::string_view name);
    HtmlPage& lineBreak(); // in the file, not on the page

    // One line of text: control characters are shown as \xNN.
    HtmlPage& text(std::string_view text);
    // A paragraph: its line breaks are spaces.
    HtmlPage& prose(std::string_view text);
    HtmlPage& element(std::string_view name, std::string_view text, std::string_view kind = {});
    HtmlPage& code(std::string_view text) { return element("code", text); }
    HtmlPage& raw(std::string_view html); // ours

    // A row of a definition list; nothing when `text` is empty.
    void term(std::string_view label, std::string_view text);

    std::string take() { return std::move(m_out); }

private:
    std::string m_out;
};

} // namespace gd::report
