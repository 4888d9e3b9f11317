// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_set.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace gd::rules {
namespace {

namespace fs = std::filesystem;

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
Result<void> listFolder(std::vector<std::string>& files, const std::string& folder, int depth) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        std::error_code ignored;
        if (depth == 0 && it->is_directory(ignored))
            GD_TRY(listFolder(files, it->path().string(), depth + 1));
        else if (it->path().extension() == ".sql")
            files.push_back(it->path().string());
    }
    if (error)
        return fail(ErrorCode::io, "cannot read the folder {} of rules: {}", folder, error.message());
    return {};
}

template <class List> void addList(List& list, const std::string& path, std::vector<Error>& broken) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
        return;
    Result<List> loaded = List::load(path);
    if (loaded)
        list.append(*loaded);
    else
        broken.push_back(loaded.error());
}

} // namespace

Result<RuleSet> loadRules(std::span<const std::string> paths) {
    RuleSet set;
    for (const std::string& path : paths) {
        std::vector<std::string> files;
        std::error_code error;
        if (fs::is_directory(path, error)) {
            GD_TRY(listFolder(files, path, 0));
            addList(set.precedence, path + "/precedence.txt", set.broken);
            addList(set.frames, path + "/frames.txt", set.broken);
        } else if (fs::exists(path, error)) {
            files.push_back(path);
        } else {
            return fail(ErrorCode::io, "cannot open {}: expected a rule or a folder of rules", path);
        }
        std::sort(files.begin(), files.end());
        for (const std::string& file : files)
            addFile(set, file);
    }
    std::sort(
        set.rules.begin(), set.rules.end(), [](const RuleFile& a, const RuleFile& b) { return a.id < b.id; });
    return set;
}

} // namespace gd::rules
