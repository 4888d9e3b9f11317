// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/kernel_name.h"

#include "analyzer/base/text.h"
#include "analyzer/rules/frames.h"

#include <vector>

namespace gd::rules {
namespace {

constexpr std::size_t kMaxColumns = 64;
constexpr int kMaxDepth = 2; // a template's arguments, and those of its arguments
constexpr std::string_view kMore = "…";

struct Template {
    std::string_view name; // with its namespaces
    std::vector<std::string_view> arguments;
};

bool opens(char c) {
    return c == '<' || c == '(' || c == '[' || c == '{';
}

bool closes(char c) {
    return c == '>' || c == ')' || c == ']' || c == '}';
}

std::string_view lastComponent(std::string_view name) {
    const std::size_t colons = name.rfind("::");
    return colons == std::string_view::npos ? name : name.substr(colons + 2);
}

// "ns::name<a, b<c>>" in its parts; text after the template's end, as in "<a>::type", belongs to none.
Template split(std::string_view text) {
    Template result{text, {}};
    int depth = 0;
    std::size_t start = 0; // of the present argument
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (opens(text[i]) && depth++ == 0) {
            if (text[i] != '<') {
                --depth; // "(anonymous namespace)::" in front of the name
                i = text.find(')', i);
                if (i == std::string_view::npos)
                    break;
                continue;
            }
            result.name = text.substr(0, i);
            start = i + 1;
        } else if (closes(text[i]) && --depth == 0) {
            result.arguments.push_back(base::trim(text.substr(start, i - start)));
            break;
        } else if (text[i] == ',' && depth == 1) {
            result.arguments.push_back(base::trim(text.substr(start, i - start)));
            start = i + 1;
        }
    }
    return result;
}

std::string shorten(std::string_view text, int depth, std::size_t columns);

// The arguments of a template that fit into `columns`, and a mark for the rest.
std::string argumentList(const Template& parts, int depth, std::size_t columns) {
    if (parts.arguments.empty())
        return {};
    std::string list;
    for (std::size_t i = 0; i < parts.arguments.size(); ++i) {
        const std::string separator = list.empty() ? "" : ", ";
        const std::string argument
            = depth < kMaxDepth ? shorten(parts.arguments[i], depth + 1, columns) : std::string(kMore);
        const std::size_t rest = i + 1 < parts.arguments.size() ? 3 : 0; // ", …"
        if (depth >= kMaxDepth || list.size() + separator.size() + argument.size() + rest + 2 > columns)
            return fmt::format("<{}{}{}>", list, separator, kMore);
        list += separator + argument;
    }
    return fmt::format("<{}>", list);
}

// "(ns::Type)1", a value of an enumeration, without its namespaces; empty for anything else.
std::string enumerator(std::string_view text) {
    const std::size_t close = text.find(')');
    if (!text.starts_with('(') || close == std::string_view::npos)
        return {};
    const std::string_view value = base::trim(text.substr(close + 1));
    const bool isNumber = value.find_first_not_of("-0123456789") == std::string_view::npos;
    return value.empty() || !isNumber
        ? std::string()
        : fmt::format("({}){}", lastComponent(text.substr(1, close - 1)), value);
}

std::string shorten(std::string_view text, int depth, std::size_t columns) {
    // Of a lambda its function says more than its number.
    if (depth > 0 && text.find('{') != std::string_view::npos)
        return std::string(lastComponent(split(bareFunctionName(text)).name));
    if (const std::string value = enumerator(text); depth > 0 && !value.empty())
        return value;
    const Template parts = split(text);
    const std::string name(lastComponent(parts.name));
    return name + argumentList(parts, depth, columns > name.size() ? columns - name.size() : 0);
}

} // namespace

std::string shortKernelName(std::string_view demangled) {
    if (demangled.find_first_of("<(:") == std::string_view::npos)
        return std::string(demangled);
    std::string name = shorten(bareFunctionName(demangled), 0, kMaxColumns);
    return name.empty() ? std::string(demangled) : name;
}

} // namespace gd::rules
