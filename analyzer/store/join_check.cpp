// SPDX-License-Identifier: Apache-2.0
#include "analyzer/store/join_check.h"

#include "analyzer/base/short_list.h"
#include "analyzer/base/statement.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace gd::store {
namespace {

Result<std::set<std::string>> textsOf(Db& db, std::string_view sql) {
    std::set<std::string> out;
    GD_TRY_ASSIGN(auto rows, db.prepareReadOnly(sql));
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return out;
        out.emplace(rows.text(0));
    }
}

std::set<std::int64_t> ranksOf(const JoinPart& part) {
    std::set<std::int64_t> out;
    for (const ProcessRow& process : part.processes) {
        if (!process.rank.isNone())
            out.insert(process.rank.value());
    }
    return out;
}

// 0: not known. Libraries count ranks in an int: more is a damaged value.
std::int64_t worldOf(const JoinPart& part) {
    std::int64_t out = 0;
    for (const ProcessRow& process : part.processes) {
        const std::int64_t world = process.worldSize.value_or(0);
        if (world <= std::numeric_limits<std::int32_t>::max())
            out = std::max(out, world);
    }
    return out;
}

std::set<std::string> hostsOf(const JoinPart& part) {
    std::set<std::string> out;
    for (const ProcessRow& process : part.processes)
        out.insert(process.host.empty() ? "an unnamed host" : process.host);
    return out;
}

template <class T> bool haveCommon(const std::set<T>& a, const std::set<T>& b) {
    return std::any_of(a.begin(), a.end(), [&b](const T& value) { return b.contains(value); });
}

std::string name(const JoinPart& part) {
    return part.path.string();
}

// Why two traces are not of one job.
Result<void> checkPair(const JoinPart& a, const JoinPart& b) {
    std::error_code error;
    if (std::filesystem::equivalent(a.path, b.path, error))
        return fail(ErrorCode::usage, "{} is named twice; each trace of a job is expected once", name(b));
    const std::set<std::int64_t> left = ranksOf(a);
    for (const std::int64_t rank : ranksOf(b)) {
        if (left.contains(rank))
            return fail(ErrorCode::badInput,
                "{} and {} both hold rank {}: they are two runs, not parts of one job (compare shows two "
                "runs side by side)",
                name(a), name(b), rank);
    }
    const std::int64_t world = worldOf(a);
    const std::int64_t other = worldOf(b);
    if (world != 0 && other != 0 && world != other)
        return fail(ErrorCode::badInput,
            "{} is of a job of {} ranks, {} of one of {}: they do not belong together", name(a), world,
            name(b), other);
    if (!a.jobs.empty() && !b.jobs.empty() && !haveCommon(a.jobs, b.jobs))
        return fail(ErrorCode::badInput, "{} is of job {}, {} of job {}: they do not belong together",
            name(a), *a.jobs.begin(), name(b), *b.jobs.begin());
    if (haveCommon(a.communicators, b.communicators))
        return {};
    const bool apart = a.startUnixNs + a.endNs < b.startUnixNs || b.startUnixNs + b.endNs < a.startUnixNs;
    if (apart)
        return fail(ErrorCode::badInput,
            "{} and {} were recorded at different times and share no communicator: they do not belong "
            "together (compare shows two runs side by side)",
            name(a), name(b));
    if (left.empty() || ranksOf(b).empty())
        return fail(ErrorCode::badInput,
            "{} does not say which rank of a job it holds: only traces of ranks of one job can be shown as "
            "one",
            name(left.empty() ? a : b));
    return {};
}

// Which ranks of the job are in no trace; empty: none. Takes time of the ranks there are, not of `world`.
std::string missingRanks(const std::set<std::int64_t>& ranks, std::int64_t world) {
    const auto present = std::distance(ranks.lower_bound(0), ranks.lower_bound(world));
    const auto total = static_cast<std::size_t>(world - present);
    std::vector<std::int64_t> first;
    for (std::int64_t rank = 0; rank < world && first.size() < base::kShortList; ++rank) {
        if (!ranks.contains(rank))
            first.push_back(rank);
    }
    return base::shortList(first, total);
}

