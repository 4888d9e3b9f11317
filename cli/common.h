// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "cli/command.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gd::cli {

// Exit statuses of every command but `run` (there: the job's, 126, 127, 128 + signal, 90 and 91).
inline constexpr int kOk = 0;
inline constexpr int kFindings = 1;
inline constexpr int kUsage = 2;
inline constexpr int kUnusable = 3; // a trace or file cannot be read or written

// One sentence on stderr, "graphdoctor <command>: …." with control characters escaped.
void note(std::string_view command, std::string_view sentence);
// The same for an error; returns its exit status.
int refuse(std::string_view command, const Error& error);

// Reads the arguments into the app. A value: stop with this status (help was printed, or the usage is wrong
// and was told in one sentence).
std::optional<int> parseArguments(CLI::App& app, const Arguments& arguments);
// Reads the arguments and does the work of the command; returns its exit status.
int runCommand(CLI::App& app, const Arguments& arguments, std::string_view command,
    const std::function<Result<int>()>& work);
// An app with our help layout, "graphdoctor <name>"; `examples` stands below the options.
void describe(CLI::App& app, std::string_view name, std::string_view summary, std::string_view examples);

// Writes to stdout; false (with a note) when that fails, such as on a full disk. A closed pipe is no failure.
bool print(std::string_view command, std::string_view text);
// Whether the reader of stdout has gone: there is no use in writing more.
bool readerLeft();
// Fails when the file to write is one of those that are read.
Result<void> checkNotInput(const std::string& output, const std::vector<std::string>& inputs);
// Writes a whole file or nothing, as FileWriter does.
Result<void> writeFile(const std::string& path, std::string_view text);

// --color=auto|always|never, NO_COLOR and whether the stream is a terminal.
bool wantsColor(std::string_view mode, int fd);
// The option --color.
void addColorOption(CLI::App& app, std::string& color);
// -o and --force of a command that writes a trace.
void addTraceOutput(CLI::App& app, std::string& output, bool& replace);

// Where the parts of this installation lie, found from the program's own place: <prefix>/bin/graphdoctor.
struct Installation {
    std::filesystem::path rules; // <prefix>/share/graphdoctor/rules
    std::filesystem::path collector; // <prefix>/lib/graphdoctor/libgraphdoctor_collector.so
    std::filesystem::path python; // <prefix>/lib/graphdoctor/python, an entry for PYTHONPATH
};
Installation installation();

} // namespace gd::cli
