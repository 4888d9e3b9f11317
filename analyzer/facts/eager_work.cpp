// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/eager_work.h"

#include "analyzer/facts/call_index.h"

#include <algorithm>

namespace gd::facts {

std::int64_t total(const Histogram& histogram) {
    std::int64_t sum = 0;
    for (const auto& [key, count] : histogram)
        sum += count;
    return sum;
}

std::int64_t copiesIn(const Histogram& work, const Histogram& pattern) {
    constexpr std::int64_t kMaxCopies = 4096;
    const std::int64_t size = total(pattern);
    if (size == 0)
        return 0;
    std::int64_t there = 0;
    for (const auto& [key, count] : pattern) {
        const auto found = work.find(key);
        there += found == work.end() ? 0 : found->second;
    }
    for (std::int64_t copies = std::min(kMaxCopies, (there + size / 2) / size); copies > 0; --copies) {
        std::int64_t found = 0;
        for (const auto& [key, count] : pattern) {
            const auto at = work.find(key);
            found += at == work.end() ? 0 : std::min(at->second, copies * count);
        }
        if (found * 100 >= copies * size * 95)
            return copies;
    }
    return 0;
}

void takeCopies(Histogram& work, const Histogram& pattern, std::int64_t copies) {
    for (const auto& [key, count] : pattern) {
        if (const auto there = work.find(key); there != work.end())
            there->second = std::max<std::int64_t>(0, there->second - copies * count);
    }
}

namespace {

// What a kernel adds to the time in which the device ran single launches or waited for the next of them.
// A longer wait is no launch: the host did something else.
std::int64_t addedNs(const EagerStep& step, const DeviceOp& op) {
    constexpr std::int64_t kMaxLaunchNs = 100'000;
    if (step.lastNs == 0 || op.startNs - step.lastNs > kMaxLaunchNs)
        return op.endNs - op.startNs;
    return std::max<std::int64_t>(0, op.endNs - step.lastNs);
}

} // namespace

std::vector<EagerStep> eagerSteps(const RawData& raw, const ProcessData& process) {
    std::vector<EagerStep> steps(process.steps.size());
    if (steps.empty())
        return steps;
    const CallByCorrelation calls(process);
    for (const DeviceOp& op : process.ops) {
        if (op.inGraph || op.kind != DeviceOp::Kind::kernel)
            continue;
        const ApiCall* launch = calls.find(op.correlation);
        const std::int32_t index = process.stepAt(launch == nullptr ? op.startNs : launch->startNs);
        if (index < 0)
            continue;
        EagerStep& step = steps[static_cast<std::size_t>(index)];
        const auto shape = raw.shapes.find(op.shapeId);
        const std::int64_t name = shape == raw.shapes.end() ? 0 : shape->second.nameId;
        ++step.names[name];
        step.timeNs[name] += addedNs(step, op);
        ++step.shapes[shape == raw.shapes.end() ? 0 : shape->second.launchId];
        if (step.lastNs == 0) {
            step.firstNs = op.startNs;
            step.launch = launch;
        }
        step.lastNs = std::max(step.lastNs, op.endNs);
        step.busyNs += op.endNs - op.startNs;
    }
    return steps;
}

} // namespace gd::facts
