// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/graph_payoff.h"

#include "analyzer/facts/device_idle.h"
#include "analyzer/facts/eager_baseline.h"
#include "analyzer/facts/stats.h"
#include "analyzer/facts/uncaptured.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace gd::facts {
namespace {

constexpr std::size_t kRegionsKept = 8;
constexpr double kMinShareOfReplays = 0.01; // an executable with less says nothing about the whole

// The steady steps of a device that are known, from device_busy.
struct Steady {
    std::vector<Interval> steps;
    std::int64_t firstStep = 0;
    std::int64_t wallNs = 0;
    std::int64_t busyNs = 0;
    std::int64_t exposedCommNs = 0;
    std::int64_t queuedNs = 0;
    std::int64_t unknownSteps = 0;
    std::optional<std::string> why;

    bool known() const { return unknownSteps * 20 < static_cast<std::int64_t>(steps.size()) + unknownSteps; }
};

Result<Steady> steadySteps(Db& db, std::int64_t processId, std::int64_t deviceId) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT start_ns, end_ns, busy_ns, exposed_comm_ns, queued_ns, known, step, why "
                   "FROM device_busy WHERE process_id = ? AND device_id = ? AND steady ORDER BY step"));
    select.bind(1, processId);
    select.bind(2, deviceId);
    Steady steady;
    while (true) {
        GD_TRY_ASSIGN(const bool row, select.step());
        if (!row)
            return steady;
        if (select.int64(5) == 0) {
            ++steady.unknownSteps;
            if (!select.isNull(7))
                steady.why = std::string(select.text(7));
            continue;
        }
        if (steady.steps.empty())
            steady.firstStep = select.int64(6);
        steady.steps.push_back({select.int64(0), select.int64(1)});
        steady.wallNs += select.int64(1) - select.int64(0);
        steady.busyNs += select.int64(2);
        steady.exposedCommNs += select.int64(3);
        steady.queuedNs += select.int64(4);
    }
}

// One executable in the steady steps.
struct Launches {
    const Exec* exec = nullptr;
    std::int64_t count = 0;
    std::int64_t waits = 0;
    IdleParts idle; // before its replays, without the call of its very first one
    std::int64_t deviceNs = 0;
    std::int64_t hostNs = 0;
    std::vector<std::int64_t> launchNs;
    std::vector<std::int64_t> replayNs;
    const Replay* first = nullptr; // its very first launch, where it lies in these steps
    std::int64_t firstIdleNs = 0;
    Interval time;
    std::int32_t threadId = 0;
};

struct Baseline {
    std::int64_t deviceNs = 0;
    double busy = 0; // sum, weighted by device time
    std::int64_t runs = 0;
    std::int64_t kernelNs = 0;
    std::optional<std::int64_t> launchNs = 0;
};

class Payoff {
public:
    Payoff(FactContext& context, const ProcessData& process, const DeviceTimeline& timeline, Steady steady)
        : m_context(context)
        , m_process(process)
        , m_timeline(timeline)
        , m_steady(std::move(steady)) { }

    Result<void> find() {
        GD_TRY_ASSIGN(const auto waiting, waitingReplays(m_context.db, m_process.processId));
        readLaunches();
        const DeviceIdle deviceIdle(m_context.raw, m_process, m_timeline, waiting);
        std::unordered_map<const DeviceOp*, std::int64_t> awaited;
        const IntervalSet inGraphs = intersect(m_timeline.busy, m_timeline.graphs);
        for (const Interval& step : m_steady.steps) {
            m_graphNs += coveredNs(inGraphs, step.startNs, step.endNs);
            for (const IdleTime& idle : deviceIdle.in(step.startNs, step.endNs)) {
                m_idle += idle.parts;
                if (idle.replay != nullptr)
                    note(idle);
                else if (idle.op != nullptr && idle.parts.singleNs > 0)
                    awaited[idle.op] += idle.parts.singleNs;
            }
        }
        findRegions(awaited);
        findBaseline();
        return {};
    }

    Result<void> write(Statement& payoff, Statement& region, Statement& cost) {
        GD_TRY(writePayoff(payoff));
        std::int64_t place = 0;
        for (const UncapturedRegion& found : m_regions->largest(kRegionsKept))
            GD_TRY(region.runWith(m_process.processId, m_timeline.deviceId, ++place, found.name,
                found.isRange, m_regions->kernelsOf(found), found.launches, found.busyNs, found.idleNs,
                found.time.startNs, found.time.endNs, orNull(found.stackId)));
        return writeCosts(cost);
    }

private:
    bool isSteady(std::int64_t timeNs) const {
        const auto step = std::upper_bound(m_steady.steps.begin(), m_steady.steps.end(), timeNs,
            [](std::int64_t time, const Interval& interval) { return time < interval.endNs; });
        return step != m_steady.steps.end() && step->startNs <= timeNs;
    }

