// SPDX-License-Identifier: Apache-2.0
#include "gui/model/selection_stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace gd::gui {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;

std::int64_t unionOf(std::vector<Interval>& intervals) {
    std::sort(intervals.begin(), intervals.end());
    std::int64_t sum = 0;
    std::int64_t end = 0;
    bool first = true;
    for (const Interval& interval : intervals) {
        const std::int64_t from = first ? interval.first : std::max(end, interval.first);
        sum += std::max<std::int64_t>(0, interval.second - from);
        end = first ? interval.second : std::max(end, interval.second);
        first = false;
    }
    return sum;
}

// The value that a share of all does not exceed.
std::int64_t quantile(std::vector<std::int64_t>& values, double share) {
    const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.999999);
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

} // namespace

SelectionStats selectionStats(
    const std::vector<RowPtr>& rows, std::int64_t fromNs, std::int64_t toNs, const std::atomic<bool>& stop) {
    SelectionStats out;
    out.fromNs = fromNs;
    out.toNs = toNs;
    std::map<std::pair<RowKind, std::uint32_t>, std::vector<std::int64_t>> durations;
    std::vector<Interval> work;
    bool device = false;
    for (const RowPtr& row : rows) {
        // Launches without device times are host calls.
        const bool runs = row->measured && (row->kind == RowKind::stream || row->kind == RowKind::replay);
        device = device || runs;
        if (row->kind == RowKind::comm) // the same kernels stand in their streams
            continue;
        for (const auto& lane : row->lanes) {
            for (std::size_t i = lane->firstEndingAfter(fromNs); i < lane->size() && lane->start(i) < toNs;
                 ++i) {
                if (i % 65536 == 0 && stop) {
                    out.complete = false;
                    return out;
                }
                durations[{row->kind, lane->name(i)}].push_back(lane->duration(i));
                if (runs)
                    work.emplace_back(std::max(fromNs, lane->start(i)), std::min(toNs, lane->end(i)));
            }
        }
    }
    if (device)
        out.busyNs = unionOf(work);
    for (auto& [key, values] : durations) {
        NameStats stats;
        stats.kind = key.first;
        stats.name = key.second;
        stats.count = static_cast<std::int64_t>(values.size());
        for (const std::int64_t value : values)
            stats.sumNs += value;
        stats.medianNs = quantile(values, 0.5);
        stats.p99Ns = quantile(values, 0.99);
        out.names.push_back(stats);
    }
    std::stable_sort(out.names.begin(), out.names.end(),
        [](const NameStats& a, const NameStats& b) { return a.sumNs > b.sumNs; });
    return out;
}

std::string rowKindName(RowKind kind) {
    switch (kind) {
    case RowKind::step:
        return "step";
    case RowKind::range:
        return "range";
    case RowKind::replay:
        return "replay";
    case RowKind::gap:
        return "gap";
    case RowKind::stream:
        return "device";
    case RowKind::comm:
    case RowKind::commCall:
        return "communication";
    case RowKind::memory:
        return "memory";
    case RowKind::busy:
        return "busy";
    case RowKind::host:
        break;
    }
    return "call";
}

std::string statsCsv(const SelectionStats& stats, const NameTable& names) {
    std::string out = "kind,name,count,sum_ns,median_ns,p99_ns,moved_bytes\n";
    for (const NameStats& line : stats.names) {
        std::string quoted;
        for (const char c : names[line.name].text) {
            quoted += c;
            if (c == '"')
                quoted += c;
        }
        out += fmt::format("{},\"{}\",{},{},{},{},{}\n", rowKindName(line.kind), quoted, line.count,
            line.sumNs, line.medianNs, line.p99Ns,
            line.movedBytes < 0 ? "" : fmt::format("{}", line.movedBytes));
    }
    return out;
}

} // namespace gd::gui
