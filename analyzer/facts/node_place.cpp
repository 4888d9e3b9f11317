// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/node_place.h"

namespace gd::facts {

NodePlaces::NodePlaces(StackReader& stacks, const ProcessData& process)
    : m_stacks(stacks)
    , m_process(process) {
    for (const Exec& exec : process.execs) {
        if (const Graph* graph = process.templateOf(exec))
            m_execs.try_emplace(graph->graphId, &exec);
    }
}

// A clone is as its original was made.
const Node& NodePlaces::originOf(const Node& node) const {
    const Node* origin = &node;
    for (int depth = 0; depth < 16; ++depth) {
        const Node* before = m_process.node(origin->originNodeId);
        if (before == nullptr || before->graphId == 0)
            break;
        origin = before;
    }
    return *origin;
}

std::int64_t NodePlaces::ownStack(const Node& node) const {
    const std::int64_t made = originOf(node).stackId;
    return made != 0 ? made : node.stackId;
}

Result<bool> NodePlaces::showsTheJob(std::int64_t stackId) {
    const auto [entry, isNew] = m_showsTheJob.try_emplace(stackId, false);
    if (isNew) {
        GD_TRY_ASSIGN(const Stack* stack, m_stacks.read(stackId));
        entry->second = userFrame(*stack) != nullptr;
    }
    return entry->second;
}

Result<std::int64_t> NodePlaces::first(std::vector<std::int64_t> candidates, const Node& node) {
    if (const Capture* capture = m_process.capture(originOf(node).captureId))
        candidates.push_back(capture->beginStackId);
    if (const Graph* graph = m_process.graph(node.graphId))
        candidates.push_back(graph->stackId);
    if (const auto exec = m_execs.find(node.graphId); exec != m_execs.end()) {
        candidates.push_back(exec->second->stackId);
        candidates.push_back(exec->second->launchStackId);
    }
    std::int64_t any = 0;
    for (const std::int64_t candidate : candidates) {
        GD_TRY_ASSIGN(const bool shows, showsTheJob(candidate));
        if (shows)
            return candidate;
        any = any != 0 ? any : candidate;
    }
    return any;
}

Result<void> buildNodePlace(FactContext& context) {
    GD_TRY_ASSIGN(auto insert, context.db.prepare("INSERT INTO node_place VALUES (?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        NodePlaces places(context.stacks, process);
        for (const Node& node : process.nodes) {
            if (node.type != "memcpy" && node.type != "mem_alloc")
                continue;
            GD_TRY_ASSIGN(const std::int64_t place, places.of(node));
            GD_TRY(insert.runWith(process.processId, node.nodeId, orNull(place)));
        }
    }
    return {};
}

} // namespace gd::facts
