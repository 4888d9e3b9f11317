// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/ranks/step_comparison.h"

#include "analyzer/base/statement.h"
#include "analyzer/base/time.h"
#include "analyzer/facts/intervals.h"
#include "analyzer/facts/stats.h"
#include "analyzer/report/phrases.h"
#include "analyzer/report/ranks/collectives.h"
#include "analyzer/report/ranks/step_work.h"

#include <algorithm>
#include <map>
#include <set>

namespace gd::report {
namespace {

// Less says nothing: clocks of one host agree this well.
constexpr std::int64_t kClockNs = 2'000;

// Communication goes behind other work: what is left of it is exposed, and of that the waits stand apart.
void addCommunication(RankLane& lane) {
    std::vector<facts::Interval> waits, transfers, busy;
    for (const LaneSegment& segment : lane.segments)
        busy.push_back({segment.startNs, segment.endNs});
    for (const CommWork& work : lane.comm) {
        const auto inside = [&lane](std::int64_t ns) { return std::clamp(ns, lane.startNs, lane.endNs); };
        waits.push_back({inside(work.startNs), inside(work.startNs + work.waitNs)});
        transfers.push_back({inside(work.startNs + work.waitNs), inside(work.endNs)});
    }
    const facts::IntervalSet covered = facts::unite(std::move(busy));
    const facts::IntervalSet moving = facts::subtract(facts::unite(std::move(transfers)), covered);
    const facts::IntervalSet waiting
        = facts::subtract(facts::subtract(facts::unite(std::move(waits)), covered), moving);
    for (const facts::Interval& part : moving)
        lane.segments.push_back({part.startNs, part.endNs, LaneSegment::Kind::transfer});
    for (const facts::Interval& part : waiting)
        lane.segments.push_back({part.startNs, part.endNs, LaneSegment::Kind::wait});
    std::sort(lane.segments.begin(), lane.segments.end(),
        [](const LaneSegment& a, const LaneSegment& b) { return a.startNs < b.startNs; });
}

std::string nameOf(const RankLane& lane) {
    return lane.rank ? fmt::format("rank {}", *lane.rank) : fmt::format("process {}", lane.processId);
}

// Who is waited for most; where waits are not known, who computes longest.
void findSlowest(StepComparison& out) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < out.lanes.size(); ++i) {
        if (out.lanes[i].heldUpNs.value_or(0) > out.lanes[best].heldUpNs.value_or(0))
            best = i;
    }
    const std::int64_t held = out.lanes[best].heldUpNs.value_or(0);
    const std::int64_t length = out.lanes[best].endNs - out.lanes[best].startNs;
    if (held > kClockNs && held * 100 >= length) {
        out.slowest = best;
        out.slowestWhy = fmt::format("{} comes last: the others would gain {} of {}", nameOf(out.lanes[best]),
            base::formatDuration(held), base::formatDuration(length));
        return;
    }
    std::vector<std::int64_t> computes;
    for (const RankLane& lane : out.lanes) {
        const bool waitsKnown = lane.heldUpNs.has_value();
        if (!lane.computeNs || waitsKnown)
            return;
        computes.push_back(*lane.computeNs);
    }
    const auto longest = std::max_element(computes.begin(), computes.end());
    const std::int64_t median = facts::medianNs(computes).value_or(0);
    if (median == 0 || (*longest - median) * 20 < median)
        return;
    out.slowest = static_cast<std::size_t>(longest - computes.begin());
    out.slowestWhy = fmt::format("{} works longest: {}, the median is {}", nameOf(out.lanes[*out.slowest]),
        base::formatDuration(*longest), base::formatDuration(median));
}

Result<std::vector<std::int64_t>> numbersOf(Statement rows) {
    std::vector<std::int64_t> out;
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return out;
        out.push_back(rows.int64(0));
    }
}

} // namespace

Result<std::vector<std::int64_t>> comparableSteps(Db& trace) {
    GD_TRY_ASSIGN(auto rows,
        trace.prepareReadOnly(
            "SELECT step FROM step GROUP BY step HAVING count(DISTINCT process_id) > 1 ORDER BY step"));
    return numbersOf(std::move(rows));
}

Result<StepComparison> compareRanks(Db& trace, std::int64_t step) {
    StepComparison out;
    out.step = step;
    GD_TRY_ASSIGN(auto rows,
        trace.prepareReadOnly("SELECT s.process_id FROM step AS s JOIN process AS p USING (process_id) "
                              "WHERE s.step = ? ORDER BY p.rank IS NULL, p.rank, s.process_id"));
    rows.bind(1, step);
    GD_TRY_ASSIGN(const auto processes, numbersOf(std::move(rows)));
    if (processes.size() < 2)
        return fail(ErrorCode::notFound, "step {} is in {} of this trace: two are needed to compare", step,
            plural(static_cast<std::int64_t>(processes.size()), "process"));
    for (const std::int64_t process : processes) {
        GD_TRY_ASSIGN(auto lane, readLane(trace, process, step));
        if (lane)
            out.lanes.push_back(std::move(*lane));
    }
    std::map<std::string, std::vector<std::string>> reasons;
    for (const RankLane& lane : out.lanes) {
        out.oneClock = out.oneClock && lane.host == out.lanes.front().host;
        if (!lane.reason.empty())
            reasons[lane.reason].push_back(nameOf(lane));
    }
    for (const auto& [reason, names] : reasons)
        out.notes.push_back(names.size() == out.lanes.size()
                ? reason
                : fmt::format("{}{}: {}", names.front(),
                    names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "", reason));
    GD_TRY(matchCollectives(trace, out));
    for (RankLane& lane : out.lanes)
        addCommunication(lane);
    findSlowest(out);
    return out;
}

} // namespace gd::report
