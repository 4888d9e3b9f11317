// SPDX-License-Identifier: Apache-2.0
// Table coverage: what the collector said it was looking at, less what was lost on the way.
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"
#include "analyzer/import/wrap.h"

#include <algorithm>
#include <set>
#include <vector>

namespace gd::importer {
namespace {

using raw::CoverageSource;
using raw::CoverageState;

struct Interval {
    std::int64_t fromNs;
    std::int64_t toNs;
    CoverageState state;
    std::string reason;
};

// A stretch of time in which records are missing.
struct Loss {
    std::int64_t fromNs;
    std::int64_t toNs;
    std::uint64_t records;
    raw::Lane lane;
    std::uint32_t source = 0; // CoverageSource, 0 = whatever the lane carries
};

// What each lane carries, see collector/raw: history holds what is rare and must not be lost.
bool dependsOn(CoverageSource source, raw::Lane lane) {
    switch (source) {
    case CoverageSource::memory:
    case CoverageSource::node_params:
    case CoverageSource::stacks_native:
    case CoverageSource::stacks_python:
    case CoverageSource::framework_allocator:
        return lane == raw::Lane::History;
    case CoverageSource::ranks:
        return false;
    default:
        // Events of all these refer to names, graphs and executables in the history.
        return true;
    }
}

std::vector<Loss> lossesOf(ProcessImport& process) {
    std::vector<Loss> losses;
    const auto add = [&](const SequenceTracker::Gap& gap, raw::Lane lane) {
        const std::int64_t fromNs = gap.fromNs == 0 ? process.startNs : process.time(gap.fromNs);
        const std::int64_t toNs = gap.toNs == 0 ? process.endNs : process.time(gap.toNs);
        // Device records are written later than their time: a gap may look turned around.
        losses.push_back({std::min(fromNs, toNs), std::max(fromNs, toNs), gap.count, lane});
    };
    RawProcess& raw = process.raw();
    std::uint64_t holes = raw.historyHoles;
    for (SequenceTracker::Gap gap : raw.historySequences.gaps()) {
        const std::uint64_t explained = std::min(holes, gap.count);
        holes -= explained;
        gap.count -= explained;
        if (gap.count != 0)
            add(gap, raw::Lane::History);
    }
    for (const auto& [thread, sequences] : raw.eventSequences) {
        for (const SequenceTracker::Gap& gap : sequences.gaps()) {
            // What went with the oldest events was not lost. Chunks are written out of order, so what is
            // missing may lie between two that were kept.
            if (raw.eventsFromNs == 0 || gap.fromNs > raw.eventsFromNs)
                add(gap, raw::Lane::Events);
        }
    }
    return losses;
}

// Records that the collector dropped before the events that were kept: what is missing of them is not known
// any more, and says nothing about later.
std::uint64_t droppedBefore(const RawProcess& raw, std::int64_t eventsFromNs) {
    std::uint64_t dropped = 0;
    for (const raw::Loss& record : raw.losses) {
        if (record.lane == static_cast<std::uint32_t>(raw::Lane::Events) && record.source == 0
            && record.timeNs <= eventsFromNs)
            dropped = std::max(dropped, record.droppedRecords);
    }
    return dropped;
}

std::uint64_t sumOf(const std::vector<Loss>& losses, raw::Lane lane) {
    std::uint64_t sum = 0;
    for (const Loss& loss : losses)
        sum += loss.lane == lane ? loss.records : 0;
    return sum;
}

// What the collector itself counted as dropped: the ring has the last word, else the last record about it.
std::uint64_t counted(ProcessImport& process, raw::Lane lane) {
    std::uint64_t dropped = 0;
    for (const raw::Loss& record : process.raw().losses) {
        if (record.lane == static_cast<std::uint32_t>(lane) && record.source == 0)
            dropped = std::max(dropped, record.droppedRecords);
    }
    if (const auto& ring = process.ring()) {
        const raw::LossCounters& loss = ring->loss[static_cast<std::size_t>(lane)];
        dropped = std::max(dropped, loss.droppedRecords) + loss.failedWriteRecords;
    }
    return dropped;
}

void reportLosses(ProcessImport& process, std::vector<Loss>& losses) {
    for (const raw::Lane lane : {raw::Lane::History, raw::Lane::Events}) {
        const std::string_view name = lane == raw::Lane::History ? "history" : "event";
        const std::uint64_t missing = sumOf(losses, lane);
        const std::uint64_t dropped = counted(process, lane);
        if (dropped != 0) {
            process.issues().add(
                lane == raw::Lane::History ? raw::IssueSeverity::Error : raw::IssueSeverity::DataLoss,
                "dropped_records", dropped,
                fmt::format("the collector dropped {} {} records because its ring, the disk or its share of "
                            "--max-size was full; GRAPHDOCTOR_RING_BYTES makes the ring larger",
                    dropped, name));
        }
        if (missing > dropped) {
            process.issues().dataLoss("missing_records", missing - dropped,
                fmt::format(
                    "{} {} records are missing between those that were read, and the collector did not "
                    "drop them: a file of the spool is damaged or incomplete",
                    missing - dropped, name));
        }
        // Drops at the very end leave no gap behind.
        const std::int64_t eventsFromNs = lane == raw::Lane::Events ? process.raw().eventsFromNs : 0;
        const std::uint64_t seen = missing + droppedBefore(process.raw(), eventsFromNs);
        if (dropped > seen)
            losses.push_back({eventsFromNs == 0 ? process.startNs : process.time(eventsFromNs), process.endNs,
                dropped - seen, lane});
    }
}

// Records that somebody else lost before the collector got them (CUPTI's own buffers), each report since the
// one before.
void addSourceLosses(ProcessImport& process, std::vector<Loss>& losses) {
    std::map<std::uint32_t, std::uint64_t> sums;
    std::map<std::uint32_t, std::int64_t> reportedNs;
    for (const raw::Loss& record : process.raw().losses) {
        if (record.source == 0)
            continue;
        const std::int64_t toNs = process.time(record.timeNs);
        const auto previous = reportedNs.try_emplace(record.source, process.startNs).first;
        losses.push_back({std::min(previous->second, toNs), toNs, record.droppedRecords, raw::Lane::Events,
            record.source});
        previous->second = toNs;
        sums[record.source] += record.droppedRecords;
    }
    for (const auto& [source, sum] : sums) {
        const std::string_view name = coverageSourceName(source);
        process.issues().dataLoss("source_lost_records", sum,
            fmt::format("{} records of {} were lost before the collector received them", sum,
                name.empty() ? "an unknown source" : name));
    }
}

std::vector<Interval> recorded(ProcessImport& process, CoverageSource source) {
    std::vector<raw::Coverage> records;
    for (const raw::Coverage& record : process.raw().coverage) {
        if (record.source == static_cast<std::uint32_t>(source))
            records.push_back(record);
    }
    std::stable_sort(records.begin(), records.end(),
        [](const raw::Coverage& a, const raw::Coverage& b) { return a.timeNs < b.timeNs; });
    std::vector<Interval> intervals;
    for (std::size_t i = 0; i < records.size(); ++i) {
        // What is said with the first records of a process holds from its start.
        const std::int64_t fromNs
            = i == 0 && wrapSubtract(process.time(records[i].timeNs), process.startNs) < 1'000'000'000
            ? process.startNs
            : process.time(records[i].timeNs);
        const std::int64_t toNs
            = i + 1 < records.size() ? process.time(records[i + 1].timeNs) : process.endNs;
        if (toNs <= fromNs && i + 1 < records.size())
            continue;
        const auto state = records[i].state > static_cast<std::uint32_t>(CoverageState::Complete)
            ? CoverageState::Absent
            : static_cast<CoverageState>(records[i].state);
        intervals.push_back(
            {fromNs, std::max(fromNs, toNs), state, std::string(process.rawText(records[i].reason))});
    }
    return intervals;
}

// Cuts the complete intervals where records were lost.
std::vector<Interval> degraded(
    std::vector<Interval> intervals, CoverageSource source, const std::vector<Loss>& losses) {
    for (const Loss& loss : losses) {
        const bool concerned = loss.source == 0 ? dependsOn(source, loss.lane)
                                                : loss.source == static_cast<std::uint32_t>(source);
        if (!concerned)
            continue;
        std::vector<Interval> cut;
        for (Interval& interval : intervals) {
            const std::int64_t fromNs = std::max(interval.fromNs, loss.fromNs);
            const std::int64_t toNs = std::min(interval.toNs, loss.toNs);
            if (interval.state != CoverageState::Complete || fromNs > toNs) {
                cut.push_back(std::move(interval));
                continue;
            }
            if (interval.fromNs < fromNs)
                cut.push_back({interval.fromNs, fromNs, interval.state, {}});
            cut.push_back(
                {fromNs, toNs, CoverageState::Partial, fmt::format("{} records were lost", loss.records)});
            if (toNs < interval.toNs)
                cut.push_back({toNs, interval.toNs, interval.state, {}});
        }
        intervals = std::move(cut);
    }
    return intervals;
}

// What is left of a source where the oldest events were dropped: of those that write to the history as well,
// that.
CoverageState withoutEvents(CoverageSource source) {
    switch (source) {
    case CoverageSource::launch_callbacks:
    case CoverageSource::graph_trace:
    case CoverageSource::node_activity:
    case CoverageSource::eager_kernel_activity:
    case CoverageSource::sync:
        return CoverageState::Absent;
    case CoverageSource::callbacks:
    case CoverageSource::nvtx:
    case CoverageSource::nccl_nvtx:
    case CoverageSource::nccl_plugin:
    case CoverageSource::comm_ops:
        return CoverageState::Partial;
    default:
        return CoverageState::Complete;
    }
}

std::vector<Interval> shortened(
    ProcessImport& process, std::vector<Interval> intervals, CoverageSource source) {
    if (process.raw().eventsFromNs == 0)
        return intervals;
    const std::int64_t fromNs = process.time(process.raw().eventsFromNs);
    std::vector<Interval> cut;
    for (Interval& interval : intervals) {
        const CoverageState state = std::min(interval.state, withoutEvents(source));
        if (interval.fromNs >= fromNs || state == interval.state) {
            cut.push_back(std::move(interval));
            continue;
        }
        const std::int64_t toNs = std::min(interval.toNs, fromNs);
        cut.push_back({interval.fromNs, toNs, state, "older events were dropped to keep to a limit"});
        if (toNs < interval.toNs)
            cut.push_back({toNs, interval.toNs, interval.state, interval.reason});
    }
    return cut;
}

// comm_ops is, at each moment, the best of what tells of communication: NCCL's plugin, its NVTX ranges, the
// runtime's own table (which reports comm_ops itself).
std::vector<Interval> bestComm(ProcessImport& process) {
    std::vector<std::vector<Interval>> sources;
    std::set<std::int64_t> edges;
    for (const CoverageSource source :
        {CoverageSource::comm_ops, CoverageSource::nccl_plugin, CoverageSource::nccl_nvtx}) {
        sources.push_back(recorded(process, source));
        for (const Interval& interval : sources.back())
            edges.insert({interval.fromNs, interval.toNs});
    }
    std::vector<Interval> best;
    for (auto edge = edges.begin(); edge != edges.end(); ++edge) {
        const auto next = std::next(edge);
        // The end of the process belongs to the interval before it; alone it is one of its own.
        if (next == edges.end() && edges.size() != 1)
            break;
        const std::int64_t toNs = next == edges.end() ? *edge : *next;
        const Interval* found = nullptr;
        for (const auto& intervals : sources) {
            for (const Interval& interval : intervals) {
                if (interval.fromNs <= *edge && interval.toNs >= toNs
                    && (found == nullptr || interval.state > found->state))
                    found = &interval;
            }
        }
        if (found == nullptr)
            continue;
        if (!best.empty() && best.back().toNs == *edge && best.back().state == found->state
            && best.back().reason == found->reason)
            best.back().toNs = toNs;
        else
            best.push_back({*edge, toNs, found->state, found->reason});
    }
    return best;
}

Result<void> writeSource(
    ProcessImport& process, Statement& insert, CoverageSource source, const std::vector<Loss>& losses) {
    std::vector<Interval> intervals
        = source == CoverageSource::comm_ops ? bestComm(process) : recorded(process, source);
    const bool isOfNccl = source == CoverageSource::comm_ops || source == CoverageSource::nccl_plugin
        || source == CoverageSource::nccl_nvtx;
    if (intervals.empty())
        intervals.push_back({process.startNs, process.endNs, CoverageState::Absent,
            isOfNccl ? "no communication was seen" : "the collector did not report it"});
    if (intervals.front().fromNs > process.startNs)
        intervals.insert(intervals.begin(),
            {process.startNs, intervals.front().fromNs, CoverageState::Absent, "not yet switched on"});
    intervals = shortened(process, std::move(intervals), source);
    for (const Interval& interval : degraded(std::move(intervals), source, losses)) {
        std::optional<std::string> reason;
        if (interval.state != CoverageState::Complete)
            reason = process.job().cleaner.clean(
                interval.reason.empty() ? "no reason was recorded" : interval.reason);
        GD_TRY(insert.runWith(process.processId(), coverageSourceName(static_cast<std::uint32_t>(source)),
            interval.fromNs, interval.toNs, coverageStateName(static_cast<std::uint32_t>(interval.state)),
            reason));
    }
    return {};
}

Result<void> writeRecordingStates(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare(
            "INSERT INTO recording_state(process_id, time_ns, level, window) VALUES (?, ?, ?, ?)"));
    std::vector<raw::ControlState> states = process.raw().controlStates;
    std::stable_sort(
        states.begin(), states.end(), [](const auto& a, const auto& b) { return a.timeNs < b.timeNs; });
    for (const raw::ControlState& state : states) {
        if (const std::string_view level = recordingLevelName(state.level); !level.empty())
            GD_TRY(insert.runWith(process.processId(), process.time(state.timeNs), level, state.window));
    }
    return {};
}

// CUPTI said that device times are recorded, graphs were launched, and nothing came: a process that ends soon
// after its first records may take them with it.
Result<void> sayWhetherRecordsCame(ProcessImport& process) {
    GD_TRY_ASSIGN(Statement question,
        process.db().prepare(
            "SELECT count(*) FROM replay AS r WHERE r.process_id = ?1 AND r.result = 0 "
            "AND EXISTS (SELECT 1 FROM coverage AS c WHERE c.process_id = ?1 "
            "AND c.state = 'complete' AND c.source IN ('graph_trace', 'node_activity')) "
            "AND NOT EXISTS (SELECT 1 FROM replay AS t WHERE t.process_id = ?1 "
            "AND t.start_ns IS NOT NULL) "
            "AND NOT EXISTS (SELECT 1 FROM track AS t WHERE t.process_id = ?1 "
            "AND t.table_name IN ('kernel', 'memcpy', 'memset', 'sync') AND t.row_count > 0)"));
    question.bind(1, process.processId());
    GD_TRY_ASSIGN(const bool answered, question.step());
    const std::int64_t replays = answered ? question.int64(0) : 0;
    if (replays == 0)
        return {};
    process.issues().dataLoss("no_device_records", static_cast<std::uint64_t>(replays),
        "none of the records of device times arrived: the process ended before CUPTI had handed them out");
    GD_TRY_ASSIGN(Statement update,
        process.db().prepare("UPDATE coverage SET state = 'partial', reason = 'none of its records arrived' "
                             "WHERE process_id = ? AND state = 'complete' AND source IN ('graph_trace', "
                             "'node_activity', 'eager_kernel_activity', 'sync')"));
    return update.runWith(process.processId());
}

} // namespace

