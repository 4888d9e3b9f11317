// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/passes.h"

#include <algorithm>
#include <set>

namespace gd::facts {
namespace {

struct Change {
    std::int64_t timeNs = 0;
    std::int64_t bytes = 0; // negative = freed
    const Allocation* allocation = nullptr;
};

struct StepMemory {
    std::int64_t peakBytes = 0;
    std::int64_t endBytes = 0;
    std::int64_t allocBytes = 0;
    std::int64_t freeBytes = 0;
    std::int64_t allocCount = 0;
    const Allocation* largest = nullptr;
    std::optional<std::int64_t> deviceUsedBytes; // of looks at the device
    std::optional<std::int64_t> graphReservedBytes;
};

// What a real device holds for graphs' own allocations is shared between them and told by samples: the nodes'
// sizes do not add up.
bool counts(const ProcessData& process, const Allocation& allocation) {
    const Device* device = process.device(allocation.deviceId);
    const bool host = device != nullptr && device->workers > 0;
    return allocation.fromDriver() && allocation.kind != "host_pinned"
        && (allocation.kind != "graph" || host);
}

// Changes of one device by time; frees before allocations of the same moment, so that a block handed on at
// once makes no peak.
std::vector<Change> changesOf(const ProcessData& process, std::int64_t deviceId) {
    std::vector<Change> changes;
    for (const Allocation& allocation : process.allocations) {
        if (allocation.deviceId != deviceId || !counts(process, allocation))
            continue;
        changes.push_back({allocation.allocNs, allocation.bytes, &allocation});
        if (allocation.freeNs)
            changes.push_back(
                {std::max(*allocation.freeNs, allocation.allocNs + 1), -allocation.bytes, &allocation});
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return std::pair(a.timeNs, a.bytes) < std::pair(b.timeNs, b.bytes);
    });
    return changes;
}

std::vector<StepMemory> memoryOf(const ProcessData& process, const std::vector<Change>& changes) {
    std::vector<StepMemory> result(process.steps.size());
    std::int64_t allocated = 0;
    auto change = changes.begin();
    for (std::size_t i = 0; i < process.steps.size(); ++i) {
        const Step& step = process.steps[i];
        StepMemory& memory = result[i];
        for (; change != changes.end() && change->timeNs < step.startNs; ++change)
            allocated += change->bytes;
        memory.peakBytes = allocated;
        for (; change != changes.end() && change->timeNs < step.endNs; ++change) {
            allocated += change->bytes;
            memory.peakBytes = std::max(memory.peakBytes, allocated);
            if (change->bytes <= 0) {
                memory.freeBytes -= change->bytes;
                continue;
            }
            memory.allocBytes += change->bytes;
            const std::string& kind = change->allocation->kind;
            memory.allocCount += kind == "device" || kind == "managed" || kind == "vmm" ? 1 : 0;
            if (memory.largest == nullptr || change->bytes > memory.largest->bytes)
                memory.largest = change->allocation;
        }
        memory.endBytes = allocated;
    }
    return result;
}

// Steps in which the device ran replays and no single kernel; no such statement without records of both.
std::vector<bool> replayOnlySteps(const ProcessData& process, std::int64_t deviceId) {
    std::vector<bool> replays(process.steps.size());
    for (const Replay& replay : process.replays) {
        if (replay.step >= 0 && replay.deviceId == deviceId)
            replays[static_cast<std::size_t>(replay.step)] = true;
    }
    for (std::size_t i = 0; i < process.steps.size(); ++i) {
        const Step& step = process.steps[i];
        replays[i] = replays[i] && process.complete("eager_kernel_activity", step.startNs, step.endNs);
    }
    for (const DeviceOp& op : process.ops) {
        if (op.inGraph || op.kind != DeviceOp::Kind::kernel || op.deviceId != deviceId)
            continue;
        if (const std::int32_t step = process.stepAt(op.startNs); step >= 0)
            replays[static_cast<std::size_t>(step)] = false;
    }
    return replays;
}

void keepLarger(std::optional<std::int64_t>& kept, std::optional<std::int64_t> value) {
    if (value && (!kept || *value > *kept))
        kept = value;
}

// The looks at a device that fall into steps.
Result<void> addSamples(
    Db& db, const ProcessData& process, std::int64_t deviceId, std::vector<StepMemory>& memory) {
    GD_TRY_ASSIGN(auto select,
        db.prepare("SELECT time_ns, total_bytes - free_bytes, graph_reserved_bytes FROM memory_sample "
                   "WHERE process_id = ? AND device_id = ?"));
    select.bind(1, process.processId);
    select.bind(2, deviceId);
    for (;;) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return {};
        const std::int32_t step = process.stepAt(select.int64(0));
        if (step < 0)
            continue;
        StepMemory& now = memory[static_cast<std::size_t>(step)];
        keepLarger(now.deviceUsedBytes, select.optionalInt64(1));
        keepLarger(now.graphReservedBytes, select.optionalInt64(2));
    }
}

} // namespace

Result<void> buildMemoryStep(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO memory_step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        std::set<std::int64_t> devices;
        for (const Allocation& allocation : process.allocations) {
            if (allocation.onDevice())
                devices.insert(allocation.deviceId);
        }
        for (const std::int64_t deviceId : devices) {
            std::vector<StepMemory> memory = memoryOf(process, changesOf(process, deviceId));
            GD_TRY(addSamples(context.db, process, deviceId, memory));
            const std::vector<bool> replayOnly = replayOnlySteps(process, deviceId);
            std::optional<std::int64_t> previousPeak;
            for (std::size_t i = 0; i < process.steps.size(); ++i) {
                const Step& step = process.steps[i];
                const StepMemory& now = memory[i];
                const Allocation* largest = now.largest;
                GD_TRY(insert.runWith(process.processId, deviceId, step.step, step.steady(), step.startNs,
                    step.endNs, now.peakBytes, now.endBytes, now.allocBytes, now.freeBytes, now.allocCount,
                    previousPeak, largest == nullptr ? std::nullopt : std::optional(largest->bytes),
                    largest == nullptr ? std::nullopt : orNull(largest->stackId),
                    largest == nullptr ? std::nullopt : orNull(std::int64_t{largest->threadId}),
                    replayOnly[i], now.deviceUsedBytes, now.graphReservedBytes,
                    process.complete("memory", step.startNs, step.endNs)));
                previousPeak = now.peakBytes;
            }
        }
    }
    return {};
}

} // namespace gd::facts
