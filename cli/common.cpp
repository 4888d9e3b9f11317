// SPDX-License-Identifier: Apache-2.0
#include "cli/common.h"

#include "analyzer/base/text.h"
#include "cli/file_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gd::cli {
namespace {

// CLI11's words on one line, without a full stop.
std::string oneSentence(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    while (!text.empty() && (text.back() == '.' || text.back() == ' '))
        text.pop_back();
    return text;
}

bool writeAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

bool g_readerLeft = false;

} // namespace

void note(std::string_view command, std::string_view sentence) {
    std::string line = "graphdoctor";
    if (!command.empty())
        line += fmt::format(" {}", command);
    line += fmt::format(": {}\n", base::escapeForTerminal(sentence));
    writeAll(STDERR_FILENO, line);
}

int refuse(std::string_view command, const Error& error) {
    note(command, error.message);
    return base::exitStatus(error.code);
}

std::optional<int> parseArguments(CLI::App& app, const Arguments& arguments) {
    Arguments reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(reversed);
        return std::nullopt;
    } catch (const CLI::CallForHelp&) {
        // Help of the subcommand that was asked, such as `rules test --help`.
        const CLI::App* asked = &app;
        while (!asked->get_subcommands().empty())
            asked = asked->get_subcommands().front();
        return print("", asked->help()) ? kOk : kUnusable;
    } catch (const CLI::ParseError& error) {
        const std::string name = app.get_name();
        note("", fmt::format("{}: {}; see graphdoctor help {}", name, oneSentence(error.what()), name));
        return kUsage;
    }
}

int runCommand(CLI::App& app, const Arguments& arguments, std::string_view command,
    const std::function<Result<int>()>& work) {
    if (const auto stop = parseArguments(app, arguments))
        return *stop;
    const Result<int> status = work();
    return status ? *status : refuse(command, status.error());
}

void describe(CLI::App& app, std::string_view name, std::string_view summary, std::string_view examples) {
    app.name(std::string(name));
    std::string first(summary);
    if (!first.empty())
        first[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(first[0])));
    app.description(fmt::format("{}.", first));
    app.footer(fmt::format("\nExamples:\n{}", examples));
    app.get_formatter()->column_width(34);
    app.set_help_flag("-h,--help", "print this help and exit");
}

bool print(std::string_view command, std::string_view text) {
    if (writeAll(STDOUT_FILENO, text))
        return true;
    g_readerLeft = errno == EPIPE;
    if (g_readerLeft)
        return true;
    note(command, fmt::format("stdout cannot be written: {}", std::strerror(errno)));
    return false;
}

bool readerLeft() {
    return g_readerLeft;
}

Result<void> checkNotInput(const std::string& output, const std::vector<std::string>& inputs) {
    std::error_code error;
    for (const std::string& input : inputs) {
        if (std::filesystem::equivalent(output, input, error))
            return fail(
                ErrorCode::usage, "{} is to be read and to be written; another file is expected", output);
    }
    return {};
}

Result<void> writeFile(const std::string& path, std::string_view text) {
    GD_TRY_ASSIGN(FileWriter file, FileWriter::open(path));
    GD_TRY(file.write(text));
    return file.finish();
}

bool wantsColor(std::string_view mode, int fd) {
    if (mode != "auto")
        return mode == "always";
    const char* noColor = std::getenv("NO_COLOR"); // any value but the empty one, see no-color.org
    const char* terminal = std::getenv("TERM");
    return (noColor == nullptr || *noColor == '\0') && isatty(fd) == 1
        && (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

void addColorOption(CLI::App& app, std::string& color) {
    app.add_option("--color", color, "auto, always or never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->capture_default_str();
}

void addTraceOutput(CLI::App& app, std::string& output, bool& replace) {
    app.add_option("-o,--output", output, "the trace to write (.gdt)")->required()->type_name("FILE");
    app.add_flag("--force", replace, "overwrite the file when it exists");
}

Installation installation() {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::filesystem::path prefix = program.parent_path().parent_path();
    return {prefix / "share" / "graphdoctor" / "rules",
        prefix / "lib" / "graphdoctor" / "libgraphdoctor_collector.so",
        prefix / "lib" / "graphdoctor" / "python"};
}

} // namespace gd::cli
