// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/device_timeline.h"
#include "analyzer/facts/facts.h"
#include "analyzer/facts/raw_data.h"
#include "analyzer/facts/stack_reader.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace gd::facts {

// What the passes share. Each pass fills the table it is named after; the order below is the order in which
// they must run.
struct FactContext {
    Db& db;
    const FactsOptions& options;
    RawData& raw;
    StackReader& stacks;
    std::vector<std::vector<DeviceTimeline>> timelines; // per process, as in raw.processes

    const std::vector<DeviceTimeline>& timelinesOf(const ProcessData& process) const {
        return timelines[static_cast<std::size_t>(&process - raw.processes.data())];
    }
};

Result<void> buildSteps(FactContext& context); // also sets ProcessData::steps and Replay::step
Result<void> buildCaptureOutcome(FactContext& context);
Result<void> buildCaptureLeak(FactContext& context);
Result<void> buildReplayGap(FactContext& context);
Result<void> buildExecReuse(FactContext& context);
Result<void> buildDeviceBusy(FactContext& context);
Result<void> buildMemoryStep(FactContext& context);
Result<void> buildStalePointer(FactContext& context);
Result<void> buildMemoryWatch(FactContext& context);
Result<void> buildFrozenScalar(FactContext& context);
Result<void> buildFallback(FactContext& context);
Result<void> buildNccl(FactContext& context); // nccl_replay and nccl_step
Result<void> buildCommLifetime(FactContext& context);
Result<void> buildVitalSigns(FactContext& context); // reads the other facts

// Raw ids use 0 for "none", tables NULL.
inline std::optional<std::int64_t> orNull(std::int64_t id) {
    return id == 0 ? std::nullopt : std::optional(id);
}
inline std::optional<std::string> orNull(std::string text) {
    return text.empty() ? std::nullopt : std::optional(std::move(text));
}

} // namespace gd::facts
