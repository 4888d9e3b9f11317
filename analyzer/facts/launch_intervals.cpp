// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/launch_intervals.h"

#include "analyzer/facts/stats.h"

#include <map>

namespace gd::facts {
namespace {

constexpr std::size_t kMinIntervals = 10;
constexpr std::size_t kMinPopulation = 5; // smaller ones have no deviation worth a figure

// On the device where that was measured: a host that runs ahead launches in bursts, which disturbs nobody.
std::int64_t startOf(const Replay& replay) {
    return replay.measured ? replay.startNs : replay.launchStartNs;
}

} // namespace

LaunchIntervals::LaunchIntervals(const ProcessData& process, const std::vector<DeviceTimeline>& timelines,
    const std::unordered_map<std::int64_t, std::int64_t>& queuedNs)
    : m_process(process)
    , m_timelines(timelines)
    , m_queuedNs(queuedNs)
    , m_replayedNs(process.replays.size()) {
    for (const DeviceTimeline& timeline : timelines) {
        std::int64_t endNs = 0;
        for (const std::int32_t index : timeline.replays) {
            m_replayedNs[static_cast<std::size_t>(index)] = endNs;
            endNs = std::max(endNs, process.replays[static_cast<std::size_t>(index)].endNs);
        }
    }
    m_prefix.reserve(process.replays.size() + 1);
    m_prefix.push_back(0);
    for (const Replay& replay : process.replays)
        m_prefix.push_back(
            m_prefix.back() + static_cast<std::uint64_t>(replay.execId) * 0x9E3779B97F4A7C15ULL);
}

std::int64_t LaunchIntervals::idleNs(std::int64_t deviceId, std::int64_t fromNs, std::int64_t toNs) const {
    for (const DeviceTimeline& timeline : m_timelines) {
        if (timeline.deviceId == deviceId)
            return toNs - fromNs - coveredNs(timeline.busy, fromNs, toNs);
    }
    return 0;
}

std::int64_t LaunchIntervals::queuedNs(const Replay& replay) const {
    const auto queued = m_queuedNs.find(replay.replayId);
    return queued == m_queuedNs.end() ? 0 : queued->second;
}

std::vector<LaunchIntervals::Interval> LaunchIntervals::intervalsOf(const Exec& exec) const {
    // Launches of a step by position, for this step and the one before.
    std::vector<std::int32_t> before;
    std::vector<std::int32_t> current;
    std::int32_t stepBefore = -2;
    std::int32_t step = -2;
    std::vector<Interval> result;
    const auto closeStep = [&] {
        if (step == stepBefore + 1 && before.size() == current.size()) {
            for (std::size_t position = 0; position < current.size(); ++position) {
                const auto from = static_cast<std::size_t>(before[position]);
                const auto to = static_cast<std::size_t>(current[position]);
                const Replay& first = m_process.replays[from];
                const Replay& second = m_process.replays[to];
                result.push_back({startOf(second) - startOf(first),
                    startOf(second) - startOf(first)
                        - idleNs(first.deviceId, startOf(first), startOf(second)),
                    std::max<std::int64_t>(0,
                        idleNs(second.deviceId,
                            std::clamp(
                                m_replayedNs[to], startOf(first), std::max(startOf(first), startOf(second))),
                            startOf(second))
                            - queuedNs(second)),
                    m_prefix[to] - m_prefix[from]});
            }
        }
        before = std::move(current);
        current.clear();
        stepBefore = step;
    };
    for (const std::int32_t index : exec.replays) {
        const Replay& replay = m_process.replays[static_cast<std::size_t>(index)];
        if (!replay.steady || replay.result != 0)
            continue;
        if (replay.step != step) {
            closeStep();
            step = replay.step;
        }
        current.push_back(index);
    }
    closeStep();
    return result;
}

IntervalFigures LaunchIntervals::of(const Exec& exec) const {
    IntervalFigures figures;
    std::map<std::uint64_t, std::vector<Interval>> populations;
    for (const Interval& interval : intervalsOf(exec))
        populations[interval.population].push_back(interval);
    std::vector<std::int64_t> lengths;
    std::vector<double> lengthDeviations;
    std::vector<double> idleDeviations;
    std::vector<double> busyDeviations;
    double lateNs = 0;
    double squares = 0;
    double sum = 0;
    std::size_t freedom = 0;
    for (const auto& [key, population] : populations) {
        if (population.size() < kMinPopulation)
            continue;
        std::vector<std::int64_t> own;
        std::vector<std::int64_t> idle;
        std::vector<std::int64_t> busy;
        for (const Interval& interval : population) {
            own.push_back(interval.lengthNs);
            idle.push_back(interval.idleNs);
            busy.push_back(interval.busyNs);
        }
        const double median = *percentile(own, 50.0);
        const double idleMedian = *percentile(idle, 50.0);
        const double idleLow = *percentile(idle, 10.0);
        const double busyMedian = *percentile(busy, 50.0);
        double mean = 0;
        for (const std::int64_t length : own)
            mean += static_cast<double>(length) / static_cast<double>(own.size());
        for (std::size_t i = 0; i < own.size(); ++i) {
            const auto length = static_cast<double>(own[i]);
            squares += (length - mean) * (length - mean);
            sum += length;
            lengthDeviations.push_back(length - median);
            idleDeviations.push_back(static_cast<double>(idle[i]) - idleMedian);
            busyDeviations.push_back(static_cast<double>(busy[i]) - busyMedian);
            lateNs += std::max(0.0, static_cast<double>(idle[i]) - idleLow);
        }
        freedom += own.size() - 1;
        lengths.insert(lengths.end(), own.begin(), own.end());
    }
    figures.count = static_cast<std::int64_t>(lengths.size());
    if (lengths.size() < kMinIntervals || sum <= 0)
        return figures;
    figures.medianNs = medianNs(lengths);
    figures.p99Ns = std::llround(*percentile(lengths, 99.0));
    figures.cv
        = std::sqrt(squares / static_cast<double>(freedom)) / (sum / static_cast<double>(lengths.size()));
    const auto width = [](const std::vector<double>& values) {
        return *percentile(values, 90.0) - *percentile(values, 10.0);
    };
    figures.spread = width(lengthDeviations) / std::max(1.0, static_cast<double>(*figures.medianNs));
    if (m_timelines.empty())
        return figures;
    figures.idleSpreadNs = std::llround(width(idleDeviations));
    figures.busySpreadNs = std::llround(width(busyDeviations));
    figures.lateNs = std::llround(lateNs);
    return figures;
}

} // namespace gd::facts
