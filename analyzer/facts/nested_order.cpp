// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/nested_order.h"

#include <map>

namespace gd::facts {
namespace {

constexpr std::int32_t kMostDepth = 64; // CUDA allows fewer; a damaged chain must end

} // namespace

NodesInside nodesInside(const ProcessData& process) {
    NodesInside result;
    for (std::size_t i = 0; i < process.nodes.size(); ++i) {
        const Node& node = process.nodes[i];
        if (node.parentNodeId != 0 && node.graphId != 0)
            result[node.parentNodeId].push_back(static_cast<std::int32_t>(i));
    }
    return result;
}

NestedGraph::NestedGraph(const ProcessData& process, const Graph& graph, const NodesInside& inside) {
    add(process, inside, graph.graphId, graph.nodes, -1, 0);
}

void NestedGraph::add(const ProcessData& process, const NodesInside& inside, std::int64_t graphId,
    const std::vector<std::int32_t>& nodes, std::int32_t holder, std::int32_t depth) {
    const auto level = static_cast<std::int32_t>(levels.size());
    levels.push_back({graphId, holder, depth, {}});
    for (const std::int32_t node : nodes) {
        const auto place = static_cast<std::int32_t>(places.size());
        if (!placeOf.try_emplace(node, place).second)
            continue;
        std::vector<std::int32_t>& own = levels[static_cast<std::size_t>(level)].places;
        places.push_back({node, level, static_cast<std::int32_t>(own.size())});
        own.push_back(place);
        const auto held = inside.find(process.nodes[static_cast<std::size_t>(node)].nodeId);
        if (held == inside.end() || depth == kMostDepth)
            continue;
        std::map<std::int64_t, std::vector<std::int32_t>> byGraph; // a conditional node may hold several
        for (const std::int32_t other : held->second)
            byGraph[process.nodes[static_cast<std::size_t>(other)].graphId].push_back(other);
        for (const auto& [id, others] : byGraph)
            add(process, inside, id, others, place, depth + 1);
    }
}

std::optional<NestedOrder> NestedOrder::of(
    const ProcessData& process, const NestedGraph& graph, const EdgesByGraph& edges) {
    NestedOrder result(graph);
    std::size_t cells = 0;
    for (std::size_t level = 0; level < graph.levels.size(); ++level) {
        std::vector<std::pair<std::int32_t, std::int32_t>> links;
        const auto numberOf = [&](std::int64_t nodeId) {
            const auto node = process.nodeIndex.find(nodeId);
            const auto place
                = node == process.nodeIndex.end() ? graph.placeOf.end() : graph.placeOf.find(node->second);
            if (place == graph.placeOf.end())
                return -1;
            const NestedGraph::Place& found = graph.places[static_cast<std::size_t>(place->second)];
            return found.level == static_cast<std::int32_t>(level) ? found.number : -1;
        };
        if (const auto own = edges.find(graph.levels[level].graphId); own != edges.end()) {
            for (const auto& [from, to] : own->second) {
                const std::int32_t first = numberOf(from);
                const std::int32_t second = numberOf(to);
                if (first >= 0 && second >= 0)
                    links.emplace_back(first, second);
            }
        }
        std::optional<NodeOrder> order = NodeOrder::of(graph.levels[level].places.size(), links);
        if (!order)
            return std::nullopt;
        cells += order->cells();
        if (cells > NodeOrder::kMostCells)
            return std::nullopt;
        result.m_orders.push_back(std::move(*order));
    }
    return result;
}

NestedOrder::Places NestedOrder::meet(std::int32_t a, std::int32_t b) const {
    const auto at = [&](std::int32_t place) { return &m_graph->places[static_cast<std::size_t>(place)]; };
    const auto levelOf = [&](const NestedGraph::Place& place) -> const NestedGraph::Level& {
        return m_graph->levels[static_cast<std::size_t>(place.level)];
    };
    const NestedGraph::Place* first = at(m_graph->placeOf.at(a));
    const NestedGraph::Place* second = at(m_graph->placeOf.at(b));
    while (first->level != second->level) {
        const std::int32_t depth = levelOf(*first).depth;
        const std::int32_t otherDepth = levelOf(*second).depth;
        if (depth >= otherDepth)
            first = at(levelOf(*first).holder);
        if (depth <= otherDepth)
            second = at(levelOf(*second).holder);
    }
    return {first, second};
}

bool NestedOrder::before(std::int32_t a, std::int32_t b) const {
    const auto [first, second] = meet(a, b);
    return first != second
        && orderOf(*first).before(
            static_cast<std::size_t>(first->number), static_cast<std::size_t>(second->number));
}

bool NestedOrder::ordered(std::int32_t a, std::int32_t b) const {
    const auto [first, second] = meet(a, b);
    return first == second
        || orderOf(*first).ordered(
            static_cast<std::size_t>(first->number), static_cast<std::size_t>(second->number));
}

std::pair<std::int32_t, std::int32_t> NestedOrder::holders(std::int32_t a, std::int32_t b) const {
    const auto [first, second] = meet(a, b);
    return {first->node, second->node};
}

} // namespace gd::facts
