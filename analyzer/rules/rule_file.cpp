// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_file.h"

#include "analyzer/rules/rule_parser.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace gd::rules {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxFileBytes = 1 << 20;

void addFile(RuleSet& set, const std::string& path) {
    Result<RuleFile> rule = loadRuleFile(path);
    if (!rule) {
        set.broken.push_back(rule.error());
        return;
    }
    const auto same = std::find_if(
        set.rules.begin(), set.rules.end(), [&](const RuleFile& other) { return other.id == rule->id; });
    if (same != set.rules.end()) {
        set.broken.emplace_back(ErrorCode::badInput,
            fmt::format(
                "{}:1: rule {} is already defined in {}; ids are never reused", path, rule->id, same->path));
        return;
    }
    set.rules.push_back(std::move(*rule));
}

// Two levels: the folder itself and its groups.
Result<void> addFolder(std::vector<std::string>& files, const std::string& folder, int depth) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        std::error_code ignored;
        if (it->is_directory(ignored) && depth == 0)
            GD_TRY(addFolder(files, it->path().string(), depth + 1));
        else if (it->path().extension() == ".sql")
            files.push_back(it->path().string());
    }
    if (error)
        return fail(ErrorCode::io, "cannot read the folder {} of rules: {}", folder, error.message());
    return {};
}

} // namespace

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
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (error || !fs::exists(status))
        return fail(ErrorCode::io, "cannot open the rule {}: {}", path,
            error ? error.message() : std::strerror(ENOENT));
    if (!fs::is_regular_file(status))
        return fail(ErrorCode::badInput, "{} is not a regular file; expected a rule (.sql)", path);
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (!error && bytes > kMaxFileBytes)
        return fail(
            ErrorCode::badInput, "{} has {} bytes; a rule has at most {}", path, bytes, kMaxFileBytes);
    std::ifstream file(path, std::ios::binary);
    std::string text(static_cast<std::size_t>(error ? 0 : bytes), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file)
        return fail(ErrorCode::io, "cannot read the rule {}: {}", path, std::strerror(errno));
    return parseRuleFile(std::move(text), path);
}

Result<RuleSet> loadRules(std::span<const std::string> paths) {
    RuleSet set;
    for (const std::string& path : paths) {
        std::vector<std::string> files;
        std::error_code ignored;
        if (fs::is_directory(path, ignored))
            GD_TRY(addFolder(files, path, 0));
        else
            files.push_back(path);
        std::sort(files.begin(), files.end());
        for (const std::string& file : files)
            addFile(set, file);
    }
    std::sort(
        set.rules.begin(), set.rules.end(), [](const RuleFile& a, const RuleFile& b) { return a.id < b.id; });
    return set;
}

} // namespace gd::rules
