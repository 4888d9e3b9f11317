// SPDX-License-Identifier: Apache-2.0
#include "cli/self_check.h"

#include "analyzer/base/db.h"
#include "analyzer/base/statement.h"
#include "analyzer/base/text.h"
#include "cli/analysis.h"
#include "cli/common.h"
#include "cli/run_job.h"
#include "cli/scratch_folder.h"

#include <cstdlib>
#include <fstream>
#include <map>

namespace gd::cli {
namespace {

namespace fs = std::filesystem;
using State = SourceCheck::State;

// What a part of the job says of itself.
struct Part {
    std::int64_t pid = 0;
    State state = State::broken;
    std::string detail = "it did not run";
    std::string remedy;
};

std::vector<std::string> fieldsOf(const std::string& line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
        if (c == '\t')
            fields.emplace_back();
        else
            fields.back() += c;
    }
    return fields;
}

std::map<std::string, Part> readParts(const std::string& path) {
    std::map<std::string, Part> parts;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        auto fields = fieldsOf(line);
        fields.resize(5);
        Part part;
        part.pid = std::strtoll(fields[1].c_str(), nullptr, 10);
        part.state = fields[2] == "ran" ? State::works
            : fields[2] == "absent"     ? State::absent
                                        : State::broken;
        part.detail = fields[3];
        part.remedy = fields[4];
        parts[fields[0]] = part;
    }
    return parts;
}

constexpr int kCalls = 20; // of each part, see cli/self_check/part.h

// How a source is looked for in the trace.
struct Look {
    const char* source;
    const char* part;
    const char* counts; // one number; ?1 is the part's process_id
    int atLeast;
    const char* unit;
    const char* coverage; // source of the coverage table that explains a lack
    const char* remedy;
};

constexpr Look kLooks[] = {
    {"host runtime", "runtime", "SELECT count(*) FROM api_call WHERE process_id = ?1", kCalls, "calls",
        "callbacks", "see the lines about ring and spool"},
    {"NVTX ranges", "nvtx", "SELECT count(*) FROM nvtx_range WHERE process_id = ?1", kCalls, "ranges", "nvtx",
        "NVTX_INJECTION64_PATH must reach the job; another tool may have set it"},
    {"CUDA calls", "cuda", "SELECT count(*) FROM replay WHERE process_id = ?1", kCalls, "replays",
        "callbacks",
        "CUDA_INJECTION64_PATH must reach the job, and libcupti of the job's CUDA must be found"},
    {"graph times", "cuda", "SELECT count(*) FROM replay WHERE process_id = ?1 AND start_ns IS NOT NULL",
        kCalls / 2, "replays with device times", "graph_trace",
        "on many machines performance counters are for administrators only: see NVIDIA's note on "
        "ERR_NVGPUCTRPERM"},
    {"kernel times", "cuda", "SELECT count(*) FROM kernel JOIN track USING (track_id) WHERE process_id = ?1",
        1, "kernels", "eager_kernel_activity", "see graph times"},
    {"node parameters", "cuda", "SELECT count(*) FROM graph_node WHERE process_id = ?1 AND exec_id IS NULL",
        2, "nodes", "node_params", "see CUDA calls"},
    {"memory", "cuda", "SELECT count(*) FROM allocation WHERE process_id = ?1", 1, "allocations", "memory",
        "see CUDA calls"},
    {"NCCL", "nccl", "SELECT count(*) FROM nccl_op WHERE process_id = ?1", kCalls, "calls", "nccl_plugin",
        "NCCL_PROFILER_PLUGIN must reach the job; NCCL before 2.23 has no profiler, then NVTX tells"},
    {"Python stacks", "python",
        "SELECT count(*) FROM api_call AS c WHERE c.process_id = ?1 AND EXISTS (SELECT 1 FROM stack_frame AS "
        "f WHERE f.stack_id = c.stack_id AND f.language = 'python' AND f.function = 'capture')",
        2 * kCalls, "stacks", "stacks_python", "only native frames are shown for this interpreter"},
    {"PyTorch allocator", "allocator",
        "SELECT count(*) FROM allocation WHERE process_id = ?1 AND kind = 'framework'", 1, "blocks",
        "framework_allocator", "PyTorch 2.1 or newer is needed, and PYTHONPATH must reach the job"},
};

