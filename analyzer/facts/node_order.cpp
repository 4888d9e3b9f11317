// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/node_order.h"

#include <algorithm>

namespace gd::facts {
namespace {

struct Neighbours {
    std::vector<std::vector<std::int32_t>> after; // by node
    std::vector<std::vector<std::int32_t>> before;
};

Neighbours neighboursOf(std::size_t nodes, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges) {
    Neighbours result;
    result.after.resize(nodes);
    result.before.resize(nodes);
    for (const auto& [from, to] : edges) {
        result.after[static_cast<std::size_t>(from)].push_back(to);
        result.before[static_cast<std::size_t>(to)].push_back(from);
    }
    return result;
}

// Each node after those it waits for; shorter than the graph when edges form a circle.
std::vector<std::int32_t> sorted(const Neighbours& graph) {
    std::vector<std::size_t> open(graph.before.size());
    std::vector<std::int32_t> order;
    order.reserve(open.size());
    for (std::size_t i = 0; i < open.size(); ++i) {
        open[i] = graph.before[i].size();
        if (open[i] == 0)
            order.push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t next = 0; next < order.size(); ++next) {
        for (const std::int32_t after : graph.after[static_cast<std::size_t>(order[next])]) {
            if (--open[static_cast<std::size_t>(after)] == 0)
                order.push_back(after);
        }
    }
    return order;
}

} // namespace

std::optional<NodeOrder> NodeOrder::of(
    std::size_t nodes, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges) {
    const Neighbours graph = neighboursOf(nodes, edges);
    const std::vector<std::int32_t> order = sorted(graph);
    if (order.size() != nodes)
        return std::nullopt;
    NodeOrder result;
    result.m_chainOf.resize(nodes);
    result.m_placeOf.resize(nodes);
    std::vector<std::int32_t> ends; // of the chains
    for (const std::int32_t node : order) {
        const auto& before = graph.before[static_cast<std::size_t>(node)];
        const auto end = std::find_if(before.begin(), before.end(), [&](std::int32_t other) {
            return ends[static_cast<std::size_t>(result.m_chainOf[static_cast<std::size_t>(other)])] == other;
        });
        const auto at = static_cast<std::size_t>(node);
        if (end == before.end()) {
            result.m_chainOf[at] = static_cast<std::int32_t>(ends.size());
            ends.push_back(node);
        } else {
            result.m_chainOf[at] = result.m_chainOf[static_cast<std::size_t>(*end)];
            result.m_placeOf[at] = result.m_placeOf[static_cast<std::size_t>(*end)] + 1;
            ends[static_cast<std::size_t>(result.m_chainOf[at])] = node;
        }
    }
    result.m_chains = ends.size();
    if (nodes != 0 && result.m_chains > kMostCells / nodes)
        return std::nullopt;
    result.m_reached.resize(nodes * result.m_chains);
    for (const std::int32_t node : order) {
        std::int32_t* reached = &result.m_reached[static_cast<std::size_t>(node) * result.m_chains];
        for (const std::int32_t other : graph.before[static_cast<std::size_t>(node)]) {
            const auto from = static_cast<std::size_t>(other);
            const std::int32_t* theirs = &result.m_reached[from * result.m_chains];
            for (std::size_t chain = 0; chain < result.m_chains; ++chain)
                reached[chain] = std::max(reached[chain], theirs[chain]);
            std::int32_t& own = reached[result.m_chainOf[from]];
            own = std::max(own, result.m_placeOf[from] + 1);
        }
    }
    return result;
}

} // namespace gd::facts
