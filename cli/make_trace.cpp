// SPDX-License-Identifier: Apache-2.0
#include "cli/make_trace.h"

#include "analyzer/facts/facts.h"
#include "analyzer/store/trace.h"
#include "cli/progress.h"
#include "cli/run/output_name.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace gd::cli {
namespace {

namespace fs = std::filesystem;

// Short, so that a trace may have a name as long as the file system allows.
fs::path makingName(const std::string& output) {
    fs::path path(output);
    const auto hash = static_cast<std::uint64_t>(std::hash<std::string>{}(path.filename().string()));
    path.replace_filename(fmt::format(".graphdoctor-{}-{:016x}.making", getpid(), hash));
    return path;
}

// Messages name the file that the user asked for.
Error renamed(Error error, const std::string& from, const std::string& to) {
    for (std::size_t at = error.message.find(from); at != std::string::npos;
         at = error.message.find(from, at))
        error.message.replace(at, from.size(), to);
    return error;
}

Result<void> addIssues(Db& db, const std::vector<RunIssue>& issues) {
    GD_TRY_ASSIGN(auto insert,
        db.prepare("INSERT INTO trace_issue(severity, code, count, detail) VALUES ('info', ?, 1, ?)"));
    // What the collector wrote about a source that nobody fed is replaced by the reason why. Host runtimes
    // feed their sources themselves, whatever those variables say.
    constexpr std::string_view kTakenFrom
        = "(SELECT process_id FROM process WHERE coalesce(runtime, 'cuda') = 'cuda')";
    GD_TRY_ASSIGN(auto drop,
        db.prepare(fmt::format("DELETE FROM coverage WHERE source = ? AND process_id IN {}", kTakenFrom)));
    GD_TRY_ASSIGN(auto absent,
        db.prepare(fmt::format("INSERT INTO coverage(process_id, source, from_ns, to_ns, state, reason) "
                               "SELECT process_id, ?, start_ns, end_ns, 'absent', ? FROM process "
                               "WHERE process_id IN {}",
            kTakenFrom)));
    for (const RunIssue& issue : issues) {
        GD_TRY(insert.runWith(issue.code, issue.detail));
        for (const std::string& source : issue.absentSources) {
            GD_TRY(drop.runWith(source));
            GD_TRY(absent.runWith(source, issue.detail));
        }
    }
    return {};
}

Result<void> addEnds(Db& db, const TraceWish& wish) {
    GD_TRY_ASSIGN(auto update,
        db.prepare("UPDATE process SET exit_status = ?, exit_signal = ?, exit_reason = NULL WHERE pid = ?"));
    for (const auto& [pid, status] : wish.ends) {
        const bool signalled = status > 128;
        GD_TRY(update.runWith(signalled ? std::optional<std::int64_t>() : status,
            signalled ? std::optional<std::int64_t>(status - 128) : std::nullopt, pid));
    }
    if (!wish.level.empty()) {
        GD_TRY_ASSIGN(auto meta, db.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES ('level', ?)"));
        GD_TRY(meta.runWith(wish.level));
    }
    return {};
}

// A window that never opened looks like a job without any device activity.
Result<void> sayNoWindow(Db& db, const TraceWish& wish) {
    GD_TRY_ASSIGN(const auto opened,
        db.queryInt64("SELECT count(*) FROM recording_state WHERE level NOT IN ('off', 'history')"));
    GD_TRY_ASSIGN(const auto states, db.queryInt64("SELECT count(*) FROM recording_state"));
    if (wish.windows.empty() || opened.value_or(0) != 0 || states.value_or(0) == 0)
        return {};
    GD_TRY_ASSIGN(auto insert,
        db.prepare("INSERT INTO trace_issue(severity, code, count, detail) VALUES ('info', "
                   "'window_never_opened', 1, ?)"));
    return insert.runWith(
        fmt::format("the recording window ({}) never opened in any process: only the history was recorded",
            wish.windows));
}

Result<void> complete(const fs::path& making, const TraceWish& wish) {
    GD_TRY_ASSIGN(auto db, Db::openReadWrite(making.string()));
    {
        GD_TRY_ASSIGN(auto transaction, Transaction::begin(db));
        GD_TRY(addIssues(db, wish.issues));
        GD_TRY(addEnds(db, wish));
        GD_TRY(sayNoWindow(db, wish));
        GD_TRY(transaction.commit());
    }
    facts::FactsOptions facts;
    if (!wish.stepRange.empty())
        facts.stepRange = wish.stepRange;
    GD_TRY(facts::buildFacts(db, facts));
    GD_TRY(store::shrinkSmallTrace(db));
    return db.close();
}

// Gives the file its name; without `replace` never in place of one that appeared meanwhile. errno, 0 = done.
int publish(const fs::path& making, const std::string& output, bool replace) {
    const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
    if (renameat2(AT_FDCWD, making.c_str(), AT_FDCWD, output.c_str(), flags) == 0)
        return 0;
    // File systems that cannot promise it (some network and user-space ones) say EINVAL.
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (!replace && fs::exists(output))
        return EEXIST;
    return std::rename(making.c_str(), output.c_str()) == 0 ? 0 : errno;
}

Result<importer::ImportSummary> make(const fs::path& making, const TraceWish& wish) {
    importer::ImportOptions options;
    options.force = true; // the working file is ours alone
    if (wish.redact)
        options.redactKey = importer::RedactKey::random();
    options.command = wish.command;
    options.stepRange = wish.stepRange;
    Progress progress("importing");
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    GD_TRY_ASSIGN(auto summary, importer::importSpools(wish.spools, making, options));
    GD_TRY(complete(making, wish));
    std::string output = wish.output;
    int refused = publish(making, output, wish.replace);
    if (refused == EEXIST && wish.mayRename) {
        output = run::freeName(output);
        refused = publish(making, output, wish.replace);
    }
    if (refused != 0)
        return fail(ErrorCode::io, "{} cannot be made: {}", output, std::strerror(refused));
    summary.trace = output;
    std::error_code error;
    summary.traceBytes = fs::file_size(output, error);
    return summary;
}

} // namespace

std::vector<std::string> unfinishedFiles(const std::string& output) {
    const fs::path making = makingName(output);
    fs::path part = making;
    part.replace_filename(fmt::format(".{}.{}.part", making.filename().string(), getpid()));
    return {making.string(), part.string(), making.string() + "-journal"};
}

run::InterruptExit interruptExit(std::string_view command, const std::string& output) {
    return run::InterruptExit(
        fmt::format("\ngraphdoctor {}: interrupted; {} was not written\n", command, output),
        unfinishedFiles(output), 128 + SIGINT);
}

Result<void> makeFile(
    const std::string& output, bool replace, const std::function<Result<void>(const fs::path&)>& fill) {
    const fs::path making = makingName(output);
    Result<void> made = fill(making);
    if (made) {
        if (const int refused = publish(making, output, replace); refused != 0)
            made = fail(ErrorCode::io, "{} cannot be made: {}", output, std::strerror(refused));
    }
    for (const std::string& file : unfinishedFiles(output))
        ::unlink(file.c_str());
    if (!made)
        return renamed(std::move(made).error(), making.string(), output);
    return made;
}

Result<importer::ImportSummary> makeTrace(const TraceWish& wish) {
    const fs::path making = makingName(wish.output);
    auto summary = make(making, wish);
    ::unlink(making.c_str());
    if (!summary)
        return renamed(std::move(summary).error(), making.string(), wish.output);
    return summary;
}

} // namespace gd::cli