// `word` is ?2, where the query has one.
Result<std::string> textOf(
    Db& trace, std::string_view sql, std::int64_t process, std::string_view word = {}) {
    GD_TRY_ASSIGN(auto select, trace.prepareReadOnly(sql));
    select.bind(1, process);
    if (!word.empty())
        select.bind(2, word);
    GD_TRY_ASSIGN(const bool row, select.step());
    return row && !select.isNull(0) ? std::string(select.text(0)) : std::string();
}

Result<std::int64_t> numberOf(Db& trace, const char* sql, std::int64_t process) {
    GD_TRY_ASSIGN(auto select, trace.prepareReadOnly(sql));
    select.bind(1, process);
    GD_TRY_ASSIGN(const bool row, select.step());
    return row ? select.int64(0) : 0;
}

// Why the trace lacks it, in the collector's words; empty = it does not say.
Result<std::string> reasonOf(Db& trace, std::int64_t process, const char* source) {
    GD_TRY_ASSIGN(std::string reason,
        textOf(trace,
            "SELECT reason FROM coverage WHERE process_id = ?1 AND source = ?2 AND state <> 'complete' AND "
            "reason IS NOT NULL ORDER BY to_ns DESC",
            process, source));
    if (!reason.empty())
        return reason;
    return textOf(trace,
        "SELECT detail FROM trace_issue WHERE process_id = ?1 ORDER BY severity = 'info', issue_id", process);
}

Result<SourceCheck> look(Db& trace, const Look& look, const Part& part) {
    SourceCheck check{part.state, look.source, part.detail, part.remedy};
    if (part.state != State::works)
        return check;
    GD_TRY_ASSIGN(const std::int64_t process,
        numberOf(trace, "SELECT process_id FROM process WHERE pid = ?1", part.pid));
    GD_TRY_ASSIGN(const std::int64_t count, numberOf(trace, look.counts, process));
    if (count >= look.atLeast) {
        check.detail = fmt::format("{}; {} {}", part.detail, count, look.unit);
        return check;
    }
    check.state = State::broken;
    check.remedy = look.remedy;
    GD_TRY_ASSIGN(const std::string reason, reasonOf(trace, process, look.coverage));
    check.detail = reason.empty()
        ? fmt::format("{}, but {} of {} {} are in the trace", part.detail, count, look.atLeast, look.unit)
        : fmt::format(
            "{}, but {} of {} {} are in the trace: {}", part.detail, count, look.atLeast, look.unit, reason);
    return check;
}

// The collector's own places: the ring and the segments of the part that every machine can run.
Result<SourceCheck> place(
    Db& trace, const Part& part, const char* source, const char* fact, const char* remedy) {
    SourceCheck check{State::works, source, {}, {}};
    GD_TRY_ASSIGN(const std::int64_t process,
        numberOf(trace, "SELECT process_id FROM process WHERE pid = ?1", part.pid));
    GD_TRY_ASSIGN(check.detail,
        textOf(trace, "SELECT value FROM process_fact WHERE process_id = ?1 AND key = ?2", process, fact));
    if (!check.detail.empty())
        check.detail = fs::path(check.detail).parent_path().string();
    GD_TRY_ASSIGN(const std::string lost,
        textOf(trace,
            "SELECT detail FROM trace_issue WHERE severity <> 'info' AND process_id = ?1 ORDER BY issue_id",
            process));
    GD_TRY_ASSIGN(const std::string elsewhere,
        textOf(
            trace, "SELECT detail FROM trace_issue WHERE code = 'ring_place' AND process_id = ?1", process));
    if (check.detail.empty() || !lost.empty()) {
        check.state = State::broken;
        check.detail = lost.empty() ? "the built-in job left nothing" : lost;
        check.remedy = remedy;
    } else if (std::string_view(fact) == "ring_path" && !elsewhere.empty()) {
        check.detail = fmt::format("{}; {}", check.detail, elsewhere);
        check.remedy = remedy;
    }
    return check;
}

