// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/raw_data.h"

#include "analyzer/facts/raw_reader.h"

#include <algorithm>

namespace gd::facts {
namespace {

template <class T>
const T* find(const std::unordered_map<std::int64_t, std::int32_t>& index, const std::vector<T>& rows,
    std::int64_t id) {
    const auto found = index.find(id);
    return found == index.end() ? nullptr : &rows[static_cast<std::size_t>(found->second)];
}

} // namespace

const Graph* ProcessData::graph(std::int64_t id) const {
    return find(graphIndex, graphs, id);
}

const Exec* ProcessData::exec(std::int64_t id) const {
    return find(execIndex, execs, id);
}

const Capture* ProcessData::capture(std::int64_t id) const {
    return find(captureIndex, captures, id);
}

const Node* ProcessData::node(std::int64_t id) const {
    return find(nodeIndex, nodes, id);
}

const Device* ProcessData::device(std::int64_t id) const {
    for (const Device& device : devices) {
        if (device.deviceId == id)
            return &device;
    }
    return nullptr;
}

std::string ProcessData::threadName(std::int64_t id) const {
    const auto found = std::find_if(
        threads.begin(), threads.end(), [&](const Thread& thread) { return thread.threadId == id; });
    if (found == threads.end() || found->name.empty())
        return {};
    // All threads of a Python program have the program's name.
    const bool isShared = std::any_of(threads.begin(), threads.end(),
        [&](const Thread& thread) { return thread.threadId != id && thread.name == found->name; });
    return isShared ? fmt::format("{} {}", found->name, id) : found->name;
}

const Graph* ProcessData::templateOf(const Exec& exec) const {
    const Graph* result = graph(exec.graphId);
    // A clone of a clone of … : the chain is short, a broken one must not loop.
    for (int depth = 0; result != nullptr && result->captureId == 0 && depth < 16; ++depth) {
        const Graph* origin = graph(result->originGraphId);
        if (origin == nullptr)
            break;
        result = origin;
    }
    return result;
}

std::string ProcessData::graphName(const Graph* graph, std::int64_t execId) const {
    if (graph == nullptr)
        return "graph of exec " + std::to_string(execId);
    return graph->rangePath.empty() ? "graph " + std::to_string(graph->graphId) : graph->rangePath;
}

std::int32_t ProcessData::stepAt(std::int64_t timeNs) const {
    const auto after = std::upper_bound(steps.begin(), steps.end(), timeNs,
        [](std::int64_t time, const Step& step) { return time < step.startNs; });
    if (after == steps.begin() || timeNs >= std::prev(after)->endNs)
        return -1;
    return static_cast<std::int32_t>(std::prev(after) - steps.begin());
}

std::optional<std::int64_t> ProcessData::stepNumberAt(std::int64_t timeNs) const {
    const std::int32_t index = stepAt(timeNs);
    if (index < 0)
        return std::nullopt;
    return steps[static_cast<std::size_t>(index)].step;
}

CoverageState ProcessData::covered(std::string_view source, std::int64_t fromNs, std::int64_t toNs) const {
    const auto found = coverage.find(source);
    if (found == coverage.end())
        return CoverageState::absent;
    CoverageState worst = CoverageState::complete;
    std::int64_t reachedNs = fromNs;
    for (const CoverageSpan& span : found->second) {
        // The last span ends with the process's last record, at which activity may still be running.
        const bool isLast = &span == &found->second.back() && span.toNs >= endNs;
        if (span.toNs <= fromNs && !(isLast && span.toNs >= fromNs))
            continue;
        if (span.fromNs >= toNs && span.fromNs > fromNs)
            break;
        // What ran before the source was first looked at counts as not seen.
        if (span.fromNs > reachedNs)
            return CoverageState::absent;
        worst = std::min(worst, span.state);
        reachedNs = isLast ? std::max(toNs, span.toNs) : std::max(reachedNs, span.toNs);
    }
    return reachedNs < toNs || (reachedNs == fromNs && toNs > fromNs) ? CoverageState::absent : worst;
}

double ProcessData::completeShare(std::string_view source, std::int64_t fromNs, std::int64_t toNs) const {
    const auto found = coverage.find(source);
    if (found == coverage.end() || toNs <= fromNs)
        return 0;
    std::int64_t seenNs = 0;
    for (const CoverageSpan& span : found->second) {
        // As above: activity may still run at the last record.
        const bool isLast = &span == &found->second.back() && span.toNs >= endNs;
        if (span.state == CoverageState::complete)
            seenNs += std::max<std::int64_t>(
                0, (isLast ? toNs : std::min(span.toNs, toNs)) - std::max(span.fromNs, fromNs));
    }
    return static_cast<double>(seenNs) / static_cast<double>(toNs - fromNs);
}

std::size_t ProcessData::firstCallNear(std::int32_t threadId, std::int64_t timeNs, std::size_t* last) const {
    const auto found = callsOfThread.find(threadId);
    if (found == callsOfThread.end()) {
        *last = 0;
        return 0;
    }
    const auto begin = calls.begin() + found->second.first;
    const auto end = calls.begin() + found->second.second;
    *last = static_cast<std::size_t>(found->second.second);
    auto first = std::upper_bound(
        begin, end, timeNs, [](std::int64_t time, const ApiCall& call) { return time < call.startNs; });
    // Calls nest a few levels deep (a runtime call inside another): the enclosing ones started before.
    for (int back = 0; back < 8 && first != begin; ++back)
        --first;
    return static_cast<std::size_t>(first - calls.begin());
}

std::string_view RawData::string(std::int64_t id) const {
    const auto found = strings.find(id);
    return found == strings.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view RawData::shapeName(std::int64_t shapeId) const {
    const auto found = shapes.find(shapeId);
    return found == shapes.end() ? std::string_view() : string(found->second.nameId);
}

std::string RawData::apiName(std::int64_t apiId) const {
    const auto found = apis.find(apiId);
    return found == apis.end() ? "call " + std::to_string(apiId) : found->second.name;
}

Result<RawData> readRawData(Db& db) {
    return RawReader(db).read();
}

} // namespace gd::facts
