// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace gd::facts {

// Which nodes of a graph wait for which others. Nodes are numbered from 0.
class NodeOrder {
public:
    // nullopt when the edges form a circle, or the graph is too large and too wide to judge.
    static std::optional<NodeOrder> of(
        std::size_t nodes, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges);

    // One of them waits for the other, directly or not.
    bool ordered(std::size_t a, std::size_t b) const { return before(a, b) || before(b, a); }

private:
    // Chains cover the nodes; of each chain a node waits for a first part, whose length is kept.
    bool before(std::size_t a, std::size_t b) const {
        return m_reached[b * m_chains + static_cast<std::size_t>(m_chainOf[a])] > m_placeOf[a];
    }

    std::size_t m_chains = 0;
    std::vector<std::int32_t> m_chainOf; // by node
    std::vector<std::int32_t> m_placeOf; // by node: place in its chain
    std::vector<std::int32_t> m_reached; // by node and chain
};

} // namespace gd::facts
