// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/export/export_trace.h"
#include "analyzer/report/phrases.h"
#include "cli/analysis.h"
#include "cli/common.h"
#include "cli/file_writer.h"
#include "cli/report_options.h"
#include "cli/run/output_name.h"

namespace gd::cli {
namespace {

constexpr std::string_view kExportExamples
    = "  graphdoctor export job.gdt -o job.json           opens in ui.perfetto.dev and chrome://tracing\n"
      "  graphdoctor export job.gdt --rank 3 --steps 100:110 -o part.json\n"
      "  graphdoctor export job.gdt --format csv | sort -t, -k7 -n\n\n"
      "chrome and perfetto are the same file: the trace event format, with the names that PyTorch's\n"
      "profiler gives. A long job makes a file that no viewer opens: take some of its steps.";

struct ExportWish {
    std::string trace;
    std::string format = "chrome";
    std::string output; // empty: stdout
    std::optional<std::int64_t> rank;
    std::string steps;
    bool noFindings = false;
    JudgeOptions judge;
};

Result<std::vector<rules::Finding>> findingsOf(store::Trace& trace, const ExportWish& wish) {
    if (wish.noFindings)
        return std::vector<rules::Finding>();
    GD_TRY_ASSIGN(const auto set, loadAllRules(wish.judge.ruleFolders));
    GD_TRY_ASSIGN(auto report, report::judge(trace, wish.trace, set, wish.judge.params, {}));
    return std::move(report.findings);
}

Result<int> exportWith(const ExportWish& wish, const report::EventOutput& output) {
    report::ExportOptions options;
    options.format = *report::exportFormatFrom(wish.format);
    options.filter.rank = wish.rank;
    if (!wish.steps.empty()) {
        GD_TRY_ASSIGN(options.filter.steps, parseSteps(wish.steps));
    }
    GD_TRY_ASSIGN(auto trace, openTrace(wish.trace));
    GD_TRY_ASSIGN(const auto findings, findingsOf(trace, wish));
    GD_TRY_ASSIGN(const auto summary, report::exportTrace(trace.db(), wish.trace, findings, options, output));
    if (!wish.output.empty())
        note("export",
            fmt::format("wrote {}: {} of {}", wish.output, report::plural(summary.events, "event"),
                report::plural(summary.processes, "process")));
    return kOk;
}

Result<int> exportToStdout(const ExportWish& wish) {
    bool isRefused = false;
    const auto done = exportWith(wish, [&](std::string_view text) -> Result<void> {
        isRefused = !print("export", text);
        if (isRefused || readerLeft())
            return fail(ErrorCode::io, "stdout cannot be written");
        return {};
    });
    // Whoever reads no further has what they wanted; what is wrong with stdout was said.
    if (isRefused)
        return kUnusable;
    return readerLeft() ? kOk : done;
}

Result<int> exportToFile(const ExportWish& wish) {
    GD_TRY(run::checkReportTarget(wish.output));
    GD_TRY(checkNotInput(wish.output, {wish.trace}));
    GD_TRY_ASSIGN(FileWriter file, FileWriter::open(wish.output));
    GD_TRY_ASSIGN(
        const int status, exportWith(wish, [&](std::string_view text) { return file.write(text); }));
    GD_TRY(file.finish());
    return status;
}

} // namespace

int cmdExport(const Arguments& arguments) {
    CLI::App app;
    describe(app, "export", "write a trace in the format of another viewer", kExportExamples);
    ExportWish wish;
    app.add_option("TRACE", wish.trace, "trace file (.gdt)")->required();
    app.add_option("--format", wish.format, "chrome, perfetto or csv")
        ->check(CLI::IsMember({"chrome", "perfetto", "csv"}))
        ->capture_default_str();
    app.add_option("-o,--output", wish.output, "write to this file instead of stdout")->type_name("FILE");
    app.add_option("--rank", wish.rank, "only processes of this rank")->type_name("N");
    app.add_option("--steps", wish.steps, "only what touches these steps, both included")->type_name("A:B");
    app.add_flag("--no-findings", wish.noFindings, "leave out the slices of findings");
    addJudgeOptions(app, wish.judge);
    return runCommand(app, arguments, "export",
        [&] { return wish.output.empty() ? exportToStdout(wish) : exportToFile(wish); });
}

} // namespace gd::cli
