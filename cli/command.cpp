// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <algorithm>
#include <numeric>

namespace gd::cli {
namespace {

constexpr Command kCommands[] = {
    {"run", "run a command, record it and report what was found", cmdRun},
    {"ctl", "switch the recording of a running job on and off, look into it", cmdCtl},
    {"report", "report what a trace shows", cmdReport},
    {"compare", "compare two traces step by step", cmdCompare},
    {"view", "look at a trace on a timeline", cmdView},
    {"import", "make a trace of what a run left in its spool folder", cmdImport},
    {"export", "write a trace in the format of another viewer", cmdExport},
    {"merge", "make one trace of those of several hosts or ranks of one job", cmdMerge},
    {"rules", "list, show and test the rules", cmdRules},
    {"query", "ask a trace in SQL", cmdQuery},
    {"env", "show what this machine offers to a recording", cmdEnv},
};

// Edits that turn one word into the other.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

} // namespace

std::span<const Command> commands() {
    return kCommands;
}

const Command* findCommand(std::string_view name) {
    const auto* const it = std::find_if(
        std::begin(kCommands), std::end(kCommands), [&](const Command& c) { return c.name == name; });
    return it == std::end(kCommands) ? nullptr : it;
}

std::optional<std::string_view> nearestCommand(std::string_view word) {
    const auto* const best = std::min_element(std::begin(kCommands), std::end(kCommands),
        [&](const Command& a, const Command& b) { return distance(word, a.name) < distance(word, b.name); });
    // Further away than a third of the word it is another word, not a slip; a short one may have one edit.
    const std::size_t limit = std::max<std::size_t>(1, std::max(word.size(), best->name.size()) / 3);
    return distance(word, best->name) <= limit ? std::optional(best->name) : std::nullopt;
}

} // namespace gd::cli
