// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/importer.h"

#include "analyzer/import/end_marks.h"
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"
#include "analyzer/import/symbolizer.h"
#include "analyzer/import/wrap.h"
#include "collector/raw/version.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

namespace gd::importer {
namespace {

namespace fs = std::filesystem;

// One segment with what must be known before any process is imported: the order and the clock.
struct Candidate {
    SpoolSegment segment;
    std::optional<raw::ProcessStart> start;
    std::int64_t startNs = 0; // CLOCK_MONOTONIC
    std::int64_t offsetNs = 0; // CLOCK_REALTIME - CLOCK_MONOTONIC
    std::int64_t processId = 0;
    std::int64_t realStartNs() const { return wrapAdd(startNs, offsetNs); }
};

class Import {
public:
    Import(store::NewTrace& trace, const ImportOptions& options)
        : m_trace(trace)
        , m_options(options)
        , m_cleaner(options.redactKey)
        , m_strings(m_cleaner)
        , m_job(trace.db(), m_issues, m_cleaner, m_strings, m_symbolizer) { }

    Result<ImportSummary> run(std::span<const fs::path> folders) {
        GD_TRY_ASSIGN(std::vector<SpoolSegment> segments, findSegments(folders, m_issues));
        if (segments.empty() && !m_options.command)
            return fail(ErrorCode::notFound,
                "{} holds no segments; expected files named <host>.<pid>.<start>.<random>.seg",
                folders.empty() ? "the spool" : folders.front().string());
        std::vector<Candidate> candidates = prepared(std::move(segments));
        GD_TRY_ASSIGN(Transaction transaction, Transaction::begin(m_trace.db()));
        GD_TRY(writeDimensionTables(m_trace.db()));
        for (Candidate& candidate : candidates)
            GD_TRY(importCandidate(candidate));
        if (m_summary.processes == 0 && m_summary.failedProcesses != 0 && !m_options.command)
            return *m_firstError;
        GD_TRY(finish(candidates, folders));
        GD_TRY(transaction.commit());
        return m_summary;
    }

private:
    std::vector<Candidate> prepared(std::vector<SpoolSegment> segments) {
        std::vector<Candidate> candidates;
        for (SpoolSegment& segment : segments) {
            m_cleaner.addHost(segment.name.host);
            m_totalBytes += segment.allBytes();
            Candidate candidate;
            candidate.start = readProcessStart(segment);
            candidate.startNs = candidate.start ? candidate.start->timeNs : segment.name.startNs;
            if (candidate.start)
                addUserOf(candidate.start->uid);
            candidate.segment = std::move(segment);
            candidates.push_back(std::move(candidate));
        }
        setClocks(candidates);
        std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
            return std::pair(a.realStartNs(), a.segment.name.pid)
                < std::pair(b.realStartNs(), b.segment.name.pid);
        });
        for (std::size_t i = 0; i < candidates.size(); ++i)
            candidates[i].processId = static_cast<std::int64_t>(i) + 1;
        m_startUnixNs = candidates.empty() ? 0 : candidates.front().realStartNs();
        return candidates;
    }

    // CLOCK_MONOTONIC is one clock on a host: its first process decides about the offset, so that a step of
    // the wall clock between two starts does not shift processes against each other.
    static void setClocks(std::vector<Candidate>& candidates) {
        std::map<std::string, const Candidate*> firstOfHost;
        for (const Candidate& candidate : candidates) {
            const Candidate*& first = firstOfHost[candidate.segment.name.host];
            if (candidate.start && (first == nullptr || candidate.startNs < first->startNs))
                first = &candidate;
        }
        std::int64_t anyOffsetNs = 0;
        for (const auto& [host, first] : firstOfHost)
            anyOffsetNs = first != nullptr ? first->start->realtimeOffsetNs : anyOffsetNs;
        for (Candidate& candidate : candidates) {
            const Candidate* first = firstOfHost[candidate.segment.name.host];
            candidate.offsetNs = first != nullptr ? first->start->realtimeOffsetNs : anyOffsetNs;
        }
    }

    void addUserOf(std::uint32_t uid) {
        if (const passwd* user = ::getpwuid(uid); user != nullptr)
            m_cleaner.addUser(user->pw_name);
    }

