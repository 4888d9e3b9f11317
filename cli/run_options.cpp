// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include "analyzer/base/time.h"
#include "cli/common.h"

#include <algorithm>
#include <regex>

namespace gd::cli {
namespace {

constexpr std::string_view kExamples
    = "  graphdoctor run -- python3 train.py\n"
      "  graphdoctor run -o job-%h.gdt -- torchrun --nproc-per-node=8 train.py\n"
      "  srun graphdoctor run -o job-%q{SLURM_JOB_ID}-%h.gdt -- python3 train.py\n"
      "  graphdoctor run --fail-on error --report junit=gd.xml --report sarif=gd.sarif -- ./test-step\n"
      "  eval \"$(graphdoctor run --print-env)\"\n\n"
      "-o takes %h host, %p pid, %r rank, %q{VAR} a variable, %% a percent sign.\n"
      "The job keeps its stdin, stdout and stderr; the text report goes to stderr after it.\n\n"
      "Exit status: the command's own, 128 + n when signal n ended it, 127 not found, 126 not\n"
      "executable, 2 wrong usage, 3 the output was refused before the start. With --fail-on and\n"
      "a command that succeeded: 90 findings met, 91 the gate could not be evaluated.";

// Options of later versions: known, so that the refusal can say so.
constexpr const char* kLater[] = {"--delay", "--duration", "--steps", "--window", "--keep-last",
    "--with-profiler", "--framework-hooks", "--self-check"};

Result<void> check(RunOptions& options) {
    GD_TRY_ASSIGN(options.reports, parseReportWishes(options.reportTexts));
    GD_TRY_ASSIGN(options.maxSizeBytes, base::parseBytes(options.maxSize).context("--max-size"));
    if (!options.stepRange.empty()) {
        try {
            const std::regex checked(options.stepRange);
        } catch (const std::regex_error& error) {
            return fail(ErrorCode::usage, "--step-range {}: not a regular expression: {}", options.stepRange,
                error.what());
        }
    }
    if (options.printEnv && !options.command.empty())
        return fail(ErrorCode::usage, "--print-env prints variables and runs no command");
    if (!options.printEnv && options.command.empty())
        return fail(ErrorCode::usage, "a command is expected: graphdoctor run [OPTIONS] -- COMMAND …");
    return {};
}

void addOptions(CLI::App& app, RunOptions& options) {
    app.add_option(
           "-o,--output", options.output, "the trace to write; default: graphdoctor-<job id or time>-%h.gdt")
        ->type_name("FILE");
    app.add_flag("--force", options.force, "overwrite the trace when it exists");
    app.add_option("--level", options.level, "light, standard or full: how much device activity is recorded")
        ->check(CLI::IsMember({"light", "standard", "full"}))
        ->capture_default_str();
    app.add_option("--step-range", options.stepRange, "steps are the ranges whose name matches")
        ->type_name("REGEX");
    app.add_option("--max-size", options.maxSize, "events a process may write to the spool; then it stops")
        ->type_name("SIZE")
        ->capture_default_str();
    app.add_flag(
        "--redact", options.redact, "replace host names, user names and path prefixes by stable tokens");
    addJudgeOptions(app, options.judge);
    app.add_option("--report", options.reportTexts,
           fmt::format("a report ({}) to stderr, =FILE to a file, =- to stdout; may be repeated",
               report::kFormatNames))
        ->type_name("FORMAT[=FILE]")
        ->allow_extra_args(false);
    app.add_flag("--no-report", options.noReport, "no text report on stderr");
    app.add_option(
           "--fail-on", options.failOn, "the gate: fail when a finding has this severity or a higher one")
        ->check(CLI::IsMember({"info", "warning", "error", "never"}));
    app.add_flag("--print-env", options.printEnv,
        "print the variables that make a process record, for pods and ssh launchers");
}

} // namespace

ParsedRun parseRun(const std::vector<std::string>& arguments) {
    ParsedRun parsed;
    RunOptions& options = parsed.options;
    CLI::App app;
    describe(app, "run", "run a command, record it and report what was found", kExamples);
    addOptions(app, options);
    std::vector<std::string> unused;
    std::vector<CLI::Option*> later;
    for (const char* name : kLater)
        later.push_back(app.add_option(name, unused, "")->group("")->expected(0, 1));
    // What follows the first "--", or the first word that is no option, belongs to the command.
    app.prefix_command();
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    parsed.stop = parseArguments(app, {arguments.begin(), dashes});
    if (parsed.stop)
        return parsed;
    options.command = app.remaining();
    if (!options.command.empty() && options.command.front().starts_with('-')) {
        note("run", fmt::format("{} is no option of it; see graphdoctor help run", options.command.front()));
        parsed.stop = kUsage;
        return parsed;
    }
    // A "--" behind the command's own name is one of its arguments.
    const auto rest = dashes != arguments.end() && options.command.empty() ? dashes + 1 : dashes;
    options.command.insert(options.command.end(), rest, arguments.end());
    for (std::size_t i = 0; i < later.size(); ++i) {
        if (later[i]->count() > 0) {
            note("run", fmt::format("{} is not in this version", kLater[i]));
            parsed.stop = kUsage;
            return parsed;
        }
    }
    if (const auto good = check(options); !good)
        parsed.stop = refuse("run", good.error());
    return parsed;
}

} // namespace gd::cli