Result<SourceCheck> import(Db& trace) {
    GD_TRY_ASSIGN(const auto processes, trace.queryInt64("SELECT count(*) FROM process"));
    GD_TRY_ASSIGN(const auto calls, trace.queryInt64("SELECT count(*) FROM api_call"));
    GD_TRY_ASSIGN(
        const auto lost, trace.queryText("SELECT detail FROM trace_issue WHERE severity <> 'info'"));
    SourceCheck check{State::works, "import",
        fmt::format("{} processes, {} calls, nothing lost", processes.value_or(0), calls.value_or(0)), {}};
    if (lost) {
        check.state = State::broken;
        check.detail = *lost;
        check.remedy = "see the line above that names the same trouble";
    }
    return check;
}

RunOptions optionsFor(const ScratchFolder& scratch, const std::string& python) {
    RunOptions options;
    options.selfCheck = true;
    options.output = scratch.file("self-check.gdt");
    options.noReport = true;
    options.limits = "size=1000000000";
    const Installation parts = installation();
    options.command = {(parts.collector.parent_path() / "self_check_job").string(), scratch.file("parts"),
        (parts.python / "graphdoctor_self_check.py").string(), python};
    return options;
}

} // namespace

const char* stateName(State state) {
    return state == State::works ? "works" : state == State::absent ? "absent" : "broken";
}

Result<std::vector<SourceCheck>> checkSources(const std::optional<std::string>& named) {
    GD_TRY_ASSIGN(const ScratchFolder scratch, ScratchFolder::make("self-check"));
    const RunOptions options = optionsFor(scratch, named.value_or("python3"));
    if (const int status = runJob(options); status != 0)
        return fail(ErrorCode::io, "the built-in job ended with status {}", status);
    GD_TRY_ASSIGN(auto trace, Db::openReadOnly(options.output));
    auto parts = readParts(scratch.file("parts"));
    if (Part& python = parts["python"]; named && python.state == State::absent)
        python.state = State::broken; // somebody counts on it
    std::vector<SourceCheck> checks;
    for (const Look& one : kLooks) {
        GD_TRY_ASSIGN(auto check, look(trace, one, parts[one.part]));
        checks.push_back(std::move(check));
    }
    const auto add = [&](Result<SourceCheck> check) -> Result<void> {
        if (!check)
            return check.error();
        checks.push_back(std::move(*check));
        return {};
    };
    GD_TRY(add(place(trace, parts["runtime"], "ring", "ring_path",
        "give the job a tmpfs of 128 MiB or more at /dev/shm or in XDG_RUNTIME_DIR")));
    GD_TRY(add(place(trace, parts["runtime"], "spool", "segment_path",
        "name a writable folder with room in GRAPHDOCTOR_SPOOL_DIR")));
    GD_TRY(add(import(trace)));
    return checks;
}

std::string checkText(const std::vector<SourceCheck>& checks, int indent) {
    std::string out;
    const SourceCheck* before = nullptr;
    for (const SourceCheck& check : checks) {
        const bool same = before != nullptr && check.state != State::works && check.detail == before->detail;
        out += fmt::format("{:{}}{:<19}{:<8}{}\n", "", indent, check.source, stateName(check.state),
            same ? "as above" : base::escapeForTerminal(check.detail));
        if (!check.remedy.empty() && !same)
            out += fmt::format("{:{}}-> {}\n", "", indent + 27, base::escapeForTerminal(check.remedy));
        before = &check;
    }
    return out;
}

int selfCheck(const std::vector<std::string>& command) {
    const auto checks = checkSources(command.empty() ? std::nullopt : std::optional(command.front()));
    if (!checks)
        return refuse("run --self-check", checks.error());
    int broken = 0;
    bool device = true;
    for (const SourceCheck& check : *checks) {
        broken += check.state == State::broken ? 1 : 0;
        device = device && (check.source != "CUDA calls" || check.state != State::absent);
    }
    std::string out = checkText(*checks, 0);
    out += broken != 0 ? fmt::format("\n{} of {} sources do not work here.\n", broken, checks->size())
        : device       ? "\nEverything that this machine has is recorded.\n"
                       : "\nNo GPU was used: what needs one was not tried, everything else is recorded.\n";
    if (!print("run", out))
        return kUnusable;
    return broken != 0 ? kFindings : kOk;
}

} // namespace gd::cli
