// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/kernel_signature.h"

#include <algorithm>

namespace gd::facts {
namespace {

bool opens(char c) {
    return c == '(' || c == '<' || c == '{' || c == '[';
}

bool closes(char c) {
    return c == ')' || c == '>' || c == '}' || c == ']';
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

ParamUse useOf(std::string_view type) {
    if (type.empty() || type.back() != '*')
        return ParamUse::unknown;
    type = trimmed(type.substr(0, type.size() - 1));
    if (type.ends_with(" const") || type.starts_with("const "))
        return ParamUse::reads;
    // Pointers to pointers and to functions: who writes where is not said.
    if (type.empty() || type.find('*') != std::string_view::npos || type.back() == ')')
        return ParamUse::unknown;
    return ParamUse::writes;
}

} // namespace

std::vector<ParamUse> kernelSignature(std::string_view demangled) {
    demangled = trimmed(demangled);
    if (demangled.empty() || demangled.back() != ')')
        return {};
    int depth = 0;
    std::size_t begin = demangled.size();
    while (begin > 0) {
        const char c = demangled[--begin];
        depth += closes(c) ? 1 : opens(c) ? -1 : 0;
        if (depth == 0)
            break;
    }
    if (depth != 0 || begin == 0 || demangled[begin] != '(')
        return {};
    std::vector<ParamUse> uses;
    std::string_view rest = demangled.substr(begin + 1, demangled.size() - begin - 2);
    std::size_t from = 0;
    for (std::size_t i = 0; i <= rest.size(); ++i) {
        if (i == rest.size() || (rest[i] == ',' && depth == 0)) {
            uses.push_back(useOf(trimmed(rest.substr(from, i - from))));
            from = i + 1;
        } else {
            depth += opens(rest[i]) ? 1 : closes(rest[i]) ? -1 : 0;
        }
    }
    if (std::find(uses.begin(), uses.end(), ParamUse::reads) == uses.end())
        std::replace(uses.begin(), uses.end(), ParamUse::writes, ParamUse::unknown);
    return uses;
}

} // namespace gd::facts
