// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job.h"

#include "cli/analysis.h"
#include "cli/common.h"
#include "cli/run/child_process.h"
#include "cli/run/control.h"
#include "cli/run/core_dump.h"
#include "cli/run/environment.h"
#include "cli/run/job_identity.h"
#include "cli/run/output_name.h"
#include "cli/run/spool_folder.h"
#include "cli/run_result.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

namespace gd::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Everything that is settled before the job starts.
struct Prepared {
    std::string output; // absolute
    std::optional<run::JobIdentity> job;
    std::optional<run::SpoolFolder> spool;
    run::EnvironmentPlan plan;
    std::string host;
};

Result<std::string> outputName(const RunOptions& options, const std::optional<run::JobIdentity>& job) {
    run::NameValues values{run::hostName(), getpid(), run::readVariable};
    std::string name = run::defaultName(job, values.host, std::time(nullptr));
    if (!options.output.empty()) {
        GD_TRY_ASSIGN(name, run::expandName(options.output, values));
    }
    return fs::absolute(name).lexically_normal().string();
}

// Files named by --report; refused before the job rather than lost after it. Two things written to one file
// would leave the later one alone; devices and pipes take several.
Result<void> checkReports(const RunOptions& options, const std::string& output) {
    std::vector<fs::path> taken = {output};
    std::error_code error;
    for (const ReportWish& wish : options.reports) {
        if (wish.file.empty() || wish.file == "-")
            continue;
        GD_TRY(run::checkReportTarget(wish.file));
        const fs::path file = fs::absolute(run::behindLinks(wish.file)).lexically_normal();
        if (fs::exists(file, error) && !fs::is_regular_file(file, error))
            continue;
        for (const fs::path& other : taken) {
            if (file == other || fs::equivalent(file, other, error))
                return fail(ErrorCode::usage,
                    "--report {}={}: this file is written already, as {}; another one is expected",
                    report::name(wish.format), wish.file, other == taken.front() ? "the trace" : "a report");
        }
        taken.push_back(file);
    }
    return {};
}

std::string spoolKey(const std::optional<run::JobIdentity>& job, const std::string& output) {
    if (!job)
        return run::randomKey();
    // Runs of one job that write different files (%r, %p) are no siblings.
    return fmt::format("{}-{:016x}", job->key, static_cast<std::uint64_t>(std::hash<std::string>{}(output)));
}

Result<run::EnvironmentPlan> environmentFor(
    const RunOptions& options, const fs::path& spool, const std::string& output, const std::string& host) {
    const run::CollectorLibrary library = run::inspectCollector(installation().collector);
    if (!library.exists)
        return fail(ErrorCode::notFound,
            "the collector of this installation is missing: {} is expected beside the program", library.path);
    const bool inPython = options.frameworkHooks != "off" || options.withProfiler != "keep";
    const fs::path entry = installation().python;
    std::error_code error;
    if (inPython && !fs::exists(entry / "sitecustomize.py", error))
        return fail(ErrorCode::notFound,
            "the Python part of this installation is missing: {} is expected beside the program",
            (entry / "sitecustomize.py").string());
    return run::planEnvironment(
        {library, spool.string(), output + ".spool", host, options.level, options.stepRange, options.windows,
            options.frameworkHooks, options.withProfiler, inPython ? entry.string() : std::string(),
            options.window, options.limits, options.overhead},
        run::readVariable);
}

// `startsNow`: the job starts right away, so that windows in time count from here on.
run::Control::Start controlStart(const RunOptions& options, bool startsNow) {
    run::Control::Start start;
    start.level = run::levelFrom(options.level).value_or(raw::RecordingLevel::Standard);
    start.redact = options.redact;
    start.countsFromNow = startsNow;
    start.stepRange = options.stepRange;
    start.windows = options.windows;
    return start;
}

Result<run::SpoolFolder> openSpool(
    const RunOptions& options, const std::string& key, const std::string& output) {
    GD_TRY_ASSIGN(auto spool, run::SpoolFolder::join(run::userFolder(run::readVariable), key, output));
    if (!spool.isFirst())
        return spool; // what the first one decided holds for all
    const auto page = run::Control::create(spool.path(), controlStart(options, true));
    if (!page)
        return page.error();
    return spool;
}

Result<Prepared> prepare(const RunOptions& options) {
    Prepared out;
    out.host = run::hostName();
    if (!options.selfCheck)
        out.job = run::identifyJob(run::readVariable);
    GD_TRY_ASSIGN(out.output, outputName(options, out.job));
    GD_TRY(checkReports(options, out.output));
    GD_TRY(checkJudge(options.judge));
    GD_TRY_ASSIGN(auto spool, openSpool(options, spoolKey(out.job, out.output), out.output));
    out.spool.emplace(std::move(spool));
    if (out.spool->isFirst()) {
        // Nobody asked for this name: another run of this second, or of this job, may have it already.
        if (options.output.empty() && fs::exists(out.output))
            out.output = run::freeName(out.output);
        if (const auto good = run::checkWritable(out.output, options.force); !good) {
            run::removeSpool(out.spool->path(), run::readVariable);
            return good.error();
        }
    }
    GD_TRY_ASSIGN(out.plan, environmentFor(options, out.spool->path(), out.output, out.host));
    return out;
}

