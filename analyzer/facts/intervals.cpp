// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/intervals.h"

namespace gd::facts {
namespace {

IntervalSet::const_iterator firstEndingAfter(const IntervalSet& set, std::int64_t timeNs) {
    return std::upper_bound(set.begin(), set.end(), timeNs,
        [](std::int64_t time, const Interval& interval) { return time < interval.endNs; });
}

} // namespace

IntervalSet unite(std::vector<Interval> intervals) {
    const auto byStart = [](const Interval& a, const Interval& b) { return a.startNs < b.startNs; };
    if (!std::is_sorted(intervals.begin(), intervals.end(), byStart))
        std::sort(intervals.begin(), intervals.end(), byStart);
    std::size_t kept = 0;
    for (const Interval interval : intervals) {
        if (interval.endNs <= interval.startNs)
            continue;
        if (kept > 0 && interval.startNs <= intervals[kept - 1].endNs)
            intervals[kept - 1].endNs = std::max(intervals[kept - 1].endNs, interval.endNs);
        else
            intervals[kept++] = interval;
    }
    intervals.resize(kept);
    return intervals;
}

IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
    IntervalSet result;
    auto next = b.begin();
    for (Interval rest : a) {
        while (next != b.end() && next->endNs <= rest.startNs)
            ++next;
        for (auto cut = next; cut != b.end() && cut->startNs < rest.endNs; ++cut) {
            if (cut->startNs > rest.startNs)
                result.push_back({rest.startNs, cut->startNs});
            rest.startNs = std::max(rest.startNs, cut->endNs);
        }
        if (rest.startNs < rest.endNs)
            result.push_back(rest);
    }
    return result;
}

IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
    IntervalSet result;
    for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
        const Interval both{std::max(i->startNs, j->startNs), std::min(i->endNs, j->endNs)};
        if (both.startNs < both.endNs)
            result.push_back(both);
        (i->endNs < j->endNs ? i : j)++;
    }
    return result;
}

std::int64_t totalNs(const IntervalSet& set) {
    std::int64_t total = 0;
    for (const Interval& interval : set)
        total += interval.lengthNs();
    return total;
}

std::int64_t coveredNs(const IntervalSet& set, std::int64_t fromNs, std::int64_t toNs) {
    std::int64_t total = 0;
    for (auto i = firstEndingAfter(set, fromNs); i != set.end() && i->startNs < toNs; ++i)
        total += std::min(i->endNs, toNs) - std::max(i->startNs, fromNs);
    return total;
}

IntervalSet clip(const IntervalSet& set, std::int64_t fromNs, std::int64_t toNs) {
    IntervalSet result;
    for (auto i = firstEndingAfter(set, fromNs); i != set.end() && i->startNs < toNs; ++i)
        result.push_back({std::max(i->startNs, fromNs), std::min(i->endNs, toNs)});
    return result;
}

} // namespace gd::facts
