// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/overwritten_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gd::importer {
namespace {

struct Seen {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0; // 0 = made of node records
    std::uint64_t correlation = 0;
};

// When the next replay of the same executable begins, by correlation of the replays that have node records.
class NextStarts {
public:
    explicit NextStarts(RawProcess& raw) {
        add(raw.kernels);
        add(raw.copies);
        add(raw.fills);
        if (m_nodes.empty())
            return;
        for (const auto& [correlation, node] : m_nodes)
            m_seen[node.exec].push_back({node.startNs, 0, correlation});
        for (const raw::GraphTrace& trace : raw.graphTraces) {
            const auto found = m_seen.find(trace.exec);
            if (found != m_seen.end() && !m_nodes.contains(trace.correlation))
                found->second.push_back({trace.startNs, trace.endNs, trace.correlation});
        }
        for (auto& [exec, seen] : m_seen)
            setLimits(seen);
    }

    bool empty() const { return m_nodes.empty(); }
    std::int64_t after(std::uint64_t correlation) const { return m_nodes.at(correlation).nextNs; }

private:
    struct Nodes {
        std::uint64_t exec = 0;
        std::int64_t startNs = 0;
        std::int64_t nextNs = std::numeric_limits<std::int64_t>::max();
    };

    template <class Row> void add(DeviceTracks<Row>& tracks) {
        for (const DeviceTrack<Row>& track : tracks.all()) {
            Nodes* last = nullptr;
            std::uint64_t lastCorrelation = 0;
            for (const Row& row : track.rows.rows()) {
                if (row.exec == 0 || row.correlation == 0)
                    continue;
                if (row.correlation != lastCorrelation) {
                    last = &m_nodes.try_emplace(row.correlation, Nodes{row.exec, row.startNs}).first->second;
                    lastCorrelation = row.correlation;
                }
                last->startNs = std::min(last->startNs, row.startNs);
            }
        }
    }

    void setLimits(std::vector<Seen>& seen) {
        std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
            return std::tie(a.startNs, a.correlation) < std::tie(b.startNs, b.correlation);
        });
        for (std::size_t i = 0; i < seen.size(); ++i) {
            if (seen[i].endNs != 0)
                continue;
            std::int64_t& nextNs = m_nodes.at(seen[i].correlation).nextNs;
            if (i + 1 < seen.size())
                nextNs = seen[i + 1].startNs;
            if (i > 0 && seen[i - 1].endNs > seen[i].startNs)
                nextNs = std::numeric_limits<std::int64_t>::min(); // its starts are a later replay's, too
        }
    }

    std::unordered_map<std::uint64_t, Nodes> m_nodes; // by correlation
    std::unordered_map<std::uint64_t, std::vector<Seen>> m_seen; // by executable
};

template <class Row>
std::uint64_t takeOut(
    DeviceTracks<Row>& tracks, const NextStarts& next, std::unordered_set<std::uint64_t>& correlations) {
    std::uint64_t taken = 0;
    for (DeviceTrack<Row>& track : tracks.all()) {
        std::int64_t nextNs = 0;
        std::uint64_t lastCorrelation = 0;
        const auto isOverwritten = [&](const Row& row) {
            if (row.exec == 0 || row.correlation == 0)
                return false;
            if (row.correlation != lastCorrelation) {
                lastCorrelation = row.correlation;
                nextNs = next.after(row.correlation);
            }
            if (row.endNs <= nextNs)
                return false;
            correlations.insert(row.correlation);
            return true;
        };
        const auto rows = track.rows.rows();
        const auto found = std::count_if(rows.begin(), rows.end(), isOverwritten);
        if (found == 0)
            continue;
        taken += static_cast<std::uint64_t>(found);
        RowBuffer<Row> kept;
        for (const Row& row : rows) {
            if (!isOverwritten(row))
                kept.push(row);
        }
        track.rows = std::move(kept);
    }
    return taken;
}

} // namespace

std::unordered_set<std::uint64_t> takeOutOverwrittenNodes(ProcessImport& process) {
    RawProcess& raw = process.raw();
    std::unordered_set<std::uint64_t> correlations;
    const NextStarts next(raw);
    if (next.empty())
        return correlations;
    const std::uint64_t taken = takeOut(raw.kernels, next, correlations)
        + takeOut(raw.copies, next, correlations) + takeOut(raw.fills, next, correlations);
    if (taken != 0)
        process.issues().info("node_times_overwritten", taken,
            fmt::format(
                "{} records of single nodes are left out: {} replays ran after the recording of nodes had "
                "been switched off, and their ends are those of later replays",
                taken, correlations.size()));
    return correlations;
}

} // namespace gd::importer
