// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/short_place.h"

#include "analyzer/report/wrap.h"

#include <fmt/format.h>

#include <algorithm>

namespace gd::report {
namespace {

// Columns a function may always take: enough for Class::method of most code, and leaves the path more than
// half.
constexpr std::size_t kFunctionWidth = 32;

std::string withoutTemplateArguments(std::string_view name) {
    std::string out;
    int depth = 0;
    for (const char c : name) {
        if (c == '>' && depth > 0 && --depth == 0)
            out += "…>";
        else if (depth == 0)
            out += c;
        if (c == '<')
            ++depth;
    }
    return out;
}

} // namespace

std::string shortFunction(std::string_view name, std::size_t width) {
    std::string out(name);
    // '<' and "::" inside these names are no brackets and no qualifiers.
    if (columns(name) <= width || name.find("operator") != std::string_view::npos
        || name.find('{') != std::string_view::npos)
        return out;
    out = withoutTemplateArguments(name);
    std::string_view rest = out;
    while (columns(rest) + (rest.size() < out.size() ? 3 : 0) > width) {
        const std::size_t colons = rest.find("::");
        if (colons == std::string_view::npos)
            break;
        rest.remove_prefix(colons + 2);
    }
    return rest.size() < out.size() ? fmt::format("…::{}", rest) : out;
}

std::string shortPath(std::string_view path, std::size_t width) {
    if (columns(path) <= width)
        return std::string(path);
    std::string_view rest = path.substr(path.starts_with('/') ? 1 : 0);
    while (columns(rest) + 2 > width) {
        const std::size_t slash = rest.find('/');
        if (slash == std::string_view::npos)
            break;
        rest.remove_prefix(slash + 1);
    }
    return path.find('/') == std::string_view::npos ? std::string(path) : fmt::format("…/{}", rest);
}

std::string shortPlace(
    std::string_view path, std::int64_t line, std::string_view function, std::size_t width) {
    const std::string lineText = line > 0 ? fmt::format(":{}", line) : std::string();
    if (function.empty())
        return shortPath(path, width - std::min(width, columns(lineText))) + lineText;
    const std::size_t fixed = columns(lineText) + columns(" in ");
    const std::size_t whole = columns(path) + fixed;
    const std::string name
        = shortFunction(function, std::max(kFunctionWidth, width - std::min(width, whole)));
    const std::size_t taken = fixed + columns(name);
    return fmt::format("{}{} in {}", shortPath(path, width - std::min(width, taken)), lineText, name);
}

} // namespace gd::report
