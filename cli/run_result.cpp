// SPDX-License-Identifier: Apache-2.0
#include "cli/run_result.h"

#include "analyzer/report/phrases.h"
#include "analyzer/report/writer.h"
#include "cli/common.h"
#include "cli/make_trace.h"
#include "cli/run/job_identity.h"
#include "cli/run/spool_folder.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace gd::cli {
namespace {

constexpr int kGateMet = 90;
constexpr int kGateUnknown = 91;

std::string recoveryCommand(const RunResult& result) {
    std::vector<std::string> words = {"graphdoctor", "import", result.spool};
    if (std::filesystem::is_directory(result.remoteSpool))
        words.push_back(result.remoteSpool);
    words.insert(words.end(), {"-o", result.output});
    return run::shellCommand(words);
}

// Status when nothing can be said about findings.
int withoutReport(const RunOptions& options, const RunResult& result) {
    return options.gate() && result.end.status() == 0 ? kGateUnknown : result.end.status();
}

std::vector<std::string> sourcesOf(const std::string& variable) {
    if (variable == "CUDA_INJECTION64_PATH")
        return {"callbacks", "launch_callbacks", "node_params", "graph_trace", "node_activity",
            "eager_kernel_activity", "memory", "sync"};
    if (variable == "NVTX_INJECTION64_PATH")
        return {"nvtx", "nccl_nvtx"};
    return {"nccl_plugin"};
}

TraceWish traceWish(const RunOptions& options, const RunResult& result) {
    TraceWish wish;
    wish.spools = {result.spool};
    if (std::filesystem::is_directory(result.remoteSpool))
        wish.spools.emplace_back(result.remoteSpool);
    wish.output = result.output;
    wish.replace = options.force;
    wish.mayRename = options.output.empty();
    wish.redact = options.redact;
    wish.stepRange = options.stepRange;
    wish.level = options.level;
    wish.windows = options.window.empty() ? options.windows : "--window " + options.window;
    importer::CommandOutcome command;
    // Arguments are told apart by NUL, so that one with spaces stays one.
    for (const std::string& word : options.command)
        command.commandLine += (command.commandLine.empty() ? "" : std::string(1, '\0')) + word;
    command.pid = static_cast<std::uint32_t>(result.end.pid);
    if (result.end.kind == run::ChildEnd::Kind::signalled)
        command.exitSignal = result.end.code;
    else
        command.exitStatus = result.end.code;
    wish.command = std::move(command);
    wish.ends = result.ends;
    for (const run::KeptVariable& kept : result.kept)
        wish.issues.push_back({"variable_kept",
            fmt::format(
                "{} was set by another tool and was kept: {} were not recorded", kept.name, kept.lost),
            sourcesOf(kept.name)});
    return wish;
}

std::string reportText(
    const report::Report& report, report::Format format, const report::WriteOptions& write) {
    if (format == report::Format::text && !report.runtimeSeen)
        return fmt::format(
            "graphdoctor run: {}: nothing to report: {}\n", report.tracePath, report::kNothingRecorded);
    return report::write(format, report, write);
}

// Every report is tried; the first trouble decides.
Result<void> writeReports(const RunOptions& options, const report::Report& report) {
    report::WriteOptions write;
    if (!options.failOn.empty())
        write.failOn = options.gate();
    std::vector<ReportWish> wishes = options.reports;
    const bool toStderr
        = std::any_of(wishes.begin(), wishes.end(), [](const ReportWish& w) { return w.file.empty(); });
    if (!toStderr && !options.noReport)
        wishes.push_back({report::Format::text, {}});
    std::optional<Error> trouble;
    for (const ReportWish& wish : wishes) {
        write.color = wish.file.empty() && wantsColor("auto", STDERR_FILENO);
        const std::string text = reportText(report, wish.format, write);
        if (wish.file.empty()) {
            [[maybe_unused]] const auto written = std::fwrite(text.data(), 1, text.size(), stderr);
        } else if (wish.file == "-") {
            if (!print("run", text))
                trouble = trouble.value_or(Error(ErrorCode::io, "stdout cannot be written"));
        } else if (const auto done = writeFile(wish.file, text); !done) {
            trouble = trouble.value_or(done.error());
        }
    }
    if (trouble)
        return *trouble;
    return {};
}

int gateStatus(const RunOptions& options, const RunResult& result, const report::Report& report) {
    const auto severity = options.gate();
    if (!severity || result.end.status() != 0)
        return result.end.status();
    if (const std::int64_t count = report::countAtLeast(report, *severity); count > 0) {
        note("run", fmt::format("{} at or above {}", report::plural(count, "finding"), options.failOn));
        return kGateMet;
    }
    if (const std::string why = gateTrouble(report, *severity); !why.empty()) {
        note("run", fmt::format("--fail-on {} cannot be judged: {}", options.failOn, why));
        return kGateUnknown;
    }
    return 0;
}

} // namespace

std::string gateTrouble(const report::Report& report, rules::Severity severity) {
    if (!report.runtimeSeen)
        return "the command never used a runtime";
    for (const rules::RuleOutcome& rule : report.rules) {
        if (rule.failed && rule.severity >= severity)
            return fmt::format("{} failed: {}", rule.id, rule.reason);
    }
    const auto lost = std::find_if(report.issues.begin(), report.issues.end(),
        [](const report::Issue& i) { return i.severity != "info"; });
    if (lost == report.issues.end())
        return {};
    for (const rules::RuleOutcome& rule : report.rules) {
        if (rule.outcome == rules::Outcome::notEvaluated && rule.severity >= severity)
            return fmt::format(
                "{} was not evaluated ({}) and the trace lost data: {}", rule.id, rule.reason, lost->detail);
    }
    return {};
}

run::InterruptExit interruptGuard(const RunOptions& options, const RunResult& result) {
    return run::InterruptExit(
        fmt::format("\ngraphdoctor run: no report; {} makes the trace\n", recoveryCommand(result)),
        unfinishedFiles(result.output), withoutReport(options, result));
}

int reportResult(const RunOptions& options, const RunResult& result) {
    const std::string recovery = recoveryCommand(result);
    const int fallback = withoutReport(options, result);
    const auto trace = makeTrace(traceWish(options, result));
    if (!trace) {
        std::error_code error;
        if (!std::filesystem::exists(result.spool, error)) {
            note("run",
                fmt::format("the recording is lost: {} was removed while the command ran", result.spool));
            return fallback;
        }
        note("run", trace.error().message);
        note("run", fmt::format("the recording is kept; {} makes the trace", recovery));
        return fallback;
    }
    run::markImported(result.spool);
    run::removeSpool(result.spool, run::readVariable);
    if (std::filesystem::is_directory(result.remoteSpool))
        run::removeSpool(result.remoteSpool, run::readVariable);
    if (options.noReport && options.reports.empty() && !options.gate()) {
        if (!options.selfCheck)
            note("run", fmt::format("wrote {}", trace->trace.string()));
        return result.end.status();
    }
    const auto report = judge(trace->trace.string(), options.judge);
    if (!report) {
        note("run", report.error().message);
        return fallback;
    }
    if (const auto written = writeReports(options, *report); !written) {
        note("run", written.error().message);
        return fallback;
    }
    return gateStatus(options, result, *report);
}

} // namespace gd::cli