    Result<void> goOn() const {
        if (m_options.stop != nullptr && *m_options.stop)
            return fail(ErrorCode::timeLimit, "stopped before the end");
        return {};
    }

    Result<void> importCandidate(Candidate& candidate) {
        GD_TRY(goOn());
        m_issues.setProcess(candidate.processId);
        const auto bytesRead = [this](std::uint64_t bytes) {
            m_readBytes += bytes;
            if (m_options.progress)
                m_options.progress(std::min(m_readBytes, m_totalBytes), m_totalBytes);
        };
        Result<std::unique_ptr<SpoolProcess>> read = readProcess(candidate.segment, m_issues, bytesRead);
        SpoolProcess* source = read ? read->get() : nullptr;
        if (source == nullptr || source->raw.records == 0) {
            if (source == nullptr) {
                m_issues.error("unreadable_segment", 1, read.error().message);
                if (!m_firstError)
                    m_firstError = read.error();
                ++m_summary.failedProcesses;
            }
            m_issues.setProcess(0);
            // A process that opened its spool and recorded nothing still belongs to the job.
            return source != nullptr ? insertProcess(candidate, nullptr, *source) : Result<void>();
        }
        // Rows refer to the name of the host and of users that appear only in the records.
        ProcessImport process(
            m_job, *source, candidate.processId, TraceClock{wrapSubtract(candidate.offsetNs, m_startUnixNs)});
        addNames(process);
        setRange(process, candidate);
        GD_TRY(insertProcess(candidate, &process, *source));
        for (const auto& part : {importApi, importGraphs, importLaunches, importReplays, importActivity,
                 importMemory, importRanges, importComm, importProcessTables, importStacks, importCoverage}) {
            GD_TRY(goOn());
            GD_TRY(part(process));
        }
        noteRuntime(process);
        m_issues.setProcess(0);
        m_summary.records += source->raw.records;
        m_summary.importedSegments.push_back(candidate.segment.path);
        if (!source->ringPath.empty())
            m_summary.importedRings.push_back(source->ringPath);
        return {};
    }

    void addNames(ProcessImport& process) {
        for (const raw::EnvVar& record : process.raw().envVars) {
            const std::string_view name = process.rawText(record.name);
            if (name == "USER" || name == "LOGNAME")
                m_cleaner.addUser(process.rawText(record.value));
            if (name == "HOSTNAME")
                m_cleaner.addHost(process.rawText(record.value));
        }
        for (const raw::ProcessFact& record : process.raw().facts) {
            if (process.rawText(record.key) == "host")
                m_cleaner.addHost(process.rawText(record.value));
        }
    }

    // Times that no process can have had (damaged or wrongly converted) do not stretch the trace.
    static constexpr std::int64_t kLongestJobNs = 400LL * 24 * 3600 * 1'000'000'000;

    void setRange(ProcessImport& process, const Candidate& candidate) {
        const RawProcess& raw = process.raw();
        const auto plausible = [&](std::int64_t timeNs) {
            const std::int64_t distanceNs = wrapSubtract(timeNs, candidate.startNs);
            return timeNs != 0 && distanceNs < kLongestJobNs && distanceNs > -kLongestJobNs;
        };
        std::int64_t endNs = candidate.startNs;
        if (plausible(raw.lastNs))
            endNs = std::max(endNs, raw.lastNs);
        else if (raw.lastNs != 0)
            m_issues.dataLoss("implausible_time", 1,
                fmt::format("a record has the time {} ns, the process started at {} ns", raw.lastNs,
                    candidate.startNs));
        // The call that opened the session began a little earlier.
        const bool earlier = plausible(raw.firstNs) && raw.firstNs < candidate.startNs;
        process.startNs = process.time(earlier ? raw.firstNs : candidate.startNs);
        process.endNs = process.time(endNs);
        m_durationNs = std::max(m_durationNs, process.endNs);
    }

