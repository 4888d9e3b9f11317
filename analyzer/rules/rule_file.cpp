// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_file.h"

#include "analyzer/rules/rule_parser.h"
#include "analyzer/rules/text_file.h"

#include <algorithm>
#include <array>

namespace gd::rules {
std::string_view name(CoverageState value) {
    constexpr std::array<std::string_view, 3> kNames{"absent", "partial", "complete"};
    return kNames[static_cast<std::size_t>(value)];
}

const RuleParam* RuleFile::param(std::string_view paramName) const {
    const auto found = std::find_if(
        params.begin(), params.end(), [&](const RuleParam& param) { return param.name == paramName; });
    return found == params.end() ? nullptr : &*found;
}

std::string placeOf(const std::string& path, std::string_view text, int firstLine, int offset) {
    const std::string_view before = text.substr(0, static_cast<std::size_t>(std::max(offset, 0)));
    return fmt::format("{}:{}", path, firstLine + std::count(before.begin(), before.end(), '\n'));
}

Result<RuleFile> parseRuleFile(std::string text, const std::string& path) {
    return RuleParser(std::move(text), path).run();
}

Result<RuleFile> loadRuleFile(const std::string& path) {
    GD_TRY_ASSIGN(std::string text, readTextFile(path, "rule"));
    return parseRuleFile(std::move(text), path);
}

} // namespace gd::rules
