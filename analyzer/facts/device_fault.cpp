// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/device_fault.h"

#include "analyzer/facts/fault_suspects.h"
#include "analyzer/facts/sticky_error.h"
#include "analyzer/facts/work_in_flight.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace gd::facts {
namespace {

struct Fault {
    const ProcessData* process = nullptr;
    StickyError error;
    const ApiCall& call() const { return *error.call; }
};

// The launches of one executable that were in flight.
struct ExecInFlight {
    const Exec* exec = nullptr;
    std::vector<const Replay*> replays; // by launch
};

// Executables, the one that was launched first before the others.
std::vector<ExecInFlight> byExec(const ProcessData& process, const WorkInFlight& work) {
    std::vector<ExecInFlight> execs;
    std::map<const Exec*, std::size_t> places;
    for (const Replay* replay : work.replays) {
        const Exec* exec = process.exec(replay->execId);
        if (exec == nullptr)
            continue;
        const auto [place, isNew] = places.try_emplace(exec, execs.size());
        if (isNew)
            execs.push_back({exec, {}});
        execs[place->second].replays.push_back(replay);
    }
    return execs;
}

// Which launch of its executable this is, counted from 1.
std::int64_t numberOf(const ProcessData& process, const Exec& exec, const Replay& launch) {
    std::int64_t number = 0;
    for (const std::int32_t index : exec.replays) {
        const Replay& replay = process.replays[static_cast<std::size_t>(index)];
        number += replay.result == 0 ? 1 : 0;
        if (&replay == &launch)
            break;
    }
    return number;
}

struct Launched {
    std::int64_t all = 0;
    std::int64_t measured = 0;
};

Launched launchedBefore(const ProcessData& process, const ApiCall& failed) {
    Launched launched;
    for (const Replay& replay : process.replays) {
        const bool counts = replay.result == 0 && replay.launchStartNs < failed.endNs;
        launched.all += counts ? 1 : 0;
        launched.measured += counts && replay.measured ? 1 : 0;
    }
    return launched;
}

// Kernels outside graphs that ended after the first replay was launched: whether the job runs any beside its
// graphs. One that had the error has no record. nullopt: there are none, but they were not always recorded,
// or not even a replay has device times: of the last moments before an error CUPTI delivers nothing
// [measured: H200, CUDA 13.0, fixture h200-trace-freed-broken].
std::optional<std::int64_t> eagerKernels(
    const ProcessData& process, const ApiCall& failed, const Launched& launched) {
    const auto first = std::find_if(process.replays.begin(), process.replays.end(),
        [](const Replay& replay) { return replay.result == 0; });
    if (first == process.replays.end())
        return std::nullopt;
    const std::int64_t kernels
        = std::count_if(process.ops.begin(), process.ops.end(), [&](const DeviceOp& op) {
              return op.kind == DeviceOp::Kind::kernel && !op.inGraph && op.startNs < failed.endNs
                  && (op.correlation != 0 && first->correlation != 0 ? op.correlation > first->correlation
                                                                     : op.startNs > first->launchEndNs);
          });
    const bool complete = launched.measured > 0
        && process.complete("eager_kernel_activity", first->launchStartNs, failed.startNs);
    return kernels > 0 || complete ? std::optional(kernels) : std::nullopt;
}

// A process that shares a communicator and whose first error came before this one's. Of a host's own clock
// only.
const Fault* failedBefore(const std::vector<Fault>& faults, const Fault& fault) {
    const Fault* first = nullptr;
    for (const Fault& other : faults) {
        if (&other == &fault || other.process->host != fault.process->host
            || other.call().endNs >= fault.call().endNs || other.error.recovered)
            continue;
        const auto& comms = fault.process->comms;
        const bool isPeer = std::any_of(comms.begin(), comms.end(), [&](const Comm& mine) {
            return std::any_of(other.process->comms.begin(), other.process->comms.end(),
                [&](const Comm& theirs) { return theirs.commHash == mine.commHash; });
        });
        if (isPeer && (first == nullptr || other.call().endNs < first->call().endNs))
            first = &other;
    }
    return first;
}

std::optional<std::string> nth(const std::vector<std::string>& names, std::size_t index) {
    return index < names.size() ? std::optional(names[index]) : std::nullopt;
}

class Writer {
public:
    Writer(FactContext& context, const std::vector<Fault>& faults, Statement insert)
        : m_context(context)
        , m_faults(faults)
        , m_insert(std::move(insert)) { }

    Result<void> write(const Fault& fault) {
        const ProcessData& process = *fault.process;
        GD_TRY_ASSIGN(const auto streams, StreamKinds::read(m_context.db, process.processId));
        const WorkInFlight work = workInFlight(process, m_context.raw, streams, fault.call());
        const std::vector<ExecInFlight> execs = byExec(process, work);
        GD_TRY(bindCall(fault));
        const Launched launched = launchedBefore(process, fault.call());
        bind(launched.all);
        bind(launched.measured);
        bind(work.replays.size());
        bind(execs.size());
        bind(std::int64_t{work.haveDeviceTimes});
        bind(eagerKernels(process, fault.call(), launched));
        GD_TRY(bindExec(fault, execs));
        const Fault* before = failedBefore(m_faults, fault);
        bind(before == nullptr ? std::nullopt : std::optional(before->process->processId));
        bind(before == nullptr ? std::nullopt : std::optional(fault.call().endNs - before->call().endNs));
        m_index = 0;
        return m_insert.run();
    }

private:
    template <class T> void bind(const T& value) { m_insert.bind(++m_index, value); }

