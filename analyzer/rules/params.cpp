// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/params.h"

#include "analyzer/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace gd::rules {
namespace {

struct Override {
    std::string rule; // empty = every rule
    std::string name;
    std::string value;
};

Result<Override> parseOverride(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        return fail(ErrorCode::usage, "--param {}: expected NAME=VALUE or GD301.NAME=VALUE", text);
    Override result{
        {}, text.substr(0, equals), std::string(base::trim(std::string_view(text).substr(equals + 1)))};
    if (const std::size_t dot = result.name.find('.'); dot != std::string::npos) {
        result.rule = result.name.substr(0, dot);
        result.name.erase(0, dot + 1);
    }
    if (result.value.empty())
        return fail(ErrorCode::usage, "--param {}: the value is empty", text);
    return result;
}

Result<void> replaceValue(RuleParam& param, const Override& change, const std::string& text) {
    const Value value = parseParamValue(change.value);
    const bool wantsNumber = !std::holds_alternative<std::string>(param.value);
    if (wantsNumber && std::holds_alternative<std::string>(value))
        return fail(ErrorCode::usage, "--param {}: expected a number such as {}", text, param.text);
    param.text = change.value;
    param.value = wantsNumber ? value : Value(change.value);
    return {};
}

std::string knownNames(std::span<const RuleFile> rules, const std::string& onlyRule) {
    std::set<std::string> names;
    for (const RuleFile& rule : rules) {
        for (const RuleParam& param : rule.params) {
            if (onlyRule.empty() || rule.id == onlyRule)
                names.insert(param.name);
        }
    }
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

Value parseParamValue(std::string_view text) {
    const char* end = text.data() + text.size();
    std::int64_t integer = 0;
    if (const auto [rest, errc] = std::from_chars(text.data(), end, integer);
        errc == std::errc() && rest == end)
        return integer;
    double real = 0;
    if (const auto [rest, errc] = std::from_chars(text.data(), end, real);
        errc == std::errc() && rest == end && std::isfinite(real))
        return real;
    return std::string(text);
}

Result<ParamTable> applyParams(
    std::span<const RuleFile> rules, std::span<const std::string> overrides, FrameFilter& frames) {
    ParamTable table;
    for (const RuleFile& rule : rules)
        table[rule.id] = rule.params;
    for (const std::string& text : overrides) {
        GD_TRY_ASSIGN(const Override change, parseOverride(text));
        if (change.rule == "frames" && change.name == "skip") {
            frames.skipAlso(change.value);
            continue;
        }
        if (!change.rule.empty() && !table.contains(change.rule))
            return fail(ErrorCode::usage, "--param {}: there is no rule {}", text, change.rule);
        bool found = false;
        for (auto& [id, params] : table) {
            if (!change.rule.empty() && id != change.rule)
                continue;
            const auto param = std::find_if(
                params.begin(), params.end(), [&](const RuleParam& p) { return p.name == change.name; });
            if (param == params.end())
                continue;
            found = true;
            GD_TRY(replaceValue(*param, change, text));
        }
        if (!found)
            return fail(ErrorCode::usage, "--param {}: {} a parameter {}; known are {}, and frames.skip",
                text, change.rule.empty() ? "no rule has" : change.rule + " has not", change.name,
                knownNames(rules, change.rule));
    }
    return table;
}

} // namespace gd::rules