    void readLaunches() {
        for (const std::int32_t index : m_timeline.replays) {
            const Replay& replay = m_process.replays[static_cast<std::size_t>(index)];
            const Exec* exec = m_process.exec(replay.execId);
            if (exec == nullptr || !isSteady(replay.startNs))
                continue;
            Launches& launches = m_launches[replay.execId];
            launches.exec = exec;
            launches.time.startNs = launches.count++ == 0 ? replay.launchStartNs : launches.time.startNs;
            launches.time.endNs = std::max(launches.time.endNs, replay.endNs);
            launches.deviceNs += replay.endNs - replay.startNs;
            launches.hostNs += replay.launchEndNs - replay.launchStartNs;
            launches.launchNs.push_back(replay.launchEndNs - replay.launchStartNs);
            launches.replayNs.push_back(replay.endNs - replay.startNs);
            launches.threadId = replay.threadId;
            if (isFirst(*exec, replay))
                launches.first = &replay;
        }
        for (const auto& [execId, launches] : m_launches) {
            m_replayNs += launches.deviceNs;
            m_launchNs += launches.hostNs;
            m_replays += launches.count;
            if (m_main == nullptr || launches.deviceNs > m_main->deviceNs)
                m_main = &launches;
        }
    }

    bool isFirst(const Exec& exec, const Replay& replay) const {
        return !exec.replays.empty()
            && &m_process.replays[static_cast<std::size_t>(exec.replays.front())] == &replay;
    }

    void note(const IdleTime& idle) {
        const auto found = m_launches.find(idle.replay->execId);
        const IdleParts& parts = idle.parts;
        if (found == m_launches.end() || parts.syncNs > 0)
            return;
        Launches& launches = found->second;
        IdleParts own = parts;
        if (idle.replay == launches.first)
            launches.firstIdleNs += std::exchange(own.replayCallNs, 0);
        launches.idle += own;
        launches.waits += parts.replayCallNs + parts.replayStartNs > 0 ? 1 : 0;
    }

    void findRegions(const std::unordered_map<const DeviceOp*, std::int64_t>& awaited) {
        const CallByCorrelation calls(m_process);
        m_regions.emplace(m_context.raw, m_process, m_timeline, m_process.steps.front().threadId);
        for (const DeviceOp& op : m_process.ops) {
            if (op.inGraph || op.deviceId != m_timeline.deviceId || !isSteady(op.startNs))
                continue;
            m_singleKernels += op.kind == DeviceOp::Kind::kernel ? 1 : 0;
            const auto idle = awaited.find(&op);
            m_regions->add(op, idle == awaited.end() ? 0 : idle->second, calls.find(op.correlation));
        }
    }

    void findBaseline() {
        if (m_launches.empty())
            return;
        const EagerBaselines baselines(m_context.raw, m_process, m_timeline);
        for (const auto& [execId, launches] : m_launches) {
            const auto deviceNs = static_cast<double>(launches.deviceNs);
            if (deviceNs < kMinShareOfReplays * static_cast<double>(m_replayNs))
                continue;
            const auto found = baselines.of(*launches.exec);
            if (!found)
                continue;
            m_baseline.deviceNs += launches.deviceNs;
            m_baseline.busy += found->busy * deviceNs;
            m_baseline.runs = m_baseline.runs == 0 ? found->runs : std::min(m_baseline.runs, found->runs);
            m_baseline.kernelNs += found->kernelNs;
            if (!found->launchNs)
                m_baseline.launchNs.reset();
            else if (m_baseline.launchNs)
                *m_baseline.launchNs += *found->launchNs;
        }
    }

    std::int64_t devicesUsed() const {
        std::set<std::int64_t> devices;
        for (const DeviceTimeline& timeline : m_context.timelinesOf(m_process))
            devices.insert(timeline.deviceId);
        return static_cast<std::int64_t>(devices.size());
    }

    const Graph* graphOf(const Exec* exec) const {
        return exec == nullptr ? nullptr : m_process.templateOf(*exec);
    }

    std::int64_t captureStack(const Exec& exec) const {
        const Graph* graph = graphOf(&exec);
        const Capture* capture = graph == nullptr ? nullptr : m_process.capture(graph->captureId);
        return capture != nullptr && capture->beginStackId != 0 ? capture->beginStackId : exec.stackId;
    }