    Result<void> bindCall(const Fault& fault) {
        const ApiCall& call = fault.call();
        GD_TRY_ASSIGN(const auto place, m_context.stacks.jobPlace(call.stackId));
        bind(fault.process->processId);
        bind(call.deviceId < 0 ? std::nullopt : std::optional(std::int64_t{call.deviceId}));
        bind(call.result);
        bind(m_context.raw.apiName(call.apiId));
        bind(call.startNs);
        bind(call.endNs);
        bind(orNull(std::int64_t{call.threadId}));
        bind(orNull(fault.process->threadName(call.threadId)));
        bind(orNull(call.stackId));
        bind(place);
        bind(fault.error.calls);
        bind(std::int64_t{fault.error.recovered});
        return {};
    }

    // The executable to look at first, and its suspects.
    Result<void> bindExec(const Fault& fault, const std::vector<ExecInFlight>& execs) {
        const ProcessData& process = *fault.process;
        if (execs.empty()) {
            for (int column = 0; column < kExecColumns; ++column)
                bind(nullptr);
            return {};
        }
        std::size_t chosen = 0;
        FaultSuspects suspects;
        for (std::size_t i = 0; i < execs.size(); ++i) {
            GD_TRY_ASSIGN(auto found,
                faultSuspects(
                    m_context, process, *execs[i].exec, *execs[i].replays.front(), fault.call().result));
            const bool isStale = found.how == FaultSuspects::How::stale;
            if (i == 0 || isStale) {
                chosen = i;
                suspects = std::move(found);
            }
            if (isStale)
                break;
        }
        const Exec& exec = *execs[chosen].exec;
        const Replay& last = *execs[chosen].replays.back();
        const Graph* graph = process.templateOf(exec);
        const Capture* capture = graph == nullptr ? nullptr : process.capture(graph->captureId);
        const std::int64_t launchStack = last.stackId != 0 ? last.stackId : exec.launchStackId;
        const std::int64_t captureStack = capture == nullptr ? 0 : capture->beginStackId;
        GD_TRY_ASSIGN(const auto launchPlace, m_context.stacks.jobPlace(launchStack));
        GD_TRY_ASSIGN(const auto capturePlace, m_context.stacks.jobPlace(captureStack));
        bind(exec.execId);
        bind(process.graphName(graph, exec.execId));
        bind(graph == nullptr ? std::nullopt : graph->signature);
        bind(numberOf(process, exec, *execs[chosen].replays.front()));
        bind(numberOf(process, exec, last));
        bind(last.launchStartNs);
        bind(launchPlace);
        bind(capturePlace);
        bind(othersOf(process, execs, chosen));
        bindSuspects(suspects);
        std::int64_t stack = suspects.stackId;
        for (const std::int64_t other : {launchStack, captureStack, exec.stackId})
            stack = stack != 0 ? stack : other;
        bind(orNull(stack));
        bind(process.stepNumberAt(last.launchStartNs));
        return {};
    }

    void bindSuspects(const FaultSuspects& suspects) {
        bind(name(suspects.how));
        bind(suspects.nodes);
        bind(suspects.kernels);
        for (std::size_t i = 0; i < 3; ++i)
            bind(nth(suspects.names, i));
    }

    static std::optional<std::string> othersOf(
        const ProcessData& process, const std::vector<ExecInFlight>& execs, std::size_t chosen) {
        constexpr std::size_t kNamed = 3;
        std::string text;
        std::size_t named = 0;
        for (std::size_t i = 0; i < execs.size(); ++i) {
            if (i == chosen)
                continue;
            if (++named > kNamed)
                continue;
            const Exec& exec = *execs[i].exec;
            text += fmt::format("{}{} ({} launch{})", text.empty() ? "" : ", ",
                process.graphName(process.templateOf(exec), exec.execId), execs[i].replays.size(),
                execs[i].replays.size() == 1 ? "" : "es");
        }
        if (named > kNamed)
            text += fmt::format(" and {} more", named - kNamed);
        return orNull(std::move(text));
    }

    static constexpr int kExecColumns = 17;
    FactContext& m_context;
    const std::vector<Fault>& m_faults;
    Statement m_insert;
    int m_index = 0;
};

} // namespace

Result<void> buildDeviceFault(FactContext& context) {
    std::vector<Fault> faults;
    for (const ProcessData& process : context.raw.processes) {
        if (const StickyError error = firstStickyError(process); error.call != nullptr)
            faults.push_back({&process, error});
    }
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO device_fault VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    Writer writer(context, faults, std::move(insert));
    for (const Fault& fault : faults)
        GD_TRY(writer.write(fault));
    return {};
}

} // namespace gd::facts
