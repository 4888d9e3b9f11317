// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gd::cli {

using Arguments = std::vector<std::string>;

// One subcommand. `run` gets what follows its name and returns the exit status; an argument "--help" prints
// its help.
struct Command {
    std::string_view name;
    std::string_view summary;
    int (*run)(const Arguments& arguments);
};

// In the order of the help.
std::span<const Command> commands();
const Command* findCommand(std::string_view name);
// The command a user may have meant by a word that is none.
std::optional<std::string_view> nearestCommand(std::string_view word);

int cmdRun(const Arguments& arguments);
int cmdCtl(const Arguments& arguments);
int cmdView(const Arguments& arguments);
int cmdReport(const Arguments& arguments);
int cmdCompare(const Arguments& arguments);
int cmdExport(const Arguments& arguments);
int cmdImport(const Arguments& arguments);
int cmdMerge(const Arguments& arguments);
int cmdRules(const Arguments& arguments);
int cmdQuery(const Arguments& arguments);
int cmdEnv(const Arguments& arguments);

} // namespace gd::cli
