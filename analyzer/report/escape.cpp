// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/escape.h"

#include "analyzer/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace gd::report {
namespace {

void replaceAll(std::string& text, std::string_view what, std::string_view by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

std::size_t longestRun(std::string_view text, char wanted) {
    std::size_t longest = 0;
    std::size_t run = 0;
    for (const char c : text) {
        run = c == wanted ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    return longest;
}

// Where a backslash keeps the text from being read as a list item or a heading's underline; npos = nowhere.
std::size_t listMarker(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos
        || std::string_view("-+=").find(text[first]) != std::string_view::npos)
        return first;
    const std::size_t end = text.find_first_not_of("0123456789", first);
    const bool numbered = end != first && end != std::string_view::npos
        && (text[end] == '.' || text[end] == ')') && (end + 1 == text.size() || text[end + 1] == ' ');
    return numbered ? end : std::string_view::npos;
}

} // namespace

std::string plainLine(std::string_view text) {
    std::string out = base::escapeForTerminal(text);
    std::replace(out.begin(), out.end(), '\t', ' ');
    replaceAll(out, "##[", "##\\x5b");
    return out;
}

std::string plainProse(std::string_view text) {
    std::string joined;
    for (const char c : text) {
        const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
        if (!space)
            joined += c;
        else if (!joined.empty() && joined.back() != ' ')
            joined += ' ';
    }
    return plainLine(base::trim(joined));
}

std::string xml(std::string_view text) {
    std::string out;
    const std::string clean = plainLine(text);
    std::string_view rest = clean;
    while (!rest.empty()) {
        const base::CodePoint c = base::decodeUtf8(rest);
        const std::size_t length = std::max<std::size_t>(c.length, 1);
        if (c.value == 0xfffe || c.value == 0xffff) // not characters of XML 1.0, even as references
            out += fmt::format("\\u{{{:04x}}}", static_cast<unsigned>(c.value));
        else if (c.value == '&')
            out += "&amp;";
        else if (c.value == '<')
            out += "&lt;";
        else if (c.value == '>')
            out += "&gt;";
        else if (c.value == '"')
            out += "&quot;";
        else if (c.value == '\'')
            out += "&apos;";
        else
            out += rest.substr(0, length);
        rest.remove_prefix(length);
    }
    return out;
}

std::string markdown(std::string_view text) {
    std::string out;
    const std::string clean = plainLine(text);
    const std::size_t marker = listMarker(clean);
    for (std::size_t i = 0; i < clean.size(); ++i) {
        const char c = clean[i];
        if (i == marker)
            out += '\\';
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '@')
            out += "@\xe2\x80\x8b"; // a zero-width space keeps it from naming a person
        else if (i != marker && std::string_view("\\`*_[]#|~$").find(c) != std::string_view::npos)
            (out += '\\') += c;
        else
            out += c;
    }
    return out;
}

std::string markdownCode(std::string_view text) {
    std::string clean = plainLine(text);
    // A table splits cells at `|` before it looks at code, and a backslash stays visible in code.
    replaceAll(clean, "|", "\xc7\x80");
    if (base::trim(clean).empty())
        return "` `";
    const std::string fence(longestRun(clean, '`') + 1, '`');
    const bool pad = clean.front() == '`' || clean.back() == '`' || clean.front() == ' ';
    return pad ? fence + " " + clean + " " + fence : fence + clean + fence;
}

std::string githubData(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '%')
            out += "%25";
        else if (c == '\r')
            out += "%0D";
        else if (c == '\n')
            out += "%0A";
        else
            out += c;
    }
    return out;
}

std::string githubProperty(std::string_view text) {
    std::string out = githubData(text);
    replaceAll(out, ":", "%3A");
    replaceAll(out, ",", "%2C");
    return out;
}

std::string fileUri(std::string_view path) {
    std::string out = path.starts_with('/') ? "file://" : "";
    for (const char c : path) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
            || std::string_view("-._~/+@").find(c) != std::string_view::npos;
        if (plain)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

std::uint64_t stableHash(std::string_view text, std::uint64_t seed) {
    for (const char c : text) {
        seed ^= static_cast<unsigned char>(c);
        seed *= 0x100000001b3ULL;
    }
    return seed;
}

} // namespace gd::report
