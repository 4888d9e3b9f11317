// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/common.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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
    const auto near = nearestCommand(word);
    note("",
        near ? fmt::format("{} is not a command; did you mean {}?", word, *near)
             : fmt::format("{} is not a command; graphdoctor help lists the commands", word));
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

// A program started with a closed stream would get that number for the next file it opens, and write its
// notes or its report into a trace. Whoever reads or writes the stand-in is refused, as with the closed one;
// a command that is run sees the stream closed as its parent left it.
void holdClosedStreams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (::open("/dev/null", mode | O_CLOEXEC) < 0)
            return;
    }
}

} // namespace
} // namespace gd::cli

int main(int argc, char** argv) {
    gd::cli::holdClosedStreams();
    // A reader that goes away (report | head) is told by write(), not by a signal.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return gd::cli::dispatch(gd::cli::Arguments(argv + 1, argv + argc));
    } catch (const std::exception& error) {
        gd::cli::note("", fmt::format("internal error: {}", error.what()));
        return gd::cli::kUnusable;
    }
}
