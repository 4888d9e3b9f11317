// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/uncaptured.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gd::facts {
namespace {

constexpr std::size_t kRangesInName = 2;
constexpr std::size_t kKernelsNamed = 3;
constexpr std::size_t kLongestName = 40; // those of cuBLAS have more than a hundred

// "void at::native::(anonymous namespace)::cat_kernel<float, 4>(…)" as "cat_kernel".
std::string plainName(std::string_view kernel) {
    std::string name(kernel);
    constexpr std::string_view kUnnamed = "(anonymous namespace)::";
    for (std::size_t at = 0; (at = name.find(kUnnamed)) != std::string::npos;)
        name.erase(at, kUnnamed.size());
    name.resize(std::min(name.size(), name.find_first_of("<(")));
    if (const std::size_t scope = name.find_last_of(": "); scope != std::string::npos)
        name.erase(0, scope + 1);
    if (name.empty())
        name = kernel;
    return name.size() <= kLongestName ? name : name.substr(0, kLongestName) + "…";
}

} // namespace

UncapturedRegions::UncapturedRegions(
    const RawData& raw, const ProcessData& process, const DeviceTimeline& timeline, std::int32_t threadId)
    : m_raw(raw)
    , m_process(process) {
    for (const Range& range : process.ranges) {
        if (range.threadId == threadId && !range.isMark && !isStep(range))
            m_ranges.push_back(&range);
    }
    std::sort(m_ranges.begin(), m_ranges.end(), [](const Range* a, const Range* b) {
        return a->startNs != b->startNs ? a->startNs < b->startNs : a->endNs > b->endNs;
    });
    for (const std::int32_t index : timeline.replays)
        m_replays.push_back(&process.replays[static_cast<std::size_t>(index)]);
}

bool UncapturedRegions::isStep(const Range& range) const {
    const auto step = std::lower_bound(m_process.steps.begin(), m_process.steps.end(), range.startNs,
        [](const Step& other, std::int64_t time) { return other.startNs < time; });
    return step != m_process.steps.end() && step->startNs == range.startNs && step->endNs == range.endNs;
}

bool UncapturedRegions::moveTo(std::int64_t timeNs) {
    bool moved = false;
    const auto closeUntil = [&](std::int64_t untilNs) {
        moved |= std::erase_if(m_open, [&](const Range* range) { return range->endNs <= untilNs; }) > 0;
    };
    for (; m_nextRange < m_ranges.size() && m_ranges[m_nextRange]->startNs <= timeNs; ++m_nextRange) {
        closeUntil(m_ranges[m_nextRange]->startNs);
        m_open.push_back(m_ranges[m_nextRange]);
        moved = true;
    }
    closeUntil(timeNs);
    for (; m_nextReplay < m_replays.size() && m_replays[m_nextReplay]->startNs <= timeNs; ++m_nextReplay)
        moved = true;
    return moved;
}

std::string UncapturedRegions::pathNow() const {
    std::string path;
    for (std::size_t i = 0; i < std::min(kRangesInName, m_open.size()); ++i) {
        if (i > 0)
            path += '/';
        path += m_raw.string(m_open[i]->nameId);
    }
    return path;
}

UncapturedRegion& UncapturedRegions::regionNow(const Exec* before) {
    std::string name = pathNow();
    const bool isRange = !name.empty();
    if (!isRange)
        name = before == nullptr
            ? "single launches"
            : "after " + m_process.graphName(m_process.templateOf(*before), before->execId);
    UncapturedRegion& region = m_regions[(isRange ? "range " : "") + name];
    region.name = std::move(name);
    region.isRange = isRange;
    return region;
}

void UncapturedRegions::add(const DeviceOp& op, std::int64_t idleNs, const ApiCall* call) {
    const bool moved = moveTo(op.startNs);
    const Replay* before = m_nextReplay == 0 ? nullptr : m_replays[m_nextReplay - 1];
    const Exec* exec = before == nullptr ? nullptr : m_process.exec(before->execId);
    if (moved || m_current == nullptr)
        m_current = &regionNow(exec);
    UncapturedRegion& region = *m_current;
    if (region.launches++ == 0)
        region.time.startNs = op.startNs;
    region.busyNs += op.endNs - op.startNs;
    region.idleNs += idleNs;
    region.time.endNs = std::max(region.time.endNs, op.endNs);
    if (op.kind == DeviceOp::Kind::kernel) {
        const auto shape = m_raw.shapes.find(op.shapeId);
        region.kernels[shape == m_raw.shapes.end() ? 0 : shape->second.nameId]
            += idleNs + op.endNs - op.startNs;
    }
    if (region.stackId == 0 && call != nullptr)
        region.stackId = call->stackId;
    if (region.stackId == 0 && exec != nullptr)
        region.stackId = exec->launchStackId;
}

std::vector<UncapturedRegion> UncapturedRegions::largest(std::size_t limit) const {
    std::vector<UncapturedRegion> regions;
    for (const auto& [key, region] : m_regions)
        regions.push_back(region);
    std::stable_sort(regions.begin(), regions.end(), [](const auto& a, const auto& b) {
        return std::pair(a.idleNs, a.busyNs) > std::pair(b.idleNs, b.busyNs);
    });
    regions.resize(std::min(limit, regions.size()));
    return regions;
}

std::string UncapturedRegions::kernelsOf(const UncapturedRegion& region) const {
    std::map<std::string, std::int64_t> byName; // template arguments are left out
    for (const auto& [nameId, ns] : region.kernels)
        byName[plainName(m_raw.string(nameId))] += ns;
    std::vector<std::pair<std::int64_t, std::string>> names;
    for (const auto& [name, ns] : byName)
        names.emplace_back(-ns, name);
    std::sort(names.begin(), names.end());
    std::string text = names.empty() ? "copies and fills" : "";
    for (std::size_t i = 0; i < std::min(kKernelsNamed, names.size()); ++i) {
        text += i == 0 ? "" : ", ";
        text += names[i].second;
    }
    return text;
}

} // namespace gd::facts
