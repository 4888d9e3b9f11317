// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/facts.h"
#include "analyzer/store/join.h"
#include "cli/common.h"
#include "cli/make_trace.h"
#include "cli/run/output_name.h"

namespace gd::cli {
namespace {

constexpr std::string_view kMergeExamples
    = "  graphdoctor merge node1.gdt node2.gdt -o job.gdt\n"
      "  graphdoctor report job.gdt\n\n"
      "Clocks of hosts are related by their wall clocks only, and times of different hosts are not compared.";

struct MergeWish {
    std::vector<std::string> traces;
    std::string output;
    bool replace = false;
};

Result<int> merge(const MergeWish& wish) {
    if (wish.traces.size() < 2)
        return fail(ErrorCode::usage, "two traces or more are expected, not {}", wish.traces.size());
    GD_TRY(checkNotInput(wish.output, wish.traces));
    GD_TRY(run::checkWritable(wish.output, wish.replace));
    const std::vector<std::filesystem::path> parts(wish.traces.begin(), wish.traces.end());
    const run::InterruptExit guard = interruptExit("merge", wish.output);
    store::JoinSummary summary;
    const auto fill = [&](const std::filesystem::path& making) -> Result<void> {
        store::JoinOptions options;
        options.replace = true; // the working file is ours alone
        GD_TRY_ASSIGN(summary, store::joinTraces(parts, making, options));
        GD_TRY_ASSIGN(auto db, Db::openReadWrite(making.string()));
        facts::FactsOptions facts;
        GD_TRY_ASSIGN(facts.stepRange, db.queryText("SELECT value FROM meta WHERE key = 'step_range'"));
        GD_TRY(facts::buildFacts(db, facts).context("{}: building facts", making.string()));
        return db.close();
    };
    GD_TRY(makeFile(wish.output, wish.replace, fill));
    for (const std::string& sentence : summary.notes)
        note("merge", sentence);
    note("merge",
        fmt::format("wrote {}: {} processes of {} traces", wish.output, summary.processes, parts.size()));
    return kOk;
}

} // namespace

int cmdMerge(const Arguments& arguments) {
    CLI::App app;
    describe(app, "merge", "make one trace of those of several hosts or ranks of one job", kMergeExamples);
    MergeWish wish;
    app.add_option("TRACE", wish.traces, "trace files (.gdt) of one job")->required();
    addTraceOutput(app, wish.output, wish.replace);
    return runCommand(app, arguments, "merge", [&] { return merge(wish); });
}

} // namespace gd::cli