    Result<void> insertProcess(
        const Candidate& candidate, ProcessImport* process, const SpoolProcess& source) {
        const auto& start = candidate.start;
        std::optional<std::int64_t> parentId;
        if (start && start->parentKey != 0) {
            const auto found = m_idByKey.find(start->parentKey);
            if (found != m_idByKey.end())
                parentId = found->second;
        }
        m_idByKey.emplace(candidate.segment.name.processKey, candidate.processId);
        const bool closed = source.raw.end.has_value() || (source.ring && source.ring->closed);
        m_allClosed = m_allClosed && closed;
        const bool isChild
            = start && start->role == static_cast<std::uint32_t>(raw::ProcessRole::ForkedChild);
        const std::int64_t startNs
            = process != nullptr ? process->startNs : wrapSubtract(candidate.realStartNs(), m_startUnixNs);
        std::optional<std::int64_t> parentPid;
        if (start)
            parentPid = start->parentPid;
        const ExitState exit = exitOf(candidate, closed);
        sayFault(exit, candidate, source);
        GD_TRY_ASSIGN(Statement insert,
            m_trace.db().prepare(
                "INSERT INTO process(process_id, pid, parent_pid, parent_process_id, role, host, "
                "start_ns, end_ns, ended, exit_status, exit_signal, exit_reason, segment_path) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
        ++m_summary.processes;
        return insert.runWith(candidate.processId, candidate.segment.name.pid, parentPid, parentId,
            isChild ? "forked_child" : "primary", m_cleaner.clean(candidate.segment.name.host), startNs,
            process != nullptr ? process->endNs : startNs, closed ? "closed" : "unknown", exit.status,
            exit.signal, m_cleaner.clean(exit.reason), m_cleaner.clean(candidate.segment.path.string()));
    }

    struct ExitState {
        std::optional<int> status;
        std::optional<int> signal;
        std::string reason;
    };
    // A fault leaves no stack: whether the collector was at work is what can be said.
    void sayFault(const ExitState& exit, const Candidate& candidate, const SpoolProcess& source) {
        if (!exit.signal || !isFault(*exit.signal) || !source.ring || !source.ring->marks)
            return;
        m_issues.setProcess(candidate.processId);
        if (std::string what = describeFault(*exit.signal, *source.ring->marks); !what.empty())
            m_issues.info("ended_by_fault", 1, std::move(what));
        m_issues.setProcess(0);
    }
    // Only the direct child's status can be known, and of several programs it executed one after the other
    // only the last one's; candidates come in order of start.
    ExitState exitOf(const Candidate& candidate, bool closed) const {
        const auto& command = m_options.command;
        if (command && command->pid != 0 && command->pid == candidate.segment.name.pid) {
            std::string reason = command->exitSignal
                ? fmt::format("ended by signal {}", *command->exitSignal)
                : fmt::format("exit status {}", command->exitStatus.value_or(0));
            return {command->exitStatus, command->exitSignal, std::move(reason)};
        }
        const std::string_view end = closed ? "it closed its session"
                                            : "it did not close its session: killed, _exit, or still running";
        if (command)
            return {{}, {}, fmt::format("not a direct child of graphdoctor run; {}", end)};
        return {{}, {}, fmt::format("not started by graphdoctor run; {}", end)};
    }

    void noteRuntime(ProcessImport& process) {
        const RawProcess& raw = process.raw();
        const bool hasCalls = std::any_of(raw.threadEvents.begin(), raw.threadEvents.end(),
            [](const auto& events) { return !events.second.calls.empty(); });
        m_summary.runtimeSeen = m_summary.runtimeSeen || hasCalls || !raw.devices.empty()
            || !raw.contexts.empty() || !raw.graphs.empty() || !raw.allocs.empty()
            || !raw.captureBegins.empty() || !raw.graphTraces.empty();
        for (const raw::ControlState& state : raw.controlStates)
            m_level = std::max(m_level, state.level);
    }

    Result<void> finish(const std::vector<Candidate>& candidates, std::span<const fs::path> folders) {
        if (!m_summary.runtimeSeen) {
            m_issues.info("no_runtime_seen", 1,
                "no process of the command used CUDA or another runtime that GraphDoctor can follow, or "
                "none had the variables of graphdoctor run in its environment");
        }
        GD_TRY(m_strings.write(m_trace.db()));
        GD_TRY(writeShapes());
        GD_TRY(writeMeta(candidates, folders));
        m_summary.issues = m_issues.size();
        m_summary.spoolBytes = m_totalBytes;
        return m_issues.write(m_trace.db(), [this](std::string_view text) { return m_cleaner.clean(text); });
    }

    Result<void> writeShapes() {
        GD_TRY_ASSIGN(Statement insert,
            m_trace.db().prepare(
                "INSERT INTO kernel_shape(shape_id, name_id, grid_x, grid_y, grid_z, block_x, "
                "block_y, block_z, static_shared_bytes, dynamic_shared_bytes, registers) VALUES "
                "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
        std::map<std::int64_t, const ImportJob::ShapeKey*> byId;
        for (const auto& [key, id] : m_job.shapeIds)
            byId.emplace(id, &key);
        for (const auto& [id, key] : byId) {
            const auto& n = std::get<1>(*key);
            GD_TRY(
                insert.runWith(id, std::get<0>(*key), n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]));
        }
        return {};
    }

    Result<void> writeMeta(const std::vector<Candidate>& candidates, std::span<const fs::path> folders) {
        std::map<std::string, std::string> meta;
        meta["format"] = store::kTraceFormat;
        meta["start_unix_ns"] = std::to_string(m_startUnixNs);
        meta["duration_ns"] = std::to_string(m_durationNs);
        meta["raw_version"] = std::to_string(raw::kRawVersion);
        meta["importer_version"] = "1";
        meta["source"] = "graphdoctor";
        const std::string firstFolder = folders.empty() ? std::string() : folders.front().string();
        meta["source_path"]
            = m_cleaner.clean(m_options.sourcePath.empty() ? firstFolder : m_options.sourcePath);
        meta["redacted"] = m_options.redactKey ? "1" : "0";
        meta["runtime_seen"] = m_summary.runtimeSeen ? "1" : "0";
        meta["clean_shutdown"] = m_allClosed ? "1" : "0";
        const std::string_view level = recordingLevelName(m_level);
        meta["level"] = level.empty() ? "unknown" : level;
        if (!candidates.empty())
            meta["host"] = m_cleaner.clean(candidates.front().segment.name.host);
        if (!m_options.stepRange.empty())
            meta["step_range"] = m_cleaner.clean(m_options.stepRange);
        if (const auto& command = m_options.command) {
            meta["command_line"] = m_cleaner.clean(maskSecrets(command->commandLine));
            if (command->exitStatus)
                meta["exit_status"] = std::to_string(*command->exitStatus);
            if (command->exitSignal)
                meta["exit_signal"] = std::to_string(*command->exitSignal);
        }
        GD_TRY_ASSIGN(Statement insert, m_trace.db().prepare("INSERT INTO meta(key, value) VALUES (?, ?)"));
        for (const auto& [key, value] : meta)
            GD_TRY(insert.runWith(key, value));
        return {};
    }

    store::NewTrace& m_trace;
    const ImportOptions& m_options;
    IssueList m_issues;
    TextCleaner m_cleaner;
    StringPool m_strings;
    Symbolizer m_symbolizer;
    ImportJob m_job;
    ImportSummary m_summary;
    std::optional<Error> m_firstError;
    std::map<std::uint64_t, std::int64_t> m_idByKey; // processKey -> process_id
    std::uint64_t m_readBytes = 0;
    std::uint64_t m_totalBytes = 0;
    std::int64_t m_startUnixNs = 0;
    std::int64_t m_durationNs = 0;
    std::uint32_t m_level = 0;
    bool m_allClosed = true;
};

} // namespace

Result<ImportSummary> importSpools(
    std::span<const fs::path> spoolFolders, const fs::path& out, const ImportOptions& options) {
    GD_TRY_ASSIGN(store::NewTrace trace, store::NewTrace::create(out, options.force));
    Result<ImportSummary> summary = Import(trace, options).run(spoolFolders);
    if (!summary)
        return trace.named(std::move(summary).error());
    if (options.facts.build)
        GD_TRY(trace.buildFacts(options.facts));
    GD_TRY(trace.finish());
    summary->trace = out;
    std::error_code ignored;
    summary->traceBytes = fs::file_size(out, ignored);
    return summary;
}

} // namespace gd::importer
