// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include "analyzer/base/time.h"
#include "cli/common.h"
#include "cli/run/environment.h"

#include <regex.h>

#include <algorithm>
#include <limits>
#include <regex>

namespace gd::cli {
namespace {

constexpr std::string_view kExamples
    = "  graphdoctor run -- python3 train.py\n"
      "  graphdoctor run -o job-%h.gdt -- torchrun --nproc-per-node=8 train.py\n"
      "  srun graphdoctor run -o job-%q{SLURM_JOB_ID}-%h.gdt -- python3 train.py\n"
      "  graphdoctor run --step-range '^train_step' --steps 100:120 -- python3 train.py\n"
      "  graphdoctor run --delay 5min --duration 30s -- python3 train.py\n"
      "  graphdoctor run --fail-on error --report junit=gd.xml --report sarif=gd.sarif -- ./test-step\n"
      "  eval \"$(graphdoctor run --print-env)\"\n"
      "  graphdoctor run --self-check\n\n"
      "-o takes %h host, %p pid, %r rank, %q{VAR} a variable, %% a percent sign.\n"
      "Outside --delay, --duration, --steps and --window the history goes on (captures, graphs,\n"
      "allocations, calls), device activity is off; graphdoctor ctl does the same by hand.\n"
      "The job keeps its stdin, stdout and stderr; the text report goes to stderr after it.\n\n"
      "Exit status: the command's own, 128 + n when signal n ended it, 127 not found, 126 not\n"
      "executable, 2 wrong usage, 3 the output was refused before the start. With --fail-on and\n"
      "a command that succeeded: 90 findings met, 91 the gate could not be evaluated. --self-check: 0\n"
      "everything that this machine has is recorded, 1 something is not, 3 no trace came of it.";

// What the collector reads: it knows POSIX patterns only.
Result<void> checkLivePattern(const char* option, const std::string& text) {
    regex_t pattern = {};
    const std::string posix = run::posixPattern(text);
    if (regcomp(&pattern, posix.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
        return fail(ErrorCode::usage,
            "{} {}: while the job runs, ranges are found by POSIX patterns, and this is none", option, text);
    regfree(&pattern);
    return {};
}

Result<std::string> windowsFrom(const RunOptions& options) {
    if (!options.window.empty()) {
        if (!options.steps.empty() || !options.delay.empty() || !options.duration.empty())
            return fail(ErrorCode::usage, "--window excludes --steps, --delay and --duration");
        GD_TRY(checkLivePattern("--window", options.window));
        return std::string("range");
    }
    if (!options.steps.empty()) {
        if (options.stepRange.empty())
            return fail(ErrorCode::usage,
                "--steps needs --step-range REGEX: while the job runs, only its ranges tell where a step "
                "ends");
        if (!options.delay.empty() || !options.duration.empty())
            return fail(ErrorCode::usage, "--steps and --delay or --duration exclude each other");
        GD_TRY_ASSIGN(const auto steps, parseSteps(options.steps));
        GD_TRY(checkLivePattern("--step-range", options.stepRange));
        const bool open = steps.second == std::numeric_limits<std::int64_t>::max();
        return open ? fmt::format("steps={}", steps.first)
                    : fmt::format("steps={}:{}", steps.first, steps.second);
    }
    std::string out;
    if (!options.delay.empty()) {
        GD_TRY_ASSIGN(const std::int64_t ns, base::parseDuration(options.delay).context("--delay"));
        out = fmt::format("delay={}", ns);
    }
    if (!options.duration.empty()) {
        GD_TRY_ASSIGN(const std::int64_t ns, base::parseDuration(options.duration).context("--duration"));
        if (ns == 0)
            return fail(ErrorCode::usage, "--duration {}: nothing would be recorded", options.duration);
        out += fmt::format("{}duration={}", out.empty() ? "" : ",", ns);
    }
    return out;
}

// Smaller than a few of the pieces in which the collector writes, a limit would leave nothing to look at.
constexpr std::int64_t kLeastBytes = 1'000'000;

Result<std::int64_t> sizeFrom(const char* option, const std::string& text) {
    GD_TRY_ASSIGN(const std::int64_t bytes, base::parseBytes(text).context("{}", option));
    if (bytes < kLeastBytes)
        return fail(ErrorCode::usage, "{} {}: at least 1MB is needed to keep anything useful", option, text);
    return bytes;
}

// What a process may leave on disk, as raw::kEnvLimits wants it.
Result<std::string> limitsFrom(const RunOptions& options) {
    GD_TRY_ASSIGN(const std::int64_t size, sizeFrom("--max-size", options.maxSize));
    std::string out = fmt::format("size={}", size);
    if (options.keepLast.empty())
        return out;
    if (const auto ns = base::parseDuration(options.keepLast)) {
        if (*ns == 0)
            return fail(ErrorCode::usage, "--keep-last {}: nothing would be kept", options.keepLast);
        return out + fmt::format(",keep_ns={}", *ns);
    }
    if (!base::parseBytes(options.keepLast))
        return fail(ErrorCode::usage,
            "--keep-last {}: a duration such as 60s or a size such as 256MB is expected", options.keepLast);
    GD_TRY_ASSIGN(const std::int64_t keep, sizeFrom("--keep-last", options.keepLast));
    return out + fmt::format(",keep={}", keep);
}

// How long each stretch without device activity is, in ns; empty = none.
Result<std::string> overheadFrom(const RunOptions& options) {
    const bool windowed = !options.windows.empty();
    if (options.measureOverhead == "off" || (options.measureOverhead == "auto" && windowed))
        return std::string();
    if (windowed)
        return fail(ErrorCode::usage,
            "--measure-overhead excludes --delay, --duration, --steps and --window: steps outside of them "
            "are what it compares with");
    if (options.measureOverhead == "auto")
        return std::string("2000000000");
    GD_TRY_ASSIGN(const std::int64_t ns,
        base::parseDuration(options.measureOverhead).context("--measure-overhead (auto, off or a duration)"));
    constexpr std::int64_t kLeastNs = 200'000'000; // the collector looks every 50 ms
    constexpr std::int64_t kMostNs = 3'600'000'000'000;
    if (ns < kLeastNs || ns > kMostNs)
        return fail(ErrorCode::usage, "--measure-overhead {}: auto, off or a duration of 200ms to 1h",
            options.measureOverhead);
    return fmt::format("{}", ns);
}

Result<void> check(RunOptions& options) {
    GD_TRY_ASSIGN(options.reports, parseReportWishes(options.reportTexts));
    GD_TRY_ASSIGN(options.limits, limitsFrom(options));
    if (!options.stepRange.empty()) {
        try {
            const std::regex checked(options.stepRange);
        } catch (const std::regex_error& error) {
            return fail(ErrorCode::usage, "--step-range {}: not a regular expression: {}", options.stepRange,
                error.what());
        }
    }
    GD_TRY_ASSIGN(options.windows, windowsFrom(options));
    GD_TRY_ASSIGN(options.overhead, overheadFrom(options));
    if (options.printEnv && !options.command.empty())
        return fail(ErrorCode::usage, "--print-env prints variables and runs no command");
    if (options.selfCheck && (options.printEnv || options.command.size() > 1))
        return fail(ErrorCode::usage, "--self-check takes one word after --, the Python to try");
    if (!options.printEnv && !options.selfCheck && options.command.empty())
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
    app.add_option("--delay", options.delay, "record only from this time after the start of the run on")
        ->type_name("DUR");
    app.add_option("--duration", options.duration, "record for this long, from --delay or the start on")
        ->type_name("DUR");
    app.add_option("--steps", options.steps,
           "record only these steps, counted from 0 in each process; needs --step-range")
        ->type_name("A:B");
    app.add_option(
           "--window", options.window, "record only while a range whose name matches is open on any thread")
        ->type_name("REGEX");
    app.add_option("--keep-last", options.keepLast,
           "keep only the latest events of each process: a time (60s) or a size (256MB); the history stays "
           "whole")
        ->type_name("DUR|SIZE");
    app.add_option(
           "--max-size", options.maxSize, "what a process may write to the spool; then its oldest events go")
        ->type_name("SIZE")
        ->capture_default_str();
    app.add_flag(
        "--redact", options.redact, "replace host names, user names and path prefixes by stable tokens");
    app.add_option("--framework-hooks", options.frameworkHooks,
           "auto: follow the blocks of PyTorch's caching allocator through its memory history; off: do not")
        ->check(CLI::IsMember({"auto", "off"}))
        ->capture_default_str();
    app.add_option("--with-profiler", options.withProfiler,
           "when PyTorch's profiler starts, yield CUPTI to it, or keep it (then it sees no CUDA activity)")
        ->check(CLI::IsMember({"yield", "keep"}))
        ->capture_default_str();
    app.add_option("--measure-overhead", options.measureOverhead,
           "auto: after a minute of replays, device activity is left out five times for 2 s, to measure what "
           "recording costs; a duration: for so long each time; off: never")
        ->type_name("auto|DUR|off")
        ->capture_default_str();
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
    app.add_flag("--self-check", options.selfCheck,
        "record a short built-in job and say of each source whether it works here; -- PYTHON names the "
        "interpreter to try");
}

// The built-in job is recorded in one way: what asks for another would be ignored.
Result<void> checkSelfCheck(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->count() > 0 && !option->check_lname("self-check"))
            return fail(ErrorCode::usage, "--self-check writes no trace and no report: it excludes {}",
                option->get_name(false, true));
    }
    return {};
}

} // namespace

ParsedRun parseRun(const std::vector<std::string>& arguments) {
    ParsedRun parsed;
    RunOptions& options = parsed.options;
    CLI::App app;
    describe(app, "run", "run a command, record it and report what was found", kExamples);
    addOptions(app, options);
    // What follows the first "--", or the first word that is no option, belongs to the command.
    app.prefix_command();
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    parsed.stop = parseArguments(app, {arguments.begin(), dashes});
    if (parsed.stop)
        return parsed;
    if (const auto good = options.selfCheck ? checkSelfCheck(app) : Result<void>(); !good) {
        parsed.stop = refuse("run", good.error());
        return parsed;
    }
    options.command = app.remaining();
    if (!options.command.empty() && options.command.front().starts_with('-')) {
        note("run", fmt::format("{} is no option of it; see graphdoctor help run", options.command.front()));
        parsed.stop = kUsage;
        return parsed;
    }
    // A "--" behind the command's own name is one of its arguments.
    const auto rest = dashes != arguments.end() && options.command.empty() ? dashes + 1 : dashes;
    options.command.insert(options.command.end(), rest, arguments.end());
    if (const auto good = check(options); !good)
        parsed.stop = refuse("run", good.error());
    return parsed;
}

} // namespace gd::cli
