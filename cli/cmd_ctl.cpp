// SPDX-License-Identifier: Apache-2.0
#include "analyzer/base/time.h"
#include "analyzer/report/writer.h"
#include "cli/analysis.h"
#include "cli/common.h"
#include "cli/make_trace.h"
#include "cli/report_options.h"
#include "cli/run/control.h"
#include "cli/run/find_run.h"
#include "cli/run/flush.h"
#include "cli/run/output_name.h"
#include "cli/run/spool_folder.h"
#include "cli/scratch_folder.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace gd::cli {
namespace {

using raw::RecordingLevel;

constexpr std::string_view kCtlExamples
    = "  graphdoctor ctl job.gdt status\n"
      "  graphdoctor ctl 4711 stop          the job goes on, only its history is kept\n"
      "  graphdoctor ctl job.gdt start      from now on it is recorded again\n"
      "  graphdoctor ctl job.gdt report     what is wrong with it, as far as is known now\n\n"
      "RUN is the trace that the run will write, the pid of graphdoctor run or of a process it\n"
      "records, or the spool folder.\n\n"
      "stop keeps the history (captures, graphs, allocations), without which later findings would\n"
      "guess; with --off nothing at all is recorded and only CUPTI stays in the process. A job that\n"
      "was stopped and started again states in its report what recording cost it.";

// A process sees the request within 50 ms, fetches what the device holds and writes it: only one that does
// not run takes longer.
constexpr std::chrono::seconds kLongestFlush{10};

struct CtlWish {
    std::string run;
    std::string action;
    std::string format = "text";
    std::string color = "auto";
    bool off = false;
    JudgeOptions judge;
};

std::string stateText(const run::Control& control) {
    const std::string_view level = run::levelName(control.level());
    switch (control.level()) {
    case RecordingLevel::Off:
        return "off: nothing is recorded";
    case RecordingLevel::History:
        return "stopped: only the history is recorded";
    default:
        if (!control.isManual() && !control.windows().empty())
            return fmt::format("level {} within {}, else the history", level, control.windows());
        return control.window() == 0 ? fmt::format("on, level {}", level)
                                     : fmt::format("on, level {}, window {}", level, control.window());
    }
}

std::string statusText(const run::FoundRun& found, const run::Control& control) {
    std::string out;
    for (const run::RunEntry& entry : found.runs)
        out += fmt::format("run        {} (pid {})\n", entry.output, entry.pid);
    out += fmt::format("spool      {}\nrecording  {}\n", found.spool.string(), stateText(control));
    for (const run::SegmentStem& segment : run::segmentsIn(found.spool)) {
        const bool alive
            = std::find(found.processes.begin(), found.processes.end(), segment.pid) != found.processes.end();
        out += fmt::format("process    {} on {}, {} written, {}\n", segment.pid, segment.host,
            base::formatBytes(static_cast<std::int64_t>(segment.bytes)), alive ? "running" : "ended");
    }
    return out;
}

void flushNow(run::Control& control, const run::FoundRun& found) {
    for (const std::int64_t pid :
        run::flush(control, found.spool, run::hostName(), run::readVariable, kLongestFlush))
        note("ctl", fmt::format("process {} does not answer: what it holds back is not written yet", pid));
}

Result<int> reportNow(const CtlWish& wish, const run::FoundRun& found, run::Control& control) {
    GD_TRY_ASSIGN(const report::Format format, reportFormat(wish.format));
    flushNow(control, found);
    GD_TRY_ASSIGN(const ScratchFolder scratch, ScratchFolder::make("ctl"));
    TraceWish trace;
    trace.spools = {found.spool};
    trace.output = scratch.file("now.gdt");
    trace.stepRange = control.stepRange();
    trace.level = run::levelName(control.wantedLevel());
    GD_TRY(makeTrace(trace));
    GD_TRY_ASSIGN(report::Report report, judge(trace.output, wish.judge));
    if (!found.runs.empty())
        report.tracePath = found.runs.front().output;
    report::WriteOptions options;
    options.color = wantsColor(wish.color, STDOUT_FILENO);
    return print("ctl", report::write(format, report, options)) ? kOk : kUnusable;
}

Result<int> control(const CtlWish& wish) {
    if (wish.off && wish.action != "stop")
        return fail(ErrorCode::usage, "--off goes with stop, not with {}", wish.action);
    GD_TRY_ASSIGN(
        const auto found, run::findRun(run::userFolder(run::readVariable), wish.run, run::hostName()));
    GD_TRY_ASSIGN(auto page, run::Control::open(found.spool));
    if (wish.action == "status")
        return print("ctl", statusText(found, page)) ? kOk : kUnusable;
    if (wish.action == "report")
        return reportNow(wish, found, page);
    if (wish.action == "flush") {
        flushNow(page, found);
    } else if (wish.action == "start") {
        page.start();
    } else {
        page.stop(wish.off ? RecordingLevel::Off : RecordingLevel::History);
    }
    if (wish.action != "flush")
        note("ctl", fmt::format("recording is {}", stateText(page)));
    return kOk;
}

} // namespace

int cmdCtl(const Arguments& arguments) {
    CLI::App app;
    describe(app, "ctl", "switch the recording of a running job on and off, look into it", kCtlExamples);
    CtlWish wish;
    app.add_option("RUN", wish.run, "the running job")->required();
    app.add_option("ACTION", wish.action, "start, stop, flush, status or report")
        ->required()
        ->check(CLI::IsMember({"start", "stop", "flush", "status", "report"}));
    app.add_flag("--off", wish.off, "stop: keep no history either");
    app.add_option("--format", wish.format, fmt::format("report: {}", report::kFormatNames))
        ->capture_default_str();
    addJudgeOptions(app, wish.judge);
    addColorOption(app, wish.color);
    return runCommand(app, arguments, "ctl", [&] { return control(wish); });
}

} // namespace gd::cli