void tellLeftovers(const Prepared& prepared) {
    const auto leftovers = run::sweepLeftovers(
        prepared.spool->path().parent_path(), prepared.spool->path(), prepared.host, run::readVariable);
    run::sweepRings(prepared.host, run::readVariable);
    for (const run::Leftover& leftover : leftovers) {
        const std::string name = leftover.output.empty() ? "recovered.gdt" : leftover.output;
        note("run",
            fmt::format("an earlier run ended without its trace; graphdoctor import {} -o {} makes it",
                run::shellWord(leftover.spool.string()), run::shellWord(name)));
    }
}

void tellKept(const run::EnvironmentPlan& plan) {
    for (const run::KeptVariable& kept : plan.kept)
        note("run",
            fmt::format("{} is set to {} by another tool and is kept: {} are not recorded", kept.name,
                kept.value, kept.lost));
}

// Siblings that are on their way: without this, a job of seconds would be imported before all have begun.
void awaitSiblings(const Prepared& prepared, std::chrono::steady_clock::time_point start) {
    const int expected = prepared.job ? prepared.job->localSize.value_or(1) : 1;
    while (prepared.spool->joined() < expected && std::chrono::steady_clock::now() - start < 5s)
        std::this_thread::sleep_for(20ms);
}

// Processes that outlive the command may still be writing their last records.
void awaitStragglers(const Prepared& prepared) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::int64_t> living = run::livingProcesses(prepared.spool->path(), prepared.host);
    while (!living.empty() && std::chrono::steady_clock::now() - start < 2s) {
        std::this_thread::sleep_for(10ms);
        living = run::livingProcesses(prepared.spool->path(), prepared.host);
    }
    for (const std::int64_t pid : living)
        note("run", fmt::format("process {} outlives the command; what it records from now on is lost", pid));
}

int finish(const RunOptions& options, Prepared& prepared, const run::ChildEnd& end,
    std::chrono::steady_clock::time_point start) {
    run::SpoolFolder& spool = *prepared.spool;
    RunResult result;
    result.output = prepared.output;
    result.spool = spool.path().string();
    result.remoteSpool = prepared.output + ".spool";
    result.end = end;
    result.kept = prepared.plan.kept;
    const run::InterruptExit guard = interruptGuard(options, result);
    if (const std::string core
        = end.kind == run::ChildEnd::Kind::signalled ? run::coreClause(end.code, end.hasCore) : std::string();
        !core.empty())
        note("run",
            fmt::format("the command was ended by signal {} ({}); {}", end.code, strsignal(end.code), core));
    spool.noteEnd(end.pid, end.status());
    awaitSiblings(prepared, start);
    const auto last = spool.leave();
    if (!last) {
        note("run", last.error().message);
        return end.status();
    }
    if (!*last) {
        note("run",
            fmt::format("done; the last run of job {} on this host writes {}",
                prepared.job ? prepared.job->jobId : "", prepared.output));
        return end.status();
    }
    awaitStragglers(prepared);
    result.ends = spool.ends();
    return reportResult(options, result);
}

} // namespace

int runJob(const RunOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    auto prepared = prepare(options);
    if (!prepared)
        return refuse("run", prepared.error());
    if (!options.selfCheck)
        tellLeftovers(*prepared);
    tellKept(prepared->plan);
    const auto end = run::runChild(options.command, run::environmentWith(prepared->plan));
    if (!end || !end->began()) {
        const auto last = prepared->spool->leave();
        if (last && *last)
            run::removeSpool(prepared->spool->path(), run::readVariable);
        if (!end)
            return refuse("run", end.error());
        note("run", end->why);
        return end->status();
    }
    return finish(options, *prepared, *end, start);
}

int printEnvironment(const RunOptions& options) {
    const auto output = outputName(options, std::nullopt);
    if (!output)
        return refuse("run", output.error());
    // No registration stays behind: the folder belongs to processes that start later.
    const fs::path user = run::userFolder(run::readVariable);
    const fs::path spool = user / run::randomKey();
    std::error_code error;
    fs::create_directories(user.parent_path(), error);
    for (const fs::path& folder : {user, spool}) {
        if (const auto good = run::ensurePrivateFolder(folder); !good)
            return refuse("run", good.error());
    }
    const auto page = run::Control::create(spool, controlStart(options, false));
    if (!page)
        return refuse("run", page.error());
    const auto plan = environmentFor(options, spool, *output, run::hostName());
    if (!plan)
        return refuse("run", plan.error());
    tellKept(*plan);
    std::string out;
    for (const auto& [name, value] : plan->set)
        out += fmt::format("export {}={}\n", name, run::shellWord(value));
    for (const std::string& name : plan->unset)
        out += fmt::format("unset {}\n", name);
    note("run",
        fmt::format("afterwards: graphdoctor import {} -o {}", run::shellWord(spool.string()),
            run::shellWord(*output)));
    return print("run", out) ? kOk : kUnusable;
}

} // namespace gd::cli
