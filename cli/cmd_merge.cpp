// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/facts.h"
#include "analyzer/store/join.h"
#include "cli/common.h"
#include "cli/run/output_name.h"

namespace gd::cli {
namespace {

constexpr std::string_view kExamples
    = "  graphdoctor merge node1.gdt node2.gdt -o job.gdt\n"
      "  graphdoctor report job.gdt\n\n"
      "Clocks of hosts are related by their wall clocks only, and times of different hosts are not compared.";

struct Wish {
    std::vector<std::string> traces;
    std::string output;
    bool replace = false;
};

Result<int> merge(const Wish& wish) {
    if (wish.traces.size() < 2)
        return fail(ErrorCode::usage, "two traces or more are expected, not {}", wish.traces.size());
    GD_TRY(checkNotInput(wish.output, wish.traces));
    GD_TRY(run::checkWritable(wish.output, wish.replace));
    store::JoinOptions options;
    options.replace = wish.replace;
    const std::vector<std::filesystem::path> parts(wish.traces.begin(), wish.traces.end());
    GD_TRY_ASSIGN(const auto summary, store::joinTraces(parts, wish.output, options));
    GD_TRY_ASSIGN(auto db, Db::openReadWrite(wish.output));
    facts::FactsOptions facts;
    GD_TRY_ASSIGN(facts.stepRange, db.queryText("SELECT value FROM meta WHERE key = 'step_range'"));
    GD_TRY(facts::buildFacts(db, facts).context("{}: building facts", wish.output));
    GD_TRY(db.close());
    for (const std::string& sentence : summary.notes)
        note("merge", sentence);
    note("merge",
        fmt::format("wrote {}: {} processes of {} traces", wish.output, summary.processes, parts.size()));
    return kOk;
}

} // namespace

int cmdMerge(const Arguments& arguments) {
    CLI::App app;
    describe(app, "merge", "make one trace of those of several hosts or ranks of one job", kExamples);
    Wish wish;
    app.add_option("TRACE", wish.traces, "trace files (.gdt) of one job")->required();
    app.add_option("-o,--output", wish.output, "the trace to write (.gdt)")->required()->type_name("FILE");
    app.add_flag("--force", wish.replace, "overwrite the file when it exists");
    if (const auto stop = parseArguments(app, arguments))
        return *stop;
    const auto status = merge(wish);
    return status ? *status : refuse("merge", status.error());
}

} // namespace gd::cli
