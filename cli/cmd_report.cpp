// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/writer.h"
#include "cli/analysis.h"
#include "cli/common.h"
#include "cli/report_options.h"
#include "cli/run/output_name.h"

#include <unistd.h>

namespace gd::cli {
namespace {

constexpr std::string_view kReportExamples
    = "  graphdoctor report job.gdt\n"
      "  graphdoctor report job.gdt --format markdown -o report.md\n"
      "  graphdoctor report job.gdt --format sarif --fail-on warning > job.sarif\n"
      "  graphdoctor report job.gdt --rank 3 --steps 100:200\n"
      "  graphdoctor report job.gdt --rules my-rules --param GD301.gap_us=200";

struct WantedReport {
    std::vector<std::string> traces;
    std::string format = "text";
    std::string output;
    std::string failOn = "error";
    std::optional<std::int64_t> rank;
    std::string steps;
    std::string color = "auto";
    JudgeOptions judge;
};

Result<int> reportOn(WantedReport& wish) {
    if (wish.traces.size() > 1)
        return fail(ErrorCode::usage,
            "one trace is expected, not {}; graphdoctor merge makes one of those of several hosts",
            wish.traces.size());
    GD_TRY_ASSIGN(const report::Format format, reportFormat(wish.format));
    wish.judge.filter.rank = wish.rank;
    if (!wish.steps.empty()) {
        GD_TRY_ASSIGN(wish.judge.filter.steps, parseSteps(wish.steps));
    }
    if (!wish.output.empty()) {
        GD_TRY(run::checkReportTarget(wish.output));
        GD_TRY(checkNotInput(wish.output, wish.traces));
    }
    GD_TRY_ASSIGN(const report::Report report, judge(wish.traces[0], wish.judge));
    report::WriteOptions options;
    options.failOn = failOnFrom(wish.failOn);
    options.color = wish.output.empty() && wantsColor(wish.color, STDOUT_FILENO);
    const std::string text = report::write(format, report, options);
    if (!wish.output.empty()) {
        GD_TRY(writeFile(wish.output, text));
    } else if (!print("report", text)) {
        return kUnusable;
    }
    const bool met = options.failOn && report::countAtLeast(report, *options.failOn) > 0;
    return met ? kFindings : kOk;
}

} // namespace

int cmdReport(const Arguments& arguments) {
    CLI::App app;
    describe(app, "report", "report what a trace shows", kReportExamples);
    WantedReport wish;
    app.add_option("TRACE", wish.traces, "trace file (.gdt)")->required();
    app.add_option("--format", wish.format, std::string(report::kFormatNames))->capture_default_str();
    app.add_option("-o,--output", wish.output, "write the report to this file instead of stdout")
        ->type_name("FILE");
    addJudgeOptions(app, wish.judge);
    app.add_option("--fail-on", wish.failOn, "exit with 1 when a finding has this severity or a higher one")
        ->check(CLI::IsMember({"info", "warning", "error", "never"}))
        ->capture_default_str();
    app.add_option("--rank", wish.rank, "only what concerns this rank")->type_name("N");
    app.add_option("--steps", wish.steps, "only what lies in these steps, both included")->type_name("A:B");
    addColorOption(app, wish.color);
    return runCommand(app, arguments, "report", [&] { return reportOn(wish); });
}

} // namespace gd::cli
