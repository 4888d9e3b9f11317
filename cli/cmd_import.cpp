// SPDX-License-Identifier: Apache-2.0
#include "cli/common.h"
#include "cli/make_trace.h"
#include "cli/run/output_name.h"
#include "cli/run/spool_folder.h"

#include "analyzer/base/time.h"

namespace gd::cli {
namespace {

constexpr std::string_view kImportExamples
    = "  graphdoctor import /tmp/graphdoctor-1000/3f2a… -o job.gdt\n"
      "  graphdoctor import node1.spool node2.spool -o job.gdt --force";

// The next run removes what was imported, and what lies beside it.
Result<void> checkNotInSpool(const TraceWish& wish) {
    std::vector<std::string> inputs;
    for (const auto& spool : wish.spools)
        inputs.push_back(spool.string());
    GD_TRY(checkNotInput(wish.output, inputs));
    std::filesystem::path folder = std::filesystem::path(wish.output).parent_path();
    if (folder.empty())
        folder = ".";
    std::error_code error;
    for (const auto& spool : wish.spools) {
        if (std::filesystem::is_directory(spool, error) && std::filesystem::equivalent(folder, spool, error))
            return fail(ErrorCode::usage,
                "{} would lie in the spool folder {}, which is removed later; another folder is expected",
                wish.output, spool.string());
    }
    return {};
}

Result<int> importInto(const TraceWish& wish) {
    GD_TRY(checkNotInSpool(wish));
    GD_TRY(run::checkWritable(wish.output, wish.replace));
    const run::InterruptExit guard = interruptExit("import", wish.output);
    GD_TRY_ASSIGN(const auto summary, makeTrace(wish));
    for (const auto& spool : wish.spools) {
        if (std::filesystem::is_directory(spool))
            run::markImported(spool);
    }
    const std::string size = base::formatBytes(static_cast<std::int64_t>(summary.traceBytes));
    note("import",
        summary.issues == 0 ? fmt::format(
            "wrote {} ({}): {} processes, {} records", wish.output, size, summary.processes, summary.records)
                            : fmt::format("wrote {} ({}): {} processes, {} records, {} notes on what is "
                                          "missing",
                                wish.output, size, summary.processes, summary.records, summary.issues));
    note("import",
        fmt::format("see graphdoctor report {}; the next graphdoctor run removes the spool", wish.output));
    return kOk;
}

} // namespace

int cmdImport(const Arguments& arguments) {
    CLI::App app;
    describe(app, "import", "make a trace of what a run left in its spool folder", kImportExamples);
    TraceWish wish;
    app.add_option("SPOOL", wish.spools, "spool folders, or segment files, of one job")->required();
    addTraceOutput(app, wish.output, wish.replace);
    app.add_flag(
        "--redact", wish.redact, "replace host names, user names and path prefixes by stable tokens");
    app.add_option("--step-range", wish.stepRange, "steps are the ranges whose name matches")
        ->type_name("REGEX");
    return runCommand(app, arguments, "import", [&] { return importInto(wish); });
}

} // namespace gd::cli