    Result<void> writePayoff(Statement& insert) {
        const bool hasBaseline = m_baseline.deviceNs > 0;
        const Exec* main = m_main == nullptr ? nullptr : m_main->exec;
        std::optional<double> baselineBusy;
        std::optional<double> launchShare;
        if (hasBaseline)
            baselineBusy = m_baseline.busy / static_cast<double>(m_baseline.deviceNs);
        if (hasBaseline && m_baseline.launchNs && m_baseline.kernelNs > 0)
            launchShare
                = static_cast<double>(*m_baseline.launchNs) / static_cast<double>(m_baseline.kernelNs);
        std::int64_t stackId = main == nullptr ? 0 : captureStack(*main);
        stackId = stackId != 0 || main == nullptr ? stackId : main->launchStackId;
        return insert.runWith(m_process.processId, m_timeline.deviceId, devicesUsed(), m_steady.steps.size(),
            m_steady.steps.front().startNs, m_steady.steps.back().endNs, m_steady.wallNs, m_steady.busyNs,
            m_steady.exposedCommNs, m_graphNs, m_steady.queuedNs, m_replays, m_singleKernels, m_idle.singleNs,
            m_idle.replayHostNs, m_idle.replayCallNs, m_idle.replayStartNs, m_idle.syncNs, m_idle.dataNs,
            m_idle.callNs, m_idle.otherNs, m_launchNs, m_baseline.deviceNs, m_replayNs, baselineBusy,
            m_baseline.runs, launchShare, main == nullptr ? std::nullopt : std::optional(main->execId),
            main == nullptr ? std::nullopt : std::optional(m_process.graphName(graphOf(main), main->execId)),
            m_steady.firstStep,
            orNull(m_main == nullptr ? m_process.steps.front().threadId : m_main->threadId), orNull(stackId),
            m_steady.known(), m_steady.why);
    }

    Result<void> writeCosts(Statement& insert) {
        GD_TRY_ASSIGN(auto updates,
            m_context.db.prepare(
                "SELECT COUNT(*) FROM exec_update WHERE process_id = ? AND exec_id = ? AND result = 0"));
        for (const auto& [execId, launches] : m_launches) {
            const Exec& exec = *launches.exec;
            const Graph* graph = graphOf(&exec);
            updates.bind(1, m_process.processId);
            updates.bind(2, execId);
            GD_TRY_ASSIGN([[maybe_unused]] const bool row, updates.step());
            const std::int64_t updated = updates.int64(0);
            updates.reset();
            std::optional<std::int64_t> nodes = exec.nodeCount;
            if (!nodes && graph != nullptr && !graph->nodes.empty())
                nodes = static_cast<std::int64_t>(graph->nodes.size());
            std::optional<std::int64_t> firstNs;
            if (launches.first != nullptr)
                firstNs = launches.first->launchEndNs - launches.first->launchStartNs;
            GD_TRY(insert.runWith(m_process.processId, m_timeline.deviceId, execId,
                m_process.graphName(graph, execId), launches.time.startNs, launches.time.endNs,
                exec.createdNs, nodes, updated, launches.count, launches.waits, launches.idle.replayHostNs,
                launches.idle.replayCallNs, launches.idle.replayStartNs, *medianNs(launches.launchNs),
                *medianNs(launches.replayNs), firstNs,
                launches.first == nullptr ? std::nullopt : std::optional(launches.firstIdleNs),
                orNull(launches.threadId),
                orNull(exec.launchStackId != 0 ? exec.launchStackId : captureStack(exec)), m_steady.known()));
        }
        return {};
    }

    FactContext& m_context;
    const ProcessData& m_process;
    const DeviceTimeline& m_timeline;
    const Steady m_steady;
    std::map<std::int64_t, Launches> m_launches; // by executable
    const Launches* m_main = nullptr;
    std::optional<UncapturedRegions> m_regions;
    IdleParts m_idle;
    Baseline m_baseline;
    std::int64_t m_graphNs = 0;
    std::int64_t m_replayNs = 0;
    std::int64_t m_launchNs = 0;
    std::int64_t m_replays = 0;
    std::int64_t m_singleKernels = 0;
};

// Steps of which nothing is known: not the same as none.
Result<void> writeUnknown(
    Statement& insert, const ProcessData& process, const Device& device, const Steady& steady) {
    const std::optional<std::int64_t> none;
    return insert.runWith(process.processId, device.deviceId, 0, 0, process.steps.front().startNs,
        process.steps.back().endNs, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, none, 0, none, none,
        none, none, none, none, false, steady.why);
}

} // namespace

Result<void> buildGraphPayoff(FactContext& context) {
    GD_TRY_ASSIGN(auto payoff,
        context.db.prepare("INSERT INTO graph_payoff VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                           "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    GD_TRY_ASSIGN(auto region,
        context.db.prepare("INSERT INTO uncaptured_region VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    GD_TRY_ASSIGN(auto cost,
        context.db.prepare("INSERT INTO launch_cost VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                           "?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        if (process.steps.empty())
            continue;
        const auto& timelines = context.timelinesOf(process);
        for (const Device& device : process.devices) {
            if (device.workers > 0) // the launches of a host runtime cost other times
                continue;
            GD_TRY_ASSIGN(Steady steady, steadySteps(context.db, process.processId, device.deviceId));
            const auto timeline = std::find_if(timelines.begin(), timelines.end(),
                [&](const DeviceTimeline& other) { return other.deviceId == device.deviceId; });
            if (steady.steps.empty() || timeline == timelines.end()) {
                if (steady.unknownSteps > 0)
                    GD_TRY(writeUnknown(payoff, process, device, steady));
                continue;
            }
            Payoff found(context, process, *timeline, std::move(steady));
            GD_TRY(found.find());
            GD_TRY(found.write(payoff, region, cost));
        }
    }
    return {};
}

} // namespace gd::facts
