// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/import/issue_list.h"
#include "analyzer/import/redact.h"
#include "analyzer/import/spool_reader.h"
#include "analyzer/import/string_pool.h"
#include "analyzer/import/wrap.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace gd::importer {

class Symbolizer;

// From one process's CLOCK_MONOTONIC to the trace's clock.
struct TraceClock {
    std::int64_t shiftNs = 0;
    std::int64_t toTrace(std::int64_t monotonicNs) const { return wrapAdd(monotonicNs, shiftNs); }
};

// What all processes of an import share.
struct ImportJob {
    Db& db;
    IssueList& issues;
    TextCleaner& cleaner;
    StringPool& strings;
    Symbolizer& symbolizer;

    ImportJob(Db& database, IssueList& issueList, TextCleaner& textCleaner, StringPool& stringPool,
        Symbolizer& addressSymbolizer)
        : db(database)
        , issues(issueList)
        , cleaner(textCleaner)
        , strings(stringPool)
        , symbolizer(addressSymbolizer) { }

    std::int64_t nextTrackId = 1;
    std::int64_t nextStackId = 1;
    std::int64_t nextShapeId = 1;
    std::map<std::string, std::int64_t, std::less<>> lastRowId; // by table: rows inserted so far
    std::map<std::uint64_t, std::int64_t> rankByKey; // processKey -> rank
    // Shapes are interned over all processes.
    using ShapeKey = std::tuple<std::int64_t, std::array<std::uint32_t, 9>>;
    std::map<ShapeKey, std::int64_t> shapeIds;
};

// What an exec's or a kernel's records point to in the trace.
struct ShapeInfo {
    std::int64_t shapeId = 0;
    std::string name; // demangled
};

// One process on its way into the tables.
class ProcessImport {
public:
    ProcessImport(ImportJob& job, SpoolProcess& source, std::int64_t processId, TraceClock clock)
        : m_job(job)
        , m_source(source)
        , m_processId(processId)
        , m_clock(clock) { }

    ImportJob& job() { return m_job; }
    Db& db() { return m_job.db; }
    IssueList& issues() { return m_job.issues; }
    RawProcess& raw() { return m_source.raw; }
    const std::optional<RingSummary>& ring() const { return m_source.ring; }
    std::int64_t processId() const { return m_processId; }

    std::int64_t time(std::int64_t monotonicNs) const { return m_clock.toTrace(monotonicNs); }
    // 0 stands for "never".
    std::optional<std::int64_t> timeIfSet(std::int64_t monotonicNs) const;

    // The text behind a reference, unredacted; empty when it is 0 or was lost.
    std::string_view rawText(raw::StringRef ref) const;
    // Cleaned (and redacted); nullopt when there is none.
    std::optional<std::string> text(raw::StringRef ref) const;
    // The trace's id of a text.
    std::int64_t stringId(std::string_view text) { return m_job.strings.idOf(text); }
    // A stack that is kept; NULL when none was taken or it was lost.
    std::optional<std::int64_t> stackId(raw::StackRef ref);
    // The trace's id of a shape, made up (nameless) when the record was lost.
    const ShapeInfo& shape(raw::ShapeRef ref);

    // First and last moment of the process, in the trace's clock.
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;

    // Notes that the process used a stream, for streams that were never reported as created.
    void noteStream(std::uint64_t stream, std::uint32_t device, std::int64_t firstNs);
    struct SeenStream {
        std::uint32_t device;
        std::int64_t firstNs;
    };
    std::map<std::uint64_t, SeenStream> seenStreams;

    // Adds a track whose `rows` rows come next in `table`; returns its id.
    struct TrackPlace {
        std::optional<std::int64_t> device;
        std::optional<std::int64_t> stream;
        std::optional<std::int64_t> thread;
    };
    Result<std::int64_t> addTrack(
        std::string_view table, const TrackPlace& place, std::string_view name, std::size_t rows);
    // "thread 3" or "thread 3 (name)".
    std::string threadName(raw::ThreadRef thread) const;

    const std::map<raw::StackRef, std::int64_t>& stackIds() const { return m_stackIds; }

private:
    ImportJob& m_job;
    SpoolProcess& m_source;
    std::int64_t m_processId;
    TraceClock m_clock;
    std::map<raw::StackRef, std::int64_t> m_stackIds; // of the stacks that rows point to
    std::unordered_map<raw::ShapeRef, ShapeInfo> m_shapes;
};

// Ids in records: 0 means "none".
template <class Number> std::optional<std::int64_t> idOrNull(Number id) {
    return id == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(id));
}
// NULL unless `known`.
std::optional<std::int64_t> valueIf(bool known, std::int64_t value);
// u64 as the bit pattern that SQLite can hold.
inline std::int64_t bits(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

// Each of these fills its tables from the records of one process. Order: see importer.cpp.
Result<void> importProcessTables(ProcessImport& process);
Result<void> importApi(ProcessImport& process);
Result<void> importGraphs(ProcessImport& process);
Result<void> importLaunches(ProcessImport& process);
Result<void> importReplays(ProcessImport& process);
Result<void> importMemory(ProcessImport& process);
Result<void> importActivity(ProcessImport& process);
Result<void> importRanges(ProcessImport& process);
Result<void> importComm(ProcessImport& process);
Result<void> importStacks(ProcessImport& process);
Result<void> importCoverage(ProcessImport& process);

} // namespace gd::importer