// The option of one part is not that of all: joinTraces keeps only what they agree on.
std::optional<JoinNote> stepRangeNote(const std::vector<JoinPart>& parts) {
    std::set<std::string> ranges;
    for (const JoinPart& part : parts) {
        const auto at = part.meta.find("step_range");
        ranges.insert(at == part.meta.end() ? "none" : fmt::format("'{}'", at->second));
    }
    if (ranges.size() < 2)
        return std::nullopt;
    return JoinNote{"info", "step_range_dropped",
        fmt::format("the traces name their steps by different ranges (--step-range {}): the joined trace "
                    "keeps none, and its steps are found as without the option",
            base::shortList(ranges))};
}

} // namespace

Result<JoinPart> readJoinPart(Trace& trace) {
    JoinPart part;
    part.path = trace.path();
    const std::string name = part.path.string();
    GD_TRY_ASSIGN(part.meta, readMeta(trace.db()));
    GD_TRY_ASSIGN(part.processes, readProcesses(trace.db()));
    if (part.processes.empty())
        return fail(ErrorCode::badInput, "{} is empty: no process of a job is in it", name);
    const std::string start = part.meta["start_unix_ns"];
    const auto [end, error] = std::from_chars(start.data(), start.data() + start.size(), part.startUnixNs);
    if (start.empty() || error != std::errc() || end != start.data() + start.size())
        return fail(ErrorCode::badInput,
            "{} does not say when it began (meta start_unix_ns): it cannot be related to others", name);
    for (const ProcessRow& process : part.processes)
        part.endNs = std::max(part.endNs, process.endNs);
    GD_TRY_ASSIGN(part.jobs,
        textsOf(trace.db(), "SELECT DISTINCT value FROM process_fact WHERE key = 'job_id' AND value <> ''"));
    GD_TRY_ASSIGN(auto rows,
        trace.db().prepareReadOnly(
            "SELECT DISTINCT comm_hash FROM nccl_comm WHERE nranks > 1 AND comm_hash <> 0"));
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return part;
        part.communicators.insert(rows.int64(0));
    }
}

Result<std::vector<JoinNote>> checkJoin(const std::vector<JoinPart>& parts) {
    std::vector<JoinNote> notes;
    if (parts.empty())
        return fail(ErrorCode::usage, "a trace is expected");
    std::set<std::string> hosts;
    std::set<std::int64_t> ranks;
    std::int64_t world = 0;
    bool proven = true;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j)
            GD_TRY(checkPair(parts[j], parts[i]));
        const bool linked = std::any_of(parts.begin(), parts.end(), [&](const JoinPart& other) {
            return &other != &parts[i]
                && (haveCommon(other.communicators, parts[i].communicators)
                    || haveCommon(other.jobs, parts[i].jobs));
        });
        proven = proven && (linked || parts.size() == 1);
        hosts.merge(hostsOf(parts[i]));
        ranks.merge(ranksOf(parts[i]));
        world = std::max(world, worldOf(parts[i]));
    }
    if (hosts.size() > 1)
        notes.push_back({"info", "clocks_not_fitted",
            fmt::format(
                "the clocks of {} are not fitted: times of different hosts may be milliseconds apart and are "
                "not compared",
                base::shortList(hosts))});
    if (!proven)
        notes.push_back({"info", "job_not_proven",
            "nothing in these traces proves that they are of one job: they share neither a communicator nor "
            "a job number"});
    if (auto note = stepRangeNote(parts))
        notes.push_back(std::move(*note));
    const std::string missing = missingRanks(ranks, world);
    if (!missing.empty() && parts.size() > 1)
        notes.push_back({"info", "rank_missing",
            fmt::format("of the job's {} ranks these are in no trace: {}", world, missing)});
    return notes;
}

} // namespace gd::store
