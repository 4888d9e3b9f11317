// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/node_order.h"
#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gd::facts {

// The nodes of all child graphs and conditional bodies of a process, by the node that holds them; indices
// into ProcessData::nodes.
using NodesInside = std::unordered_map<std::int64_t, std::vector<std::int32_t>>;
NodesInside nodesInside(const ProcessData& process);

// Edges by graph: a node's id, and that of the one that waits for it.
using EdgesByGraph = std::unordered_map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>>;

// A graph with what its nodes hold, at any depth.
struct NestedGraph {
    struct Level {
        std::int64_t graphId = 0;
        std::int32_t holder = -1; // place of the node that holds it, -1: the graph itself
        std::int32_t depth = 0;
        std::vector<std::int32_t> places;
    };
    struct Place {
        std::int32_t node = 0; // index into ProcessData::nodes
        std::int32_t level = 0;
        std::int32_t number = 0; // in its level
    };

    NestedGraph(const ProcessData& process, const Graph& graph, const NodesInside& inside);

    bool isFlat() const { return levels.size() == 1; }

    std::vector<Level> levels; // the graph itself first
    std::vector<Place> places; // what a node holds follows it
    std::unordered_map<std::int32_t, std::int32_t> placeOf; // by node

private:
    void add(const ProcessData& process, const NodesInside& inside, std::int64_t graphId,
        const std::vector<std::int32_t>& nodes, std::int32_t holder, std::int32_t depth);
};

// Which nodes of a graph wait for which others. One inside a child graph waits for what the child's node
// waits for. Bodies of one conditional node never run at the same time. Nodes are indices into
// ProcessData::nodes.
class NestedOrder {
public:
    // nullopt as NodeOrder::of. `graph` must live longer.
    static std::optional<NestedOrder> of(
        const ProcessData& process, const NestedGraph& graph, const EdgesByGraph& edges);

    bool before(std::int32_t a, std::int32_t b) const;
    bool ordered(std::int32_t a, std::int32_t b) const;
    // The nodes that hold the two in the innermost graph that has both, each itself where it is of that
    // graph.
    std::pair<std::int32_t, std::int32_t> holders(std::int32_t a, std::int32_t b) const;

private:
    explicit NestedOrder(const NestedGraph& graph)
        : m_graph(&graph) { }
    using Places = std::pair<const NestedGraph::Place*, const NestedGraph::Place*>;
    Places meet(std::int32_t a, std::int32_t b) const;
    const NodeOrder& orderOf(const NestedGraph::Place& place) const {
        return m_orders[static_cast<std::size_t>(place.level)];
    }

    const NestedGraph* m_graph;
    std::vector<NodeOrder> m_orders; // by level
};

} // namespace gd::facts
