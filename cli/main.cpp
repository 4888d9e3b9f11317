// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/common.h"

#include <csignal>
#include <exception>
#include <string>

namespace gd::cli {
namespace {

std::string overview() {
    std::string out = "GraphDoctor finds out why CUDA graphs fail, corrupt results or do not pay off.\n\n"
                      "Usage: graphdoctor COMMAND [OPTIONS]\n"
                      "       graphdoctor run -- COMMAND …\n\nCommands:\n";
    for (const Command& command : commands())
        out += fmt::format("  {:<10}{}\n", command.name, command.summary);
    out += "  help      print this, or the help of one command\n\n"
           "Options:\n  --version   print the version\n  --help      print this help\n\n"
           "Exit status: 0 fine, 1 findings at or above --fail-on, 2 wrong usage, 3 a trace or\n"
           "file cannot be read or written; run: the command's own (see graphdoctor help run).\n";
    return out;
}

int unknownCommand(const std::string& word) {
    std::string sentence = fmt::format("{} is not a command", word);
    if (const auto near = nearestCommand(word))
        sentence += fmt::format("; did you mean {}?", *near);
    else
        sentence += "; graphdoctor help lists the commands";
    note("", sentence);
    return kUsage;
}

int help(const Arguments& arguments) {
    if (arguments.size() < 2)
        return print("help", overview()) ? kOk : kUnusable;
    const Command* command = findCommand(arguments[1]);
    if (command == nullptr)
        return unknownCommand(arguments[1]);
    Arguments rest(arguments.begin() + 2, arguments.end());
    rest.emplace_back("--help");
    return command->run(rest);
}

int dispatch(const Arguments& arguments) {
    if (arguments.empty()) {
        note("", "a command is expected; graphdoctor help lists them");
        return kUsage;
    }
    const std::string& word = arguments[0];
    if (word == "--version" || word == "-V")
        return print("", fmt::format("graphdoctor {}\n", GD_VERSION)) ? kOk : kUnusable;
    if (word == "help" || word == "--help" || word == "-h")
        return help(arguments);
    const Command* command = findCommand(word);
    if (command == nullptr)
        return unknownCommand(word);
    return command->run(Arguments(arguments.begin() + 1, arguments.end()));
}

} // namespace
} // namespace gd::cli

int main(int argc, char** argv) {
    // A reader that goes away (report | head) is told by write(), not by a signal.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return gd::cli::dispatch(gd::cli::Arguments(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        gd::cli::note("", fmt::format("internal error: {}", error.what()));
        return gd::cli::kUnusable;
    }
}
