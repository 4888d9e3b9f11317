// SPDX-License-Identifier: Apache-2.0
#include "cli/common.h"
#include "cli/make_trace.h"
#include "cli/run/output_name.h"
#include "cli/run/spool_folder.h"

#include "analyzer/base/time.h"

namespace gd::cli {
namespace {

constexpr std::string_view kExamples = "  graphdoctor import /tmp/graphdoctor-1000/3f2a… -o job.gdt\n"
                                       "  graphdoctor import node1.spool node2.spool -o job.gdt --force";

Result<int> importInto(const TraceWish& wish) {
    GD_TRY(run::checkWritable(wish.output, wish.replace));
    GD_TRY_ASSIGN(const auto summary, makeTrace(wish));
    for (const auto& spool : wish.spools) {
        if (std::filesystem::is_directory(spool))
            run::markImported(spool);
    }
    note("import",
        fmt::format("wrote {} ({}): {} processes, {} records{}", wish.output,
            base::formatBytes(static_cast<std::int64_t>(summary.traceBytes)), summary.processes,
            summary.records,
            summary.issues > 0 ? fmt::format(", {} notes on what is missing", summary.issues) : ""));
    note("import",
        fmt::format("see graphdoctor report {}; the next graphdoctor run removes the spool", wish.output));
    return kOk;
}

} // namespace

int cmdImport(const Arguments& arguments) {
    CLI::App app;
    describe(app, "import", "make a trace of what a run left in its spool folder", kExamples);
    TraceWish wish;
    app.add_option("SPOOL", wish.spools, "spool folders, or segment files, of one job")->required();
    app.add_option("-o,--output", wish.output, "the trace to write (.gdt)")->required()->type_name("FILE");
    app.add_flag("--force", wish.replace, "overwrite the file when it exists");
    app.add_flag(
        "--redact", wish.redact, "replace host names, user names and path prefixes by stable tokens");
    app.add_option("--step-range", wish.stepRange, "steps are the ranges whose name matches")
        ->type_name("REGEX");
    if (const auto stop = parseArguments(app, arguments))
        return *stop;
    const auto status = importInto(wish);
    return status ? *status : refuse("import", status.error());
}

} // namespace gd::cli