Result<void> importCoverage(ProcessImport& process) {
    if (process.ring() && process.ring()->historyFull)
        process.issues().error("history_limit_reached", 1,
            "the history of this process (captures, graphs, allocations, names) took its share of "
            "--max-size, a quarter: what came after it is lost, and nothing can be said about it");
    std::vector<Loss> losses = lossesOf(process);
    reportLosses(process, losses);
    addSourceLosses(process, losses);
    for (const raw::Issue& record : process.raw().issues) {
        const auto severity = static_cast<raw::IssueSeverity>(std::min<std::uint32_t>(record.severity, 2));
        process.issues().add(
            severity, process.rawText(record.code), 1, std::string(process.rawText(record.detail)));
    }
    if (process.raw().unknownKinds != 0)
        process.issues().dataLoss("unknown_records", process.raw().unknownKinds,
            fmt::format("{} records have a kind or a size that this version does not know; they are left out",
                process.raw().unknownKinds));
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare("INSERT INTO coverage(process_id, source, from_ns, to_ns, state, reason) VALUES "
                             "(?, ?, ?, ?, ?, ?)"));
#define GD_WRITE_SOURCE(number, name) GD_TRY(writeSource(process, insert, CoverageSource::name, losses));
    GD_COVERAGE_SOURCES(GD_WRITE_SOURCE)
#undef GD_WRITE_SOURCE
    GD_TRY(sayWhetherRecordsCame(process));
    return writeRecordingStates(process);
}

} // namespace gd::importer
